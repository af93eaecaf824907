"""Argument checks with one message shape: the name, what is allowed, the value that came."""

import functools
import inspect
import math
import os
import reprlib
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
_T = TypeVar("_T")
_Function = TypeVar("_Function", bound=Callable[..., Any])
MOST = 2**31 - 1
"""The largest number of things that are made, or done, one by one."""
_LONGEST_SEQUENCE = 10**7
MOST_MEMBERS = 2**28
"""The most numbers in an array that is made here: 2 GiB."""

_short = reprlib.Repr()
_short.maxstring = _short.maxother = _short.maxlong = 160
_short.maxlist = _short.maxtuple = _short.maxdict = _short.maxset = 12


def shown(value: Any) -> str:
    """Gives a value as refusals show it: in short, and without an error of its own."""
    try:
        return _short.repr(value)
    except Exception:  # whatever a stranger's __repr__ raises
        return f"something of type {type(value).__name__}"


def _wrong_type(name: str, allowed: str, value: Any) -> TypeError:
    return TypeError(f"`{name}` must be {allowed}, got {shown(value)}.")


def reals(name: str, value: Any) -> FloatArray:
    """Gives `value` as a float64 array; text, complex, masked and other objects are refused."""
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


def finite_array(name: str, value: npt.ArrayLike, *, min_ndim: int = 0) -> FloatArray:
    """Gives `value` as a float64 array, refusing NaN, infinity and too few axes."""
    array = reals(name, value)
    if array.ndim < min_ndim:
        raise ValueError(f"`{name}` must have at least {min_ndim} axes, got shape {array.shape}.")
    if not np.isfinite(array).all():
        bad = np.argwhere(~np.isfinite(array))[0]
        where = tuple(int(i) for i in bad)
        raise ValueError(f"`{name}` must be finite, got {array[where]} at {list(where)}.")
    return array


def read_only(value: npt.ArrayLike) -> FloatArray:
    """Gives `value` as a float64 array that nobody can write to: itself if it is one, or a copy."""
    array = np.asarray(value, dtype=np.float64)
    owner: Any = array
    while isinstance(owner, np.ndarray) and not owner.flags.writeable:
        owner = owner.base
    if owner is not None:
        array = array.copy()
        array.setflags(write=False)
    return array


def real(name: str, value: Any, *, lower: float = -math.inf, upper: float = math.inf) -> float:
    """Gives `value` as a finite float in [lower, upper]."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise _wrong_type(name, "a number", value)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    except Exception:
        raise _wrong_type(name, "a number", value) from None
    if not math.isfinite(number) or not lower <= number <= upper:
        allowed = "a finite number"
        if lower > -math.inf or upper < math.inf:
            allowed += f" in [{lower:g}, {upper:g}]"
        raise ValueError(f"`{name}` must be {allowed}, got {shown(value)}.")
    return number


def positive(name: str, value: float, *, upper: float = math.inf) -> float:
    """Gives `value` as a float in (0, upper], refusing everything else."""
    try:
        number = real(name, value)
    except ValueError:
        number = math.inf
    if not 0.0 < number <= upper or math.isinf(number):
        allowed = "a finite number above 0" if math.isinf(upper) else f"in (0, {upper:g}]"
        raise ValueError(f"`{name}` must be {allowed}, got {shown(value)}.")
    return number


def at_least(name: str, value: int, minimum: int, maximum: int = MOST) -> int:
    """Gives `value` as an int from `minimum` to `maximum`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise _wrong_type(name, "an integer", value)
    if value < minimum:
        raise ValueError(f"`{name}` must be at least {minimum}, got {shown(value)}.")
    if value > maximum:
        raise ValueError(f"`{name}` must be at most {maximum}, got {shown(value)}.")
    return int(value)


def shape(name: str, value: Any) -> tuple[int, ...]:
    """Gives `value` as a shape: a tuple of whole numbers, not too large as a whole."""
    axes = sequence(name, value, lambda name, axis: at_least(name, axis, 0))
    fits(name, *axes)
    return axes


def fits(name: str, *axes: int) -> None:
    """Refuses axes whose array would be too large to be made."""
    if len(axes) > 32 or math.prod(axes) > MOST_MEMBERS:
        raise ValueError(
            f"`{name}` must give at most 32 axes and {MOST_MEMBERS} numbers, got {shown(axes)}."
        )


def whole_numbers(name: str, value: Any) -> IntArray:
    """Gives `value` as an array of whole numbers, each exact as a float too."""
    array = reals(name, value)
    if not (np.abs(array) <= 2.0**53).all() or not (array == np.round(array)).all():
        raise ValueError(f"`{name}` must be whole numbers, got {shown(value)}.")
    return array.astype(np.int64)


