"""What all accountants share: walking an event, and answering with intervals."""

import abc
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Self

import dp_accounting as dpa
from dp_accounting import NeighboringRelation, PrivacyAccountant

from accountants import elementary, pure, releases, resolution, validate
from accountants.bounds import Bounds
from accountants.certificate import NOISE_IN_WORDS, Certificate, deltas_of
from accountants.events import EpsilonDeltaDpEvent

_INFINITE = Bounds(math.inf, math.inf)


class IntervalAccountant(PrivacyAccountant):
    """A `dp_accounting.PrivacyAccountant` that answers with certified intervals.

    The state is a multiset of elementary releases (see `accountants.elementary`), so that the order
    of composition cannot matter and `compose(event, n)` is n times `compose(event)` by
    construction. Subclasses name the releases that they account for and turn the multiset into
    bounds.

    Adaptive composition is covered: every subclass composes dominating pairs or Rényi divergences,
    and both compose adaptively (Zhu, Dong, Wang 2022, Theorem 10; Mironov 2017, Proposition 1).

    Args:
      neighboring_relation: Which data sets are neighbours.
    """

    method: ClassVar[str]
    release_types: ClassVar[tuple[type[releases.Elementary], ...]]

    def __init__(
        self, neighboring_relation: NeighboringRelation = NeighboringRelation.ADD_OR_REMOVE_ONE
    ) -> None:
        super().__init__(validate.relation("neighboring_relation", neighboring_relation))
        self._releases: Counter[releases.Elementary] = Counter()
        self._revealed: Counter[releases.Revealed] = Counter()
        self._non_private = False

    def compose(self, event: dpa.DpEvent, count: int = 1) -> Self:
        """Adds `count` releases described by `event`; the earlier ones may steer the later ones."""
        count = validate.count("count", count)
        try:
            super().compose(event, count)
        except RecursionError:
            raise ValueError("`event` must be nested less deeply: it exhausts the stack.") from None
        return self

    def _maybe_compose(
        self, event: dpa.DpEvent, count: int, do_compose: bool
    ) -> PrivacyAccountant.CompositionErrorDetails | None:
        # A stack of our own: events may be nested deeper than Python's.
        waiting = [(event, count)]
        while waiting:
            inner, times = waiting.pop()
            if isinstance(inner, dpa.SelfComposedDpEvent):
                repeats = validate.count("count", inner.count, minimum=0)
                waiting.append((inner.event, times * repeats))
                continue
            if isinstance(inner, dpa.ComposedDpEvent):
                waiting.extend((part, times) for part in reversed(inner.events))
                continue
            if isinstance(inner, EpsilonDeltaDpEvent) and inner.epsilon and 0.0 < inner.delta < 1.0:
                parts = EpsilonDeltaDpEvent(inner.epsilon), EpsilonDeltaDpEvent(0.0, inner.delta)
                waiting.extend((part, times) for part in parts)
                continue
            try:
                found = self._resolve(inner)
            except elementary.NotSupportedError as reason:
                return self.CompositionErrorDetails(inner, str(reason))
            if do_compose and times:
                if found is releases.NonPrivate:
                    self._non_private = True
                elif isinstance(found, releases.Revealed):
                    self._revealed[found] += times
                elif not isinstance(found, type):
                    self._releases[found] += times
        return None

    def _resolve(self, event: dpa.DpEvent) -> releases.Resolution:
        found = resolution.resolve(event, self.neighboring_relation)
        if not isinstance(found, (type, releases.Revealed, *self.release_types)):
            raise elementary.NotSupportedError(
                f"{type(self).__name__} does not account for {type(event).__name__} "
                f"under {self.neighboring_relation.name}"
            )
        return found

    @property
    def composition(self) -> Mapping[releases.Elementary, int]:
        """What has been composed, each release with its multiplicity."""
        return MappingProxyType({**self._releases, **self._revealed})

    @property
    def non_private(self) -> bool:
        """Whether something without noise has been composed: then every ε is infinite."""
        return self._non_private

    def get_epsilon_bounds(self, delta: float) -> Bounds:
        """An interval that contains ε(δ), the least ε for which (ε, δ)-DP holds.

        At δ = 0 that is the largest loss of all, the sum of the pure ε's: see `accountants.pure`.
        """
        delta = validate.half_open_unit("delta", delta)
        if self._non_private:
            return _INFINITE
        known = self._chance_revealed()
        if known.lower > delta:
            return _INFINITE
        if delta == 0.0:
            return pure.epsilon_bounds(self._releases)
        if not self._revealed:
            return self._epsilon_bounds(delta) if self._releases else Bounds(0.0, 0.0)
        # δ = d + (1 − d)·δ′: what is left for the rest, where nothing is revealed.
        ends = []
        for chance, sign in ((known.lower, 1.0), (known.upper, -1.0)):
            rest = min((delta - chance) / (1.0 - chance) * (1.0 + sign * 1e-15), 1.0 - 2.0**-53)
            if rest <= 0.0:
                ends.append(pure.epsilon_bounds(self._releases) if rest == 0.0 else _INFINITE)
            else:
                ends.append(self._epsilon_bounds(rest) if self._releases else Bounds(0.0, 0.0))
        return Bounds(ends[0].lower, max(ends[1].upper, ends[0].lower))

    def _chance_revealed(self) -> Bounds:
        """d, the chance that any of the releases gives all away."""
        if not self._revealed:
            return Bounds(0.0, 0.0)
        hidden = math.fsum(n * math.log1p(-r.probability) for r, n in self._revealed.items())
        chance = -math.expm1(hidden)
        return Bounds(chance * (1.0 - 1e-14), min(1.0, chance * (1.0 + 1e-14)))

    def get_delta_bounds(self, epsilon: float) -> Bounds:
        """An interval that contains δ(ε), the least δ for which (ε, δ)-DP holds."""
        epsilon = validate.non_negative("epsilon", epsilon)
        if self._non_private:
            return Bounds(1.0, 1.0)
        rest = self._delta_bounds(epsilon) if self._releases else Bounds(0.0, 0.0)
        if not self._revealed:
            return rest
        low, high = self._chance_revealed()
        upper = min(1.0, (high + (1.0 - high) * rest.upper) * (1.0 + 1e-15))
        return Bounds((low + (1.0 - low) * rest.lower) * (1.0 - 1e-15), upper)

    @abc.abstractmethod
    def _epsilon_bounds(self, delta: float) -> Bounds:
        """`get_epsilon_bounds` for a non-empty composition of private releases."""

    @abc.abstractmethod
    def _delta_bounds(self, epsilon: float) -> Bounds:
        """`get_delta_bounds` for a non-empty composition of private releases."""

    def get_epsilon(self, target_delta: float) -> float:
        """The upper bound of ε(δ)."""
        return self.get_epsilon_bounds(validate.half_open_unit("target_delta", target_delta)).upper

    def get_delta(self, target_epsilon: float) -> float:
        """The upper bound of δ(ε)."""
        return self.get_delta_bounds(validate.non_negative("target_epsilon", target_epsilon)).upper

    def assumptions(self) -> Sequence[str]:
        """What the answers rest on, in words."""
        several = {
            release.records
            for release in self._releases
            if isinstance(release, releases.GroupGaussian | releases.FixedSizeGroupGaussian)
        }
        return (
            _RELATION_IN_WORDS[self.neighboring_relation],
            *(_USERS_IN_WORDS.format(records) for records in sorted(several)),
            NOISE_IN_WORDS,
            _ARITHMETIC_IN_WORDS,
        )

    @property
    def tolerance(self) -> float | None:
        """The relative gap that is aimed for, where that can be chosen."""
        return None

    def _epsilon_and_engine(self, delta: float) -> tuple[Bounds, str]:
        """`get_epsilon_bounds`, and how it was found where there are several ways."""
        return self.get_epsilon_bounds(delta), ""

    def certify(self, deltas: Sequence[float]) -> Certificate:
        """The composition so far, with ε bounds at each δ, as a `Certificate`."""
        answers = [(delta, *self._epsilon_and_engine(delta)) for delta in deltas_of(deltas)]
        return Certificate(
            event=self.ledger,
            neighboring_relation=self.neighboring_relation,
            points=tuple((delta, *bounds) for delta, bounds, _ in answers),
            method=self.method,
            assumptions=tuple(self.assumptions()),
            engine=", ".join(dict.fromkeys(engine for *_, engine in answers if engine)),
            tolerance=self.tolerance,
        )


