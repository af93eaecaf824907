"""The Fourier accountant: certified from both sides, by whichever engine is the better one."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import dp_accounting as dpa
import numpy as np
from dp_accounting import NeighboringRelation

from accountants import elementary, gaussian, releases, validate
from accountants.arrays import FloatArray
from accountants.base import IntervalAccountant
from accountants.bounds import Bounds
from accountants.fourier import fallback
from accountants.fourier.contour import engine as contour
from accountants.fourier.contour import one_step
from accountants.fourier.contour.quadrature import ContourError
from accountants.fourier.grid import engine as grid
from accountants.fourier.grid.outlook import GridError
from accountants.fourier.pairs import (
    CHOICES,
    bracket,
    composed_laws,
    dominating_pair,
    explicit_pair,
    unheld,
)
from accountants.fourier.profile import DeltaCurve, Profile, along_contours, on_grid, one_by_one
from accountants.fourier.trade_off import TradeOff, checked, trade_off_from_profile

# An interval wider than this, relative to ε, is worth the second of a costly contour.
_WIDE = 1e-4
# An interval wider than this is intersected with what is proved without any engine.
_VERY_WIDE = 1e-3
# A profile's widest interval, relative to δ(0): what a grid gives in a fraction of a second.
_PROFILE_TOLERANCE = 1e-5
_NO_UPPER_END = math.inf

Engine = Literal["closed form", "contour", "grid", "contour and grid"]


@dataclass(frozen=True, slots=True)
class Answer:
    """An interval, and how it was found."""

    bounds: Bounds
    engine: Engine

    @property
    def relative_gap(self) -> float:
        """(upper − lower)/upper; 0 where both are 0, inf where the upper end is."""
        lower, upper = self.bounds
        if lower == upper:
            return 0.0
        return (upper - lower) / upper if upper < math.inf else math.inf

    def intersect(self, other: "Answer | None") -> "Answer":
        """What both say; each of the two intervals contains the truth."""
        if other is None:
            return self
        return Answer(self.bounds.intersect(other.bounds), "contour and grid")


class FourierAccountant(IntervalAccountant):
    """Certified intervals for ε(δ), δ(ε) and the trade-off curve.

    The privacy loss of a composition is the sum of its events' losses, so its law is a product of
    transforms. Three engines turn that into numbers, each with a proof of both ends in its module:

    * plain Gaussians compose to a Gaussian, in closed form (`accountants.gaussian`);
    * sampled Gaussians over many steps: the *contour* engine, `accountants.fourier.contour.sum`, a
      few milliseconds whatever the number of steps; a single step in closed form;
    * everything else, few steps, and tiny ε: the *grid* engine, `accountants.fourier.grid.engine`.

    Where the first choice misses `tolerance`, the other engine is asked too, and the two intervals,
    both of which contain the truth, are intersected. If neither reaches the tolerance, the interval
    is wider; it is never wrong.

    The upper end is that of a dominating pair and covers adaptive composition (Zhu, Dong, Wang
    2022, Theorem 10). The lower end is that of an explicit pair of data sets; for fixed-size
    sampling and shuffled batches the two pairs differ, and a gap remains that no tolerance closes.
    Balls in bins have a gap of about 1e-4, whatever the tolerance: see
    `accountants.fourier.allocation`.

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
    release_types: ClassVar[tuple[type[releases.Elementary], ...]] = (
        releases.Gaussian,
        releases.PoissonGaussian,
        releases.PoissonGaussianReplace,
        releases.GroupGaussian,
        releases.FixedSizeGaussian,
        releases.FixedSizeGroupGaussian,
        releases.AllocatedGaussian,
        releases.ShuffledGaussian,
        releases.Laplace,
        releases.DiscreteLaplace,
        releases.RandomizedResponse,
        releases.MixtureOfGaussians,
        releases.PureResponse,
        releases.DiscreteGaussian,
        releases.Sampled,
        releases.Between,
    )

    def __init__(
        self,
        neighboring_relation: NeighboringRelation = NeighboringRelation.ADD_OR_REMOVE_ONE,
        tolerance: float = 1e-6,
    ) -> None:
        super().__init__(neighboring_relation)
        self._tolerance = validate.open_unit("tolerance", tolerance)

    def _resolve(self, event: dpa.DpEvent) -> releases.Resolution:
        found = super()._resolve(event)
        reason = unheld(found)
        if reason is not None:
            raise elementary.NotSupportedError(reason)
        return found

    @property
    def _aim(self) -> float:
        """The tolerance; shuffled batches, whose gap nothing closes, are not worth a fine one."""
        any_shuffled = any(isinstance(r, releases.ShuffledGaussian) for r in self._releases)
        return max(self._tolerance, _VERY_WIDE) if any_shuffled else self._tolerance

    def epsilon_answer(self, delta: float) -> Answer:
        """`get_epsilon_bounds`, with the engine that found it."""
        delta = validate.half_open_unit("delta", delta)
        if self._non_private or not self._releases or self._revealed or delta == 0.0:
            return Answer(self.get_epsilon_bounds(delta), "closed form")
        return self._epsilon_answer(delta)

    def _epsilon_answer(self, delta: float) -> Answer:
        tolerance = self._aim
        return self._answer(
            _Engines(
                closed_form=lambda mu: gaussian.epsilon_bounds(mu, delta),
                single_step=lambda release: one_step.epsilon_bounds(release, delta),
                along_contour=lambda c, work: contour.epsilon_bounds(c, delta, tolerance, work),
                on_grid=lambda laws: grid.epsilon_bounds(laws, delta, tolerance=tolerance),
                add_is_below=lambda c, bounds: contour.add_is_below(c, bounds, delta=delta),
                without_engine=lambda parts: fallback.epsilon_bounds(parts, delta),
            )
        )

    def delta_answer(self, epsilon: float) -> Answer:
        """`get_delta_bounds`, with the engine that found it."""
        epsilon = validate.non_negative("epsilon", epsilon)
        if self._non_private or not self._releases or self._revealed:
            return Answer(self.get_delta_bounds(epsilon), "closed form")
        return self._delta_answer(epsilon)

    def _delta_answer(self, epsilon: float) -> Answer:
        tolerance = self._aim
        return self._answer(
            _Engines(
                closed_form=lambda mu: gaussian.delta_bounds(mu, epsilon),
                single_step=lambda release: one_step.delta_bounds(release, epsilon),
                along_contour=lambda c, work: contour.delta_bounds(c, epsilon, tolerance, work),
                on_grid=lambda laws: grid.delta_bounds(laws, epsilon, tolerance=tolerance),
                add_is_below=lambda c, bounds: contour.add_is_below(c, bounds, epsilon=epsilon),
                without_engine=lambda parts: fallback.delta_bounds(parts, epsilon),
            )
        )

    @property
    def tolerance(self) -> float:
        """The relative gap that is aimed for."""
        return self._tolerance

    def _epsilon_and_engine(self, delta: float) -> tuple[Bounds, str]:
        answer = self.epsilon_answer(delta)
        return answer.bounds, answer.engine

    def _epsilon_bounds(self, delta: float) -> Bounds:
        return self._epsilon_answer(delta).bounds

    def _delta_bounds(self, epsilon: float) -> Bounds:
        return self._delta_answer(epsilon).bounds

    def trade_off(self, alphas: Sequence[float]) -> TradeOff:
        """Bounds of the least type II error at each type I error, over all pairs of neighbours.

        The curve is that of Dong, Roth, Su 2022 for the worst pair in both directions: convex,
        decreasing and symmetric. See `accountants.fourier.trade_off`.
        """
        points = checked(alphas)
        if self._non_private:
            return TradeOff(points, np.zeros_like(points), np.zeros_like(points))
        if not self._revealed:
            return self._trade_off(points)
        # All is told with chance d, else the rest tells: f(α) = (1 − d)·f′(α/(1 − d)).
        ends = []
        for chance, sign in zip(self._chance_revealed(), (1.0, -1.0), strict=True):
            hidden = max(1.0 - chance, 1e-300)
            inside = np.minimum(points / hidden * (1.0 - sign * 1e-15), 1.0)
            ends.append((hidden, self._trade_off(inside)))
        lower = ends[1][0] * ends[1][1].lower * (1.0 - 1e-15)
        upper = np.minimum(ends[0][0] * ends[0][1].upper * (1.0 + 1e-15), 1.0 - points)
        return TradeOff(points, np.minimum(lower, upper), upper)

    def _trade_off(self, points: FloatArray) -> TradeOff:
        """The same where nothing is revealed."""
        if not self._releases:
            return trade_off_from_profile(one_by_one(lambda _: Bounds(0.0, 0.0)), points)
        dominating = _Releases.of(self._releases)
        curve = trade_off_from_profile(self._profile(dominating), points)
        # The truth lies below every pair of data sets' curve and above the dominating pair's.
        upper = curve.upper
        for number, explicit in enumerate(_explicit(self._releases, dominating)):
            above = trade_off_from_profile(self._profile(explicit), points).upper
            upper = np.minimum(upper, above) if number else above
        return TradeOff(points, curve.lower, np.maximum(curve.lower, upper))

    def profile(self, tolerance: float = _PROFILE_TOLERANCE) -> Profile:
        """Bounds of δ at many ε ≥ 0, for one composition's work: a function of an array of ε.

        `get_delta_bounds` gives one δ as tight as wished.

        Args:
          tolerance: The widest interval to aim for, relative to δ(0).

        >>> from dp_accounting import GaussianDpEvent
        >>> profile = FourierAccountant().compose(GaussianDpEvent(1.0)).profile()
        >>> profile(np.array([0.0, 1.0])).upper.round(6).tolist()
        [0.382925, 0.126937]
        """
        tolerance = validate.open_unit("tolerance", tolerance)
        if self._non_private or not self._releases or self._revealed:
            return one_by_one(self.get_delta_bounds)
        dominating = _Releases.of(self._releases)
        above = self._profile(dominating, tolerance)
        explicit = _explicit(self._releases, dominating)
        if not explicit:
            return above
        below = [self._profile(pairs, tolerance) for pairs in explicit]

        def between(epsilons: FloatArray) -> DeltaCurve:
            upper = above(epsilons).upper
            lower = np.max([profile(epsilons).lower for profile in below], axis=0)
            return DeltaCurve(epsilons, np.minimum(lower, upper), upper)

        return between

    def _profile(self, releases: "_Releases", tolerance: float | None = None) -> Profile:
        """Bounds of δ at many ε for exactly these pairs."""
        mu = releases.mu()
        if mu is not None:
            return one_by_one(lambda epsilon: gaussian.delta_bounds(mu, epsilon))
        composition = releases.for_contour()
        if composition is not None:
            event = composition.single_step
            if event is not None:
                return one_by_one(lambda epsilon: one_step.delta_bounds(event, epsilon))
            try:
                return along_contours(composition)
            except ContourError:
                pass
        if tolerance is None:
            tolerance = max(self._aim, _PROFILE_TOLERANCE)
        return on_grid(releases.for_grid(self._aim), tolerance)

    def _answer(self, engines: "_Engines") -> Answer:
        dominating = _Releases.of(self._releases)
        answer = self._ask(engines, dominating)
        if answer.relative_gap > max(self._aim, _VERY_WIDE):
            proved = answer.bounds.intersect(engines.without_engine(dominating.parts))
            answer = Answer(proved, answer.engine)
        below = [self._ask(engines, pair) for pair in _explicit(self._releases, dominating)]
        if not below:
            return answer
        # The truth lies above every pair of data sets and below the dominating pair.
        bounds = Bounds(max(found.bounds.lower for found in below), answer.bounds.upper)
        names = {answer.engine, *(found.engine for found in below)}
        return Answer(bounds, answer.engine if len(names) == 1 else "contour and grid")

    def _ask(self, engines: "_Engines", releases: "_Releases") -> Answer:
        """The interval for exactly these pairs, by the engine that suits them."""
        mu = releases.mu()
        if mu is not None:
            return Answer(engines.closed_form(mu), "closed form")
        composition = releases.for_contour()
        single = composition and composition.single_step
        if single:
            return Answer(engines.single_step(single), "closed form")
        found = engines.try_contour(composition, contour.CHEAP)
        if found is not None and found.relative_gap <= self._aim:
            return found
        bounds = self._ask_grid(engines, releases, composition)
        answer = Answer(bounds, "grid").intersect(found)
        if answer.relative_gap > max(self._aim, _WIDE):
            answer = answer.intersect(engines.try_contour(composition, contour.COSTLY))
        return answer

    def _ask_grid(
        self, engines: "_Engines", releases: "_Releases", composition: contour.Composition | None
    ) -> Bounds:
        """The grid engine's interval, of releases that bracket these where it cannot hold them."""
        above, below = releases.bracket()
        if above != below:
            lower = self._ask_grid(engines, below, None).lower
            upper = self._ask_grid(engines, above, None).upper if above else _NO_UPPER_END
            return Bounds(lower, upper)
        remove, *add = releases.for_grid(self._aim)
        try:
            bounds = engines.on_grid(remove)
            if add and (composition is None or not engines.add_is_below(composition, bounds)):
                bounds = bounds.larger(engines.on_grid(add[0]))
        except GridError:
            return Bounds(0.0, _NO_UPPER_END)
        return bounds


