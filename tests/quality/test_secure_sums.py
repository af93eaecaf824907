"""Audits of what a server and a colluding client can read of a secure sum, with real cryptography.

The claim is that nothing but the sum is seen: two inputs with the same sum give the same law. On
small fields `unit/mechanisms/test_aggregation.py` proves it by going through all masks; here words
have 32 bits, and a flaw in each kind of mask is convicted by the same audit. Sound sums are judged
at 1 − 1e-8; flaws show the vectors themselves, so that they are missed with probability 0.
"""

import numpy as np
import pytest
from aggregation_tools import exchange, parties, readable

from audits import PointClaim, audit
from audits.testing.statistics import Coordinate
from mechanisms.federated.aggregation.ciphers import StandardCiphers

# Client 2's vector comes too late; client 0 tells the server all it knows.
LATE = {2: 2}
LARGE = 2**30 - 9
# The sum over contributors outside of the coalition, clients 1 and 3, is the same.
PAIR = (
    ((1, 0), (LARGE, 5), (LARGE, LARGE), (0, 5)),
    ((1, 0), (0, 5), (-LARGE, -LARGE), (LARGE, 5)),
)


class NoOwnMask(StandardCiphers):
    def own_key(self, seed, purpose):
        return bytes(32)

    def mask(self, key, dimension, bits):
        found = super().mask(key, dimension, bits)
        return found * np.uint32(key != bytes(32))


class NoPairMask(StandardCiphers):
    def mask(self, key, dimension, bits):
        return super().mask(key, dimension, bits) * np.uint32(key != bytes(32))

    def agree(self, private, public, purpose):
        return bytes(32) if b"mask" in purpose else super().agree(private, public, purpose)


class ShortPairMask(StandardCiphers):
    """Masks of 20 bits on words of 32: own masks hide that until they are taken off."""

    def mask(self, key, dimension, bits):
        return super().mask(key, dimension, 20)


class OneMaskForAllCoordinates(StandardCiphers):
    def mask(self, key, dimension, bits):
        return np.repeat(super().mask(key, 1, bits), dimension)


def seen(ciphers, least=3):
    """The draws: what is readable of each vector, and how its coordinates differ."""

    def mechanism(data, rng):
        server, clients = parties(data, least, bits=32, ciphers=ciphers)
        answers = exchange(server, clients, LATE)
        read = readable(server, clients, answers, (0,), ciphers)
        apart = (read[::2] - read[1::2] + 0.5) % 1.0 - 0.5
        return np.concatenate([read, apart])

    return mechanism


def judged(ciphers, samples, confidence, statistic=None):
    return audit(
        seen(ciphers),
        PAIR,
        PointClaim(0.0),
        rng=np.random.default_rng(0),
        max_samples=samples,
        confidence=confidence,
        statistic=statistic,
        progress=False,
    )


@pytest.mark.slow
def test_what_is_readable_of_a_sound_sum_says_nothing_more():
    verdict = judged(StandardCiphers(), 150, 1 - 1e-8)
    assert not verdict.refuted, verdict.explain()


# Where to look: two coordinates of each client's vector, then their differences.
FLAWS = [(NoOwnMask, 4), (NoPairMask, 2), (ShortPairMask, 2), (OneMaskForAllCoordinates, 9)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flaw", "column"), FLAWS, ids=lambda value: getattr(value, "__name__", "")
)
def test_a_flaw_in_each_kind_of_mask_is_convicted(flaw, column):
    verdict = judged(flaw(), 200, 0.99, Coordinate(column))
    assert verdict.refuted, verdict.explain()


def test_the_pair_has_one_sum():
    sums = [sum(np.array(data[c]) for c in (1, 3)).tolist() for data in PAIR]
    assert sums[0] == sums[1]
    assert PAIR[0][0] == PAIR[1][0]  # the coalition's own
