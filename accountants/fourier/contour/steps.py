"""ε after each of many numbers of steps, sharing contours.

A contour's values log φ(t) do not depend on the number of steps, so that one contour serves all
step counts for which its errors stay small. Going up in steps, each direction keeps its last
contour until an answer misses the tolerance, and only then builds the next one.
"""

import numpy as np

from accountants import validate
from accountants.bounds import Bounds
from accountants.fourier.contour.engine import Composition, asked_tolerance, epsilon_on
from accountants.fourier.contour.quadrature import ADD, REMOVE, ContourError, Direction
from accountants.fourier.contour.sum import Contour
from accountants.releases import GroupGaussian, PoissonGaussian

# A new contour is built this much finer than needed, so that it lasts for many step counts.
_REFINEMENT = 0.05


class StepCurve:
    """Certified ε(δ) of one sampled Gaussian for increasing step counts.

    Args:
      release: The step.
      delta: The target.
      tolerance: The relative gap to aim for.
    """

    def __init__(
        self, release: PoissonGaussian | GroupGaussian, delta: float, tolerance: float
    ) -> None:
        self._release = release
        self._delta = validate.open_unit("delta", delta)
        self._tolerance = validate.open_unit("tolerance", tolerance)
        self._contours: dict[Direction, tuple[Contour, float]] = {}

    def epsilon_bounds(self, steps: int) -> Bounds | None:
        """The interval after `steps` steps, or None where contours miss the tolerance."""
        try:
            bounds = self._in(REMOVE, steps)
            if not self._add_is_below(steps, bounds.lower):
                bounds = bounds.larger(self._in(ADD, steps))
        except ContourError:
            return None
        return bounds if bounds.gap <= self._tolerance * bounds.upper else None

    def _add_is_below(self, steps: int, epsilon: float) -> bool:
        """Whether the kept contour shows that ε(δ) in the add direction is at most `epsilon`."""
        kept = self._contours.get(ADD)
        if kept is None:
            return False
        total = kept[0].at(np.array([float(steps)]), 0.0)
        return total.delta_bounds(epsilon).upper <= self._delta

    def _in(self, direction: Direction, steps: int) -> Bounds:
        counts = np.array([float(steps)])
        kept = self._contours.get(direction)
        if kept is not None:
            contour, start = kept
            try:
                bounds = epsilon_on(contour.at(counts, 0.0), self._delta, start)
            except ContourError:
                bounds = Bounds(0.0, 1.0)
            if bounds.gap <= self._tolerance * bounds.upper:
                self._contours[direction] = (contour, bounds.upper)
                return bounds
        composition = Composition([self._release], counts)
        saddle = composition.search(direction).for_delta(self._delta)
        asked = asked_tolerance(saddle, _REFINEMENT * self._tolerance)
        contour = composition.build(direction, saddle, asked)
        bounds = epsilon_on(contour.at(counts, 0.0), self._delta, saddle.epsilon)
        self._contours[direction] = (contour, bounds.upper)
        return bounds
