"""Checks shared by the package; every message names the argument, its value and what is allowed."""

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
        raise ValueError(f"{name} has shape {array.shape}; at least {min_ndim} axes are needed")
    if not np.isfinite(array).all():
        bad = np.argwhere(~np.isfinite(array))[0]
        where = tuple(int(i) for i in bad)
        raise ValueError(f"{name}{list(where)} is {array[where]}; every entry must be finite")
    return array


def positive(name: str, value: float, *, upper: float = math.inf) -> float:
    """Gives `value` as a float in (0, upper], refusing everything else."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} is {value!r}; it must be a number")
    number = float(value)
    if not 0.0 < number <= upper or math.isinf(number):
        allowed = "a finite number above 0" if math.isinf(upper) else f"in (0, {upper:g}]"
        raise ValueError(f"{name} is {value!r}; it must be {allowed}")
    return number


def at_least(name: str, value: int, minimum: int) -> int:
    """Gives `value` as an int no smaller than `minimum`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} is {value!r}; it must be an integer")
    if value < minimum:
        raise ValueError(f"{name} is {value}; it must be at least {minimum}")
    return int(value)


def generator(rng: Any) -> np.random.Generator:
    """Gives `rng` back if it is a numpy Generator (seeds and RandomState are refused)."""
    if not isinstance(rng, np.random.Generator):
        raise TypeError(f"rng is a {type(rng).__name__}; it must be a numpy.random.Generator")
    return rng
