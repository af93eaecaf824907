"""Compositions of plain and sampled Gaussians, by the contour engine.

This is the fast path of the Fourier accountant: a few milliseconds for any number of steps. Where
the contour is no good (few steps, or nearly all mass in one atom) it raises `ContourError`, and
the accountant turns to the grid engine.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from accountants import gaussian
from accountants.arrays import FloatArray
from accountants.bounds import Bounds
from accountants.fourier import invert
from accountants.fourier.contour import few_steps
from accountants.fourier.contour.quadrature import (
    ADD,
    REMOVE,
    REPLACE,
    SYMMETRISED,
    ContourError,
    Direction,
)
from accountants.fourier.contour.saddle import Saddle, SaddleSearch, upper_log_moments
from accountants.fourier.contour.sum import Contour, ContourSum, build
from accountants.releases import (
    GroupGaussian,
    PoissonGaussian,
    PoissonGaussianReplace,
    SampledGaussian,
)

# The relative error of δ that is asked of a contour: never below what the rounding allows.
_FINEST, _COARSEST = 2e-13, 1e-4
_RETRIES = 2
_SMALLEST = 5e-324
# Limits of the work on one contour, per event: milliseconds, a tenth of a second, the last resort.
_QUICK = 20_000_000
CHEAP, COSTLY = 100_000_000, 1_000_000_000
# Room for the rounding of logarithms in the Chernoff bound that dismisses a direction.
_CHERNOFF_SLACK = 1e-3
# A direction is looked at no further if its δ is smaller by this share or more.
_CLEARLY = 1e-2


@dataclass(frozen=True)
class Composition:
    """Σ counts·events, and plain Gaussians with total μ².

    Attributes:
      events: Distinct sampled Gaussians, all of the same kind; at least one.
      counts: How often each.
      mu_squared: Σ μ² of the plain Gaussians.
      is_symmetrised: Whether the events stand for their symmetrised pairs, as batches of fixed
        size do at half their noise multiplier.
    """

    events: Sequence[SampledGaussian]
    counts: FloatArray
    mu_squared: float = 0.0
    is_symmetrised: bool = False

    @property
    def directions(self) -> tuple[Direction, ...]:
        """Remove and add; to replace is its own reverse."""
        if self.is_symmetrised:
            return (SYMMETRISED,)
        return (REPLACE,) if self._is_replacing else (REMOVE, ADD)

    @property
    def _is_replacing(self) -> bool:
        event = self.events[0]
        if isinstance(event, GroupGaussian):
            return event.replaced
        return isinstance(event, PoissonGaussianReplace)

    @property
    def single_step(self) -> PoissonGaussian | None:
        """The sampled Gaussian, to remove or add, if this is one and applied once.

        Once, the symmetrised pair has the profile of the remove direction, so that the larger of
        both directions' is an upper bound; the lower end is another pair's anyway.
        """
        event = self.events[0]
        is_one = len(self.events) == 1 and self.counts[0] == 1.0 and self.mu_squared == 0.0
        return event if is_one and isinstance(event, PoissonGaussian) else None

    @property
    def few_steps(self) -> tuple[PoissonGaussian, int] | None:
        """The one event and its count, if `few_steps` may answer for it."""
        event, count = self.events[0], float(self.counts[0])
        if len(self.events) > 1 or self.mu_squared > 0.0 or not isinstance(event, PoissonGaussian):
            return None
        if self.is_symmetrised:
            return None
        return (event, int(count)) if few_steps.suits(event, count) else None

    def search(self, direction: Direction) -> SaddleSearch:
        """Saddle points in one direction."""
        return SaddleSearch(self.events, self.counts, self.mu_squared, direction)

    def build(
        self, direction: Direction, saddle: Saddle, tolerance: float, max_work: int = CHEAP
    ) -> Contour:
        """A contour through `saddle`."""
        return build(
            self.events, self.counts, self.mu_squared, direction, saddle, tolerance, max_work
        )


def epsilon_bounds(
    composition: Composition, delta: float, tolerance: float, max_work: int = CHEAP
) -> Bounds:
    """A certified interval for ε(δ), the larger of the two directions'.

    Args:
      composition: What was released.
      delta: The target.
      tolerance: The relative gap to aim for.
      max_work: `CHEAP` or `COSTLY`.

    Raises:
      ContourError: The engine is no good here.
    """
    saddles = [
        (composition.search(direction).for_delta(delta), direction)
        for direction in composition.directions
    ]
    saddles.sort(key=lambda pair: -pair[0].epsilon)
    first, direction = saddles[0]
    answer = _epsilon_in(composition, direction, first, delta, tolerance, max_work)
    if len(saddles) == 1:
        return answer
    second, other = saddles[1]
    if _chernoff_epsilon(composition, second, delta) <= answer.lower:
        return answer
    # By Laplace's method δ there is smaller by e^{−ahead}; Chernoff's bound loses at least a third.
    ahead = second.theta * (answer.lower - second.epsilon)
    if ahead > 1.0 and _chernoff_delta_below(composition, other, answer.lower, delta):
        return answer
    if ahead > _CLEARLY and _contour_delta_below(
        composition, other, second, answer.lower, delta, max_work
    ):
        return answer
    return answer.larger(_epsilon_in(composition, other, second, delta, tolerance, max_work))


def delta_bounds(
    composition: Composition, epsilon: float, tolerance: float, max_work: int = CHEAP
) -> Bounds:
    """A certified interval for δ(ε), the larger of the two directions'."""
    if _unsampled_delta(composition, epsilon) <= _SMALLEST:
        return Bounds(0.0, _SMALLEST)
    remove = _delta_in(composition, composition.directions[0], epsilon, tolerance, max_work)
    if len(composition.directions) == 1:
        return remove
    if _chernoff_delta_below(composition, ADD, epsilon, remove.lower):
        return remove
    return remove.larger(_delta_in(composition, ADD, epsilon, tolerance, max_work))


