r"""Triples of gradients in the unit ball, their Gram matrices, and cells of them.

A triple (g, u, v) matters by its Gram matrix only, X = |u−g|², Y = |v−g|², W = ⟨u−g, v−g⟩. One Gram
matrix is *above* another if dX ≥ 0, dY ≥ 0 and dW ≤ √(dX·dY): then it costs more in every step
(`PROOF.md`, section 4). Maximal are the acute and right triangles inscribed in the unit circle,

    X = 4cos²x,   Y = 4sin²y,   W = 4·cos x·sin y·sin(y − x),   0 ≤ x ≤ y ≤ π/2,

with corners g = v at (0, 0), g = u at (π/2, π/2) and u = v at (0, π/2); right angles at g on x = y.
W falls in x and grows in y there, X falls in x, Y grows in y.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from accountants.arrays import FloatArray

__all__ = ["CORNERS", "WHOLE", "Cell", "Gram", "inscribed"]

_MESH = 24
# More than the roundings of the few operations on numbers up to 8.
_ROUNDING = 1e-13


class Gram(NamedTuple):
    """X = |u−g|², Y = |v−g|², W = ⟨u−g, v−g⟩."""

    x: float
    y: float
    w: float

    def is_above(self, other: "Gram") -> bool:
        """Whether every step at `other` costs no more than one at this."""
        more_x, more_y = self.x - other.x, self.y - other.y
        return more_x >= 0.0 and more_y >= 0.0 and self.w - other.w <= math.sqrt(more_x * more_y)


CORNERS = (Gram(4.0, 0.0, 0.0), Gram(0.0, 4.0, 0.0))
"""g = v and g = u: all other records at −C or at +C, and the one moves between them."""


def inscribed(x: float, y: float) -> Gram:
    """The Gram matrix of the triangle at (x, y).

    >>> [round(value, 9) for value in inscribed(math.pi / 4, math.pi / 4)]
    [2.0, 2.0, 0.0]
    """
    return Gram(4.0 * math.cos(x) ** 2, 4.0 * math.sin(y) ** 2, float(_inner(x, y)))


def _inner(x: FloatArray | float, y: FloatArray | float) -> FloatArray:
    """W where x ≤ y; else 0, which is no more than W where the cell still meets x ≤ y."""
    inner = 4.0 * np.cos(x) * np.sin(y) * np.sin(np.subtract(y, x))
    return np.asarray(np.where(np.less_equal(x, y), np.maximum(inner, 0.0), 0.0))


@dataclass(frozen=True, slots=True)
class Cell:
    """The triangles with x₀ ≤ x ≤ x₁, y₀ ≤ y ≤ y₁ and x ≤ y; some lie in it if x₀ ≤ y₁."""

    x0: float
    x1: float
    y0: float
    y1: float

    @property
    def side(self) -> float:
        """The longer side."""
        return max(self.x1 - self.x0, self.y1 - self.y0)

    def split(self) -> "list[Cell]":
        """Halves that cover it."""
        if self.x1 - self.x0 >= self.y1 - self.y0:
            middle = 0.5 * (self.x0 + self.x1)
            halves = [
                Cell(self.x0, middle, self.y0, self.y1),
                Cell(middle, self.x1, self.y0, self.y1),
            ]
        else:
            middle = 0.5 * (self.y0 + self.y1)
            halves = [
                Cell(self.x0, self.x1, self.y0, middle),
                Cell(self.x0, self.x1, middle, self.y1),
            ]
        return [half for half in halves if half.x0 <= half.y1]

    def gram_above(self, slack: float) -> Gram:
        """A Gram matrix above all in the cell, by `slack` ≥ 0 above the largest X and Y.

        W may be as large as the least of W + √(dX·dY) in the cell. A mesh, finer where dX or dY
        vanish, bounds that from below: in each part W is least at its largest x and smallest y, dX
        at its smallest x, dY at its largest y. Slack lets W be larger: it pays where only |u−v|
        matters, that is for much noise. In the result 0 ≤ W ≤ X, Y.
        """
        share = (np.arange(_MESH + 1) / _MESH) ** 2
        xs = self.x0 + share * (self.x1 - self.x0)
        ys = self.y1 - share * (self.y1 - self.y0)
        xs[-1], ys[-1] = self.x1, self.y0
        most_x = 4.0 * math.cos(self.x0) ** 2 + slack
        most_y = 4.0 * math.sin(self.y1) ** 2 + slack
        more_x = np.maximum(most_x - 4.0 * np.cos(xs[:-1]) ** 2, 0.0)
        more_y = np.maximum(most_y - 4.0 * np.sin(ys[:-1]) ** 2, 0.0)
        least = _inner(xs[1:, None], ys[None, 1:]) + np.sqrt(more_x[:, None] * more_y[None, :])
        meets = xs[:-1, None] <= ys[None, :-1]
        w = float(np.min(least[meets])) - 8.0 * math.sqrt(_ROUNDING) * math.sqrt(slack) - _ROUNDING
        most_x, most_y = most_x + _ROUNDING, most_y + _ROUNDING
        return Gram(most_x, most_y, max(0.0, min(w, most_x, most_y)))


WHOLE = Cell(0.0, 0.5 * math.pi, 0.0, 0.5 * math.pi)
"""All of them; rounding of π/2 is within `_ROUNDING` of its Gram matrices."""
