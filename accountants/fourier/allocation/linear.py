r"""Sums of many lognormals on a linear grid: the mean of T copies of X without doubling.

Nodes jh are closed under addition, so that X is put on the grid once and its sum costs no more:
convex order is kept by sums of independent variables.

* **From above** a cell's mass goes to its two ends, its mean kept; the sum of T has the masses
  p^{*T}.
* **From below** a cell's mass p_j and mean are known as p_j and m_j = E[X; X in cell j]. The sum of
  the cells' indices has the law p^{*T}, and given that index the mean of the sum of the X is
  T·(p^{*(T−1)} * m) over it, since all T are alike. A conditional mean is smaller in convex order.

Both move the variance of X by O(h²), once, where doubling pays in each of its log₂T sums.

**Tilts.** p^{*T} is taken from three transforms: of p, and of p·e^{θx} for a θ at either tail. Each
bounds every mass from both sides (`convolve.Spectrum` bounds the errors of its masses), and each
node takes the best: 10⁻²² is as good as the bulk. With K(t) = T·log Σ p_j e^{t·jh}, what is beyond
the window that is read, [A, B], is at most e^{K(t) − tB} above, t > 0, and e^{K(t) − tA} below, t
< 0; its mean above B is at most B times that for tB ≥ 1 (x·e^{−tx} falls). What other turns of the
circle of circumference W add to a node, tilted, is at most e^{K(t) − K(θ) − (t−θ)·(C+W)} from above
and e^{K(t) − K(θ) + (θ−t)·C} from below, C being where the circle begins; it only adds, so that an
upper bound needs no such term.

**Jumps.** With little noise X is too wide for a grid. What is above some R is cut off, kept on
the geometric lattice, and put back: with b and r the two parts' laws,

    (b + r)^{*T} = Σ_m C(T, m) · b^{*(T−m)} * r^{*m},

m = 0 as above, and for the rare others both factors are brought onto the lattice, r^{*m} by m − 1
sums there. R is such that E[number of jumps] is small, and what more than `_MOST_JUMPS` of them
add, as mass and as mean, has a bound:
Σ_{m>M} C(T,m)·‖r‖^m·‖b‖^{T−m} ≤ (T‖r‖)^{M+1}/(M+1)!·‖b + r‖^T,
and with one X out of T counted by its mean instead, that + (T‖r‖)^M/M!·E[r], for ‖b + r‖ about 1.
"""

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from accountants.arrays import FloatArray, IntArray
from accountants.fourier.allocation.bracket import Bracket
from accountants.fourier.allocation.fused import Fused
from accountants.fourier.allocation.lattice import TAIL, TAIL_SLACK, taps
from accountants.fourier.allocation.spread import Spread
from accountants.fourier.allocation.tilted import LEAST_PART, Outline, Sums, TooLongError, sums
from accountants.fourier.grid.discretise import sum_at
from accountants.fourier.grid.laws.gaussian import GaussianMixtureLaw, Kind
from accountants.fourier.grid.laws.law import UNIT, Points

__all__ = ["mean_from_above", "mean_from_below"]

# Nodes in a standard deviation of the logarithm of the mean.
_FINE = 64.0
# Nodes in a standard deviation of X, and of the circle: what is tried.
_EFFORTS = ((80.0, 2**18), (80.0, 2**19), (40.0, 2**19), (40.0, 2**20))
_MOST_JUMPS = 12
# All powers of two: the lattice on which a jump is added, and how much coarser it is for several.
_JUMP_FINE, _WIDEST_JUMP_STEP, _JUMPS_COARSER = 64.0, 2.0**-9, 4.0
# A bulk for a jump to be added to is on a grid that is so much coarser; for several, on this.
_COARSER, _COARSEST = 2, 8
# R in standard deviations of the sum: where one jump is likelier than many small moves.
_STRAY = 5.0
_PROBES = 1001
_LEAST = 1e-27
# Relative errors of the parts from below.
_KNOWN = (2e-9, 1e-7, 1e-3)
# Jumps, on average, that are too many; what is rare enough to be bounded only.
_MANY, _NEGLIGIBLE = 0.05, 1e-23