def _unsampled_delta(composition: Composition, epsilon: float) -> float:
    """An upper bound of δ(ε): sampling never costs privacy (joint convexity)."""
    squares = [
        count * (_reach(event) / event.noise_multiplier) ** 2
        for event, count in zip(composition.events, composition.counts.tolist(), strict=True)
    ]
    mu = math.sqrt(math.fsum([composition.mu_squared, *squares])) * (1.0 + 1e-14)
    return gaussian.delta_bounds(mu, epsilon).upper


def _reach(event: SampledGaussian) -> float:
    """Without sampling, the largest distance of two outputs' means."""
    if isinstance(event, GroupGaussian):
        return float(event.reach)
    return 2.0 if isinstance(event, PoissonGaussianReplace) else 1.0


def _delta_in(
    composition: Composition, direction: Direction, epsilon: float, tolerance: float, max_work: int
) -> Bounds:
    """δ(ε) in one direction, as `_epsilon_in`."""

    def on_lines(work: int) -> Bounds:
        return _delta_on_lines(composition, direction, epsilon, tolerance, work)

    def in_bands(event: PoissonGaussian, count: int) -> Bounds:
        return few_steps.delta_bounds(event, count, epsilon, tolerance)

    return _cheapest(
        composition, direction, on_lines, in_bands, Bounds(0.0, 1.0), tolerance, max_work
    )


def _cheapest(
    composition: Composition,
    direction: Direction,
    on_lines: Callable[[int], Bounds],
    in_bands: Callable[[PoissonGaussian, int], Bounds],
    best: Bounds,
    tolerance: float,
    max_work: int,
) -> Bounds:
    """Along one line if that is little work, else by bands if that may be, else at any cost."""
    attempts: list[Callable[[], Bounds]] = [lambda: on_lines(max_work)]
    few = composition.few_steps
    if direction == REMOVE and few is not None:
        attempts = [lambda: on_lines(_QUICK), lambda: in_bands(*few), *attempts]
    failure: ContourError | None = None
    any_found = False
    for attempt in attempts:
        try:
            best, any_found = best.intersect(attempt()), True
        except ContourError as reason:
            failure = reason
        if any_found and best.gap <= tolerance * best.upper:
            break
    if failure is not None and not any_found:
        raise failure
    return best


def _delta_on_lines(
    composition: Composition, direction: Direction, epsilon: float, tolerance: float, max_work: int
) -> Bounds:
    saddle = composition.search(direction).for_epsilon(epsilon)
    best = Bounds(0.0, 1.0)
    for attempt in range(1 + _RETRIES):
        asked = max(_FINEST, min(_COARSEST, 0.2 * tolerance) * 0.01**attempt)
        try:
            line = composition.build(direction, saddle, asked, max_work)
        except ContourError:
            if attempt == 0:
                raise
            break
        total = line.at(composition.counts, composition.mu_squared)
        best = best.intersect(total.delta_bounds(epsilon))
        if best.gap <= tolerance * best.upper or asked == _FINEST:
            break
        # Laplace's method may have misjudged δ, to which the errors are relative.
        found = total.value_and_slope(epsilon)[0]
        saddle = replace(saddle, log_delta=min(saddle.log_delta, found))
    return best


def add_is_below(
    composition: Composition, bounds: Bounds, *, delta: float | None = None, epsilon: float = 0.0
) -> bool:
    """Whether a Chernoff bound proves that the add direction lies below `bounds.lower`.

    Args:
      composition: What was released.
      bounds: The remove direction's interval, for ε(δ) if `delta` is given, else for δ(ε).
      delta: The target of ε(δ).
      epsilon: The argument of δ(ε).
    """
    if delta is None:
        return _chernoff_delta_below(composition, ADD, epsilon, bounds.lower)
    return _chernoff_delta_below(composition, ADD, bounds.lower, delta)


