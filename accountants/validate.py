"""Argument checks with one message shape: the name, what is allowed, the value that came."""

import difflib
import math
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any

from dp_accounting import NeighboringRelation


def _refuse(name: str, allowed: str, value: Any) -> ValueError:
    return ValueError(f"`{name}` must be {allowed}, got {value!r}.")


def real(name: str, value: Any) -> float:
    """A finite real number as `float`."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"`{name}` must be a real number, got {value!r}.")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise _refuse(name, "a finite number", value)
    return number


def positive(name: str, value: Any) -> float:
    """A finite number in (0, ∞)."""
    number = real(name, value)
    if number <= 0.0:
        raise _refuse(name, "positive", value)
    return number


def non_negative(name: str, value: Any) -> float:
    """A finite number in [0, ∞)."""
    number = real(name, value)
    if number < 0.0:
        raise _refuse(name, "non-negative", value)
    return number


def open_unit(name: str, value: Any) -> float:
    """A number in (0, 1): a target δ, for instance."""
    number = real(name, value)
    if not 0.0 < number < 1.0:
        raise _refuse(name, "in (0, 1)", value)
    return number


def closed_unit(name: str, value: Any) -> float:
    """A number in [0, 1]: a probability that may be degenerate."""
    number = real(name, value)
    if not 0.0 <= number <= 1.0:
        raise _refuse(name, "in [0, 1]", value)
    return number


def rate(name: str, value: Any) -> float:
    """A number in (0, 1]: a sampling rate."""
    number = real(name, value)
    if not 0.0 < number <= 1.0:
        raise _refuse(name, "in (0, 1]", value)
    return number


def count(name: str, value: Any, *, minimum: int = 1) -> int:
    """A whole number of at least `minimum`; a float such as 1e4 passes if it is whole."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"`{name}` must be a whole number, got {value!r}.")
    if not isinstance(value, Integral) and not float(value).is_integer():
        raise _refuse(name, "a whole number", value)
    number = int(value) if isinstance(value, Integral) else int(float(value))
    if number < minimum:
        raise _refuse(name, f"at least {minimum}", value)
    return number


def relation(name: str, value: Any) -> NeighboringRelation:
    """A `dp_accounting.NeighboringRelation`."""
    if not isinstance(value, NeighboringRelation):
        allowed = ", ".join(member.name for member in NeighboringRelation)
        raise TypeError(f"`{name}` must be a NeighboringRelation ({allowed}), got {value!r}.")
    return value


def one_of(name: str, value: Any, allowed: Sequence[str]) -> str:
    """One of the strings in `allowed`."""
    if value not in allowed:
        raise _refuse(name, f"one of {list(allowed)}", value)
    return str(value)


def did_you_mean(wanted: str, known: Iterable[str]) -> str:
    """The nearest name as a question, for the end of a refusal; empty where none is near.

    >>> did_you_mean("Poison", ["poisson", "shuffled"])
    " Did you mean 'poisson'?"
    """
    small = {name.lower(): name for name in known}
    near = difflib.get_close_matches(wanted.lower(), small, n=1)
    return f" Did you mean {small[near[0]]!r}?" if near else ""
