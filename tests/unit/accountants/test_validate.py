import math

import numpy as np
import pytest
from dp_accounting import NeighboringRelation

from accountants import validate


@pytest.mark.parametrize(
    ("check", "good"),
    [
        (validate.real, -3.5),
        (validate.positive, 1e-300),
        (validate.non_negative, 0),
        (validate.open_unit, 0.5),
        (validate.closed_unit, 1),
        (validate.rate, 1.0),
    ],
)
def test_good_numbers_come_back_as_float(check, good):
    assert check("x", good) == good
    assert type(check("x", np.float64(good))) is float


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("check", [validate.real, validate.positive, validate.rate])
def test_non_finite_numbers_are_refused(check, bad):
    with pytest.raises(ValueError, match=r"`x` must be a finite number, got"):
        check("x", bad)


@pytest.mark.parametrize("bad", ["1", None, True, 1j, [1.0]])
@pytest.mark.parametrize("check", [validate.real, validate.count])
def test_what_is_no_number_is_refused(check, bad):
    with pytest.raises(TypeError, match="`x` must be a"):
        check("x", bad)


@pytest.mark.parametrize(
    ("check", "bad"),
    [
        (validate.positive, 0.0),
        (validate.non_negative, -1e-300),
        (validate.open_unit, 0.0),
        (validate.open_unit, 1.0),
        (validate.closed_unit, 1.0000001),
        (validate.rate, 0.0),
        (validate.count, 0),
        (validate.count, 2.5),
    ],
)
def test_numbers_out_of_range_are_refused_with_their_value(check, bad):
    with pytest.raises(ValueError, match=f"`x` must be .*, got {bad!r}"):
        check("x", bad)


def test_count_takes_whole_floats_and_numpy_integers():
    assert validate.count("x", 1e4) == 10_000
    assert type(validate.count("x", np.int64(3))) is int
    assert validate.count("x", 0, minimum=0) == 0
    # A count beyond 2^53 must not lose digits on the way through a float.
    assert validate.count("x", 2**60 + 1) == 2**60 + 1


def test_relation_names_the_choices():
    assert validate.relation("x", NeighboringRelation.REPLACE_ONE)
    with pytest.raises(TypeError, match="ADD_OR_REMOVE_ONE, REPLACE_ONE, REPLACE_SPECIAL"):
        validate.relation("x", 1)
