"""An interval that contains nothing is our own error, and raises."""

import copy
import math
import pickle

import pytest

from accountants import Bounds, BoundsError
from accountants.fourier import Answer


@pytest.mark.parametrize(
    ("lower", "upper"),
    [
        (2.0, 1.0),
        (math.nan, 1.0),
        (0.0, math.nan),
        (math.inf, 1.0),
        (1.0, math.nextafter(1.0, 0.0)),
    ],
)
def test_an_interval_without_a_number_raises(lower, upper):
    with pytest.raises(BoundsError, match="error of this library"):
        Bounds(lower, upper)
    with pytest.raises(BoundsError):
        Bounds(0.0, math.inf)._replace(lower=lower, upper=upper)


def test_disjoint_statements_raise_wherever_they_meet():
    with pytest.raises(BoundsError):
        Bounds(1.0, 2.0).intersect(Bounds(2.5, 3.0))
    with pytest.raises(BoundsError):
        Answer(Bounds(1.0, 2.0), "grid").intersect(Answer(Bounds(2.5, 3.0), "contour"))
    assert issubclass(BoundsError, ArithmeticError)


def test_points_and_infinities_are_intervals():
    assert Bounds(1.0, 1.0).gap == 0.0
    assert Bounds(math.inf, math.inf).gap == 0.0
    assert Bounds(0.0, math.inf).gap == math.inf
    assert Bounds(1.0, 2.0).intersect(Bounds(2.0, 3.0)) == (2.0, 2.0)


def test_bounds_are_still_tuples_that_travel():
    bounds = Bounds(1.0, 2.0)
    lower, upper = bounds
    assert (lower, upper) == bounds == (1.0, 2.0)
    assert pickle.loads(pickle.dumps(bounds)) == copy.deepcopy(bounds) == bounds
    assert isinstance(pickle.loads(pickle.dumps(bounds)), Bounds)
    assert repr(bounds) == "Bounds(lower=1.0, upper=2.0)"
