r"""The loss law of the worst mechanism of bounded range, such as the exponential mechanism.

If the losses of all outcomes lie within an interval of length ε, then H_α is largest for two
outcomes of losses t and t − ε, for some t that depends on α (Dong, Durfee, Rogers 2020, Lemma 3.2).
P's chance of the first is (e^ε − e^t)/(e^ε − 1), so that with α = e^y

    H_α = max_t (e^ε − e^t)(1 − e^{y−t})/(e^ε − 1) = (e^{ε/2} − e^{y/2})²/(e^ε − 1),    |y| ≤ ε,

at t = (ε + y)/2. This is itself the profile of a pair, so that the pair dominates, and composes
adaptively (Zhu, Dong, Wang 2022, Theorem 10), where each step may choose another t. From −dH/dy its
loss has at depth z = ε − l the P-density e^{−z/2}/(2·(1 − e^{−ε})), 0 ≤ z ≤ 2ε: that of Laplace
noise without the atoms. The pair is symmetric: y ↦ −y exchanges P and Q.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from accountants.arrays import FloatArray
from accountants.fourier.grid.laws.law import (
    RULE_ERROR,
    UNIT,
    Points,
    Seam,
    Tails,
    middles,
    panel_rule,
)

# At this depth e^{−z/2} is below the smallest float.
_DEEPEST = 1500.0


@dataclass(frozen=True)
class BoundedRangeLaw:
    """The dominating pair of all mechanisms of bounded range `highest`."""

    highest: float
    infinite: float = field(default=0.0, init=False)
    cost: float = field(default=1.0, init=False)
    seam: Seam = field(default=Seam.NONE, init=False)
    lattice: None = field(default=None, init=False)

    def loss_range(self, below: float, above: float) -> tuple[float, float]:
        """Where e^{−z/2} has fallen to `below`, and the highest loss; see `LossLaw`."""
        return max(-self.highest, self.highest + 2.0 * math.log(below)), self.highest

    def _log_below(self, loss: float) -> float:
        """Log P(L < loss) = log(e^{−z/2} − e^{−ε}) − log(1 − e^{−ε})."""
        if loss <= -self.highest:
            return -math.inf
        if loss >= self.highest:
            return 0.0
        share = math.expm1(-0.5 * (self.highest + loss)) / math.expm1(-self.highest)
        return 0.5 * (loss - self.highest) + math.log(share)

    def tails(self, low: float, high: float) -> Tails:
        """The masses beyond; see `LossLaw`."""
        depth = min(max(self.highest - high, 0.0), 2.0 * self.highest)
        above = math.expm1(-0.5 * depth) / math.expm1(-self.highest)
        return Tails(math.exp(self._log_below(low)), above, self._log_below(-high))

    def points(self, edges: FloatArray) -> Points:
        """Gauss–Legendre points; see `LossLaw`."""
        top = self.highest
        bottom = min(2.0 * top, _DEEPEST)
        breaks = np.linspace(0.0, bottom, 2 + int(4.0 * bottom))
        depths = np.clip(top - edges[::-1], 0.0, bottom)
        cell, depth, weight = panel_rule(depths, breaks, np.ones(breaks.size - 1))
        return Points(
            edges.size - 2 - cell,
            top - depth,
            np.full(depth.size, 4.0 * UNIT * top),
            -0.5 * weight * np.exp(-0.5 * depth) / math.expm1(-top),
            RULE_ERROR + 4.0 * UNIT * depth + 16.0 * UNIT,
        )

    def cuts(self, edges: FloatArray) -> FloatArray:
        """The cells' middles, as for Laplace noise; see `LossLaw`."""
        return middles(edges)
