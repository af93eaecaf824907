r"""A loss law on a grid, from above and from below.

Fix all factors of a composition but one. As a function of that factor's a = e^{−L},

    δ = E[f(a)],    f(a) = E_rest[(1 − e^{ε − L_rest}·a)₊],

with f convex, decreasing and non-negative. One factor after the other may therefore be replaced:

* **Upper bound** (connect the dots; Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022): mass between
  two neighbouring nodes goes to these two such that E[1] and E[a] are kept. The chord of a convex
  function lies above it. Mass above the last node goes to L = ∞, mass below the first to the first.
* **Lower bound**: any piece of mass may be gathered at one node whose a is no smaller than the
  piece's mean of a (Jensen, then monotonicity); mass may be dropped. The pieces reach from cut to
  cut, one cut per cell. A piece's part above its node must outweigh its part below; where it does
  not, the node takes only a fraction φ of the part below, and hands the rest to the next node
  down, where it counts as mass above. How much is handed down depends on the node above; iterating
  "φ ← the largest balanced fraction if the node above has its current φ" from φ = 1 gives, after
  every odd number of rounds, fractions that are balanced with slack (the map is decreasing).

On a smooth density both move E[a²] by O(h²) per factor.

**Rounding.** Points come with error bounds (`law`). Losses are shifted and masses scaled outwards by
them, by 8u for the arithmetic here, and by u per point of a cell for its sum. Two further facts
make this sufficient: an error of few u of a *cell's* mass at its lower node, where the exact share
may be tiny, is compensated by the scaling of the same cell's upper node, where f is larger; and a
balance may be missed by few u·h of the mass, for which `nudge` is there: the grid stands for losses
that are smaller by `nudge`. For laws on a lattice it also covers the losses' own errors, lest atoms
that fall short of their node by one rounding be gathered a whole step below.
"""

from dataclasses import dataclass

import numpy as np

from accountants.fourier.law import TAIL_ERROR, UNIT, FloatArray, LossLaw, Points

# Points of one cell that can add a rounding error to its sum: the others are below it themselves.
_MOST_SUMMANDS = 1500.0
_BALANCE_ROUNDS = 5


@dataclass(frozen=True)
class Grid:
    """Nodes offset + j·step for j = first, …, first + count − 1."""

    offset: float
    step: float
    first: int
    count: int

    @property
    def nodes(self) -> FloatArray:
        """The nodes' losses, each within 2u·(|offset| + |loss|)."""
        return self.offset + self.step * np.arange(self.first, self.first + self.count)

    @classmethod
    def covering(cls, offset: float, step: float, low: float, high: float) -> "Grid":
        """The nodes from one below `low` to one above `high`."""
        first = int(np.floor((low - offset) / step)) - 1
        last = int(np.ceil((high - offset) / step)) + 1
        return cls(offset, step, first, last - first + 1)


@dataclass(frozen=True)
class Discretised:
    """Masses at a grid's nodes, mass at infinity, and the `nudge` by which all losses are less."""

    grid: Grid
    masses: FloatArray
    infinite: float
    nudge: float


def _slack(points: Points, grid: Grid) -> FloatArray:
    """How far a point may be from its computed place relative to the grid."""
    return points.loss_error + 4.0 * UNIT * (np.abs(points.loss) + abs(grid.offset) + grid.step)


def _sum(cells: np.ndarray, values: FloatArray, size: int) -> FloatArray:
    return np.bincount(cells, weights=values, minlength=size)


def upper(law: LossLaw, grid: Grid) -> Discretised:
    """Masses whose δ, in any composition, is at least that of `law`: connect the dots."""
    nodes, step, count = grid.nodes, grid.step, grid.count
    points = law.points(nodes)
    place = np.clip(points.loss + _slack(points, grid) - nodes[points.cell], 0.0, None)
    over = place > step
    cell = points.cell + over
    place = np.where(over, place - step, place)

    mass = points.mass * (1.0 + points.mass_error + 8.0 * UNIT)
    share_above = np.expm1(-place) / np.expm1(-step)
    share_below = np.exp(-place) * (np.expm1(place - step) / np.expm1(-step))
    masses = _sum(cell, mass * share_below, count) + _sum(cell + 1, mass * share_above, count)
    summands = np.bincount(cell, minlength=count)
    masses *= 1.0 + UNIT * np.minimum(summands + np.roll(summands, 1) + 4.0, _MOST_SUMMANDS)

    below, above = law.tails(float(nodes[0]), float(nodes[-1]))
    masses[0] += below * (1.0 + TAIL_ERROR)
    return Discretised(grid, masses, law.infinite + above * (1.0 + TAIL_ERROR), 0.0)


def lower(law: LossLaw, grid: Grid) -> Discretised:
    """Masses whose δ, in any composition, is at most that of `law`: gathered pieces."""
    nodes, step, count = grid.nodes, grid.step, grid.count
    cuts = law.cuts(nodes)
    edges = np.empty(2 * count - 1)
    edges[0::2], edges[1::2] = nodes, cuts
    points = law.points(edges)
    slack = _slack(points, grid)
    nudge = 64.0 * UNIT * step
    if law.lattice is not None and slack.size:
        nudge += 2.0 * float(np.max(slack))

    cell, is_below = points.cell // 2, points.cell % 2 == 1
    place = points.loss - slack + nudge - nodes[cell]
    under = place < 0.0  # Below its node after all: it belongs to the part below that node.
    cell, is_below = cell - under, is_below | under
    place = np.where(under, np.maximum(place + step, 0.0), np.minimum(place, step))
    keep = cell >= 0
    cell, is_below, place = cell[keep], is_below[keep], place[keep]
    mass = points.mass[keep] * (1.0 - points.mass_error[keep] - 8.0 * UNIT)

    gain = -mass * np.expm1(-place)  # mass·(1 − a/a_node) relative to the node below
    high, low = ~is_below, is_below
    upper_mass = _sum(cell[high], mass[high], count)
    upper_gain = _sum(cell[high], gain[high], count)
    # The parts below a node are indexed by that node, cell + 1.
    lower_mass = _sum(cell[low] + 1, mass[low], count)
    lower_cost = _sum(cell[low] + 1, mass[low] * np.expm1(step - place[low]), count)
    lower_gain = _sum(cell[low] + 1, gain[low], count)
    summands = np.minimum(np.bincount(cell, minlength=count) + 4.0, _MOST_SUMMANDS)
    shrink = 1.0 - UNIT * (summands + np.roll(summands, 1))

    fraction = np.ones(count)
    for _ in range(_BALANCE_ROUNDS):
        total_gain = upper_gain.copy()
        total_gain[:-1] += (1.0 - fraction[1:]) * lower_gain[1:]
        with np.errstate(divide="ignore", invalid="ignore"):
            balanced = total_gain / lower_cost
        fraction = np.where(balanced < 1.0, balanced, 1.0)
    masses = upper_mass + fraction * lower_mass
    masses[:-1] += (1.0 - fraction[1:]) * lower_mass[1:]
    masses *= shrink
    _, above = law.tails(float(nodes[0]), float(nodes[-1]))
    masses[-1] += above * (1.0 - TAIL_ERROR)
    return Discretised(grid, masses, 0.0, nudge)
