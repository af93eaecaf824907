"""A rounded bound stays a bound, and a number that prints with few digits stays as it is."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accountants import Bounds
from accountants.rounding import down, interval, up

NUMBERS = st.floats(-1e300, 1e300, allow_subnormal=False)


def printed(value: float) -> Fraction:
    return Fraction(repr(value))


@given(NUMBERS, st.integers(0, 8))
def test_decimals_are_on_the_proper_side_and_the_nearest_there(value, decimals):
    lower, upper = (Fraction(text(value, decimals=decimals)) for text in (down, up))
    unit = Fraction(1, 10**decimals)
    assert lower <= printed(value) <= upper
    assert printed(value) - lower < unit
    assert upper - printed(value) < unit


@given(NUMBERS, st.integers(1, 12))
def test_digits_are_on_the_proper_side(value, digits):
    assert Fraction(down(value, digits)) <= printed(value) <= Fraction(up(value, digits))


@given(st.integers(-(10**6), 10**6), st.integers(0, 4))
def test_what_has_few_decimals_is_left_alone(whole, decimals):
    value = whole / 10**decimals
    assert printed(float(down(value, decimals=decimals))) == printed(value)
    assert down(value, decimals=decimals) == up(value, decimals=decimals)


@pytest.mark.parametrize(
    ("bounds", "decimals", "text"),
    [
        (Bounds(0.07, 0.07), 2, "[0.07, 0.07]"),
        (Bounds(0.46871, 0.46872), 3, "[0.468, 0.469]"),
        (Bounds(1.1, 2.0), 4, "[1.1000, 2.0000]"),
        (Bounds(80.1342, 80.1342), 0, "[80, 81]"),
        (Bounds(0.0, math.inf), 1, "[0.0, ∞]"),
        (Bounds(1e-20, 1e22), 1, "[0.0, 10000000000000000000000.0]"),
    ],
)
def test_intervals_with_decimals(bounds, decimals, text):
    assert interval(bounds, decimals=decimals) == text
