"""Numbers as people type them: 60k, 1.2M, 60,000, 256/60000, 1e-5."""

import argparse
import math
import re
from fractions import Fraction

_UNITS = {"k": 10**3, "K": 10**3, "M": 10**6, "B": 10**9}
_PLAIN = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,4})?")
# 60,000 and 1,234,567.5: commas where thousands end and nowhere else, since 0,01 means 0.01.
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?")
_LONGEST = 60


def number(text: str) -> float:
    """A number from the command line; a quotient or a unit is rounded once, at the end.

    Infinities and NaN are passed on: what an option allows, it says itself.

    >>> number("1.2M"), number("60,000"), number("256/60k"), number("1e-5")
    (1200000.0, 60000.0, 0.004266666666666667, 1e-05)
    >>> number("0,01")
    Traceback (most recent call last):
    argparse.ArgumentTypeError: must be a number such as 1e-5, 60k, 1.2M or 256/60000, got '0,01'. \
Did you mean 0.01?
    """
    shown = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    try:
        plain = text.strip().lower().lstrip("+-")
        if plain in ("inf", "infinity", "nan"):
            return float(text)
        above, slash, below = text.strip().partition("/")
        value = _part(above)
        if slash:
            value /= _part(below)
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except (ValueError, ZeroDivisionError):
        raise argparse.ArgumentTypeError(
            f"must be a number such as 1e-5, 60k, 1.2M or 256/60000, got {shown!r}.{_meant(text)}"
        ) from None


def _part(text: str) -> Fraction:
    if len(text) > _LONGEST:
        raise ValueError
    unit = _UNITS.get(text[-1:], 1)
    digits = (text[:-1] if unit > 1 else text).replace("_", "")
    if _GROUPED.fullmatch(digits):
        digits = digits.replace(",", "")
    if not _PLAIN.fullmatch(digits):
        raise ValueError
    return Fraction(digits) * unit


def _meant(text: str) -> str:
    near = text.strip().replace(",", ".") if text.count(",") == 1 else text.strip()
    if near.endswith("m"):
        near = near[:-1] + "M"
    if near == text:
        return ""
    try:
        _part(near)
    except ValueError:
        return ""
    return f" Did you mean {near}?"