def checked(accountant: Any) -> IntervalAccountant:
    """`accountant` if it is an `IntervalAccountant`."""
    if not isinstance(accountant, IntervalAccountant):
        got = validate.shown(accountant)
        raise TypeError(f"`accountant` must be an IntervalAccountant, got {got}.")
    return accountant


_RELATION_IN_WORDS = {
    NeighboringRelation.ADD_OR_REMOVE_ONE: (
        "Neighbouring data sets differ by one record added or removed; one record moves a sum by "
        "at most C."
    ),
    NeighboringRelation.REPLACE_ONE: (
        "Neighbouring data sets differ in the value of one record; one record moves a sum by at "
        "most 2C."
    ),
    NeighboringRelation.REPLACE_SPECIAL: (
        "Neighbouring data sets differ by one record set to zero; one record moves a sum by at "
        "most C."
    ),
}
_USERS_IN_WORDS = (
    "One record stands for one user, who has at most {} of them: neighbours differ in all, each of "
    "which is clipped to C."
)
_ARITHMETIC_IN_WORDS = (
    "Doubles are those of IEEE 754. Not proved for all builds, but measured by the tests, wherever "
    "they are used: the elementary functions of numpy and the C library are within four units in "
    "the last place, scipy's error functions within 2e-13 and its binomial probabilities within "
    "1e-9, relatively, and its Fourier transforms within eight roundings a stage."
)
