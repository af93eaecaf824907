r"""A loss law on a grid, from above and from below.

Fix all factors of a composition but one. As a function of that factor's a = e^{−L},

    δ = E[f(a)],    f(a) = E_rest[(1 − e^{ε − L_rest}·a)₊],

with f convex, decreasing and non-negative. One factor after the other may therefore be replaced:

* **Upper bound** (connect the dots; Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022): mass
  between two neighbouring nodes goes to these two such that E[1] and E[a] are kept. The chord of a
  convex function lies above it. Mass above the last node goes to it and to L = ∞, where a = 0, by
  the same rule; mass below the first node goes to the first.
* **Lower bound**: any piece of mass may be gathered at one node whose a is no smaller than the
  piece's mean of a (Jensen, then monotonicity); mass may be dropped. The pieces reach from cut to
  cut, one cut per cell. A piece's part above its node must outweigh its part below; where it does
  not, the node takes only a fraction φ of the part below, and hands the rest to the next node
  down, where it counts as mass above. How much is handed down depends on the node above; iterating
  "φ ← the largest balanced fraction if the node above has its current φ" from φ = 1 gives, after
  every odd number of rounds, fractions that are balanced with slack (the map is decreasing).
  Near the loss where the law is dense (`LossLaw.seam`), perhaps within a single cell, the pieces
  are grown one after the other instead, each until it averages to its node (`gather`).

On a smooth density both move E[a²] by O(h²) per factor. The nodes may be any subset of a lattice:
where a loss is rare, they are further apart (`outlook.Outlook.grid`).

**Rounding.** Points come with error bounds (`law`). Losses are shifted and masses scaled outwards
by them, by 8u for the arithmetic here, and by u per point of a cell for its sum. Two further facts
make this sufficient: an error of few u of a *cell's* mass at its lower node, where the exact share
may be tiny, is compensated by the scaling of the same cell's upper node, where f is larger; and a
balance may be missed by few u times the piece's width, for which `nudge` is there: the grid stands
for losses that are smaller by `nudge`. It also covers the errors of losses at a node, lest an atom
that falls short of its node by one rounding be gathered a whole step below.

Mass above the last node is known by its P- and its Q-mass (`LossLaw.tails`): e^top·Q of it stays at
the last node (upper), and log(P/Q) is the loss with its mean of a (lower), less `_beyond_error`.
"""

import math
from dataclasses import dataclass

import numpy as np

from accountants.arrays import FloatArray, IntArray
from accountants.fourier.grid.laws.law import TAIL_ERROR, UNIT, LossLaw, Points, Seam, Tails
from accountants.fourier.grid.pieces import gather

_BALANCE_ROUNDS = 5
# Cells wider than this are not balanced at all: e^width would overflow.
_WIDEST = 600.0
# Cells next to the seam whose pieces are grown one by one, and into how many parts they are cut.
_GATHERED = 400
_PARTS = 8


@dataclass(frozen=True)
class Grid:
    """Nodes offset + j·step for increasing integers j = `indices`."""

    offset: float
    step: float
    indices: IntArray

    @property
    def nodes(self) -> FloatArray:
        """The nodes' losses, each within 2u·(|offset| + |loss|)."""
        return self.offset + self.step * self.indices.astype(np.float64)


@dataclass(frozen=True)
class Discretised:
    """Masses at a grid's nodes, mass at infinity, and the `nudge` by which all losses are less."""

    grid: Grid
    masses: FloatArray
    infinite: float
    nudge: float


def upper(law: LossLaw, grid: Grid) -> Discretised:
    """Masses whose δ, in any composition, is at least that of `law`: connect the dots."""
    points = law.points(grid.nodes)
    return _connect(law, grid, points, points.cell)


def lower(law: LossLaw, grid: Grid) -> Discretised:
    """Masses whose δ, in any composition, is at most that of `law`: gathered pieces."""
    cells = _Cells(law, grid)
    return _gather_pieces(law, grid, law.points(cells.edges), cells)


def both(law: LossLaw, grid: Grid) -> tuple[Discretised, Discretised]:
    """`upper` and `lower` from the same points, which is most of the work."""
    cells = _Cells(law, grid)
    points = law.points(cells.edges)
    above = _connect(law, grid, points, cells.cell_of_part[points.cell])
    return above, _gather_pieces(law, grid, points, cells)


