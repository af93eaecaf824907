"""Laws of the client split, for every valid (n, M, ρ, κ)."""

import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pvi.data import balance, holdout, split


@st.composite
def settings(draw, few_left=False):
    """Any valid ones; with `few_left` small clients ask for nearly nothing but the rarer class."""
    major = draw(st.integers(1, 400))
    minor = draw(st.integers(1, major))
    lowest = -major / minor
    return {
        "labels": draw(st.permutations([0] * major + [1] * minor)),
        "clients": 2 * draw(st.integers(1, 12)),
        "rho": draw(st.integers(0, 20 if few_left else 100)) / 100,
        "kappa": draw(st.floats(lowest, 0.8 * lowest if few_left else 1)),
    }, major


class Expected(NamedTuple):
    """What eq. 12 and 13 give, in whole numbers: ρ is a whole number of hundredths here."""

    small: int
    large: int
    target: float
    wanted: int
    feasible: bool


def expected(arguments, major):
    n, clients = len(arguments["labels"]), arguments["clients"]
    hundredths = round(100 * arguments["rho"])
    small = n * (100 - hundredths) // (100 * clients)
    large = n * (100 + hundredths) // (100 * clients)
    fraction = major / n
    target = fraction + (1 - fraction) * arguments["kappa"]
    wanted = min(small, max(0, math.floor(small * target + 1e-9)))
    half = clients // 2
    feasible = wanted * half <= major and (small - wanted) * half <= n - major
    return Expected(small, large, target, wanted, feasible)


@given(settings(), st.integers(0, 2**32))
def test_disjoint_covering_sizes_and_shares(case, seed):
    arguments, major = case
    small, large, target, wanted, feasible = expected(arguments, major)
    assume(feasible)
    labels, clients = np.array(arguments["labels"]), arguments["clients"]
    n, half = len(labels), clients // 2
    parts = split(**arguments, rng=np.random.default_rng(seed))
    assert parts.sizes == (small,) * half + (large,) * half
    everything = np.concatenate([*parts.clients, parts.leftover])
    assert sorted(everything.tolist()) == list(range(n))
    assert len(parts.leftover) < clients
    majority = 0 if 2 * major >= n else 1
    held = [int(np.sum(labels[rows] == majority)) for rows in parts.clients]
    assert held[:half] == [wanted] * half
    # Rounding down costs a small client less than one record of the majority class.
    assert small * target - 1 - 1e-6 < wanted <= max(small * target, 0) + 1e-6


@given(settings(few_left=True), st.integers(0, 2**32))
def test_a_division_for_which_records_are_lacking_is_refused(case, seed):
    arguments, major = case
    assume(not expected(arguments, major).feasible)
    with pytest.raises(ValueError, match="each need"):
        split(**arguments, rng=np.random.default_rng(seed))


@given(settings(), st.integers(0, 2**32))
def test_records_permuted_are_split_into_the_same_shares(case, seed):
    arguments, major = case
    assume(abs(arguments["kappa"]) < 0.2 and expected(arguments, major).feasible)
    labels = np.array(arguments["labels"])
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(labels)
    one = split(**arguments, rng=rng)
    two = split(**(arguments | {"labels": shuffled}), rng=rng)
    half = arguments["clients"] // 2
    assert one.sizes == two.sizes
    np.testing.assert_array_equal(one.shares(labels, 0)[:half], two.shares(shuffled, 0)[:half])


@given(st.integers(0, 300), st.data(), st.integers(0, 2**32))
def test_holdout_parts_the_records(count, data, seed):
    train = data.draw(st.integers(0, count))
    kept, held_out = holdout(count, train, np.random.default_rng(seed))
    assert len(kept) == train
    assert sorted([*kept.tolist(), *held_out.tolist()]) == list(range(count))


@given(st.integers(1, 50), st.integers(1, 50), st.integers(0, 2**32))
def test_balance_is_balanced_and_without_repetition(zeros, ones, seed):
    labels = np.repeat([0, 1], [zeros, ones])
    kept = balance(labels, np.random.default_rng(seed))
    assert len(set(kept.tolist())) == len(kept) == 2 * min(zeros, ones)
    assert labels[kept].sum() == min(zeros, ones)
