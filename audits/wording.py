"""Numbers and terms as people read them; a rounded bound stays a bound."""

import decimal
import math

from dp_accounting import NeighboringRelation

from accountants import Bounds

DIGITS = 6
RELATIONS = {
    NeighboringRelation.ADD_OR_REMOVE_ONE: "one record added or removed",
    NeighboringRelation.REPLACE_ONE: "one record replaced",
    NeighboringRelation.REPLACE_SPECIAL: "one record zeroed out",
}
"""How neighbouring data sets differ."""


def down(value: float, digits: int = DIGITS) -> str:
    """A lower bound in so many significant digits, rounded down.

    >>> down(6.1877129, 3), up(6.1877129, 3), up(math.inf)
    ('6.18', '6.19', '∞')
    """
    return _rounded(value, digits, decimal.ROUND_FLOOR)


def up(value: float, digits: int = DIGITS) -> str:
    """An upper bound in so many significant digits, rounded up."""
    return _rounded(value, digits, decimal.ROUND_CEILING)


def interval(bounds: Bounds, digits: int = DIGITS) -> str:
    """Both ends, rounded outwards.

    >>> interval(Bounds(1.23456, 2.34561), 3)
    '[1.23, 2.35]'
    """
    return f"[{down(bounds.lower, digits)}, {up(bounds.upper, digits)}]"


def finite(value: float) -> float | None:
    """The value for JSON, which has no infinity."""
    return float(value) if math.isfinite(value) else None


def _rounded(value: float, digits: int, rounding: str) -> str:
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    exact = decimal.Context(prec=digits, rounding=rounding).create_decimal(float(value))
    return f"{float(exact):.{digits}g}"
