r"""The loss law of the discrete Gaussian: mass ∝ e^{−x²/2s²} at integers x, against its shift by Δ.

L(x) = Δ(Δ − 2x)/(2s²) falls in x, and x ↦ Δ − x exchanges P and Q: the pair is symmetric. No
shorter shift costs more: the mass is log-concave, so that H_α is attained on a half-line, H_α =
max_t F(t) − α·F(t − Δ) with F the distribution function, which rises in Δ for each t.
"""

import functools
import math
from dataclasses import dataclass, field

import numpy as np
from scipy import special

from accountants.arrays import FloatArray
from accountants.fourier.grid.laws.law import UNIT, Points, Seam, Tails, middles

# Parameters s beyond which all atoms beyond are too many; within, they are summed in pairs.
MOST_NOISE = 8192.0
# Parameters beyond which the mass is below the smallest float.
_REACH = 39.0


@dataclass(frozen=True)
class DiscreteGaussianLaw:
    """Noise of parameter `deviation` = s against its shift by `shift` = Δ."""

    deviation: float
    shift: int
    infinite: float = field(default=0.0, init=False)
    cost: float = field(default=1.0, init=False)
    seam: Seam = field(default=Seam.NONE, init=False)
    highest: float = field(default=math.inf, init=False)

    @property
    def lattice(self) -> tuple[float, float]:
        """L(0), and the step Δ/s²."""
        step = self.shift / self.deviation / self.deviation
        return 0.5 * self.shift * step, step

    @functools.cached_property
    def _atoms(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Losses, increasing, logarithms of masses, and masses."""
        reach = math.ceil(_REACH * self.deviation)
        x = np.arange(reach, -reach - 1, -1, dtype=np.float64)
        exponent = -0.5 * (x / self.deviation) ** 2
        log_mass = exponent - math.log(float(np.sum(np.exp(exponent))))
        losses = 0.5 * self.shift / self.deviation * ((self.shift - 2.0 * x) / self.deviation)
        mass = np.exp(log_mass)
        some = mass > 0.0
        return losses[some], log_mass[some], mass[some]

    def loss_range(self, below: float, above: float) -> tuple[float, float]:
        """The atoms beyond which there is no more mass; see `LossLaw`."""
        losses, _, mass = self._atoms
        last = losses.size - 1
        low = min(int(np.searchsorted(np.cumsum(mass), below, side="right")), last)
        high = last - int(np.searchsorted(np.cumsum(mass[::-1]), above, side="right"))
        return float(losses[low]), float(losses[max(high, low)])

    def tails(self, low: float, high: float) -> Tails:
        """The masses beyond; see `LossLaw`."""
        losses, log_mass, mass = self._atoms
        first = int(np.searchsorted(losses, low, side="left"))
        last = int(np.searchsorted(losses, high, side="right"))
        log_other = -math.inf
        if last < losses.size:
            log_other = float(special.logsumexp(log_mass[last:] - losses[last:]))
        return Tails(float(np.sum(mass[:first])), float(np.sum(mass[last:])), log_other)

    def points(self, edges: FloatArray) -> Points:
        """The atoms; see `LossLaw`."""
        losses, log_mass, mass = self._atoms
        inside = (losses >= edges[0]) & (losses <= edges[-1])
        losses, log_mass, mass = losses[inside], log_mass[inside], mass[inside]
        cell = np.searchsorted(edges, losses, side="right") - 1
        return Points(
            np.clip(cell, 0, edges.size - 2),
            losses,
            16.0 * UNIT * np.abs(losses),
            mass,
            # Of the exponent, six roundings; of the sum of all masses and its logarithm the rest.
            UNIT * (128.0 + 8.0 * np.abs(log_mass)),
        )

    def cuts(self, edges: FloatArray) -> FloatArray:
        """The cells' middles; see `LossLaw`."""
        return middles(edges)