def _log_chernoff(theta: float, log_moment: float, error: float) -> float:
    """The logarithm of the factor before e^{−θε} in an upper bound of δ(ε).

    (1 − e^{−x})₊ ≤ e^{θx}·θ^θ/(1+θ)^{1+θ} for all x, with equality where the two touch, so that
    δ(ε) ≤ e^{K(θ)−θε}·θ^θ/(1+θ)^{1+θ}.

    Args:
      theta: The tilt.
      log_moment: K(θ).
      error: A bound of its absolute error.
    """
    factor = theta * math.log(theta) - (1.0 + theta) * math.log1p(theta)
    return log_moment + factor + error + _CHERNOFF_SLACK + 1e-12 * (log_moment + abs(factor))


def _chernoff_epsilon(composition: Composition, saddle: Saddle, delta: float) -> float:
    """An upper bound of ε(δ), from the saddle's tilt."""
    theta = saddle.theta
    moments = upper_log_moments(saddle.lines, composition.counts, np.array([theta]))[0]
    total = float(composition.counts @ moments)
    total += 0.5 * composition.mu_squared * theta * (theta + 1.0)
    factor = _log_chernoff(theta, total, 0.0)
    return (factor - math.log(delta)) / theta * (1.0 + 1e-12)


def _chernoff_delta_below(
    composition: Composition, direction: Direction, epsilon: float, floor: float
) -> bool:
    """Whether some tilt proves that δ(ε) in this direction is at most `floor`."""
    if floor <= 0.0:
        return False
    theta, last = 1.0, math.inf
    try:
        search = composition.search(direction)
        for _ in range(30):
            log_moment, error = search.log_moment(theta)
            bound = _log_chernoff(theta, log_moment, error) - theta * epsilon * (1.0 - 1e-12)
            if bound <= math.log(floor):
                return True
            if bound > last:
                return False
            theta, last = 1.6 * theta, bound
    except ContourError:
        pass
    return False


def _contour_delta_below(
    composition: Composition,
    direction: Direction,
    saddle: Saddle,
    epsilon: float,
    floor: float,
    max_work: int,
) -> bool:
    """Whether a contour shows that δ(ε) in this direction is at most `floor`."""
    try:
        line = composition.build(direction, saddle, 0.1 * _CLEARLY, max_work)
    except ContourError:
        return False
    total = line.at(composition.counts, composition.mu_squared)
    return total.delta_bounds(epsilon).upper <= floor


def asked_tolerance(saddle: Saddle, tolerance: float) -> float:
    """The relative error of δ that makes a relative gap of `tolerance` in ε: d log δ = −θ dε."""
    scale = saddle.theta * max(saddle.epsilon, 1e-300)
    return max(_FINEST, min(_COARSEST, 0.2 * tolerance * scale))


def _epsilon_in(
    composition: Composition,
    direction: Direction,
    saddle: Saddle,
    delta: float,
    tolerance: float,
    max_work: int,
) -> Bounds:
    """ε(δ) in one direction."""

    def on_lines(work: int) -> Bounds:
        return _epsilon_on_lines(composition, direction, saddle, delta, tolerance, work)

    def in_bands(event: PoissonGaussian, count: int) -> Bounds:
        return few_steps.epsilon_bounds(event, count, delta, tolerance)

    unknown = Bounds(0.0, math.inf)
    return _cheapest(composition, direction, on_lines, in_bands, unknown, tolerance, max_work)


def _epsilon_on_lines(
    composition: Composition,
    direction: Direction,
    saddle: Saddle,
    delta: float,
    tolerance: float,
    max_work: int,
) -> Bounds:
    best = Bounds(0.0, math.inf)
    for attempt in range(1 + _RETRIES):
        asked = asked_tolerance(saddle, tolerance * 0.01**attempt)
        try:
            line = composition.build(direction, saddle, asked, max_work)
            total = line.at(composition.counts, composition.mu_squared)
            bounds = epsilon_on(total, delta, saddle.epsilon)
        except ContourError:
            if best.upper == math.inf:
                raise
            break
        best = best.intersect(bounds)
        if best.gap <= tolerance * best.upper or asked == _FINEST:
            break
        # Laplace's method may have misplaced the saddle: go where the sum says that ε is.
        found = total.root(delta, saddle.epsilon)
        saddle = replace(
            composition.search(direction).for_epsilon(found), log_delta=math.log(delta)
        )
    return best


def epsilon_on(total: ContourSum, delta: float, start: float) -> Bounds:
    """A certified interval for ε(δ) in one direction, from one contour.

    Raises:
      ContourError: The contour's error is larger than δ.
    """
    epsilon = total.root(delta, start)
    slope = -total.value_and_slope(epsilon)[1]
    try:
        return invert.epsilon_bounds(
            total.delta_bounds, delta, epsilon, max(slope, 1e-3 * total.theta)
        )
    except invert.InversionError as reason:
        raise ContourError(str(reason)) from reason
