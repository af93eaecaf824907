"""Argument checks; the accountants' own, and a few more of the same message shape."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from accountants.validate import (
    closed_unit,
    count,
    non_negative,
    open_unit,
    positive,
    rate,
    real,
    relation,
)

__all__ = [
    "FloatArray",
    "closed_unit",
    "count",
    "damping",
    "non_negative",
    "one_of",
    "open_unit",
    "positive",
    "rate",
    "real",
    "relation",
]

FloatArray: TypeAlias = npt.NDArray[np.float64]


def one_of(name: str, value: Any, allowed: Sequence[str]) -> str:
    """One of the strings in `allowed`."""
    if value not in allowed:
        raise ValueError(f"`{name}` must be one of {list(allowed)}, got {value!r}.")
    return str(value)


def damping(value: Any) -> float:
    """An exponent α in (0, 1]."""
    return rate("damping", value)
