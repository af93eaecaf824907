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


class Grumpy:
    """Fails whatever it is asked."""

    def __repr__(self):
        raise RuntimeError("not telling")

    __float__ = __len__ = __iter__ = __array__ = __repr__


@pytest.mark.parametrize(
    "value",
    [Grumpy(), 10**5000, "x" * 10**6, [[[[[[[[1]]]]]]]] * 100],
    ids=["grumpy", "long integer", "long text", "nested list"],
)
def test_what_is_shown_is_short_and_never_fails(value):
    assert len(validate.shown(value)) < 400


@pytest.mark.parametrize(
    "bad",
    [
        "12",
        b"12",
        1j,
        None,
        Grumpy(),
        [1.0, None],
        ["a"],
        [[1.0], [1.0, 2.0]],
        np.ma.masked_array([1.0], mask=[True]),
        np.array([1.0 + 2.0j]),
        np.array(["1"]),
        [10**400],
    ],
)
def test_what_are_no_numbers_is_refused_as_an_array(bad):
    with pytest.raises(TypeError, match="`x` must be numbers"):
        validate.reals("x", bad)


def test_numbers_keep_their_axes_and_values():
    assert validate.reals("x", [[1, 2], [3, 4]]).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert validate.reals("x", [2**70]).tolist() == [float(2**70)]
    assert validate.reals("x", [True, False]).tolist() == [1.0, 0.0]
    assert math.isnan(validate.reals("x", math.nan))
    given = np.arange(3.0)
    assert validate.reals("x", given) is given


@pytest.mark.parametrize("bad", ["ab", b"ab", {1: 2}, {1}, iter([1]), range(10**15), 3, Grumpy()])
def test_what_is_no_sequence_is_refused(bad):
    with pytest.raises((TypeError, ValueError), match="`x` must "):
        validate.sequence("x", bad)


def test_sequences_are_checked_entry_by_entry():
    assert validate.sequence("x", np.array([1.0, 2.0]), validate.real) == (1.0, 2.0)
    with pytest.raises(ValueError, match="`x` must hold at least one, got"):
        validate.sequence("x", [], least=1)
    with pytest.raises(ValueError, match="`x` must be positive, got -1"):
        validate.sequence("x", [1, -1], validate.positive)


def test_a_count_has_an_end():
    with pytest.raises(ValueError, match="`x` must be at most 9223372036854775807, got"):
        validate.count("x", 10**400)
    with pytest.raises(ValueError, match="`x` must be at most 3, got 4"):
        validate.count("x", 4, maximum=3)


def test_an_instance_must_be_one_and_not_only_say_so():
    class Disguised:
        __class__ = str

    with pytest.raises(TypeError, match="`x` must be a str, got"):
        validate.instance("x", Disguised(), str)
    assert validate.instance("x", "a", str) == "a"
