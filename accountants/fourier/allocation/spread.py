"""Laws that are larger than the true one in convex order; see `accountants.fourier.allocation`."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from accountants.arrays import FloatArray
from accountants.fourier.allocation.lattice import (
    TAIL_SLACK,
    Pairing,
    ends,
    from_even,
    lognormal_range,
    spaced,
    taps,
)
from accountants.fourier.allocation.products import Lattice
from accountants.fourier.grid.discretise import sum_at
from accountants.fourier.grid.laws.computed import ComputedLaw
from accountants.fourier.grid.laws.gaussian import GaussianMixtureLaw, Kind
from accountants.fourier.grid.laws.law import UNIT

# Ratios beyond e^{±300} count as 0 and ∞, so that the product of two is a double.
_LARGEST_LOSS = 300.0
# More than a few roundings, and more than those of a node e^{±600}, relatively.
_GROWN = 1.0 + 64.0 * UNIT
_NODE_SLACK = 1e-12
# More than what underflows in a sum of products, as a mass and, times e^{600}, as a mean.
_UNDERFLOW = 1e-300
_UNDERFLOW_MEAN = 1e-40


@dataclass(frozen=True, eq=False)
class Spread:
    """A law that is larger than the true one in convex order.

    Attributes:
      first: Index of the first node; node i is e^{ih}.
      step: h.
      masses: Q-masses of the nodes.
      zero: Q-mass at S = 0.
      infinite: The mean at S = ∞.
    """

    first: int
    step: float
    masses: FloatArray
    zero: float
    infinite: float

    @property
    def size(self) -> int:
        """How many nodes."""
        return int(self.masses.size)

    @classmethod
    def lognormal(cls, noise_multiplier: float, step: float, lowest: float = -math.inf) -> "Spread":
        """The law of X itself, or the part of it that is above e^`lowest`."""
        shift = 1.0 / noise_multiplier
        first, last = lognormal_range(shift, step)
        first = max(first, math.floor(max(lowest, -1e6) / step))
        last = max(last, first + 2)
        indices = np.arange(first, last + 1)
        nodes: FloatArray = step * indices.astype(np.float64)
        edges = np.maximum(nodes, lowest)
        points = GaussianMixtureLaw(Kind.REMOVE, (1.0,), (shift,)).points(edges)
        error = points.loss_error + 16.0 * UNIT * np.abs(points.loss)
        mass = points.mass * np.exp(-points.loss) * (1.0 + points.mass_error + 2.0 * error)
        place = np.clip(points.loss - nodes[points.cell], 0.0, step)
        slack = 2.0 * error / step
        above = np.expm1(place) / math.expm1(step) + slack
        below = np.exp(place) * np.expm1(step - place) / math.expm1(step) + slack
        masses = sum_at(points.cell + 1, mass * above, indices.size)
        masses += sum_at(points.cell, mass * below, indices.size)
        masses *= 1.0 + 128.0 * UNIT
        # What is below goes to 0 and, as if it were all there, to the first node; of what is above
        # the last node keeps the Q-mass, and the mean is at ∞.
        low, high = nodes[0] / shift, nodes[-1] / shift
        under, over = special.ndtr((low + 0.5 * shift, -high - 0.5 * shift)) * (1.0 + TAIL_SLACK)
        if lowest > -math.inf:
            under = np.float64(0.0)
        masses[0] += under
        masses[-1] += over
        infinite = special.ndtr(0.5 * shift - high) * (1.0 + TAIL_SLACK)
        return cls(first, step, masses, float(under), float(infinite))._trimmed()

    def finer(self) -> "Spread":
        """The same on a lattice of half the step."""
        return Spread(
            2 * self.first, 0.5 * self.step, spaced(self.masses), self.zero, self.infinite
        )

    def on(self, step: float) -> "Spread":
        """On another lattice, finer or coarser by a power of two."""
        found = self
        while found.step > step:
            found = found.finer()
        while found.step < step:
            found = found.coarser()
        assert found.step == step, "lattices nest where their steps are powers of two"
        return found

    def scaled(self, factor: float) -> "Spread":
        """With so many times the mass."""
        grown = factor * _GROWN
        return Spread(
            self.first, self.step, self.masses * grown, self.zero * grown, self.infinite * grown
        )

    @classmethod
    def united(
        cls, parts: Sequence["Spread"], step: float, zero: float, infinite: float
    ) -> "Spread":
        """All parts of one law, and mass at 0 and a mean at ∞ besides."""
        moved = [part.on(step) for part in parts]
        first = min(part.first for part in moved)
        masses = np.zeros(max(part.first + part.size for part in moved) - first)
        for part in moved:
            begin = part.first - first
            masses[begin : begin + part.size] += part.masses
        return cls(
            first,
            step,
            masses * _GROWN,
            (zero + sum(part.zero for part in moved)) * _GROWN,
            (infinite + sum(part.infinite for part in moved)) * _GROWN,
        )._trimmed()

    def plus(self, other: "Spread", share: float, refinement: int) -> "Spread":
        """The mean of both, on a lattice finer by 1 or 2; `share` is the weight of this one."""
        pairing = Pairing(self, other, share, refinement)
        step, out = pairing.step, np.zeros(pairing.size)
        nodes, below_shares, above_shares = taps(pairing.shifts, step)
        for pair, node, below, above in zip(
            pairing, nodes.tolist(), below_shares.tolist(), above_shares.tolist(), strict=True
        ):
            product = pair.first(self.masses) * pair.second(other.masses)
            at = pair.places(node)
            out[at] += (pair.count * below) * product
            out[pair.places(node + 1)] += (pair.count * above) * product
        whole, others = (float(np.sum(law.masses)) + law.zero for law in (self, other))
        zero = self.zero * other.zero
        # Where one of the two is at 0, the mean lies between 0 and the other, and is split so.
        for alone, missing, part in ((self, other.zero, share), (other, self.zero, 1.0 - share)):
            begin = refinement * alone.first - pairing.start
            out[begin : begin + refinement * alone.size : refinement] += (
                missing * part
            ) * alone.masses
            zero += missing * (1.0 - part) * float(np.sum(alone.masses))
        grown = 1.0 + UNIT * (4.0 * pairing.differences + 64.0)
        return Spread(
            pairing.start,
            step,
            out * grown,
            zero * grown,
            (share * self.infinite * others + (1.0 - share) * other.infinite * whole) * grown,
        )._trimmed()

    def coarser(self) -> "Spread":
        """A larger law, on a lattice of twice the step."""
        first, masses = from_even(self.first, self.masses)
        wide = masses[::2].copy()
        (_,), (below,), (above,) = taps(np.array([self.step]), 2.0 * self.step)
        between = masses[1::2]
        wide[: between.size] += below * between
        wide[1:] += above * between[: wide.size - 1]
        return Spread(first // 2, 2.0 * self.step, wide * _GROWN, self.zero, self.infinite)

    def times(self, other: "Spread") -> "Spread":
        """The product of both."""
        mine, theirs = self.totals(), other.totals()
        grown = 1.0 + UNIT * (2.0 * min(self.size, other.size) + 64.0)
        return Spread(
            self.first + other.first,
            self.step,
            np.convolve(self.masses, other.masses) * grown,
            (self.zero * theirs[0] + other.zero * mine[0]) * grown,
            (self.infinite * theirs[1] + other.infinite * mine[1]) * grown,
        )._trimmed()

    def power(self, copies: int) -> "Spread":
        """The product of so many copies, by transforms.

        Raises:
          TooLongError: It is too wide.
        """
        if copies == 1:
            return self
        nodes = np.exp(np.clip(self.step * (self.first + np.arange(self.size)), -700.0, 700.0))
        moments = self.masses * nodes
        lattice = Lattice.choose(self.first, self.step, self.masses, moments, copies)
        found = lattice.power(self.masses, 0.0)
        size, first = found.upper.size, found.first
        mass, mean = self.totals()
        # Where any factor is 0 the product is; where any is infinite, the others count their mean.
        zero = -math.expm1(copies * math.log1p(-self.zero / mass)) * mass**copies
        infinite = copies * self.infinite * mean ** (copies - 1)
        moments = moments * (1.0 + _NODE_SLACK)
        below, above = lattice.beyond(self.masses, 0.0, size, first)
        # What is below goes to 0 and, as if it were all there, to the first node.
        found.upper[0] += below
        zero += below + above + found.rest
        infinite += lattice.beyond(moments, 1.0, size, first)[1] + lattice.rest(moments)
        grown = 1.0 + UNIT * (64.0 * copies + 64.0)
        return Spread(first, self.step, found.upper, zero * grown, infinite * grown)

    def totals(self) -> tuple[float, float]:
        """Mass and mean, rounded up."""
        nodes = np.exp(self.step * (self.first + np.arange(self.size)))
        grown = 1.0 + UNIT * self.size + _NODE_SLACK
        mass = (float(np.sum(self.masses)) + self.zero) * grown
        return mass, (float(np.dot(self.masses, nodes)) + self.infinite) * grown

    def _trimmed(self) -> "Spread":
        """Without the far ends: below, mass to 0 and the first node; above, to the last and ∞."""
        nodes = np.exp(self.step * (self.first + np.arange(self.size)))
        low, high = ends(self.masses, self.masses * nodes)
        most = math.floor(_LARGEST_LOSS / self.step)
        bottom, top = max(0, -most - self.first), min(self.size - 1, most - self.first)
        if bottom > top:
            mass, mean = self.totals()
            return Spread(0, self.step, np.ones(1), mass, mean)
        low = min(max(low, bottom), top)
        high = max(min(high, top), low)
        masses = self.masses[low : high + 1].copy()
        under, over = self.masses[:low], self.masses[high + 1 :]
        masses[0] += float(np.dot(under, nodes[:low])) / nodes[low]
        masses[-1] += float(np.sum(over))
        grown = 1.0 + UNIT * self.size + _NODE_SLACK
        masses[[0, -1]] *= grown
        zero = self.zero + float(np.sum(under)) * grown + _UNDERFLOW
        beyond = float(np.dot(over, nodes[high + 1 :] * (1.0 + _NODE_SLACK) - nodes[high]))
        infinite = self.infinite + max(beyond, 0.0) * grown + _UNDERFLOW_MEAN
        return Spread(self.first + low, self.step, masses, zero, infinite)

    def laws(self) -> tuple[ComputedLaw, ComputedLaw]:
        """The loss laws, remove and add; their atoms are exact from here on."""
        indices = np.arange(self.first, self.first + self.size, dtype=np.float64)
        losses: FloatArray = self.step * indices
        grown = 1.0 + 32.0 * UNIT * (1.0 + np.abs(losses))
        remove = ComputedLaw(losses, self.masses * np.exp(losses) * grown, self.infinite)
        add = ComputedLaw(-losses[::-1], (self.masses * grown)[::-1], self.zero)
        return remove, add
