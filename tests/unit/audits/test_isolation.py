"""Calls of a mechanism cannot reach each other, and draws that are not independent are not judged.

The leaks of the first tests have noise five or ten times too small: at 99.9% each is refuted within
2,000 draws but for a probability far below 1e-9. Sound twins are audited at 1 − 1e-9.
"""

import concurrent.futures
import functools
import random

import dp_accounting as dpa
import numpy as np
import pytest

from audits import (
    EventClaim,
    PointClaim,
    assert_private,
    audit,
    estimate_epsilon,
    hunt,
    repeat,
)
from audits.testing.assertions import AuditFailedError
from audits.testing.isolation import (
    RepeatedDraws,
    altered,
    fingerprint,
    kept_globals,
    own,
    seed_globals,
)
from audits.verdict import Word

PAIR = (np.array([0.0, 1.0]), np.array([0.0, 0.0]))
CLAIM = EventClaim(dpa.GaussianDpEvent(1.0), relation=dpa.NeighboringRelation.REPLACE_SPECIAL)


class OneBuffer:
    """Answers with views of one buffer, which the next call overwrites."""

    def __init__(self, scale):
        self.scale = scale
        self.buffer = np.zeros(1)

    def __call__(self, data, rng):
        self.buffer[0] = data.sum() + rng.normal(scale=self.scale)
        return self.buffer


class OneBatch:
    """The same for a batch of draws at a time."""

    def __init__(self, scale):
        self.scale = scale
        self.buffer = np.zeros(100_000)

    def __call__(self, data, rng, n):
        self.buffer[:n] = data.sum() + rng.normal(scale=self.scale, size=n)
        return self.buffer[:n]


def altering(data, rng, scale):
    """Counts its record, and takes it away for whoever comes next."""
    total = data.sum()
    data[:] = 0.0
    return total + rng.normal(scale=scale)


def growing(data, rng, scale):
    """Sound but for what it does to its data: each call would add to the next one's."""
    total = min(data.sum(), 1.0)
    data += rng.random()
    return total + rng.normal(scale=scale)


LEAKS = {
    "one buffer": repeat(OneBuffer(0.2)),
    "one batch": OneBatch(0.2),
    "alters its data": repeat(functools.partial(altering, scale=0.1)),
}
SOUND = {
    "one buffer": repeat(OneBuffer(1.0)),
    "one batch": OneBatch(1.0),
    "alters its data": repeat(functools.partial(altering, scale=1.0)),
    "adds to its data": repeat(functools.partial(growing, scale=1.0)),
}


@pytest.mark.parametrize("name", LEAKS)
@pytest.mark.parametrize("seed", range(20))
def test_a_leak_behind_shared_memory_is_refuted(name, seed):
    verdict = audit(
        LEAKS[name],
        PAIR,
        CLAIM,
        confidence=0.999,
        max_samples=2_000,
        rng=np.random.default_rng(seed),
    )
    assert verdict.refuted
    assert ("altered its data" in verdict.reason) == (name == "alters its data")


@pytest.mark.parametrize("name", SOUND)
@pytest.mark.parametrize("seed", range(5))
def test_a_sound_twin_is_not(name, seed):
    pair = tuple(data.copy() for data in PAIR)
    verdict = audit(
        SOUND[name],
        pair,
        CLAIM,
        confidence=1 - 1e-9,
        max_samples=500,
        rng=np.random.default_rng(seed),
    )
    assert not verdict.refuted
    for data, before in zip(pair, PAIR, strict=True):
        np.testing.assert_array_equal(data, before)


def test_bounds_and_assertions_see_the_same_draws():
    rng = np.random.default_rng(3)
    # Gaussian noise 0.2 and a shift of 1: ε(1e-5) is above 30, and 2,000 draws show log(2000) − …
    assert estimate_epsilon(LEAKS["one buffer"], PAIR, max_samples=2_000, rng=rng).epsilon_lower > 2
    with pytest.raises(AuditFailedError):
        assert_private(LEAKS["alters its data"], CLAIM, pair=PAIR)
    quiet = repeat(functools.partial(altering, scale=1.0))
    assert assert_private(quiet, CLAIM, pair=PAIR, max_samples=1_000).word is Word.NOT_REFUTED


def test_a_hunt_sees_them_too():
    verdict = hunt(
        LEAKS["alters its data"],
        CLAIM,
        pairs=[PAIR],
        max_samples=2_000,
        rng=np.random.default_rng(0),
    )
    assert verdict.refuted


def legacy(data, rng, n):
    return data.sum() + np.random.normal(size=n)  # noqa: NPY002


def with_random(data, rng, n):
    return np.array([data.sum() + random.gauss(0.0, 1.0) for _ in range(n)])


@pytest.mark.parametrize("mechanism", [legacy, with_random])
def test_global_generators_are_seeded_for_each_call_and_put_back(mechanism):
    state = np.random.get_state()[1].copy(), random.getstate()  # noqa: NPY002
    rng = [np.random.default_rng(5) for _ in range(2)]
    options = {"confidence": 1 - 1e-9, "max_samples": 400}
    here = audit(mechanism, PAIR, CLAIM, rng=rng[0], **options)
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        there = audit(mechanism, PAIR, CLAIM, rng=rng[1], executor=pool, chunk_size=64, **options)
        again = audit(
            mechanism, PAIR, CLAIM, rng=np.random.default_rng(5), chunk_size=64, **options
        )
    assert there.evidence == again.evidence
    assert here.word is there.word is Word.NOT_REFUTED
    np.testing.assert_array_equal(np.random.get_state()[1], state[0])  # noqa: NPY002
    assert random.getstate() == state[1]