@dataclass(frozen=True, eq=False)
class Grid:
    """Where X is put: nodes jh up to R, above which it jumps, if it does.

    Attributes:
      copies: T.
      shift: 1/σ.
      step: h.
      nodes: How many up to R, the last one.
      jumps: Whether anything is above R.
      outline: Of the sum of T.
    """

    copies: int
    shift: float
    step: float
    nodes: int
    jumps: bool
    outline: Outline

    @property
    def top(self) -> float:
        """The logarithm of R."""
        return math.log(self.step * self.nodes)

    @classmethod
    def choose(cls, copies: int, shift: float) -> "Grid":
        """The first of `_EFFORTS` that allows an R with few jumps, and the largest such R."""
        reach = -float(special.ndtri(TAIL))
        y = np.linspace(-reach, reach + shift, _PROBES)
        places = np.exp(shift * y - 0.5 * shift * shift)
        masses = np.exp(-0.5 * y * y) * (y[1] - y[0]) / math.sqrt(2.0 * math.pi)
        jumps = copies * np.append(np.cumsum(masses[:0:-1])[::-1], 0.0)
        deviation = math.sqrt(math.expm1(shift * shift))
        for fineness, most in _EFFORTS:
            step = 2.0 ** round(math.log2(deviation / fineness))
            last = int(np.searchsorted(places, _STRAY * deviation * math.sqrt(copies)))
            while last > 0 and jumps[last - 1] < _MANY:
                outline = Outline.of(places[:last], masses[:last], copies)
                if (outline.high - outline.low) / step < most - 16:
                    nodes = _COARSEST * math.ceil(places[last - 1] / step / _COARSEST)
                    return cls(copies, shift, step, nodes, last < places.size, outline)
                last = int(np.searchsorted(places, 0.6 * places[last - 1]))
        raise TooLongError(f"{copies} copies at noise multiplier {1.0 / shift}")

    def bulk_from_above(self) -> tuple[int, FloatArray]:
        """The first place and the masses of b, each cell's at its ends."""
        points, first, x, error = self._points(0.0)
        mass = points.mass * np.exp(-points.loss) * (1.0 + points.mass_error + 2.0 * error)
        at = points.cell
        share = np.clip((x - self.step * (first + at)) / self.step, 0.0, 1.0)
        slack = (error + 16.0 * UNIT) * x / self.step
        size = self.nodes + 1 - first
        masses = sum_at(at + 1, mass * (share + slack), size)
        masses += sum_at(at, mass * (1.0 - share + slack), size)
        # What is below the first cell: mass at 0 and, as if it were all there, at its upper end.
        under = TAIL * (1.0 + TAIL_SLACK)
        masses[1] += under
        if first:
            masses = np.concatenate((np.zeros(first), masses))
        masses[0] += under
        return 0, masses * (1.0 + UNIT * (256.0 + 2.0 * _most_in_a_cell(at)))

    def bulk_from_below(self) -> tuple[int, FloatArray, FloatArray, float]:
        """The first place, p and m, and a bound of their relative error."""
        points, first, _, _ = self._points(0.5)
        size = self.nodes + 1 - first
        error = points.loss_error + points.mass_error + 16.0 * UNIT * (1.0 + np.abs(points.loss))
        # Far points would lend all others their error: they are left out.
        mass = points.mass * np.exp(-points.loss)
        kept = (mass > _LEAST) | (points.mass > _LEAST)
        at = points.cell[kept]
        moments = sum_at(at, points.mass[kept], size)
        masses = sum_at(at, mass[kept], size)
        rounding = UNIT * (256.0 + 2.0 * _most_in_a_cell(at))
        return first, masses, moments, float(np.max(error[kept])) + rounding

    def _points(self, half: float) -> tuple[Points, int, FloatArray, FloatArray]:
        """Points of X in the cells between nodes, or, if `half` a step, around them."""
        lowest = self.shift * float(special.ndtri(TAIL)) - 0.5 * self.shift * self.shift
        first = max(0, math.floor(math.exp(lowest) / self.step))
        places = np.arange(first, self.nodes + 1, dtype=np.float64) - half
        if half:
            places = np.append(places, self.nodes)
        with np.errstate(divide="ignore", invalid="ignore"):
            edges = np.maximum(np.log(self.step * places), lowest)
        edges[0], edges[-1] = lowest, self.top
        points = GaussianMixtureLaw(Kind.REMOVE, (1.0,), (self.shift,)).points(edges)
        error = points.loss_error + 16.0 * UNIT * (1.0 + np.abs(points.loss))
        return points, first, np.exp(points.loss), error

    def coarser(self, factor: int) -> "Grid":
        """With a wider step, the jumps being the same."""
        return replace(self, step=factor * self.step, nodes=self.nodes // factor)


def mean_from_above(steps: int, noise_multiplier: float) -> Spread:
    """The mean of X, from above.

    Raises:
      TooLongError: No grid is long enough.
    """
    grid = Grid.choose(steps, 1.0 / noise_multiplier)
    first, masses = grid.bulk_from_above()
    bulk = sums(first, masses, grid.step, steps, outline=grid.outline)
    step = _log_step(steps, noise_multiplier)
    whole = _spread(bulk, grid, steps, step)
    if not grid.jumps:
        return whole
    jump_step = _jump_step(step)
    rare = Spread.lognormal(noise_multiplier, jump_step, grid.top)
    chance, mean = rare.totals()
    wide = grid.coarser(_COARSER)
    first, masses = wide.bulk_from_above()
    parts, jump, jumps = [whole], rare, 0
    rest = steps * chance
    while rest > _NEGLIGIBLE and jumps < min(_MOST_JUMPS, steps - 2):
        jumps += 1
        if jumps == 2:
            wide = grid.coarser(_COARSEST)
            first, masses = wide.bulk_from_above()
            rare = rare.on(_JUMPS_COARSER * jump_step)
        if jumps > 1:
            jump = jump.on(rare.step).plus(rare, (jumps - 1) / jumps, 1)
        jump = jump.scaled((steps - jumps + 1) / jumps)
        others = sums(first, masses, wide.step, steps - jumps, outline=wide.outline)
        around = _spread(others, wide, steps - jumps, jump.step)
        parts.append(jump.plus(around, jumps / steps, 1))
        rest = (steps * chance) ** (jumps + 1) / math.factorial(jumps + 1)
    rest_mean = rest + mean * (steps * chance) ** jumps / math.factorial(jumps)
    grown = 1.0 + 1e-6
    return Spread.united(parts, step, rest * grown, rest_mean * grown)


def _most_in_a_cell(cells: IntArray) -> float:
    """How many summands a cell has at most."""
    return float(np.max(np.bincount(cells)))


def _log_step(steps: int, noise_multiplier: float) -> float:
    """A step of the geometric lattice: a power of two."""
    deviation = math.sqrt(math.log1p(math.expm1(noise_multiplier**-2) / steps))
    return 2.0 ** round(math.log2(deviation / _FINE))


def _jump_step(step: float) -> float:
    return min(_WIDEST_JUMP_STEP, step * _FINE / _JUMP_FINE)


def _spread(bulk: Sums, grid: Grid, copies: int, step: float) -> Spread:
    """The mean of `copies`, on the geometric lattice."""
    places = grid.step * (bulk.first + np.arange(bulk.upper.size, dtype=np.float64)) / copies
    zero = bulk.beyond_below + bulk.beyond_above
    positive = places > 0.0
    zero += float(np.sum(bulk.upper[~positive]))
    nodes, below, above = taps(np.log(places[positive]), step)
    masses = bulk.upper[positive]
    first = int(nodes[0])
    size = int(nodes[-1]) - first + 2
    out = sum_at(nodes - first, below * masses, size)
    out += sum_at(nodes - first + 1, above * masses, size)
    summands = np.bincount(nodes - first, minlength=size) + 1
    out *= 1.0 + UNIT * (2.0 * float(np.max(summands)) + 64.0)
    # What is below goes to 0 and to the first node; of what is above e^{K − tB} bounds the mass,
    # and B or 1/t times it the mean.
    out[0] += bulk.beyond_below
    furthest = max(float(places[-1]), 1.0 / (LEAST_PART * grid.outline.near[1] * copies))
    infinite = bulk.beyond_above * furthest * (1.0 + 1e-6)
    return Spread(first, step, out, zero * (1.0 + 1e-6), infinite)


def mean_from_below(steps: int, noise_multiplier: float) -> Bracket:
    """The mean of X, from below.

    Raises:
      TooLongError: No grid is long enough.
    """
    grid = Grid.choose(steps, 1.0 / noise_multiplier)
    # Cells are at their indices, not at their means, so that the sum's outline is its own.
    first, masses, moments, error = grid.bulk_from_below()
    bulk = sums(first, masses, grid.step, steps, moments=moments)
    step = _log_step(steps, noise_multiplier)
    parts = _fused(bulk, grid, steps, step, error)
    if not grid.jumps:
        return Bracket.of(parts, step)
    jump_step = _jump_step(step)
    rare = Fused.lognormal(noise_multiplier, jump_step, grid.top)
    chance = float(np.sum(rare.masses))
    wide = grid.coarser(_COARSER)
    first, masses, moments, error = wide.bulk_from_below()
    jump, jumps = rare, 0
    rest = steps * chance
    while rest > _NEGLIGIBLE and jumps < min(_MOST_JUMPS, steps - 2):
        jumps += 1
        if jumps == 2:
            wide = grid.coarser(_COARSEST)
            first, masses, moments, error = wide.bulk_from_below()
            rare = rare.on(_JUMPS_COARSER * jump_step)
        if jumps > 1:
            jump = jump.on(rare.step).plus(rare, (jumps - 1) / jumps, 1)
        jump = jump.scaled((steps - jumps + 1) / jumps)
        others = sums(first, masses, wide.step, steps - jumps, moments=moments)
        for around in _fused(others, wide, steps - jumps, jump.step, error):
            parts.append(jump.plus(around, jumps / steps, 1))
        rest = (steps * chance) ** (jumps + 1) / math.factorial(jumps + 1)
    return Bracket.of(parts, step)


def _fused(bulk: Sums, grid: Grid, copies: int, step: float, error: float) -> list[Fused]:
    """The mean of `copies`, on the geometric lattice, in parts that are known about as well."""
    assert bulk.moment_lower is not None
    assert bulk.moment_upper is not None
    masses, width = 0.5 * (bulk.upper + bulk.lower), 0.5 * (bulk.upper - bulk.lower)
    moments = 0.5 * (bulk.moment_upper + bulk.moment_lower)
    moment_width = 0.5 * (bulk.moment_upper - bulk.moment_lower)
    known = (bulk.lower > 0.0) & (bulk.moment_lower > 0.0)
    off = np.full(masses.size, np.inf)
    off[known] = np.maximum(width[known] / masses[known], moment_width[known] / moments[known]) * (
        1.0 + 1e-9
    )
    found = []
    for better, worst in itertools.pairwise((0.0, *_KNOWN)):
        kept = (off <= worst) & (off > better) if better else off <= worst
        if not np.any(kept):
            continue
        means = np.log(moments[kept] / (copies * masses[kept]))
        nodes = np.rint(means / step).astype(np.int64)
        first = int(np.min(nodes))
        size = int(np.max(nodes)) - first + 1
        out = sum_at(nodes - first, masses[kept], size)
        out_moments = sum_at(nodes - first, moments[kept] / copies, size)
        summands = float(np.max(np.bincount(nodes - first)))
        off_all = min(worst, float(np.max(off[kept]))) + copies * error + UNIT * (summands + 64.0)
        found.append(Fused(first, step, out, out_moments, off_all))
    return found