class _Cells:
    """The cells between nodes, cut into two parts; near the seam into `_PARTS`.

    Attributes:
      edges: The parts' edges.
      cell_of_part: For each part its cell; cell k has node k below and node k + 1 above.
      is_high: For each part whether it is nearer to the node above, beyond the cell's cut.
      upwards, downwards: Slices of the parts to be gathered, from the seam on.
    """

    def __init__(self, law: LossLaw, grid: Grid) -> None:
        nodes = grid.nodes
        count = nodes.size - 1
        parts = np.full(count, 2)
        seam = law.seam
        start = 0
        if seam is Seam.BOTTOM:
            parts[:_GATHERED] = _PARTS
        elif seam is Seam.TOP:
            parts[-_GATHERED:] = _PARTS
        elif seam is Seam.CENTRE:
            start = int(np.clip(np.searchsorted(grid.indices, 0), 1, count - 1))
            parts[max(start - _GATHERED, 0) : start + _GATHERED] = _PARTS
        self.cell_of_part = np.repeat(np.arange(count), parts)
        firsts = np.cumsum(parts) - parts
        rank = np.arange(self.cell_of_part.size) - firsts[self.cell_of_part]
        share = rank / parts[self.cell_of_part]
        width = np.diff(nodes)
        self.edges = np.append(
            nodes[self.cell_of_part] + share * width[self.cell_of_part], nodes[-1]
        )
        halved = parts == 2
        self.edges[firsts[halved] + 1] = law.cuts(nodes)[halved]
        self.is_high = 2 * rank >= parts[self.cell_of_part]

        total = self.cell_of_part.size
        fine = np.flatnonzero(parts == _PARTS)
        self.upwards = self.downwards = slice(0, 0)
        if seam is Seam.BOTTOM:
            self.upwards = slice(0, int(firsts[fine[-1]]) + _PARTS)
        elif seam is Seam.TOP:
            self.downwards = slice(int(firsts[fine[0]]), total)
        elif seam is Seam.CENTRE:
            # The half cells next to the central node are its own piece.
            self.upwards = slice(int(firsts[start]) + _PARTS // 2, int(firsts[fine[-1]]) + _PARTS)
            self.downwards = slice(int(firsts[fine[0]]), int(firsts[start]) - _PARTS // 2)


def _slack(points: Points, grid: Grid) -> FloatArray:
    """How far a point may be from its computed place relative to the grid."""
    return points.loss_error + 4.0 * UNIT * (np.abs(points.loss) + abs(grid.offset) + grid.step)


def sum_at(places: IntArray, values: FloatArray, size: int) -> FloatArray:
    """Sums of `values` that share a place; floats also where there is nothing to sum."""
    return np.bincount(places, weights=values, minlength=size).astype(np.float64, copy=False)


def _connect(law: LossLaw, grid: Grid, points: Points, cell: IntArray) -> Discretised:
    nodes = grid.nodes
    count = nodes.size
    # The last cell, from the last node to L = ∞, is infinitely wide: the same formula serves.
    widths = np.append(np.diff(nodes), np.inf)
    place = np.maximum(points.loss + _slack(points, grid) - nodes[cell], 0.0)
    over = place > widths[cell]
    if np.any(over):
        place[over] -= widths[cell[over]]
        cell = cell + over
    width = widths[cell]

    mass = points.mass * (1.0 + points.mass_error + 8.0 * UNIT)
    whole = np.expm1(-widths)[cell]
    share_above = np.expm1(-place) / whole
    share_below = np.exp(-place) * (np.expm1(np.minimum(place - width, 0.0)) / whole)
    masses = sum_at(cell, mass * share_below, count + 1)
    masses += sum_at(cell + 1, mass * share_above, count + 1)
    summands = np.bincount(cell, minlength=count + 1)
    masses *= 1.0 + UNIT * (summands + np.roll(summands, 1) + 4.0)

    top = float(nodes[-1])
    tails = law.tails(float(nodes[0]), top)
    masses[0] += tails.below * (1.0 + TAIL_ERROR)
    # Mass above the last node: as much of it stays there as has its Q-mass, or less.
    beyond = tails.above * (1.0 + TAIL_ERROR)
    log_stays = tails.log_above_other + top - _beyond_error(tails, grid)
    stays = math.exp(log_stays) if beyond > 0.0 and log_stays < math.log(beyond) else beyond
    masses[-2] += stays
    infinite = law.infinite + (masses[-1] + (beyond - stays)) * (1.0 + 4.0 * UNIT) + 5e-324
    return Discretised(grid, masses[:-1], infinite, 0.0)


def _beyond_error(tails: Tails, grid: Grid) -> float:
    """The error of top + log Q(L > top): of the tail, and of losses relative to the grid."""
    size = abs(float(grid.nodes[-1])) + abs(grid.offset) + grid.step
    log_size = abs(tails.log_above_other) if math.isfinite(tails.log_above_other) else 0.0
    return 2.0 * TAIL_ERROR + 16.0 * UNIT * (4.0 * size + log_size)


def _gather_pieces(law: LossLaw, grid: Grid, points: Points, cells: _Cells) -> Discretised:
    nodes = grid.nodes
    count = nodes.size
    widths = np.append(np.diff(nodes), grid.step)
    slack = _slack(points, grid)
    loss = points.loss - slack
    mass = points.mass * (1.0 - points.mass_error - 8.0 * UNIT)
    part = points.cell
    nudge = 64.0 * UNIT * grid.step
    masses = np.zeros(count)

    if (law.lattice is not None or law.highest < math.inf) and slack.size:
        # Points at a node go there, whichever side rounding puts them on.
        nearest = np.clip(np.searchsorted(nodes, points.loss - 0.5 * grid.step), 0, count - 1)
        at_node = np.abs(points.loss - nodes[nearest]) <= 2.0 * slack
        nudge += 4.0 * float(np.max(slack[at_node], initial=0.0))
        masses += sum_at(nearest[at_node], mass[at_node], count)
        loss, mass, part = loss[~at_node], mass[~at_node], part[~at_node]

    # No point may lie below its cell; by how much rounding lets it, the nudge makes up for.
    bottom = nodes[cells.cell_of_part[part]]
    nudge += max(float(np.max(bottom - loss, initial=0.0)), 0.0)
    place = np.maximum(loss + nudge - bottom, 0.0)
    # Sums per part, relative to the cell's lower node: mass, and mass·(1 − a/a_node).
    part_count = cells.cell_of_part.size
    part_mass = sum_at(part, mass, part_count)
    part_gain = sum_at(part, -mass * np.expm1(-place), part_count)
    summands = np.bincount(part, minlength=part_count) + 16.0
    part_mass *= 1.0 - UNIT * summands
    part_gain *= 1.0 - 2.0 * UNIT * summands
    worst = UNIT * float(np.max(summands))

    for parts, direction in ((cells.upwards, 1), (cells.downwards, -1)):
        reach = gather(nodes, cells.cell_of_part, part_mass, part_gain, parts, direction, masses)
        nudge += 4.0 * worst * reach

    high = cells.is_high
    upper_mass = sum_at(cells.cell_of_part[~high], part_mass[~high], count)
    upper_gain = sum_at(cells.cell_of_part[~high], part_gain[~high], count)
    # The parts below a node are indexed by that node.
    lower_mass = sum_at(cells.cell_of_part[high] + 1, part_mass[high], count)
    lower_gain = sum_at(cells.cell_of_part[high] + 1, part_gain[high], count)
    below = np.minimum(np.roll(widths, 1), _WIDEST)
    # mass·(a/a_node − 1) relative to the upper node, from that relative to the lower one.
    lower_cost = np.expm1(below) * lower_mass - np.exp(below) * lower_gain
    lower_cost = np.maximum(lower_cost, 0.0) + (2.0 * worst + 32.0 * UNIT) * below * lower_mass

    fraction = np.ones(count)
    for _ in range(_BALANCE_ROUNDS):
        total_gain = upper_gain.copy()
        total_gain[:-1] += (1.0 - fraction[1:]) * lower_gain[1:]
        with np.errstate(divide="ignore", invalid="ignore"):
            balanced = np.where(below < _WIDEST, total_gain / lower_cost, 0.0)
        fraction = np.where(balanced < 1.0, balanced, 1.0)
    masses += upper_mass + fraction * lower_mass
    masses[:-1] += (1.0 - fraction[1:]) * lower_mass[1:]
    masses *= 1.0 - 16.0 * UNIT
    return _with_tail(law, Discretised(grid, masses, 0.0, nudge))


def _with_tail(law: LossLaw, part: Discretised) -> Discretised:
    """All mass above the last node, added at one node no higher than where e^{−L} is its mean."""
    grid, masses = part.grid, part.masses
    top = float(grid.nodes[-1])
    tails = law.tails(float(grid.nodes[0]), top)
    if tails.above <= 0.0:
        return part
    mean = math.log(tails.above) - tails.log_above_other - 2.0 * _beyond_error(tails, grid)
    further = math.floor((mean - top) / grid.step)
    mass = tails.above * (1.0 - TAIL_ERROR)
    if further > 0:
        indices = np.append(grid.indices, grid.indices[-1] + further)
        grid = Grid(grid.offset, grid.step, indices)
        masses = np.append(masses, mass)
    else:
        masses[-1 if further == 0 else -2] += mass
    return Discretised(grid, masses, 0.0, part.nudge)
