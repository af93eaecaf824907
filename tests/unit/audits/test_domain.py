"""Domains: neighbouring data sets, all of them allowed; hunts that accuse over nothing else."""

import math
import time

import dp_accounting as dpa
import numpy as np
import pytest
from dp_accounting import NeighboringRelation

from audits import Domain, EventClaim, GaussianClaim, Pair, PointClaim, hunt, repeat
from audits.testing.exploration import Explorer

ADD, REPLACE, ZERO = (
    NeighboringRelation.ADD_OR_REMOVE_ONE,
    NeighboringRelation.REPLACE_ONE,
    NeighboringRelation.REPLACE_SPECIAL,
)
RELATIONS = list(NeighboringRelation)
DOMAINS = {
    "one coordinate": Domain(),
    "three, with bounds of their own": Domain(
        dimension=3, bounds=((0, 1), (-2, 2), (5, 6)), min_records=2, max_records=5
    ),
    "users": Domain(dimension=2, records_per_user=3, min_records=0, max_records=7),
    "counts": Domain(dimension=0, bounds=(0, 10), dtype=int, min_records=1, max_records=4),
    "single precision": Domain(dtype=np.float32, max_records=3),
}


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", DOMAINS)
def test_pairs_are_neighbours_of_the_domain(name, relation):
    domain = DOMAINS[name]
    low, high = np.atleast_2d(np.array(domain.bounds)).T
    pairs = list(domain.pairs(relation))
    assert len(pairs) > 10
    assert len({pair.name for pair in pairs}) == len(pairs)
    sizes = set()
    for pair in pairs:
        first, second, user = pair.first, pair.second, domain.records_per_user
        assert first.dtype == second.dtype == np.dtype(domain.dtype)
        assert first.shape[1:] == second.shape[1:] == ((domain.dimension,) * (domain.dimension > 0))
        others = len(first) - user
        assert np.array_equal(first[:others], second[:others])
        if relation is ADD:
            assert len(second) == others
        else:
            assert len(second) == len(first)
            assert not np.array_equal(first, second)
        if relation is ZERO:
            assert (second[others:] == 0).all()
        inside = [first, second[:others] if relation is ZERO else second]
        for data in inside:
            rows = data.reshape(-1, max(domain.dimension, 1))
            assert (low <= rows).all()
            assert (rows <= high).all()
        assert min(len(first), len(second)) >= domain.min_records
        assert len(first) <= domain.max_records
        sizes.add(min(len(first), len(second)))
    assert len(sizes) > 1
    assert min(sizes) == max(domain.min_records, 0 if relation is ADD else user)


def test_the_pair_with_all_others_at_the_other_end_comes_first():
    pair = next(Domain(max_records=3).pairs(REPLACE))
    assert sorted([pair.first.tolist(), pair.second.tolist()]) == [
        [[-1.0], [-1.0], [-1.0]],
        [[-1.0], [-1.0], [1.0]],
    ]


def test_pairs_are_always_the_same():
    one, other = (list(Domain(dimension=2).pairs(ADD)) for _ in range(2))
    for first, second in zip(one, other, strict=True):
        np.testing.assert_array_equal(first.first, second.first)


def test_special_values_are_inside_where_they_are_allowed():
    domain = Domain(special_values=(np.nan, 1e3))
    seen = np.concatenate([pair.first.ravel() for pair in domain.pairs(ADD)])
    assert np.isnan(seen).any()
    assert (seen == 1e3).any()
    foreign = [pair.name for pair in domain.foreign_pairs(ADD)]
    assert not any("NaN" in name for name in foreign)
    assert any("infinity" in name for name in foreign)


@pytest.mark.parametrize("relation", RELATIONS)
def test_foreign_pairs_are_not_of_the_domain(relation):
    pairs = list(Domain().foreign_pairs(relation))
    assert pairs
    for pair in pairs:
        values = np.concatenate([pair.first.ravel(), pair.second.ravel()])
        assert not (np.isfinite(values) & (np.abs(values) <= 1.0)).all()
    assert list(Domain(dtype=int, bounds=(0, 1)).foreign_pairs(relation)) == []


