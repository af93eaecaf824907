"""Bounding what one contribution can do: clipping to a norm, and screening what is not a number.

A row that is not finite (NaN or infinite somewhere) becomes zero, before its norm is taken, and is
counted; so it never reaches a sum, and a neighbour with such a row is at distance at most C from
one without it, like any other. Rows are the last axis; all other axes are batch axes.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from accountants import validate
from accountants.arrays import FloatArray
from pvi import Shard

# Rounding can leave a scaled row a few units in the last place outside of the ball; clipped rows
# are aimed at this fraction of the radius, so that no row of fewer than 10⁶ entries is outside.
_INSIDE = 1.0 - 2.0**-32
# Within this range no square of a row that matters is lost to underflow.
_SMALLEST, _LARGEST = 1e-100, 1e100


class Clipped(NamedTuple):
    """Rows of norm at most C, and how many of the rows were not finite and became zero."""

    rows: FloatArray
    screened: int


class Clipping(Protocol):
    """Bounds rows to a ball around 0."""

    @property
    def norm(self) -> float:
        """C: the Euclidean norm that no clipped row exceeds."""
        ...

    def __call__(self, rows: FloatArray) -> Clipped:
        """Gives the clipped rows."""
        ...


def clip_rows(rows: FloatArray, clip_norm: float | FloatArray) -> Clipped:
    """Scales rows down to Euclidean norm `clip_norm` where they exceed it.

    Args:
      rows: Shape (..., p).
      clip_norm: C > 0, a number or an array that broadcasts against the rows' leading axes.

    >>> clip_rows(np.array([[3.0, 4.0], [0.3, 0.4], [np.nan, 0.0]]), 1.0).rows.round(6)
    array([[0.6, 0.8],
           [0.3, 0.4],
           [0. , 0. ]])
    """
    rows = check_rows(rows)
    if isinstance(clip_norm, bool | np.bool_):
        raise TypeError(f"`clip_norm` must be a number, got {clip_norm}.")
    limit = validate.reals("clip_norm", clip_norm) * _INSIDE
    if not ((limit >= 0.9 * _SMALLEST) & (limit <= _LARGEST)).all():
        raise validate.refusal("clip_norm", f"in [{_SMALLEST:g}, {_LARGEST:g}]", clip_norm)
    try:
        np.broadcast_shapes(limit.shape, rows.shape[:-1])
    except ValueError:
        raise ValueError(
            f"`clip_norm` must fit the leading axes of `rows`, got shapes {limit.shape} and "
            f"{rows.shape}."
        ) from None
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        squares = np.einsum("...i,...i->...", rows, rows)
    if not np.isfinite(squares).all():
        return _clip_wild_rows(rows, limit)
    norms = np.sqrt(squares)
    outside = np.asarray(norms > limit)
    if not outside.any():
        return Clipped(rows, 0)
    scale = np.where(outside, limit / np.where(outside, norms, 1.0), 1.0)
    return Clipped(rows * scale[..., None], 0)


def check_rows(rows: FloatArray, name: str = "rows") -> FloatArray:
    """Numbers with at least one axis; NaN and infinities may be among them."""
    array = validate.reals(name, rows)
    if array.ndim == 0:
        raise validate.refusal(name, "an array of shape (..., p)", rows)
    return array


def _clip_wild_rows(rows: FloatArray, limit: FloatArray) -> Clipped:
    """As `clip_rows`, for rows that are not finite or whose squares are not."""
    finite = np.asarray(np.isfinite(rows).all(axis=-1))
    rows = np.where(finite[..., None], rows, 0.0)
    largest = np.abs(rows).max(axis=-1, initial=0.0)
    largest = np.where(largest > 0.0, largest, 1.0)
    with np.errstate(under="ignore", over="ignore"):
        unit = rows / largest[..., None]
        norms = np.sqrt(np.einsum("...i,...i->...", unit, unit))
        outside = norms > limit / largest
        scaled = unit * (limit / np.where(outside, norms, 1.0))[..., None]
    screened = int(finite.size - finite.sum())
    return Clipped(np.where(outside[..., None], scaled, rows), screened)


def _clip_norm(name: str, value: Any) -> float:
    number = validate.positive(name, value)
    if not _SMALLEST <= number <= _LARGEST:
        raise validate.refusal(name, f"in [{_SMALLEST:g}, {_LARGEST:g}]", value)
    return number


@dataclass(frozen=True, slots=True)
class FlatClip:
    """The whole row to norm C.

    Attributes:
      clip_norm: C.
    """

    clip_norm: float

    def __post_init__(self) -> None:
        _clip_norm("clip_norm", self.clip_norm)

    @property
    def norm(self) -> float:
        """C."""
        return float(self.clip_norm)

    def __call__(self, rows: FloatArray) -> Clipped:
        """Gives the clipped rows."""
        return clip_rows(rows, self.clip_norm)


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerClip:
    """Each block of coordinates ("layer") to a norm of its own.

    A clipped row has norm at most √(Σ C_l²), not max C_l: noise for one layer's norm is too little.

    Attributes:
      sizes: The number of coordinates of each layer, in order; they must fill the row.
      clip_norms: C_l for each layer.

    >>> LayerClip(sizes=(2, 1), clip_norms=(3.0, 4.0)).norm
    5.0
    """

    sizes: tuple[int, ...]
    clip_norms: tuple[float, ...]

    def __post_init__(self) -> None:
        sizes = validate.sequence("sizes", self.sizes, validate.count)
        norms = validate.sequence("clip_norms", self.clip_norms, _clip_norm)
        if not sizes or len(sizes) != len(norms):
            raise ValueError(
                "`sizes` and `clip_norms` must be non-empty and of equal length, got "
                f"{len(sizes)} and {len(norms)}."
            )

    @property
    def norm(self) -> float:
        """C = √(Σ C_l²)."""
        return math.hypot(*self.clip_norms)

    def __call__(self, rows: FloatArray) -> Clipped:
        """Gives the rows with each layer clipped."""
        rows = check_rows(rows)
        if rows.shape[-1] != sum(self.sizes):
            raise ValueError(
                f"`sizes` must add up to the rows' {rows.shape[-1]} coordinates, got {self.sizes}."
            )
        bad = ~np.isfinite(rows).all(axis=-1, keepdims=True)
        layers = np.split(np.where(bad, 0.0, rows), np.cumsum(self.sizes)[:-1], axis=-1)
        clipped = [
            clip_rows(layer, norm).rows for layer, norm in zip(layers, self.clip_norms, strict=True)
        ]
        return Clipped(np.concatenate(clipped, axis=-1), int(bad.sum()))


def as_clipping(clip_norm: "float | Clipping") -> Clipping:
    """A number C as `FlatClip(C)`; a clipping as it is."""
    if not isinstance(clip_norm, Real):
        if callable(clip_norm) and hasattr(clip_norm, "norm"):
            return clip_norm
        got = validate.shown(clip_norm)
        raise TypeError(f"`clip_norm` must be a number or a Clipping, got {got}.")
    return FlatClip(_clip_norm("clip_norm", clip_norm))


class Screened(NamedTuple):
    """A shard without NaN or infinity, and the positions of the records that had them."""

    shard: Shard
    positions: tuple[int, ...]


def screen_records(inputs: npt.ArrayLike, targets: npt.ArrayLike) -> Screened:
    """Gives a shard in which a record with NaN or infinity is the record (0, +1).

    The number of records stays the same, and what a record becomes depends on that record alone, so
    any guarantee for the screened data holds for the raw data. In models that are linear in the
    inputs such a record's gradient is zero; with biases it is a constant record, clipped like all.

    Args:
      inputs: Shape (n, k).
      targets: Shape (n,).

    >>> screen_records([[1.0], [float("nan")]], [1.0, -1.0]).positions
    (1,)
    """
    rows = np.array(validate.reals("inputs", inputs))
    values = np.array(validate.reals("targets", targets))
    if rows.ndim != 2 or values.shape != rows.shape[:1]:
        raise ValueError(
            f"`inputs` and `targets` must have shapes (n, k) and (n,), got {rows.shape} and "
            f"{values.shape}."
        )
    bad = ~(np.isfinite(rows).all(axis=-1) & np.isfinite(values))
    rows[bad], values[bad] = 0.0, 1.0
    positions: Sequence[int] = np.flatnonzero(bad).tolist()
    return Screened(Shard(inputs=rows, targets=values), tuple(positions))
