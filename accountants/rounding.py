"""Bounds as people read them: a rounded bound stays a bound."""

import decimal
import math

DIGITS = 6


def down(value: float, digits: int = DIGITS) -> str:
    """A lower bound in so many significant digits, rounded down.

    What is rounded is the number as Python prints it: 0.1 is 0.1, not the double that holds it.

    >>> down(6.1877129, 3), up(6.1877129, 3), up(math.inf)
    ('6.18', '6.19', '∞')
    >>> down(1.2, 4), up(0.1, 4)
    ('1.2', '0.1')
    """
    return _rounded(value, digits, decimal.ROUND_FLOOR)


def up(value: float, digits: int = DIGITS) -> str:
    """An upper bound in so many significant digits, rounded up."""
    return _rounded(value, digits, decimal.ROUND_CEILING)


def _rounded(value: float, digits: int, rounding: str) -> str:
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    exact = decimal.Context(prec=digits, rounding=rounding).create_decimal(repr(float(value)))
    return f"{float(exact):.{digits}g}"
