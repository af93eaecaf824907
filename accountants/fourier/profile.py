"""The whole privacy profile of a composition: bounds of δ at many ε, for one composition's work.

Each engine composes once per direction and reads off as many δ(ε) as are asked for. What is aimed
at is an error relative to δ(0), and better than that in the tail where it costs little; a single
δ(ε) as tight as wished is `FourierAccountant.get_delta_bounds`.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from accountants.arrays import FloatArray
from accountants.bounds import Bounds
from accountants.fourier.contour.engine import Composition
from accountants.fourier.grid import engine as grid

# Contours run through ε = 0 and through where δ is about these.
_TAIL_DELTAS = (1e-4, 1e-9)
# The relative error of δ at its saddle point that is asked of a contour.
_CONTOUR_TOLERANCE = 1e-9


class DeltaCurve(NamedTuple):
    """Bounds of δ at each ε: lower ≤ δ(epsilons) ≤ upper, entry by entry."""

    epsilons: FloatArray
    lower: FloatArray
    upper: FloatArray


Profile: TypeAlias = Callable[[FloatArray], DeltaCurve]
"""Answers for any ε ≥ 0."""


def one_by_one(delta_bounds: Callable[[float], Bounds]) -> Profile:
    """The profile of a closed form."""

    def profile(epsilons: FloatArray) -> DeltaCurve:
        found = [delta_bounds(float(epsilon)) for epsilon in epsilons]
        ends = np.array(found, dtype=np.float64).reshape(-1, 2)
        return DeltaCurve(epsilons, ends[:, 0], ends[:, 1])

    return profile


def along_contours(composition: Composition) -> Profile:
    """The profile of sampled Gaussians: a few contours per direction, intersected.

    Raises:
      ContourError: The engine is no good here.
    """
    directions = []
    for direction in composition.directions:
        search = composition.search(direction)
        saddles = [search.for_epsilon(0.0), *map(search.for_delta, _TAIL_DELTAS)]
        lines = [
            composition.build(direction, saddle, _CONTOUR_TOLERANCE)
            for index, saddle in enumerate(saddles)
            if index == 0 or saddle.epsilon > 0.0
        ]
        sums = [line.at(composition.counts, composition.mu_squared) for line in lines]
        directions.append(_intersected([one_by_one(total.delta_bounds) for total in sums]))
    return _larger(directions)


def on_grid(directions: Sequence[grid.Laws], tolerance: float) -> Profile:
    """The profile of any loss laws, given for each direction; of one law, once, without a grid."""
    return _larger([_of_direction(laws, tolerance) for laws in directions])


def _of_direction(laws: grid.Laws, tolerance: float) -> Profile:
    if len(laws) == 1 and laws[0][1] == 1:
        return one_by_one(lambda epsilon: grid.delta_bounds(laws, epsilon))
    return _intersected([_between(*ends) for ends in grid.profile(laws, tolerance=tolerance)])


def _between(
    lower: Callable[[FloatArray], FloatArray], upper: Callable[[FloatArray], FloatArray]
) -> Profile:
    return lambda epsilons: DeltaCurve(epsilons, lower(epsilons), upper(epsilons))


def _intersected(profiles: Sequence[Profile]) -> Profile:
    """What several profiles of one direction say together."""

    def profile(epsilons: FloatArray) -> DeltaCurve:
        found = [each(epsilons) for each in profiles]
        lower = np.max([curve.lower for curve in found], axis=0)
        upper = np.min([curve.upper for curve in found], axis=0)
        return DeltaCurve(epsilons, lower, upper)

    return profile


def _larger(directions: Sequence[Profile]) -> Profile:
    """The larger of the directions' profiles."""

    def profile(epsilons: FloatArray) -> DeltaCurve:
        found = [each(epsilons) for each in directions]
        lower = np.max([curve.lower for curve in found], axis=0)
        upper = np.max([curve.upper for curve in found], axis=0)
        return DeltaCurve(epsilons, lower, upper)

    return profile