class OwnGenerator:
    """Has a generator of its own, which every worker and every call gets a copy of."""

    def __init__(self):
        self.rng = np.random.default_rng(0)

    def __call__(self, data, rng, n):
        return data.sum() + self.rng.normal(size=n)


def reseeding(data, rng, n):
    return data.sum() + np.random.default_rng(1).normal(size=n)


@functools.lru_cache
def _answers(total, n):
    return total + np.random.default_rng().normal(size=n)


def cached(data, rng, n):
    """Answers once per total and number of draws, and from then on from memory."""
    return _answers(float(data.sum()), n)


@pytest.mark.parametrize("mechanism", [reseeding, cached])
def test_repeated_draws_are_named_and_not_judged(mechanism):
    verdict = audit(mechanism, PAIR, PointClaim(0.1), rng=np.random.default_rng(0))
    assert verdict.word is Word.INCONCLUSIVE
    assert "in the same order" in verdict.explain()
    assert verdict.evidence.epsilon_lower == 0.0
    with pytest.raises(ValueError, match="independent draws"):
        estimate_epsilon(mechanism, PAIR, rng=np.random.default_rng(0))
    with pytest.raises(AuditFailedError, match="in the same order"):
        assert_private(mechanism, CLAIM, pair=PAIR)


def test_a_generator_of_its_own_is_noticed_on_workers():
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        verdict = audit(OwnGenerator(), PAIR, CLAIM, rng=np.random.default_rng(0), executor=pool)
    assert verdict.word is Word.INCONCLUSIVE
    # In one process it goes on where it stopped, and is judged.
    alone = audit(
        OwnGenerator(),
        PAIR,
        CLAIM,
        confidence=1 - 1e-9,
        max_samples=400,
        rng=np.random.default_rng(0),
    )
    assert alone.word is Word.NOT_REFUTED


def test_few_values_are_no_repetition():
    """Constants, coins and dice repeat without anything being wrong."""
    rng = np.random.default_rng(0)
    for values in (1, 2, 6, 11):
        looker = RepeatedDraws()
        for _ in range(40):
            looker.look(rng.integers(values, size=512))
        assert not looker.found
    looker = RepeatedDraws()
    for _ in range(200):
        looker.look(rng.integers(40, size=(512, 1)))
    assert not looker.found


def test_repetition_within_and_between_chunks_is_noticed():
    rng = np.random.default_rng(0)
    draws = rng.normal(size=30)
    for outputs in (np.tile(draws, 2), [str(x) for x in np.tile(draws, 2)]):
        looker = RepeatedDraws()
        looker.look(outputs)
        assert looker.found
    looker = RepeatedDraws()
    looker.look(draws)
    assert not looker.found
    looker.look(np.concatenate([rng.normal(size=100), draws[3:16]]))
    assert looker.found


@pytest.mark.parametrize(
    "value",
    [np.zeros(3), [np.zeros(2)], {"a": [1, 2]}, [1.0, 2.0], np.array([[1], None], dtype=object)],
)
def test_a_copy_shares_nothing(value):
    twin = own(value)
    assert twin is not value
    assert type(twin) is type(value)
    if isinstance(value, np.ndarray):
        assert not np.shares_memory(twin, value)


class Table:
    """Data that remember what was computed of them."""

    def __init__(self):
        self.rows = [3, 1]

    @functools.cached_property
    def total(self):
        return sum(self.rows)


def cycle():
    ring = [1]
    ring.append(ring)
    return ring


@pytest.mark.parametrize(
    ("value", "change", "expected"),
    [
        (Table(), lambda table: table.total, False),
        (Table(), lambda table: table.rows.__setitem__(1, 3), True),
        ([Table()], lambda tables: tables[0].rows.reverse(), True),
        ([3, 1], lambda numbers: numbers.__setitem__(1, 3), True),
        ([1.0, float("nan")], lambda numbers: None, False),
        ({"a": [1]}, lambda table: table["a"].append(1), True),
        ({"a": 1}, lambda table: table.update(b=2), True),
        ({1, 2}, lambda numbers: numbers.add(3), True),
        (np.zeros(2), lambda array: array.__setitem__(0, -0.0), True),
        (np.array([[1], "a"], dtype=object), lambda array: array[0].append(2), True),
        (["".join("ab"), "ab"], lambda words: words.__setitem__(0, words[1]), False),
        (cycle(), lambda ring: ring.__setitem__(0, 2), True),
        (cycle(), lambda ring: ring[1], False),
    ],
)
def test_data_are_altered_by_what_changes_them(value, change, expected):
    before = fingerprint(value)
    change(value)
    assert altered(before, value) == expected


def test_what_cannot_be_copied_is_said():
    with pytest.raises(TypeError, match="generator, which cannot be"):
        own(x for x in range(3))


def test_globals_are_left_alone_in_threads():
    sequence = np.random.SeedSequence(0)

    def drawn():
        with kept_globals():
            seed_globals(sequence)
            return np.random.random()  # noqa: NPY002

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        assert pool.submit(drawn).result() != pool.submit(drawn).result()
    assert drawn() == drawn()
