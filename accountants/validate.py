"""Argument checks with one message shape: the name, what is allowed, the value that came.

Each gives the value back in the form that is computed with. A value that answers questions about
itself with errors is refused like any other wrong one; what is shown of it is short.
"""

import difflib
import math
import os
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from dp_accounting import NeighboringRelation

from accountants.arrays import FloatArray

_T = TypeVar("_T")
LARGEST_COUNT = 2**63 - 1
"""What 64 bits hold; beyond, sums and products of counts leave the range of floats."""
_LONGEST_SEQUENCE = 10**7

_short = reprlib.Repr()
_short.maxstring = _short.maxother = _short.maxlong = 160
_short.maxlist = _short.maxtuple = _short.maxdict = _short.maxset = 12


def shown(value: Any) -> str:
    """A value as refusals show it: in short, and without an error of its own.

    >>> shown(0.5), shown(10**5000)
    ('0.5', 'an int that cannot be shown')
    """
    try:
        return _short.repr(value)
    except Exception:  # whatever a stranger's __repr__ raises
        return f"{_with_article(type(value).__name__)} that cannot be shown"


def _with_article(noun: str) -> str:
    return f"an {noun}" if noun[:1].lower() in "aeio" else f"a {noun}"


def refusal(name: str, allowed: str, value: Any) -> ValueError:
    """The error that says what `name` must be."""
    return ValueError(f"`{name}` must be {allowed}, got {shown(value)}.")


def _wrong_type(name: str, allowed: str, value: Any) -> TypeError:
    return TypeError(f"`{name}` must be {allowed}, got {shown(value)}.")


def real(name: str, value: Any) -> float:
    """A finite real number as `float`."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise _wrong_type(name, "a real number", value)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    except Exception:
        raise _wrong_type(name, "a real number", value) from None
    if not math.isfinite(number):
        raise refusal(name, "a finite number", value)
    return number


def positive(name: str, value: Any) -> float:
    """A finite number in (0, ∞)."""
    number = real(name, value)
    if number <= 0.0:
        raise refusal(name, "positive", value)
    return number


def non_negative(name: str, value: Any) -> float:
    """A finite number in [0, ∞)."""
    number = real(name, value)
    if number < 0.0:
        raise refusal(name, "non-negative", value)
    return number


def open_unit(name: str, value: Any) -> float:
    """A number in (0, 1): a target δ, for instance."""
    number = real(name, value)
    if not 0.0 < number < 1.0:
        raise refusal(name, "in (0, 1)", value)
    return number


def half_open_unit(name: str, value: Any) -> float:
    """A number in [0, 1): a δ that may be 0."""
    number = real(name, value)
    if not 0.0 <= number < 1.0:
        raise refusal(name, "in [0, 1)", value)
    return number


def closed_unit(name: str, value: Any) -> float:
    """A number in [0, 1]: a probability that may be degenerate."""
    number = real(name, value)
    if not 0.0 <= number <= 1.0:
        raise refusal(name, "in [0, 1]", value)
    return number


def rate(name: str, value: Any) -> float:
    """A number in (0, 1]: a sampling rate."""
    number = real(name, value)
    if not 0.0 < number <= 1.0:
        raise refusal(name, "in (0, 1]", value)
    return number


def count(name: str, value: Any, *, minimum: int = 1, maximum: int = LARGEST_COUNT) -> int:
    """A whole number from `minimum` to `maximum`; a float such as 1e4 passes if it is whole."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise _wrong_type(name, "a whole number", value)
    number = 0
    try:
        number = int(value)  # type: ignore[call-overload]
        whole = isinstance(value, Integral) or number == value
    except Exception:
        whole = False
    if not whole:
        raise refusal(name, "a whole number", value)
    if number < minimum:
        raise refusal(name, f"at least {minimum}", value)
    if number > maximum:
        raise refusal(name, f"at most {maximum}", value)
    return number


