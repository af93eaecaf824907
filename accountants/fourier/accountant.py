"""The Fourier accountant: certified from both sides, by whichever engine is the better one."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from dp_accounting import NeighboringRelation

from accountants import elementary, gaussian, validate
from accountants.base import IntervalAccountant
from accountants.bounds import Bounds
from accountants.fourier.contour import engine as sampled
from accountants.fourier.contour import one_step as single
from accountants.fourier.contour.quadrature import ContourError
from accountants.fourier.contour.saddle import Sampled
from accountants.fourier.grid import engine as grid
from accountants.fourier.pairs import pair_laws
from accountants.fourier.trade_off import TradeOff, trade_off_from_profile

# An interval wider than this, relative to ε, is worth the second of a costly contour.
_WIDE = 1e-4

Engine = Literal["closed form", "contour", "grid", "contour and grid"]


@dataclass(frozen=True, slots=True)
class Answer:
    """An interval, and how it was found."""

    bounds: Bounds
    engine: Engine

    @property
    def relative_gap(self) -> float:
        """(upper − lower)/upper; 0 where both are 0."""
        return self.bounds.gap / self.bounds.upper if self.bounds.upper > 0.0 else 0.0

    def intersect(self, other: "Answer | None") -> "Answer":
        """What both say; each of the two intervals contains the truth."""
        if other is None:
            return self
        lower = max(self.bounds.lower, other.bounds.lower)
        upper = min(self.bounds.upper, other.bounds.upper)
        return Answer(Bounds(lower, upper), "contour and grid")


class FourierAccountant(IntervalAccountant):
    """Certified intervals for ε(δ), δ(ε) and the trade-off curve.

    The privacy loss of a composition is the sum of its events' losses, so its law is a product of
    transforms. Three engines turn that into numbers, each with a proof of both ends in its module:

    * plain Gaussians compose to a Gaussian, in closed form (`accountants.gaussian`);
    * sampled Gaussians over many steps: the *contour* engine, `accountants.fourier.contour.sum`, a
    few
      milliseconds whatever the number of steps;
    * everything else, few steps, and tiny ε: the *grid* engine, `accountants.fourier.grid.engine`.

    Where the first choice misses `tolerance`, the other engine is asked too, and the two intervals,
    both of which contain the truth, are intersected. If neither reaches the tolerance, the interval
    is wider; it is never wrong.

    The upper end is that of a dominating pair and covers adaptive composition (Zhu, Dong, Wang
    2022, Theorem 10). The lower end is that of an explicit pair of data sets; for fixed-size
    sampling the two pairs differ, and a gap remains that no tolerance closes.

    Args:
      neighboring_relation: Which data sets are neighbours.
      tolerance: The relative gap to aim for.

    >>> from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
    >>> step = PoissonSampledDpEvent(0.01, GaussianDpEvent(1.0))
    >>> lower, upper = FourierAccountant().compose(step, 1000).get_epsilon_bounds(1e-5)
    >>> round(lower, 5), round(upper, 5)
    (1.82824, 1.82824)
    """

    method: ClassVar[str] = "Fourier accountant"
    release_types: ClassVar[tuple[type[elementary.Elementary], ...]] = (
        elementary.Gaussian,
        elementary.PoissonGaussian,
        elementary.PoissonGaussianReplace,
        elementary.FixedSizeGaussian,
        elementary.Laplace,
        elementary.DiscreteLaplace,
        elementary.RandomizedResponse,
        elementary.MixtureOfGaussians,
    )

    def __init__(
        self,
        neighboring_relation: NeighboringRelation = NeighboringRelation.ADD_OR_REMOVE_ONE,
        tolerance: float = 1e-6,
    ) -> None:
        super().__init__(neighboring_relation)
        self._tolerance = validate.open_unit("tolerance", tolerance)

    def epsilon_answer(self, delta: float) -> Answer:
        """`get_epsilon_bounds`, with the engine that found it."""
        delta = validate.open_unit("delta", delta)
        if self._non_private or not self._releases:
            return Answer(self.get_epsilon_bounds(delta), "closed form")
        return self._answer(
            exact=lambda mu: gaussian.epsilon_bounds(mu, delta),
            one_step=lambda event: single.epsilon_bounds(event, delta),
            contour=lambda c, work: sampled.epsilon_bounds(c, delta, self._tolerance, work),
            grid_engine=lambda laws: grid.epsilon_bounds(laws, delta, tolerance=self._tolerance),
            add_is_below=lambda c, bounds: sampled.add_is_below(c, bounds, delta=delta),
        )

    def delta_answer(self, epsilon: float) -> Answer:
        """`get_delta_bounds`, with the engine that found it."""
        epsilon = validate.non_negative("epsilon", epsilon)
        if self._non_private or not self._releases:
            return Answer(self.get_delta_bounds(epsilon), "closed form")
        return self._answer(
            exact=lambda mu: gaussian.delta_bounds(mu, epsilon),
            one_step=lambda event: single.delta_bounds(event, epsilon),
            contour=lambda c, work: sampled.delta_bounds(c, epsilon, self._tolerance, work),
            grid_engine=lambda laws: grid.delta_bounds(laws, epsilon, tolerance=self._tolerance),
            add_is_below=lambda c, bounds: sampled.add_is_below(c, bounds, epsilon=epsilon),
        )

    def _epsilon_bounds(self, delta: float) -> Bounds:
        return self.epsilon_answer(delta).bounds

    def _delta_bounds(self, epsilon: float) -> Bounds:
        return self.delta_answer(epsilon).bounds

    def trade_off(self, alphas: Sequence[float]) -> TradeOff:
        """Bounds of the least type II error at each type I error, over all pairs of neighbours.

        The curve is that of Dong, Roth, Su 2022 for the worst pair in both directions: convex,
        decreasing and symmetric. See `accountants.fourier.trade_off`.
        """
        return trade_off_from_profile(self.get_delta_bounds, self.get_epsilon_bounds, alphas)

    def _answer(self, **engines: Callable[..., Any]) -> Answer:
        upper = OneSide.of(self._releases, "upper")
        answer = self._one_side(upper, **engines)
        lower = OneSide.of(self._releases, "lower")
        if lower.parts == upper.parts:
            return answer
        # The truth lies above every pair of data sets and below the dominating pair.
        below = self._one_side(lower, **engines)
        bounds = Bounds(min(below.bounds.lower, answer.bounds.upper), answer.bounds.upper)
        engine = answer.engine if answer.engine == below.engine else "contour and grid"
        return Answer(bounds, engine)

    def _one_side(
        self,
        composed: "OneSide",
        *,
        exact: Callable[[float], Bounds],
        one_step: Callable[[Sampled], Bounds],
        contour: Callable[[sampled.Composition, int], Bounds],
        grid_engine: Callable[[grid.Laws], Bounds],
        add_is_below: Callable[[sampled.Composition, Bounds], bool],
    ) -> Answer:
        if composed.mu is not None:
            return Answer(exact(composed.mu), "closed form")
        composition = composed.sampled
        if composition is not None and composition.is_one_step:
            return Answer(one_step(composition.events[0]), "closed form")
        found = _try_contour(contour, composition, sampled.CHEAP)
        if found is not None and found.relative_gap <= self._tolerance:
            return found
        remove, *add = composed.laws()
        bounds = grid_engine(remove)
        if add and (composition is None or not add_is_below(composition, bounds)):
            other = grid_engine(add[0])
            bounds = Bounds(max(bounds.lower, other.lower), max(bounds.upper, other.upper))
        answer = Answer(bounds, "grid").intersect(found)
        if answer.relative_gap > max(self._tolerance, _WIDE):
            answer = answer.intersect(_try_contour(contour, composition, sampled.COSTLY))
        return answer


def _try_contour(
    contour: Callable[[sampled.Composition, int], Bounds],
    composition: sampled.Composition | None,
    max_work: int,
) -> Answer | None:
    if composition is None:
        return None
    try:
        return Answer(contour(composition, max_work), "contour")
    except ContourError:
        return None


@dataclass(frozen=True)
class OneSide:
    """Elementary releases on one side (dominating pairs, or pairs of data sets), per engine.

    Attributes:
      parts: Releases and counts; on the lower side each release stands for its pair of data sets.
    """

    parts: tuple[tuple[elementary.Elementary, int], ...]

    @classmethod
    def of(
        cls, composition: Mapping[elementary.Elementary, int], side: Literal["upper", "lower"]
    ) -> "OneSide":
        """The composition on one side."""
        parts: list[tuple[elementary.Elementary, int]] = []
        for release, count in composition.items():
            if side == "lower" and isinstance(release, elementary.FixedSizeGaussian):
                # All other records at −C: the record moves the sum from −C to C if it is drawn.
                pair = elementary.PoissonGaussian(
                    release.sampling_rate, 0.5 * release.noise_multiplier
                )
                parts.append((pair, count))
            else:
                parts.append((release, count))
        return cls(tuple(parts))

    @property
    def mu(self) -> float | None:
        """μ of the composition if it is Gaussian throughout."""
        squares = [
            count * release.mu**2
            for release, count in self.parts
            if isinstance(release, elementary.Gaussian)
        ]
        return math.sqrt(math.fsum(squares)) if len(squares) == len(self.parts) else None

    @property
    def sampled(self) -> sampled.Composition | None:
        """The composition for the contour engine, if all of it is plain or sampled Gaussians."""
        squares, events, counts = [], [], []
        for release, count in self.parts:
            if isinstance(release, elementary.Gaussian):
                squares.append(count * release.mu**2)
            elif isinstance(release, elementary.PoissonGaussian):
                events.append(Sampled(release.sampling_rate, release.noise_multiplier))
                counts.append(float(count))
            else:
                return None
        return sampled.Composition(events, np.array(counts), math.fsum(squares))

    def laws(self) -> list[grid.Laws]:
        """The composition for the grid engine, once per direction."""
        pairs = [(pair_laws(release).upper, count) for release, count in self.parts]
        directions: list[grid.Laws] = [
            [(pair[index], count) for pair, count in pairs] for index in (0, 1)
        ]
        return directions[:1] if directions[0] == directions[1] else directions
