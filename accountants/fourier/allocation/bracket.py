"""A law from below whose masses and means are known node by node: what `fused` ends in."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from accountants.arrays import FloatArray
from accountants.fourier.allocation.fused import Fused
from accountants.fourier.allocation.products import Lattice
from accountants.fourier.grid.laws.computed import ComputedLaw
from accountants.fourier.grid.laws.law import UNIT

NOTHING = ComputedLaw(np.zeros(1), np.ones(1), 0.0)


@dataclass(frozen=True, eq=False)
class Bracket:
    """Fused masses and moments at nodes e^{ih}, each between two bounds.

    Attributes:
      first: Index of the first node.
      step: h.
      mass: Bounds of the Q-masses, below and above.
      moment: Bounds of the P-masses.
    """

    first: int
    step: float
    mass: tuple[FloatArray, FloatArray]
    moment: tuple[FloatArray, FloatArray]

    @classmethod
    def of(cls, parts: Sequence[Fused], step: float) -> "Bracket":
        """All parts of one law; what meets at a node is fused."""
        moved = [part.placed().on(step) for part in parts]
        first = min(part.first for part in moved)
        size = max(part.first + part.size for part in moved) - first
        bounds = [np.zeros(size) for _ in range(4)]
        for part in moved:
            at = slice(part.first - first, part.first - first + part.size)
            for which, values in enumerate((part.masses, part.masses, part.moments, part.moments)):
                sign = 1.0 if which % 2 else -1.0
                off = (part.error + UNIT * (len(moved) + 8.0)) * (1.0 + 1e-9)
                bounds[which][at] += values * (1.0 + sign * off)
        return cls(first, step, (bounds[0], bounds[1]), (bounds[2], bounds[3]))

    def power(self, copies: int) -> "Bracket":
        """The product of so many copies.

        Raises:
          TooLongError: It is too wide.
        """
        if copies == 1:
            return self
        lattice = Lattice.choose(self.first, self.step, self.mass[1], self.moment[1], copies)
        mass = [lattice.power(bound, 0.0) for bound in self.mass]
        moment = [lattice.power(bound, 1.0) for bound in self.moment]
        # What more rare factors than are counted add to any one place.
        most = (mass[1].upper + mass[1].rest, moment[1].upper + moment[1].rest)
        return Bracket(
            mass[0].first, self.step, (mass[0].lower, most[0]), (moment[0].lower, most[1])
        )

    def laws(self) -> tuple[ComputedLaw, ComputedLaw]:
        """The loss laws, remove and add: less mass, at smaller losses, than computed."""
        kept = (self.mass[0] > 0.0) & (self.moment[0] > 0.0)
        kept &= (self.mass[1] < 2.0 * self.mass[0]) & (self.moment[1] < 2.0 * self.moment[0])
        if not np.any(kept):  # Nothing is known: a pair of equals, which every pair dominates.
            return NOTHING, NOTHING
        mass = [bound[kept] for bound in self.mass]
        moment = [bound[kept] for bound in self.moment]
        fewer = 1.0 - 32.0 * UNIT
        return (
            _law(moment[0], mass[1], moment[0] * fewer),
            _law(mass[0], moment[1], mass[0] * fewer),
        )


def _law(least: FloatArray, most: FloatArray, masses: FloatArray) -> ComputedLaw:
    above, below = np.log(least), np.log(most)
    losses = above - below - 32.0 * UNIT * (1.0 + np.abs(above) + np.abs(below))
    order = np.argsort(losses, kind="stable")
    return ComputedLaw(losses[order], masses[order], 0.0)