def flag(name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise _wrong_type(name, "True or False", value)
    return bool(value)


def text(name: str, value: Any) -> str:
    """A string."""
    return instance(name, value, str)


def relation(name: str, value: Any) -> NeighboringRelation:
    """A `dp_accounting.NeighboringRelation`."""
    if type(value) is not NeighboringRelation:
        allowed = ", ".join(member.name for member in NeighboringRelation)
        raise _wrong_type(name, f"a NeighboringRelation ({allowed})", value)
    return value


def one_of(name: str, value: Any, allowed: Sequence[str]) -> str:
    """One of the strings in `allowed`; a near miss gets the right word in its refusal."""
    if not isinstance(value, str) or value not in allowed:
        near = did_you_mean(value, allowed) if isinstance(value, str) else ""
        raise ValueError(f"`{name}` must be one of {list(allowed)}, got {shown(value)}.{near}")
    return str(value)


def instance(name: str, value: Any, kind: type[_T]) -> _T:
    """`value` if it is of that kind, and not only says so."""
    if not issubclass(type(value), kind):
        raise _wrong_type(name, _with_article(kind.__name__), value)
    return value  # type: ignore[no-any-return]


def function(name: str, value: Any) -> Callable[..., Any]:
    """Something that can be called."""
    if not callable(value) or isinstance(value, type):
        raise _wrong_type(name, "a function", value)
    return value  # type: ignore[no-any-return]


def sequence(
    name: str,
    value: Any,
    of: Callable[[str, Any], _T] | None = None,
    *,
    least: int = 0,
) -> tuple[_T, ...]:
    """The entries of a list, a tuple or an array with one axis, each as `of` gives it back."""
    plain = isinstance(value, Sequence) or (isinstance(value, np.ndarray) and value.ndim == 1)
    if not plain or isinstance(value, str | bytes | bytearray | np.ma.MaskedArray):
        raise _wrong_type(name, "a list or a tuple", value)
    try:
        entries: tuple[Any, ...] = tuple(value) if len(value) <= _LONGEST_SEQUENCE else ()
        size = len(value)
    except Exception:
        raise _wrong_type(name, "a list or a tuple", value) from None
    if size > _LONGEST_SEQUENCE:
        raise ValueError(f"`{name}` must hold at most {_LONGEST_SEQUENCE}, got {size}.")
    if size < least:
        fewest = "one" if least == 1 else least
        raise ValueError(f"`{name}` must hold at least {fewest}, got {shown(value)}.")
    return entries if of is None else tuple(of(name, entry) for entry in entries)


def reals(name: str, value: Any) -> FloatArray:
    """Numbers as an array of floats with the axes that they have; NaN and infinities may be in.

    Text, complex numbers, masked arrays and arbitrary objects are no numbers; truth values are.
    """
    if type(value) is np.ndarray and value.dtype == np.float64:
        return value
    if isinstance(value, np.ma.MaskedArray):
        raise _wrong_type(name, "numbers without a mask", value)
    try:
        array = np.asarray(value)
        if array.dtype.kind == "O" and all(isinstance(item, Real) for item in array.flat):
            array = np.array([float(item) for item in array.flat]).reshape(array.shape)
        wanted = array.dtype.kind in "biuf"
    except Exception:
        wanted = False
    if not wanted:
        raise _wrong_type(name, "numbers, in an array or nested lists of one shape", value)
    return array.astype(np.float64)


def file_name(name: str, value: Any) -> Path:
    """A path that a file can have."""
    if not isinstance(value, str | os.PathLike):
        raise _wrong_type(name, "the name of a file", value)
    try:
        path = Path(value)
        usable = 0 < len(os.fsencode(path)) < 4096 and "\0" not in str(path)
    except Exception:
        usable = False
    if not usable:
        raise ValueError(f"`{name}` must be the name of a file, got {shown(value)}.")
    return path


def mapping(name: str, value: Any) -> Mapping[Any, Any]:
    """A dictionary or something like it."""
    if not isinstance(value, Mapping):
        raise _wrong_type(name, "a dictionary", value)
    return value


def generator(name: str, value: Any) -> np.random.Generator:
    """A numpy generator; seeds and the old `RandomState` are refused."""
    if not isinstance(value, np.random.Generator):
        raise _wrong_type(name, "a numpy.random.Generator", value)
    return value


def did_you_mean(wanted: str, known: Iterable[str]) -> str:
    """The nearest name as a question, for the end of a refusal; empty where none is near.

    >>> did_you_mean("Poison", ["poisson", "shuffled"])
    " Did you mean 'poisson'?"
    """
    small = {name.lower(): name for name in known}
    near = difflib.get_close_matches(wanted[:100].lower(), small, n=1)
    return f" Did you mean {small[near[0]]!r}?" if near else ""
