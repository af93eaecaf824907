"""Bounds as people read them: a rounded bound stays a bound.

What is rounded is the number as Python prints it: 0.07 is 0.07, not the double that holds it.
"""

import decimal
import math

from accountants import validate
from accountants.bounds import Bounds

DIGITS = 6
# More digits than any double has before the point.
_WIDE = decimal.Context(prec=400)
_MOST_DIGITS = 80


def down(value: float, digits: int = DIGITS, *, decimals: int | None = None) -> str:
    """A lower bound as text, rounded down.

    Args:
      value: The bound.
      digits: How many significant digits at most; zeros at the end are left out.
      decimals: Instead, how many digits after the point; zeros at the end are kept.

    >>> down(6.1877129, 3), up(6.1877129, 3), up(math.inf)
    ('6.18', '6.19', '∞')
    >>> down(1.2, 4), up(0.1, 4)
    ('1.2', '0.1')
    >>> down(80.1342, decimals=1), up(80.1342, decimals=1), up(0.07, decimals=2)
    ('80.1', '80.2', '0.07')
    """
    return _rounded(value, digits, decimals, decimal.ROUND_FLOOR)


def up(value: float, digits: int = DIGITS, *, decimals: int | None = None) -> str:
    """An upper bound as text, rounded up; arguments as for `down`."""
    return _rounded(value, digits, decimals, decimal.ROUND_CEILING)


def interval(bounds: Bounds, digits: int = DIGITS, *, decimals: int | None = None) -> str:
    """Both ends, rounded outwards; arguments as for `down`.

    >>> interval(Bounds(1.23456, 2.34561), 3), interval(Bounds(0.07, 0.07), decimals=2)
    ('[1.23, 2.35]', '[0.07, 0.07]')
    """
    lower, upper = validate.instance("bounds", bounds, Bounds)
    return f"[{down(lower, digits, decimals=decimals)}, {up(upper, digits, decimals=decimals)}]"


def _rounded(value: float, digits: int, decimals: int | None, rounding: str) -> str:
    if issubclass(type(value), float) and math.isinf(value):
        return "∞" if value > 0 else "−∞"
    printed = repr(validate.real("value", value))
    if decimals is None:
        digits = validate.count("digits", digits, maximum=_MOST_DIGITS)
        exact = decimal.Context(prec=digits, rounding=rounding).create_decimal(printed)
        return f"{float(exact):.{digits}g}"
    unit = decimal.Decimal(1).scaleb(
        -validate.count("decimals", decimals, minimum=0, maximum=_MOST_DIGITS)
    )
    return f"{decimal.Decimal(printed).quantize(unit, rounding, _WIDE):f}"