def _explicit(
    composition: Mapping[releases.Elementary, int], dominating: "_Releases"
) -> list["_Releases"]:
    """The same with pairs that data sets realise, for the lower end; none if they dominate."""
    found = {
        _Releases(
            tuple((explicit_pair(release, choice), count) for release, count in composition.items())
        )
        for choice in range(CHOICES)
    }
    return [] if found == {dominating} else sorted(found, key=str)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Engines:
    """One question, ε at a δ or δ at an ε, as each engine is asked it.

    Attributes:
      closed_form: For the μ of a plain Gaussian.
      single_step: For a sampled Gaussian, once.
      along_contour: For sampled Gaussians within a limit of work.
      on_grid: For loss laws of one direction.
      add_is_below: Whether the add direction is seen to be below the remove direction's interval.
      without_engine: What is proved by other means, see `accountants.fourier.fallback`.
    """

    closed_form: Callable[[float], Bounds]
    single_step: Callable[[releases.PoissonGaussian], Bounds]
    along_contour: Callable[[contour.Composition, int], Bounds]
    on_grid: Callable[[grid.Laws], Bounds]
    add_is_below: Callable[[contour.Composition, Bounds], bool]
    without_engine: Callable[[Sequence[tuple[releases.Elementary, int]]], Bounds]

    def try_contour(self, composition: contour.Composition | None, max_work: int) -> Answer | None:
        """The contour engine's answer, or None where it has none."""
        if composition is None:
            return None
        try:
            return Answer(self.along_contour(composition, max_work), "contour")
        except ContourError:
            return None


