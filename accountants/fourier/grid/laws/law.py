r"""What the grid engine asks of a privacy loss law, and the quadrature that answers it.

The privacy loss of an ordered pair (P, Q) is L = log dP/dQ; its law under P fixes the privacy
profile δ(ε) = E_P[(1 − e^{ε−L})₊] of the pair and of every composition. The Q-mass is no second
datum: on a piece of the line it is E_P[e^{−L}].

A law is handed over as *points*: for each cell between consecutive edges a few losses with positive
P-masses, such that Σ mass·f(loss) is ∫ f(L) dP over that cell for every f(l) = c₀ + c₁e^{−l}, up to
the stated errors. Atoms are points. For a density the points are those of a Gauss–Legendre rule,
so that all sums have positive terms: nothing cancels, in the tails or for small sampling rates.

**Error model.** u = 2⁻⁵³. A point's loss is off by at most `loss_error` (absolute) and its mass by
a factor within 1 ± `mass_error`; both are per point, and both are pushed outwards by the engine,
so that far points, with large errors and no mass, cost nothing. The functions exp, expm1, log,
log1p of numpy are taken to be within 4u, ndtr and log_ndtr of scipy within 1e-12, relative.
"""

from enum import Enum
from typing import NamedTuple, Protocol

import numpy as np

from accountants.arrays import FloatArray, IntArray

UNIT = 2.0**-53
# Covers the weights, the sums and the truncation of the Gauss–Legendre rules (see `panel_rule`).
RULE_ERROR = 64.0 * UNIT
# Relative error of tail masses, which come from ndtr at a rounded argument.
TAIL_ERROR = 1e-11

_ORDERS = (2, 3, 5, 8)
# Half-widths, in units of a panel's analyticity radius, up to which each order is used.
_HALF_WIDTHS = (1e-5, 1e-3, 0.025, 0.125)
_RULES = tuple(np.polynomial.legendre.leggauss(order) for order in _ORDERS)


class Points(NamedTuple):
    """A law between edges, as points: see the module docstring."""

    cell: IntArray
    loss: FloatArray
    loss_error: FloatArray
    mass: FloatArray
    mass_error: FloatArray


class Tails(NamedTuple):
    """P(L < low) and P(L > high), within a relative `TAIL_ERROR`, and log Q(L > high).

    Q(L > high) = E_P[e^{−L}; L > high] may be less than any float; its logarithm's error is at most
    `TAIL_ERROR` + 8u·|log Q(L > high)|.
    """

    below: float
    above: float
    log_above_other: float


class Seam(Enum):
    """Where a law may be denser than any grid: at its lowest or highest loss, or at its centre."""

    NONE = "none"
    BOTTOM = "bottom"
    TOP = "top"
    CENTRE = "centre"


class LossLaw(Protocol):
    """The law under P of L = log dP/dQ for one ordered pair; equal laws hash alike."""

    def __hash__(self) -> int: ...

    @property
    def seam(self) -> Seam:
        """Where the law is dense."""

    @property
    def lattice(self) -> tuple[float, float] | None:
        """(offset, step): all atoms are at offset + step·ℤ. Step 0: one atom; None: none."""

    @property
    def cost(self) -> float:
        """The cost of a point, relative to that of most laws."""

    @property
    def highest(self) -> float:
        """The largest finite loss, or the supremum of all, within 8u; inf if there is none."""

    @property
    def infinite(self) -> float:
        """P(L = ∞), rounded up."""

    def loss_range(self, below: float, above: float) -> tuple[float, float]:
        """Losses l₀ < l₁ with P(L < l₀) ≤ `below` and P(L > l₁) ≤ `above`, about as tight."""

    def tails(self, low: float, high: float) -> Tails:
        """The masses strictly below `low` and strictly above `high`, infinity left out.

        Of the same sets as the points: what is within a rounding of an edge is counted once.
        """

    def points(self, edges: FloatArray) -> Points:
        """The law on [edges[0], edges[-1]], as points in the cells between increasing `edges`.

        A point within its `loss_error` of an edge may be counted in either cell.
        """

    def cuts(self, edges: FloatArray) -> FloatArray:
        """One point within each cell, such that pieces between cuts average about to the edges."""


def middles(edges: FloatArray) -> FloatArray:
    """The middles of the cells between edges."""
    return 0.5 * (edges[:-1] + edges[1:])


def joined(*parts: Points) -> Points:
    """All points of `parts`."""
    return Points(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def atoms_as_points(edges: FloatArray, losses: FloatArray, masses: FloatArray) -> Points:
    """Atoms with 16 u of relative error in loss and mass, as points between `edges`."""
    inside = (losses >= edges[0]) & (losses <= edges[-1]) & (masses > 0.0)
    losses, masses = losses[inside], masses[inside]
    cell = np.clip(np.searchsorted(edges, losses, side="right") - 1, 0, edges.size - 2)
    return Points(
        cell, losses, 16.0 * UNIT * np.abs(losses), masses, np.full(losses.size, 16.0 * UNIT)
    )


def panel_rule(
    edges: FloatArray, breaks: FloatArray, radius: FloatArray
) -> tuple[IntArray, FloatArray, FloatArray]:
    r"""Gauss–Legendre points for ∫ over each cell between `edges` of an analytic density.

    Cells are split at `breaks`, between which the panels' half-width is at most 1/8 of `radius`,
    the distance R over which the integrand extends analytically and grows by no more than e^5. On
    a panel of half-width w the Bernstein ellipse of parameter ρ = 2R/w then serves, and the rule
    of order n errs by at most (64/15)·e^5·ρ^{−2n}/(1−ρ^{−2}) relative to the integrand's size
    (Trefethen 2013, Theorem 19.3); the hat functions of a narrow cell are smaller than their
    continuation by at most w/R. Orders 2, 3, 5, 8 up to w/R = 1e-5, 0.001, 0.025, 0.125 keep the
    sum of all that below 3e-15, part of `RULE_ERROR`.

    Args:
      edges: Finite and non-decreasing, inside the hull of `breaks`.
      breaks: Increasing.
      radius: R for each interval between `breaks`.

    Returns:
      For each point the index of its cell, its place, and its weight.
    """
    inner = breaks[(breaks > edges[0]) & (breaks < edges[-1])]
    ends = np.sort(np.concatenate((edges, inner)))
    cell = np.searchsorted(edges, ends[:-1], side="right") - 1
    half, middle = 0.5 * np.diff(ends), 0.5 * (ends[:-1] + ends[1:])
    keep = half > 0.0
    cell, half, middle = cell[keep], half[keep], middle[keep]
    where = np.clip(np.searchsorted(breaks, middle) - 1, 0, radius.size - 1)
    relative = half / radius[where]

    chosen = np.searchsorted(np.array(_HALF_WIDTHS[:-1]), relative)
    cells, places, weights = [], [], []
    for which, (nodes, node_weights) in enumerate(_RULES):
        mask = chosen == which
        if not np.any(mask):
            continue
        places.append((middle[mask, None] + half[mask, None] * nodes).ravel())
        weights.append((half[mask, None] * node_weights).ravel())
        cells.append(np.repeat(cell[mask], nodes.size))
    if not cells:
        return np.zeros(0, np.int64), np.zeros(0), np.zeros(0)
    return np.concatenate(cells), np.concatenate(places), np.concatenate(weights)
