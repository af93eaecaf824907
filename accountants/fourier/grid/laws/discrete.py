r"""Loss laws with atoms: finite ones, Laplace, and the symmetrised pair of fixed-size sampling."""

import functools
import math
from dataclasses import dataclass, field

import numpy as np

from accountants.arrays import FloatArray
from accountants.fourier.grid.laws.gaussian import GaussianMixtureLaw
from accountants.fourier.grid.laws.law import RULE_ERROR, UNIT, Points, Seam, Tails, panel_rule


def _middles(edges: FloatArray) -> FloatArray:
    return 0.5 * (edges[:-1] + edges[1:])


def _concatenate(*parts: Points) -> Points:
    return Points(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _atoms(edges: FloatArray, losses: FloatArray, masses: FloatArray) -> Points:
    """Atoms with 16 u of relative error in loss and mass, as points between `edges`."""
    inside = (losses >= edges[0]) & (losses <= edges[-1]) & (masses > 0.0)
    losses, masses = losses[inside], masses[inside]
    cell = np.clip(np.searchsorted(edges, losses, side="right") - 1, 0, edges.size - 2)
    return Points(
        cell, losses, 16.0 * UNIT * np.abs(losses), masses, np.full(losses.size, 16.0 * UNIT)
    )


@dataclass(frozen=True)
class AtomicLaw:
    """A loss with finitely many values: increasing `losses` with P-masses `masses`."""

    losses: tuple[float, ...]
    masses: tuple[float, ...]
    lattice: tuple[float, float] | None
    infinite: float = field(default=0.0, init=False)
    seam: Seam = field(default=Seam.NONE, init=False)

    def loss_range(self, below: float, above: float) -> tuple[float, float]:
        """The extreme atoms; see `LossLaw`."""
        return self.losses[0], self.losses[-1]

    def tails(self, low: float, high: float) -> Tails:
        """The P-masses beyond; see `LossLaw`."""
        losses, masses = np.array(self.losses), np.array(self.masses)
        return Tails(float(np.sum(masses[losses < low])), float(np.sum(masses[losses > high])))

    def points(self, edges: FloatArray) -> Points:
        """The atoms; see `LossLaw`."""
        return _atoms(edges, np.array(self.losses), np.array(self.masses))

    def cuts(self, edges: FloatArray) -> FloatArray:
        """The cells' middles; see `LossLaw`."""
        return _middles(edges)


@dataclass(frozen=True)
class LaplaceLaw:
    r"""Lap(0, s) against Lap(1, s): L = (|y−1| − |y|)/s.

    Atoms at ±1/s of P-mass 1/2 and e^{−1/s}/2; between them the density e^{l/2 − 1/(2s)}/4. The
    pair is symmetric: its mirror y → 1 − y exchanges P and Q.
    """

    scale: float
    infinite: float = field(default=0.0, init=False)
    seam: Seam = field(default=Seam.NONE, init=False)

    @property
    def lattice(self) -> tuple[float, float]:
        """The atoms lie at ±1/s."""
        return 0.0, self._top

    @property
    def _top(self) -> float:
        return 1.0 / self.scale

    def loss_range(self, below: float, above: float) -> tuple[float, float]:
        """The atoms; see `LossLaw`."""
        return -self._top, self._top

    def _mass_between(self, low: float, high: float) -> float:
        low, high = max(low, -self._top), min(high, self._top)
        if low >= high:
            return 0.0
        return 0.5 * math.exp(0.5 * (low - self._top)) * math.expm1(0.5 * (high - low))

    def tails(self, low: float, high: float) -> Tails:
        """The P-masses beyond; see `LossLaw`."""
        top = self._top
        below, above = self._mass_between(-top, low), self._mass_between(high, top)
        if low > -top:
            below += 0.5 * math.exp(-top)
        if low > top:
            below += 0.5
        if high < top:
            above += 0.5
        if high < -top:
            above += 0.5 * math.exp(-top)
        return Tails(below, above)

    def points(self, edges: FloatArray) -> Points:
        """Both atoms, and Gauss–Legendre points between them; see `LossLaw`."""
        top = self._top
        inner = np.clip(edges, -top, top)
        breaks = np.linspace(-top, top, 2 + int(8.0 * top))
        cell, loss, weight = panel_rule(inner, breaks, np.ones(breaks.size - 1))
        mass = 0.25 * weight * np.exp(0.5 * (loss - top))
        error = RULE_ERROR + 4.0 * UNIT * (top + np.abs(loss))
        density = Points(cell, loss, 4.0 * UNIT * np.abs(loss), mass, error)
        ends = _atoms(edges, np.array([-top, top]), np.array([0.5 * math.exp(-top), 0.5]))
        ends = ends._replace(mass_error=ends.mass_error + 4.0 * UNIT * top)
        return _concatenate(density, ends)

    def cuts(self, edges: FloatArray) -> FloatArray:
        """The cells' middles: the density of E[e^{−L}] balances that of P; see `LossLaw`."""
        return _middles(edges)


@dataclass(frozen=True)
class SymmetrisedLaw:
    r"""The symmetric pair whose profile is that of (P₀, Q₀) for ε ≥ 0.

    For α ≥ 1 a mechanism may be dominated by H_α(P₀‖Q₀) in both directions; then for α < 1 it is
    by 1 − α + α·H_{1/α}(P₀‖Q₀) (the swap H_α(P‖Q) = 1 − α + α·H_{1/α}(Q‖P)). The pair with this
    profile has the P₀-law of L₀ on l > 0; its mirror image on l < 0, where the P-mass at −l is the
    Q-mass e^{−l}P₀(dl) at l; and the rest, 1 − P₀(L₀ > 0) − Q₀(L₀ > 0), as an atom at 0 (Zhu,
    Dong, Wang 2022, Theorem 11 and section 3).
    """

    inner: GaussianMixtureLaw
    infinite: float = field(default=0.0, init=False)
    seam: Seam = field(default=Seam.CENTRE, init=False)
    lattice: tuple[float, float] = field(default=(0.0, 0.0), init=False)

    @functools.cached_property
    def _centre(self) -> float:
        """The atom at 0: (1 − q)·erf(m/√8) for weights (1 − q, q) at shifts (0, m)."""
        return self.inner.weights[0] * math.erf(self.inner.shifts[-1] / math.sqrt(8.0))

    def loss_range(self, below: float, above: float) -> tuple[float, float]:
        """The inner law's upper end and its mirror image; see `LossLaw`."""
        top = max(self.inner.loss_range(0.5, above)[1], 0.0)
        bottom = max(self.inner.loss_range(0.5, below)[1], 0.0)
        return -bottom, top

    def tails(self, low: float, high: float) -> Tails:
        """The P-masses beyond; see `LossLaw`. The lower one is an upper bound."""
        if low > 0.0 or high < 0.0:
            raise ValueError(f"`low` <= 0 <= `high` is needed here, got {low} and {high}.")
        # Q₀(L₀ > l) ≤ e^{−l}·P₀(L₀ > l).
        mirrored = self.inner.tails(low, -low).above * math.exp(low)
        return Tails(mirrored, self.inner.tails(low, high).above)

    def points(self, edges: FloatArray) -> Points:
        """The inner law's points, their mirror images, and the atom; see `LossLaw`."""
        parts = [_atoms(edges, np.zeros(1), np.array([self._centre]))]
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
        return _concatenate(*parts)

    def cuts(self, edges: FloatArray) -> FloatArray:
        """The inner law's cuts and their mirror images; see `LossLaw`."""
        cuts = _middles(edges)
        positive = np.flatnonzero(edges >= 0.0)
        negative = np.flatnonzero(edges <= 0.0)
        if positive.size > 1:
            cuts[positive[:-1]] = self.inner.cuts(edges[positive])
        if negative.size > 1:
            mirrored = self.inner.cuts(-edges[negative][::-1])
            cuts[negative[:-1]] = -mirrored[::-1]
        return cuts