@dataclass(frozen=True)
class _Releases:
    """Elementary releases with their counts, as each engine wants them.

    Attributes:
      parts: Distinct releases and counts.
    """

    parts: tuple[tuple[releases.Elementary, int], ...]

    @classmethod
    def of(cls, composition: Mapping[releases.Elementary, int]) -> "_Releases":
        """What has been composed, by the pairs that dominate it."""
        parts: dict[releases.Elementary, int] = {}
        for release, count in composition.items():
            pair = dominating_pair(release)
            parts[pair] = parts.get(pair, 0) + count
        return cls(tuple(parts.items()))

    def bracket(self) -> tuple["_Releases | None", "_Releases"]:
        """The same with pairs that a grid can hold, from above (None: none is known) and below."""
        pairs = [(bracket(release), count) for release, count in self.parts]
        below = _Releases(tuple((low, count) for (_, low), count in pairs))
        above = [(high, count) for (high, _), count in pairs if high is not None]
        return _Releases(tuple(above)) if len(above) == len(pairs) else None, below

    def mu(self) -> float | None:
        """μ of the composition if it is Gaussian throughout."""
        squares = [
            count * release.mu**2
            for release, count in self.parts
            if isinstance(release, releases.Gaussian)
        ]
        return math.sqrt(math.fsum(squares)) if len(squares) == len(self.parts) else None

    def for_contour(self) -> contour.Composition | None:
        """The composition for the contour engine, if all of it is plain or sampled Gaussians."""
        squares, events, counts = [], [], []
        kinds = {type(release) for release, _ in self.parts} - {releases.Gaussian}
        for release, count in self.parts:
            if isinstance(release, releases.Gaussian):
                squares.append(count * release.mu**2)
            elif isinstance(release, releases.SampledGaussian):
                events.append(release)
                counts.append(float(count))
            elif isinstance(release, releases.FixedSizeGaussian):
                half = 0.5 * release.noise_multiplier
                events.append(releases.PoissonGaussian(release.sampling_rate, half))
                counts.append(float(count))
            else:
                return None
        if len(kinds) != 1:
            return None
        symmetrised = kinds == {releases.FixedSizeGaussian}
        return contour.Composition(events, np.array(counts), math.fsum(squares), symmetrised)

    def for_grid(self, tolerance: float) -> list[grid.Laws]:
        """The composition for the grid engine, once per direction."""
        coarse = tolerance >= _VERY_WIDE
        pairs = [composed_laws(release, count, coarse=coarse) for release, count in self.parts]
        directions: list[grid.Laws] = [
            [(pair[index], count) for pair, count in pairs] for index in (0, 1)
        ]
        return directions[:1] if directions[0] == directions[1] else directions
