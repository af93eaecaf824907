r"""Loss laws of Laplace noise, continuous and discrete, seen from their highest loss downwards.

At depth z below its highest loss the P-mass of either law falls as e^{−z/2}, whatever the noise:
neither a law of a very large loss nor one of very many atoms takes more points than another. Both
pairs are symmetric: the mirror image of the noise exchanges P and Q, so Q(L > l) = P(L < −l).
"""

import functools
import math
from dataclasses import dataclass, field

import numpy as np

from accountants.arrays import FloatArray, IntArray
from accountants.fourier.grid.laws.law import (
    RULE_ERROR,
    UNIT,
    Points,
    Seam,
    Tails,
    atoms_as_points,
    joined,
    middles,
    panel_rule,
)

# At this depth e^{−z/2} is below the smallest float.
_DEEPEST = 1500.0
# Cells of discrete Laplace losses are cut where they are this wide.
_WIDEST = 0.125


@dataclass(frozen=True)
class LaplaceLaw:
    r"""Lap(0, s) against Lap(1, s): L = (|y−1| − |y|)/s.

    Atoms at ±1/s of P-mass 1/2 and e^{−1/s}/2; between them the density e^{−z/2}/4 at depth
    z = 1/s − l. So P(L < l) = e^{−z/2}/2.
    """

    scale: float
    infinite: float = field(default=0.0, init=False)
    cost: float = field(default=1.0, init=False)
    seam: Seam = field(default=Seam.NONE, init=False)

    @property
    def lattice(self) -> tuple[float, float]:
        """The atoms lie at ±1/s."""
        return self.highest, 2.0 * self.highest

    @property
    def highest(self) -> float:
        """The upper atom."""
        return 1.0 / self.scale

    def loss_range(self, below: float, above: float) -> tuple[float, float]:
        """The atoms, or where e^{−z/2}/2 has fallen to `below`; see `LossLaw`."""
        top = self.highest
        return max(-top, top + 2.0 * math.log(2.0 * below)), top

    def _log_below(self, loss: float) -> float:
        """Log P(L < loss)."""
        if loss <= -self.highest:
            return -math.inf
        return 0.5 * (loss - self.highest) - math.log(2.0) if loss <= self.highest else 0.0

    def tails(self, low: float, high: float) -> Tails:
        """The masses beyond; see `LossLaw`."""
        depth = self.highest - high
        above = 1.0 - 0.5 * math.exp(-0.5 * depth) if depth > 0.0 else 0.0
        if high < -self.highest:
            above = 1.0
        return Tails(math.exp(self._log_below(low)), above, self._log_below(-high))

    def points(self, edges: FloatArray) -> Points:
        """Both atoms, and Gauss–Legendre points between them; see `LossLaw`."""
        top = self.highest
        bottom = min(2.0 * top, _DEEPEST)
        breaks = np.linspace(0.0, bottom, 2 + int(4.0 * bottom))
        depths = np.clip(top - edges[::-1], 0.0, bottom)
        cell, depth, weight = panel_rule(depths, breaks, np.ones(breaks.size - 1))
        density = Points(
            edges.size - 2 - cell,
            top - depth,
            np.full(depth.size, 4.0 * UNIT * top),
            0.25 * weight * np.exp(-0.5 * depth),
            RULE_ERROR + 4.0 * UNIT * depth,
        )
        ends = atoms_as_points(edges, np.array([-top, top]), np.array([0.5 * math.exp(-top), 0.5]))
        ends = ends._replace(mass_error=ends.mass_error + 4.0 * UNIT * top)
        return joined(density, ends)

    def cuts(self, edges: FloatArray) -> FloatArray:
        """The cells' middles: the density of E[e^{−L}] balances that of P; see `LossLaw`."""
        return middles(edges)


