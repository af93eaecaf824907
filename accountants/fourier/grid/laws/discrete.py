r"""Loss laws with few atoms: finite ones, and the symmetrised pair of fixed-size sampling."""

import math
from dataclasses import dataclass, field

import numpy as np
from scipy import special

from accountants.arrays import FloatArray
from accountants.fourier.grid.laws.law import (
    UNIT,
    LossLaw,
    Points,
    Seam,
    Tails,
    atoms_as_points,
    joined,
    middles,
)


@dataclass(frozen=True)
class AtomicLaw:
    """A loss with finitely many values: increasing `losses` with P-masses `masses`."""

    losses: tuple[float, ...]
    masses: tuple[float, ...]
    lattice: tuple[float, float] | None
    infinite: float = field(default=0.0, init=False)
    cost: float = field(default=1.0, init=False)
    seam: Seam = field(default=Seam.NONE, init=False)

    @property
    def highest(self) -> float:
        """The last atom."""
        return self.losses[-1]

    def loss_range(self, below: float, above: float) -> tuple[float, float]:
        """The extreme atoms; see `LossLaw`."""
        return self.losses[0], self.losses[-1]

    def tails(self, low: float, high: float) -> Tails:
        """The P-masses beyond; see `LossLaw`."""
        losses, masses = np.array(self.losses), np.array(self.masses)
        above = (losses > high) & (masses > 0.0)
        log_other = -math.inf
        if np.any(above):
            log_other = float(special.logsumexp(np.log(masses[above]) - losses[above]))
        return Tails(float(np.sum(masses[losses < low])), float(np.sum(masses[above])), log_other)

    def points(self, edges: FloatArray) -> Points:
        """The atoms; see `LossLaw`."""
        return atoms_as_points(edges, np.array(self.losses), np.array(self.masses))

    def cuts(self, edges: FloatArray) -> FloatArray:
        """The cells' middles; see `LossLaw`."""
        return middles(edges)


@dataclass(frozen=True)
class SymmetrisedLaw:
    r"""The symmetric pair whose profile is that of (P₀, Q₀) for ε ≥ 0.

    For α ≥ 1 a mechanism may be dominated by H_α(P₀‖Q₀) in both directions; then for α < 1 it is
    by 1 − α + α·H_{1/α}(P₀‖Q₀) (the swap H_α(P‖Q) = 1 − α + α·H_{1/α}(Q‖P)). The pair with this
    profile has the P₀-law of L₀ on l > 0; its mirror image on l < 0, where the P-mass at −l is the
    Q-mass e^{−l}P₀(dl) at l; and the rest, 1 − P₀(L₀ > 0) − Q₀(L₀ > 0), as an atom at 0 (Zhu,
    Dong, Wang 2022, Theorem 11 and section 3).

    Attributes:
      inner: The law of L₀ under P₀; no atom at 0.
      centre: The atom at 0.
    """

    inner: LossLaw
    centre: float
    highest: float = field(default=math.inf, init=False)
    seam: Seam = field(default=Seam.CENTRE, init=False)
    lattice: tuple[float, float] = field(default=(0.0, 0.0), init=False)

    @property
    def infinite(self) -> float:
        """P₀(L₀ = ∞), rounded up."""
        return self.inner.infinite

    @property
    def cost(self) -> float:
        """That of the inner law."""
        return self.inner.cost

    def loss_range(self, below: float, above: float) -> tuple[float, float]:
        """The inner law's upper end and its mirror image; see `LossLaw`."""
        top = max(self.inner.loss_range(0.5, above)[1], 0.0)
        bottom = max(self.inner.loss_range(0.5, below)[1], 0.0)
        return -bottom, top

    def tails(self, low: float, high: float) -> Tails:
        """The masses beyond; see `LossLaw`.

        All of P is 1, so that what is not above l > 0 is P₀(L₀ ≤ l) again. P and Q exchanged are
        the law's mirror image.
        """
        below = self.inner.tails(low, 0.0).below if low > 0.0 else self._mirrored(-low)
        if high < 0.0:
            log_other = math.log(self.inner.tails(-high, 0.0).below)
            return Tails(below, 1.0 - self._mirrored(-high), log_other)
        return Tails(below, *self.inner.tails(0.0, high)[1:])

    def _mirrored(self, loss: float) -> float:
        """P(L < −loss) = Q₀(L₀ > loss) for loss ≥ 0."""
        return math.exp(self.inner.tails(0.0, loss).log_above_other)

    def points(self, edges: FloatArray) -> Points:
        """The inner law's points, their mirror images, and the atom; see `LossLaw`."""
        parts = [atoms_as_points(edges, np.zeros(1), np.array([self.centre]))]
        upper, lower = np.maximum(edges, 0.0), np.maximum(-edges[::-1], 0.0)
        if upper[-1] > 0.0:
            parts.append(self.inner.points(upper))
        if lower[-1] > 0.0:
            mirror = self.inner.points(lower)
            parts.append(
                Points(
                    edges.size - 2 - mirror.cell,
                    -mirror.loss,
                    mirror.loss_error,
                    mirror.mass * np.exp(-mirror.loss),
                    mirror.mass_error + 8.0 * UNIT + mirror.loss_error,
                )
            )
        return joined(*parts)

    def cuts(self, edges: FloatArray) -> FloatArray:
        """The inner law's cuts and their mirror images; see `LossLaw`."""
        cuts = middles(edges)
        positive = np.flatnonzero(edges >= 0.0)
        negative = np.flatnonzero(edges <= 0.0)
        if positive.size > 1:
            cuts[positive[:-1]] = self.inner.cuts(edges[positive])
        if negative.size > 1:
            mirrored = self.inner.cuts(-edges[negative][::-1])
            cuts[negative[:-1]] = -mirrored[::-1]
        return cuts
