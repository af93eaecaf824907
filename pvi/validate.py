"""Argument checks with one message shape: the name, what is allowed, the value that came."""

import math
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]


def finite_array(name: str, value: npt.ArrayLike, *, min_ndim: int = 0) -> FloatArray:
    """Gives `value` as a float64 array, refusing NaN, infinity and too few axes."""
    array = np.asarray(value, dtype=np.float64)
    if array.ndim < min_ndim:
        raise ValueError(f"`{name}` must have at least {min_ndim} axes, got shape {array.shape}.")
    if not np.isfinite(array).all():
        bad = np.argwhere(~np.isfinite(array))[0]
        where = tuple(int(i) for i in bad)
        raise ValueError(f"`{name}` must be finite, got {array[where]} at {list(where)}.")
    return array


def positive(name: str, value: float, *, upper: float = math.inf) -> float:
    """Gives `value` as a float in (0, upper], refusing everything else."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"`{name}` must be a number, got {value!r}.")
    number = float(value)
    if not 0.0 < number <= upper or math.isinf(number):
        allowed = "a finite number above 0" if math.isinf(upper) else f"in (0, {upper:g}]"
        raise ValueError(f"`{name}` must be {allowed}, got {value!r}.")
    return number


def at_least(name: str, value: int, minimum: int) -> int:
    """Gives `value` as an int no smaller than `minimum`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"`{name}` must be an integer, got {value!r}.")
    if value < minimum:
        raise ValueError(f"`{name}` must be at least {minimum}, got {value!r}.")
    return int(value)


def generator(rng: Any) -> np.random.Generator:
    """Gives `rng` back if it is a numpy Generator (seeds and RandomState are refused)."""
    if not isinstance(rng, np.random.Generator):
        raise TypeError(f"`rng` must be a numpy.random.Generator, got {type(rng).__name__}.")
    return rng