@dataclass(frozen=True)
class DiscreteLaplaceLaw:
    r"""The law ∝ e^{−a|x|} on the integers against its shift by Δ: L = a·(|x−Δ| − |x|).

    With x cut to [0, Δ], which L does not see, the loss is a·(Δ − 2x). P(x ≥ k) is e^{−ak}/(1 +
    e^{−a}) for k ≥ 1.

    A run of n atoms from x = k on, none of them at an end, is handed over as its two outermost
    ones: with the P- and Q-mass of the run their P-masses are

        tanh(a/2)·e^{−ak}·c  and  tanh(a/2)·e^{−ak}·c·e^{−a(n−1)},
        c = (1 − e^{−an}) / ((1 − e^{−a})·(1 + e^{−a(n−1)})).

    For with t = x − k the share of an atom that goes to the lowest is (e^{2at} − 1)/(e^{2a(n−1)} −
    1), Σ e^{−at}·(e^{2at} − 1) = 2Σ sinh(at) = 2·sinh(a(n−1)/2)·sinh(an/2)/sinh(a/2), and the
    mirror image of the run gives the highest's share.
    """

    noise_parameter: float
    shift: int
    infinite: float = field(default=0.0, init=False)
    cost: float = field(default=1.0, init=False)
    seam: Seam = field(default=Seam.NONE, init=False)

    @property
    def lattice(self) -> tuple[float, float]:
        """The atoms are 2a apart, from aΔ downwards."""
        return self.highest, 2.0 * self.noise_parameter

    @property
    def highest(self) -> float:
        """The upper end."""
        return self.noise_parameter * self.shift

    @functools.cached_property
    def _end(self) -> float:
        """P(x ≤ 0)."""
        return 1.0 / (1.0 + math.exp(-self.noise_parameter))

    def loss_range(self, below: float, above: float) -> tuple[float, float]:
        """The extreme atoms, or where e^{−z/2} has fallen to `below`; see `LossLaw`."""
        top = self.highest
        return max(-top, top + 2.0 * math.log(below)), top

    def _losses(self, x: IntArray) -> FloatArray:
        return self.noise_parameter * (self.shift - 2 * x).astype(np.float64)

    def _count_above(self, losses: FloatArray) -> IntArray:
        """How many atoms are strictly above each of `losses`, as computed."""
        wanted = 0.5 * (self.shift - losses / self.noise_parameter)
        count = np.ceil(np.clip(wanted, 0.0, self.shift + 1.0)).astype(np.int64)
        for _ in range(2):
            count += (count <= self.shift) & (self._losses(count) > losses)
            count -= (count > 0) & (self._losses(count - 1) <= losses)
        return count

    def _log_from(self, x: int) -> float:
        """Log P(x′ ≥ x) for the cut x′."""
        if x <= 0:
            return 0.0
        return math.log(self._end) - self.noise_parameter * x if x <= self.shift else -math.inf

    def tails(self, low: float, high: float) -> Tails:
        """The masses beyond; see `LossLaw`."""
        not_below = int(self._count_above(np.array([math.nextafter(low, -math.inf)]))[0])
        count = int(self._count_above(np.array([high]))[0])
        # Q of the first `count` atoms is P of the last ones.
        return Tails(
            math.exp(self._log_from(not_below)),
            -math.expm1(self._log_from(count)),
            self._log_from(self.shift + 1 - count),
        )

    def points(self, edges: FloatArray) -> Points:
        """The two ends, and two atoms for the run in each cell; see `LossLaw`."""
        a, top = self.noise_parameter, self.highest
        low, high = max(edges[0], top - _DEEPEST), min(edges[-1], top)
        cuts = np.arange(high, low, -_WIDEST)[:0:-1]
        cuts = np.unique(np.concatenate((edges, cuts)))
        # Between cuts are the x from above[i + 1] on to above[i]; the highest cut is inclusive.
        above = self._count_above(np.append(np.nextafter(cuts[:-1], -math.inf), cuts[-1]))
        first, stop = np.maximum(above[1:], 1), np.minimum(above[:-1], self.shift)
        cell = np.clip(np.searchsorted(edges, cuts[:-1], side="right") - 1, 0, edges.size - 2)
        some = stop > first
        first, stop, cell = first[some], stop[some], cell[some]
        last, size = stop - 1, (stop - first).astype(np.float64)
        depth = a * first
        mass = math.tanh(0.5 * a) * np.exp(-depth) * np.expm1(-a * size) / math.expm1(-a)
        mass /= 1.0 + np.exp(-a * (size - 1.0))
        x = np.concatenate((last, first))
        losses = self._losses(x)
        inner = Points(
            np.concatenate((cell, cell)),
            losses,
            4.0 * UNIT * np.abs(losses),
            np.concatenate((mass * np.exp(-a * (size - 1.0)), mass)),
            UNIT * (64.0 + 4.0 * np.concatenate((depth + a * size, depth))),
        )
        outer = np.array([math.exp(self._log_from(self.shift)), self._end])
        ends = atoms_as_points(edges, np.array([-top, top]), outer)
        return joined(inner, ends._replace(mass_error=ends.mass_error + 4.0 * UNIT * top))

    def cuts(self, edges: FloatArray) -> FloatArray:
        """The cells' middles; see `LossLaw`."""
        return middles(edges)
