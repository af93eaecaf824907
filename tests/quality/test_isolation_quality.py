"""Leaks behind shared memory and their sound twins, through each of the four doors of an audit.

A leak's noise is five or ten times too small: it is convicted within 2,000 draws but for a
probability far below 1e-9 a run. A sound twin is judged at 1 − 1e-10, so that 4 · 2 · 200 runs
accuse one with probability below 2e-7; seeds are fixed besides.
"""

import functools

import dp_accounting as dpa
import numpy as np
import pytest

from audits import EventClaim, assert_private, audit, estimate_epsilon, hunt, repeat
from audits.testing.assertions import AuditFailedError

PAIR = (np.array([0.0, 1.0]), np.array([0.0, 0.0]))
CLAIM = EventClaim(dpa.GaussianDpEvent(1.0), relation=dpa.NeighboringRelation.REPLACE_SPECIAL)
DELTA = 1e-5
SURE = 1.0 - 1e-10


def aliasing(scale):
    """Answers with views of one buffer, which the next call overwrites."""
    buffer = np.zeros(100_000)

    def mechanism(data, rng, n):
        buffer[:n] = data.sum() + rng.normal(scale=scale, size=n)
        return buffer[:n]

    return mechanism


def mutating(scale):
    """Counts its record, and takes it away for whoever comes next."""

    def mechanism(data, rng):
        total = data.sum()
        data[:] = 0.0
        return total + rng.normal(scale=scale)

    return repeat(mechanism)


def by_audit(mechanism, rng, confidence, draws):
    return audit(mechanism, PAIR, CLAIM, confidence=confidence, max_samples=draws, rng=rng).refuted


def by_hunt(mechanism, rng, confidence, draws):
    return hunt(
        mechanism,
        CLAIM,
        pairs=[PAIR],
        confidence=confidence,
        max_samples=draws,
        seconds=3600.0,
        rng=rng,
    ).refuted


def by_estimate(mechanism, rng, confidence, draws):
    evidence = estimate_epsilon(
        mechanism, PAIR, delta=DELTA, confidence=confidence, max_samples=draws, rng=rng
    )
    return evidence.epsilon_lower > CLAIM.epsilon_upper(DELTA)


def by_assertion(mechanism, rng, confidence, draws):
    private = functools.partial(assert_private, mechanism, CLAIM, pair=PAIR, rng=rng)
    try:
        private(confidence=confidence, max_samples=draws, require_conclusive=False)
    except AuditFailedError:
        return True
    return False


DOORS = (by_audit, by_hunt, by_estimate, by_assertion)
KINDS = {aliasing: 0.2, mutating: 0.1}
doors = pytest.mark.parametrize("door", DOORS)
kinds = pytest.mark.parametrize("kind", KINDS)


def refutations(door, kind, scale, seeds, confidence, draws):
    return sum(
        door(kind(scale), np.random.default_rng([11, seed]), confidence, draws) for seed in seeds
    )


@doors
@kinds
def test_a_leak_is_refuted_and_its_twin_is_not(door, kind):
    assert refutations(door, kind, KINDS[kind], range(2), 0.99, 2_000) == 2
    assert refutations(door, kind, 1.0, range(1), SURE, 300) == 0


@pytest.mark.slow
@doors
@kinds
def test_twenty_of_twenty_leaks_are_refuted(door, kind):
    assert refutations(door, kind, KINDS[kind], range(20), 0.99, 2_000) == 20


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 200, 25))  # in parts, for several workers
@doors
@kinds
def test_none_of_two_hundred_twins_is(door, kind, first):
    assert refutations(door, kind, 1.0, range(first, first + 25), SURE, 300) == 0
