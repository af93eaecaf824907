"""Outputs that an observer can tell apart have scores of their own."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits import PointClaim, audit
from audits.testing.scores import as_floats, as_scores

LARGEST = np.finfo(float).max
PAIRS = [
    (np.nan, np.inf),
    (np.nan, -np.inf),
    (np.nan, LARGEST),
    (np.inf, LARGEST),
    (-np.inf, -LARGEST),
    (-0.0, 0.0),
    (2**53, 2**53 + 1),
    (-(2**53) - 2, -(2**53) - 1),
    (2**63 - 1, 2**63 - 2),
    (2**80, 2**80 + 1),
]


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_a_total_leak_is_refuted_whatever_the_outputs(one, other):
    verdict = audit(
        lambda data, rng, n: [one if data else other] * n,
        (1, 0),
        PointClaim(1.0),
        max_samples=500,
        rng=np.random.default_rng(0),
    )
    assert verdict.refuted
    assert verdict.evidence.samples < 60
    (first,), (second,) = as_scores([one]), as_scores([other])
    assert first != second


@given(st.lists(st.floats(allow_nan=False), min_size=2, max_size=20))
def test_the_order_is_kept(numbers):
    numbers = np.array(numbers)
    scores = as_scores(numbers)
    assert (np.diff(scores[np.argsort(numbers, kind="stable")]) >= 0.0).all() or (
        (numbers == 0.0).any() and np.signbit(numbers).any()
    )
    inner = np.abs(numbers) < 1e300
    shown = (numbers != 0.0) & inner
    assert (scores[shown] == numbers[shown]).all()


@given(st.integers(-(2**62), 2**62), st.integers(-(2**62), 2**62))
def test_integers_keep_their_order(one, other):
    floats = as_floats(np.array([one, other]))
    assert (floats[0] < floats[1]) == (one < other)
    assert (floats == as_floats(np.array([one, other], dtype=object))).all()
    small = np.abs([one, other]) <= 2**53
    assert (floats[small] == np.array([one, other])[small]).all()


def test_unsigned_and_small_integers():
    assert as_floats(np.array([2**64 - 1, 2**64 - 2], dtype=np.uint64))[0] != as_floats(
        np.array([2**64 - 2], dtype=np.uint64)
    )
    assert as_floats(np.array([-5, 7], dtype=np.int8)).tolist() == [-5.0, 7.0]
    assert as_scores([]).size == 0


def test_complex_scores_are_refused():
    with pytest.raises(TypeError, match="must be real"):
        as_scores([1j])