def row_numbers(name: str, value: Any, size: int) -> IntArray:
    """Gives rows of so many: whole numbers in [−size, size), or one truth value for each."""
    plain = type(value) is np.ndarray and value.dtype.kind in "iub"
    found: npt.NDArray[Any] = value if plain else whole_numbers(name, value)
    rows: IntArray = np.flatnonzero(found) if found.dtype.kind == "b" else found
    if rows.ndim == 0 or (rows.size and not -size <= rows.min() <= rows.max() < size):
        raise ValueError(f"`{name}` must be rows of {size}, got {shown(value)}.")
    return rows


def one_of(name: str, value: Any, allowed: Sequence[str]) -> str:
    """Gives `value` if it is one of these words."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"`{name}` must be one of {list(allowed)}, got {shown(value)}.")
    return str(value)


def flag(name: str, value: Any) -> bool:
    """Gives True or False."""
    if not isinstance(value, bool | np.bool_):
        raise _wrong_type(name, "True or False", value)
    return bool(value)


def instance(name: str, value: Any, kind: type[_T]) -> _T:
    """Gives `value` if it is of that kind, and not only says so."""
    if not issubclass(type(value), kind):
        raise _wrong_type(name, f"a {kind.__name__}", value)
    return cast(_T, value)


def file_name(name: str, value: Any) -> Path:
    """Gives a path that a file can have."""
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


def mapping(name: str, value: Any) -> Mapping[str, Any]:
    """Gives `value` if it is a dictionary or something like it."""
    if not isinstance(value, Mapping):
        raise _wrong_type(name, "a dictionary", value)
    return value


def function(name: str, value: _T) -> _T:
    """Gives `value` if it can be called."""
    if not callable(value) or isinstance(value, type):
        raise _wrong_type(name, "a function", value)
    return value


def having(name: str, value: _T, *members: str) -> _T:
    """Gives `value` if it has these members: what a protocol asks for."""
    missing = [member for member in members if not hasattr(type(value), member)]
    if missing and not all(hasattr(value, member) for member in missing):
        raise _wrong_type(name, f"something with {', '.join(members)}", value)
    return value


def sequence(
    name: str, value: Any, of: Callable[[str, Any], _T] | type[_T], *, least: int = 0
) -> tuple[_T, ...]:
    """Gives the entries of a list or tuple, each checked; strings and iterators are refused."""
    plain = isinstance(value, Sequence) or (isinstance(value, np.ndarray) and value.ndim == 1)
    if not plain or isinstance(value, str | bytes | bytearray | np.ma.MaskedArray):
        raise _wrong_type(name, "a list or a tuple", value)
    try:
        size = len(value)
        entries: tuple[Any, ...] = tuple(value) if size <= _LONGEST_SEQUENCE else ()
    except Exception:
        raise _wrong_type(name, "a list or a tuple", value) from None
    if size < least:
        fewest = "one" if least == 1 else least
        raise ValueError(f"`{name}` must hold at least {fewest}, got {shown(value)}.")
    if size > _LONGEST_SEQUENCE:
        raise ValueError(f"`{name}` must hold at most {_LONGEST_SEQUENCE}, got {size}.")
    if isinstance(of, type):
        return tuple(instance(name, entry, of) for entry in entries)
    return tuple(of(name, entry) for entry in entries)


def generator(rng: Any) -> np.random.Generator:
    """Gives `rng` back if it is a numpy Generator (seeds and RandomState are refused)."""
    if not isinstance(rng, np.random.Generator):
        raise TypeError(f"`rng` must be a numpy.random.Generator, got {type(rng).__name__}.")
    return rng


def checked(**kinds: type[Any]) -> Callable[[_Function], _Function]:
    """Lets a function be called only if these of its arguments are of these kinds.

    Example:
      >>> @checked(text=str)
      ... def size(text): return len(text)
      >>> size(3)
      Traceback (most recent call last):
      TypeError: `text` must be a str, got 3.
    """

    def decorate(inner: _Function) -> _Function:
        places = list(inspect.signature(inner).parameters)
        wanted = [(name, places.index(name), kind) for name, kind in kinds.items()]

        @functools.wraps(inner)
        def call(*arguments: Any, **keywords: Any) -> Any:
            for name, place, kind in wanted:
                if place < len(arguments):
                    instance(name, arguments[place], kind)
                elif name in keywords:
                    instance(name, keywords[name], kind)
            return inner(*arguments, **keywords)

        return cast(_Function, call)

    return decorate