def test_records_of_any_kind():
    words = ["yes", "no", "perhaps"]
    domain = Domain(record=lambda rng: {"answer": str(rng.choice(words))}, max_records=4)
    pairs = list(domain.pairs(ADD))
    assert all(set(record) == {"answer"} for pair in pairs for record in pair.first)
    assert all(len(pair.first) == len(pair.second) + 1 for pair in pairs)
    table = Domain(record=lambda rng: rng.integers(3), assemble=tuple, max_records=3)
    assert all(isinstance(pair.first, tuple) for pair in table.pairs(REPLACE))
    with pytest.raises(ValueError, match="what is zero"):
        list(domain.pairs(ZERO))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dimension": -1}, "`dimension`"),
        ({"bounds": (1.0, 1.0)}, "`bounds`"),
        ({"bounds": (0.0, np.inf)}, "`bounds`"),
        ({"bounds": "ab"}, "`bounds`"),
        ({"dimension": 3, "bounds": ((0, 1), (0, 1))}, "`bounds`"),
        ({"min_records": 3, "max_records": 2}, "`max_records`"),
        ({"records_per_user": 9}, "`records_per_user`"),
        ({"dtype": str}, "`dtype`"),
        ({"record": 3}, "`record`"),
    ],
)
def test_what_makes_no_domain_is_refused(arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        Domain(**arguments)
    with pytest.raises(ValueError, match="`max_records` must be at least 6"):
        list(Domain(min_records=5, max_records=5).pairs(ADD))


def clipped(scale):
    """A clipped sum, which a NaN passes."""

    def mechanism(data, rng, n):
        return np.clip(data, -1.0, 1.0).sum() + rng.normal(scale=scale, size=n)

    return mechanism


CLAIM = EventClaim(dpa.GaussianDpEvent(1.0))


@pytest.mark.parametrize("domain", [None, Domain()])
def test_a_sound_mechanism_is_not_accused_over_a_nan(domain):
    """False alarm of the verdict: 1e-9."""
    verdict = hunt(
        clipped(1.0),
        CLAIM,
        domain=domain,
        confidence=1 - 1e-9,
        max_samples=2_000,
        dimensions=(1,),
        seconds=2.0,
        rng=np.random.default_rng(0),
    )
    assert not verdict.refuted
    assert "Outside of the domain, and so not counted: the claim falls on" in verdict.reason
    assert "NaN" in verdict.reason


def test_where_nan_is_allowed_it_counts():
    verdict = hunt(
        clipped(1.0), CLAIM, domain=Domain(special_values=(np.nan,)), rng=np.random.default_rng(0)
    )
    assert verdict.refuted
    assert "nan" in verdict.evidence.pair


def test_users_are_hunted_as_users():
    """Noise for one record, users of four: the claim is about users."""
    domain = Domain(dimension=1, records_per_user=4, max_records=12)
    verdict = hunt(clipped(1.0), CLAIM, domain=domain, rng=np.random.default_rng(0))
    assert verdict.refuted
    assert "a user's 4 records" in verdict.evidence.pair


def test_critical_sizes_are_tried():
    """A mechanism that forgets its noise on the smallest data sets alone."""

    def careless(data, rng, n):
        return data.sum() + rng.normal(scale=0.01 if len(data) <= 2 else 1.0, size=n)

    verdict = hunt(
        careless, CLAIM, domain=Domain(min_records=1, max_records=50), rng=np.random.default_rng(0)
    )
    assert verdict.refuted


def test_a_plain_flaw_takes_few_calls():
    calls = []

    def leaky(data, rng):
        calls.append(1)
        return float(data.sum()) + rng.normal(scale=0.01)

    verdict = hunt(repeat(leaky), CLAIM, domain=Domain(), rng=np.random.default_rng(0))
    assert verdict.refuted
    assert len(calls) < 500


def test_a_slow_mechanism_gets_an_answer_in_time():
    """Each draw takes 2 ms, the whole plan would take minutes; the sleep is what is counted."""
    slept = []

    def slow(data, rng):
        slept.append(0.002)
        time.sleep(0.002)
        return float(data.sum()) + rng.normal()

    verdict = hunt(
        repeat(slow), GaussianClaim(1.0), domain=Domain(), seconds=2.0, rng=np.random.default_rng(0)
    )
    assert not verdict.refuted
    assert sum(slept) < 6.0


def test_a_call_that_never_ends_is_passed_over():
    def stuck(data, rng, n):
        while data.sum() > 6.0:  # All at the upper bound: no end.
            pass
        return data.sum() + rng.normal(scale=0.2, size=n)

    verdict = hunt(
        stuck,
        PointClaim(1.0),
        domain=Domain(dimension=0),
        call_seconds=0.2,
        rng=np.random.default_rng(0),
    )
    assert verdict.refuted


def refuses_one_coordinate(data, rng, n):
    if data.shape[1] == 1:
        raise ValueError("two coordinates are needed")
    return data.sum() + rng.normal(scale=0.5, size=n)


@pytest.mark.parametrize("looks", [0, 1, 2, 3])
def test_what_was_found_is_not_forgotten_when_time_is_up(looks):
    """A pair that the mechanism refuses comes first in every round; time is up at any moment."""
    pairs = [Pair(np.ones((2, width)), np.ones((1, width)), f"{width}") for width in (1, 2)]
    explorer = Explorer(
        refuses_one_coordinate, GaussianClaim(1.0).region(), None, 0, math.inf, math.inf, None, 2048
    )
    rounds = explorer.candidates(pairs)
    found = [next(rounds) for _ in range(looks)]
    explorer.deadline = -math.inf
    last = [*found, *rounds][-1]
    assert last
    assert last[0].pair is pairs[1]
