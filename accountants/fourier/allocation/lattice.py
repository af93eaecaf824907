"""Laws on geometric lattices: where pairs of nodes meet, and what is cut off."""

import math
from collections.abc import Iterator
from typing import Protocol

import numpy as np
from scipy import special

from accountants.arrays import FloatArray, IntArray
from accountants.fourier.grid.laws.law import UNIT

# What is cut off at either end, as a probability: far below any δ of use.
TAIL = 1e-22
# Relative error of ndtr, generously.
TAIL_SLACK = 1e-11


class Lattice(Protocol):
    """Nodes e^{ih} for `size` integers i from `first` on, h = `step`."""

    @property
    def first(self) -> int:
        """The least i."""

    @property
    def size(self) -> int:
        """How many nodes."""

    @property
    def step(self) -> float:
        """The step h."""


def taps(values: FloatArray, step: float) -> tuple[IntArray, FloatArray, FloatArray]:
    """Where e^{value} lies on the lattice: the node below, and the shares of it and the next.

    The shares keep mass and mean, and are both rounded up by more than the error of a place, a few
    units of the value, over the step.
    """
    below = np.floor(values / step)
    place = np.clip(values - below * step, 0.0, step)
    slack = 16.0 * UNIT * (1.0 + np.abs(values)) / step
    above_share = np.expm1(place) / math.expm1(step) + slack
    below_share = np.exp(place) * np.expm1(step - place) / math.expm1(step) + slack
    return below.astype(np.int64), below_share, above_share


def lognormal_range(shift: float, step: float) -> tuple[int, int]:
    """First and last index: beyond are 1e-22 of Q below and of P above."""
    reach = -float(special.ndtri(TAIL))
    return (
        math.floor((-reach * shift - 0.5 * shift * shift) / step) - 1,
        math.ceil((reach * shift + 0.5 * shift * shift) / step) + 1,
    )


def spaced(values: FloatArray) -> FloatArray:
    """Zeros between all values."""
    result = np.zeros(2 * values.size - 1)
    result[::2] = values
    return result


def from_even(first: int, values: FloatArray) -> tuple[int, FloatArray]:
    """The same values from an even index on."""
    return (first, values) if first % 2 == 0 else (first - 1, np.concatenate(([0.0], values)))


def ends(masses: FloatArray, moments: FloatArray) -> tuple[int, int]:
    """The nodes between which all but little of the mass, and above all but little mean, lies."""
    low = min(int(np.searchsorted(np.cumsum(masses), TAIL)), masses.size - 1)
    high = masses.size - 1 - int(np.searchsorted(np.cumsum(moments[::-1]), TAIL))
    return low, max(low, high)


class Pair:
    """All pairs of nodes (j + D, j) of two laws for one D."""

    def __init__(
        self, offset: int, begin: int, end: int, base: int, stride: int, count: int
    ) -> None:
        self._mine = slice(begin + offset, end + offset)
        self._theirs = slice(begin, end)
        self._base = base + stride * begin
        self._reach = stride * (end - begin - 1) + 1
        self._stride = stride
        self.count = count

    def first(self, values: FloatArray) -> FloatArray:
        """Of the first law's nodes."""
        return values[self._mine]

    def second(self, values: FloatArray) -> FloatArray:
        """Of the second law's."""
        return values[self._theirs]

    def places(self, node: int) -> slice:
        """Where their means go, `node` nodes above the second's own place."""
        start = self._base + node
        return slice(start, start + self._reach, self._stride)


class Pairing:
    """The differences D of two laws' nodes and, for each, the shift of the pairs' mean.

    Attributes:
      step: Of the lattice on which the mean will lie.
      start, size: Its first index, and how many nodes.
      differences: How many D.
      shifts: log(a·e^{Dh} + 1 − a) for each.
    """

    def __init__(self, first: Lattice, second: Lattice, share: float, refinement: int) -> None:
        a, b = first.first, second.first
        self._is_square = first is second and share == 0.5
        self._offset = b - a
        self._sizes = first.size, second.size
        self._refinement = refinement
        low, high = a - (b + second.size - 1), a + first.size - 1 - b
        self._range = np.arange(0 if self._is_square else low, high + 1)
        self.differences = int(self._range.size)
        exponents = first.step * self._range
        self.shifts = np.logaddexp(math.log(share) + exponents, math.log1p(-share))
        self.step = first.step / refinement
        # A mean lies between the two, but for the rounding of its place.
        self.start = refinement * min(a, b) - 2
        highest = refinement * max(a + first.size, b + second.size) + 2
        self.size = highest - self.start + 1
        self._base = refinement * b - self.start

    def __iter__(self) -> Iterator[Pair]:
        """The pairs of each D."""
        mine, theirs = self._sizes
        for difference in self._range.tolist():
            offset = difference + self._offset
            begin, end = max(0, -offset), min(theirs, mine - offset)
            count = 2 if self._is_square and difference else 1
            yield Pair(offset, begin, end, self._base, self._refinement, count)
