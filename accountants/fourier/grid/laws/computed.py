"""Loss laws that were computed as atoms, many and close together: as good as a density."""

import functools
import math
from dataclasses import dataclass, field

import numpy as np
from scipy import special

from accountants.arrays import FloatArray
from accountants.fourier.grid.laws.law import Points, Seam, Tails, atoms_as_points, middles


@dataclass(frozen=True, eq=False)
class ComputedLaw:
    """Exactly these atoms: what bounds the true law is decided by who computed them.

    Equal only to itself: whoever makes one keeps it.

    Attributes:
      losses: Non-decreasing.
      masses: P-masses, positive.
      infinite: P(L = ∞).
    """

    losses: FloatArray
    masses: FloatArray
    infinite: float
    lattice: None = field(default=None, init=False)
    cost: float = field(default=1.0, init=False)
    seam: Seam = field(default=Seam.NONE, init=False)

    @property
    def highest(self) -> float:
        """The last atom."""
        return float(self.losses[-1])

    @functools.cached_property
    def _below(self) -> FloatArray:
        return np.concatenate(([0.0], np.cumsum(self.masses)))

    @functools.cached_property
    def _above(self) -> FloatArray:
        return np.concatenate((np.cumsum(self.masses[::-1])[::-1], [0.0]))

    def loss_range(self, below: float, above: float) -> tuple[float, float]:
        """See `LossLaw`."""
        last = self.losses.size - 1
        low = min(int(np.searchsorted(self._below[1:], below, side="right")), last)
        high = max(last - int(np.searchsorted(self._above[-2::-1], above, side="right")), low)
        return float(self.losses[low]), float(self.losses[high])

    def tails(self, low: float, high: float) -> Tails:
        """See `LossLaw`."""
        first = int(np.searchsorted(self.losses, low, side="left"))
        last = int(np.searchsorted(self.losses, high, side="right"))
        log_other = -math.inf
        if last < self.losses.size:
            beyond = self.masses[last:] > 0.0
            if np.any(beyond):
                exponents = np.log(self.masses[last:][beyond]) - self.losses[last:][beyond]
                log_other = float(special.logsumexp(exponents))
        return Tails(float(self._below[first]), float(self._above[last]), log_other)

    def points(self, edges: FloatArray) -> Points:
        """The atoms; see `LossLaw`."""
        return atoms_as_points(edges, self.losses, self.masses)

    def cuts(self, edges: FloatArray) -> FloatArray:
        """The cells' middles; see `LossLaw`."""
        return middles(edges)
