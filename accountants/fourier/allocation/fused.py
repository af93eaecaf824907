"""Laws that are smaller than the true one in convex order; see `accountants.fourier.allocation`."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from accountants.arrays import FloatArray
from accountants.fourier.allocation.lattice import (
    Pairing,
    ends,
    from_even,
    lognormal_range,
    spaced,
)
from accountants.fourier.grid.discretise import sum_at
from accountants.fourier.grid.laws.computed import ComputedLaw
from accountants.fourier.grid.laws.gaussian import GaussianMixtureLaw, Kind
from accountants.fourier.grid.laws.law import UNIT

# Sums below this may consist of underflowing terms, whose relative errors are large.
_TINY = 1e-280


@dataclass(frozen=True, eq=False)
class Fused:
    """A law that is smaller than the true one in convex order, but for mass left out.

    Attributes:
      first: Index of the first node; what is fused near e^{ih} is kept at index i.
      step: h.
      masses: Q-masses.
      moments: Masses times means: the P-masses.
      error: A bound of the relative error of both.
    """

    first: int
    step: float
    masses: FloatArray
    moments: FloatArray
    error: float

    @property
    def size(self) -> int:
        """How many nodes."""
        return int(self.masses.size)

    @classmethod
    def lognormal(cls, noise_multiplier: float, step: float, lowest: float = -math.inf) -> "Fused":
        """The law of X itself, or the part of it above e^`lowest`; its far ends are left out."""
        shift = 1.0 / noise_multiplier
        first, last = lognormal_range(shift, step)
        first = max(first, math.floor(max(lowest, -1e6) / step))
        last = max(last, first + 2)
        edges: FloatArray = step * (np.arange(first, last + 2, dtype=np.float64) - 0.5)
        edges = np.maximum(edges, lowest)
        points = GaussianMixtureLaw(Kind.REMOVE, (1.0,), (shift,)).points(edges)
        size = last + 1 - first
        moments = sum_at(points.cell, points.mass, size)
        masses = sum_at(points.cell, points.mass * np.exp(-points.loss), size)
        error = points.loss_error + points.mass_error + 16.0 * UNIT * (1.0 + np.abs(points.loss))
        return cls(first, step, masses, moments, float(np.max(error)) + 256.0 * UNIT)

    def finer(self) -> "Fused":
        """The same on a lattice of half the step."""
        masses, moments = spaced(self.masses), spaced(self.moments)
        return Fused(2 * self.first, 0.5 * self.step, masses, moments, self.error)

    def on(self, step: float) -> "Fused":
        """On another lattice, finer or coarser by a power of two."""
        found = self
        while found.step > step:
            found = found.finer()
        while found.step < step:
            found = found.coarser()
        assert found.step == step, "lattices nest where their steps are powers of two"
        return found

    def scaled(self, factor: float) -> "Fused":
        """With so many times the mass."""
        masses, moments = factor * self.masses, factor * self.moments
        return Fused(self.first, self.step, masses, moments, self.error + 4.0 * UNIT)

    @classmethod
    def united(cls, parts: Sequence["Fused"], step: float) -> "Fused":
        """All parts of one law; what meets at a node is fused."""
        moved = [part.on(step) for part in parts]
        first = min(part.first for part in moved)
        size = max(part.first + part.size for part in moved) - first
        masses, moments = np.zeros(size), np.zeros(size)
        for part in moved:
            begin = part.first - first
            masses[begin : begin + part.size] += part.masses
            moments[begin : begin + part.size] += part.moments
        error = max(part.error for part in moved) + UNIT * (len(moved) + 4.0)
        return cls(first, step, masses, moments, error)._trimmed()

    def plus(self, other: "Fused", share: float, refinement: int) -> "Fused":
        """The mean of both, on a lattice finer by 1 or 2; `share` is the weight of this one."""
        pairing = Pairing(self, other, share, refinement)
        masses, moments = np.zeros(pairing.size), np.zeros(pairing.size)
        part, other_part = share * self.moments, (1.0 - share) * other.moments
        nodes = np.rint(pairing.shifts / pairing.step).astype(np.int64)
        for pair, node in zip(pairing, nodes.tolist(), strict=True):
            at = pair.places(node)
            mine, others = pair.first(self.masses), pair.second(other.masses)
            product = mine * others
            moment = pair.first(part) * others
            moment += mine * pair.second(other_part)
            if pair.count > 1:
                product += product
                moment += moment
            masses[at] += product
            moments[at] += moment
        error = self.error + other.error + UNIT * (4.0 * pairing.differences + 64.0)
        return Fused(pairing.start, pairing.step, masses, moments, error * (1.0 + 1e-12))._trimmed()

    def coarser(self) -> "Fused":
        """A smaller law, on a lattice of twice the step."""
        first, masses = from_even(self.first, self.masses)
        _, moments = from_even(self.first, self.moments)
        # Node i of the wide lattice takes in 2i and 2i + 1: any two may be fused.
        pairs = np.add.reduceat(masses, np.arange(0, masses.size, 2))
        pair_moments = np.add.reduceat(moments, np.arange(0, moments.size, 2))
        return Fused(first // 2, 2.0 * self.step, pairs, pair_moments, self.error + 2.0 * UNIT)

    def diluted(self, share: float) -> "Fused":
        """The law of share·S + 1 − share: convex functions of it are convex in S."""
        if share == 1.0:
            return self
        moments = share * self.moments + (1.0 - share) * self.masses
        return replace(self, moments=moments, error=self.error + 4.0 * UNIT).placed()._trimmed()

    def placed(self) -> "Fused":
        """Each mass at the node nearest to its mean, from which sums lead it away step by step.

        Any grouping is a law from below: what lies near one node stays together.
        """
        kept = (self.masses > 0.0) & (self.moments > 0.0)
        if not np.any(kept):
            return self
        masses, moments = self.masses[kept], self.moments[kept]
        nodes = np.rint((np.log(moments) - np.log(masses)) / self.step).astype(np.int64)
        first = int(nodes.min())
        size = int(nodes.max()) - first + 1
        return Fused(
            first,
            self.step,
            sum_at(nodes - first, masses, size),
            sum_at(nodes - first, moments, size),
            self.error + UNIT * (2.0 * self.size + 16.0),
        )

    def times(self, other: "Fused") -> "Fused":
        """The product of both."""
        error = self.error + other.error + UNIT * (2.0 * min(self.size, other.size) + 64.0)
        return Fused(
            self.first + other.first,
            self.step,
            np.convolve(self.masses, other.masses),
            np.convolve(self.moments, other.moments),
            error * (1.0 + 1e-12),
        )._trimmed()

    def _trimmed(self) -> "Fused":
        """The far ends, fused with the first and the last node that are kept."""
        low, high = ends(self.masses, self.moments)
        masses, moments = (values[low : high + 1].copy() for values in (self.masses, self.moments))
        for whole, kept in ((self.masses, masses), (self.moments, moments)):
            kept[0] += float(np.sum(whole[:low]))
            kept[-1] += float(np.sum(whole[high + 1 :]))
        tiny = (masses < _TINY) | (moments < _TINY)
        masses[tiny] = moments[tiny] = 0.0
        error = self.error + UNIT * (self.size + 16.0)
        return Fused(self.first + low, self.step, masses, moments, error)

    def laws(self) -> tuple[ComputedLaw, ComputedLaw]:
        """The loss laws, remove and add: less mass, at smaller losses, than computed."""
        kept = (self.masses > 0.0) & (self.moments > 0.0)
        if not np.any(kept):  # Nothing is known: a pair of equals, which every pair dominates.
            nothing = ComputedLaw(np.zeros(1), np.ones(1), 0.0)
            return nothing, nothing
        masses, moments = self.masses[kept], self.moments[kept]
        losses = np.log(moments) - np.log(masses)
        size = np.abs(np.log(moments)) + np.abs(np.log(masses))
        error = 2.0 * self.error + 32.0 * UNIT * (1.0 + size)
        fewer = max(0.0, 1.0 - self.error - 32.0 * UNIT)
        return _ordered(losses - error, moments * fewer), _ordered(-losses - error, masses * fewer)


def _ordered(losses: FloatArray, masses: FloatArray) -> ComputedLaw:
    order = np.argsort(losses, kind="stable")
    return ComputedLaw(losses[order], masses[order], 0.0)
