r"""Filters: budgets that hold when parameters are chosen adaptively.

With parameters that depend on earlier outputs, the total cost is itself random, and adding up is no
longer a theorem. Composing the events' exact curves and stopping before the budget is crossed, the
natural filter, is in general no proof: which of two curves is the worse one differs along the way,
and an adversary chooses by what has been seen (Honkela, Koskela, Räisä, Tran 2026; "Natural Privacy
Filters Are Not Always Free" 2026). It is a proof where all curves are ordered by one parameter.

**Rényi** (Feldman, Zrnic 2021, Theorem 4.3). Fix an order α > 1 in advance and stop *before* the
running sum of D_α exceeds its budget R: the whole interaction then has D_α ≤ R. For with L the loss
so far, e^{(α−1)(L − ΣD_α)} is a supermartingale that starts at 1, whatever is chosen.

**Gaussian** (Koskela, Tobaben, Honkela 2022; Smith, Thakurta 2022): stop before Σμᵢ² exceeds μ²,
and the interaction is μ-GDP, exactly what it would be with parameters fixed in advance. Proof. Let
release i be N(0, I) or N(vᵢ, I), |vᵢ| ≤ μᵢ, chosen by what was seen. Under the second law its loss
is N(|vᵢ|²/2, |vᵢ|²), a Brownian motion with drift ½, run for a time |vᵢ|². Let it run on after the
last release until the clock Σ|vᵢ|², which is at most μ², shows μ². Its value is then N(μ²/2, μ²),
whatever the choices were: the loss of one Gaussian with shift μ. To leave out the end only takes
away. ∎

**Combined.** Which of the two filters is used must not depend on what comes; to admit what either
admits is no proof either. But δ can be shared, δ = δ_G + δ_R. As long as all that was admitted are
plain Gaussians, the Gaussian filter decides, for (ε, δ_G); anything else is admitted if the Rényi
filter, which has counted all from the beginning, has room for it for (ε, δ_R), and from then on
that filter decides. Proof. Let S be the event that something else was admitted. What is left of
δ(ε) = E[(1 − e^{ε−L})₊] outside of S is no more than if the interaction were stopped before
anything else is admitted, an interaction of Gaussians within the first budget: at most δ_G. On S,
ΣD_α ≤ R at the end, and (1 − e^{ε−L})₊ ≤ C·e^{(α−1)(L−ε)}, C = (1 − 1/α)^{α−1}/α, so that what is
left on S is at most C·e^{(α−1)(R−ε)}·E[e^{(α−1)(L−ΣD_α)}; S] ≤ C·e^{(α−1)(R−ε)} = δ_R. ∎
"""

import abc
import math

import dp_accounting as dpa
from dp_accounting import NeighboringRelation

from accountants import releases, validate
from accountants.renyi import RenyiAccountant, epsilon_from_divergence
from accountants.renyi_divergence import MAX_FIXED_SIZE_ORDER

_ADD_OR_REMOVE_ONE = NeighboringRelation.ADD_OR_REMOVE_ONE
# Of δ, for plain Gaussians: with half of it either side admits about 5% less.
_GAUSSIAN_SHARE = 0.5


class PrivacyFilter(abc.ABC):
    """What all filters share: admit, book, and say what was booked.

    Args:
      target_epsilon: The ε never to be exceeded.
      delta: Its δ.
      neighboring_relation: Which data sets are neighbours.
    """

    def __init__(
        self,
        *,
        target_epsilon: float,
        delta: float,
        neighboring_relation: NeighboringRelation = _ADD_OR_REMOVE_ONE,
    ) -> None:
        self.target_epsilon = validate.positive("target_epsilon", target_epsilon)
        self.delta = validate.open_unit("delta", delta)
        self._spent = RenyiAccountant(neighboring_relation)

    @abc.abstractmethod
    def _epsilon(self, books: RenyiAccountant) -> float:
        """The ε that these books stand for; they are admitted up to `target_epsilon`."""

    @property
    def epsilon_upper(self) -> float:
        """The ε(δ) of what was booked as the filter counts it, at most `target_epsilon`.

        What is proved of the whole interaction, under adaptive parameters, is the target.
        """
        if isinstance(self._spent.ledger, dpa.NoOpDpEvent):
            return 0.0
        return max(0.0, self._epsilon(self._spent))

    @property
    def ledger(self) -> dpa.DpEvent:
        """What has been spent, as one event."""
        return self._spent.ledger

    def admits(self, event: dpa.DpEvent, count: int = 1) -> bool:
        """Whether `count` times `event` still fits; the state does not change."""
        trial = RenyiAccountant(self._spent.neighboring_relation)
        trial.compose(self._spent.ledger).compose(event, count)
        return self._epsilon(trial) <= self.target_epsilon

    def spend(self, event: dpa.DpEvent, count: int = 1) -> None:
        """Records `event`, or raises `ValueError` where it would overshoot the budget."""
        if not self.admits(event, count):
            raise ValueError(
                f"`event` must fit the budget epsilon={self.target_epsilon}, delta={self.delta}: "
                f"{event} x {count} would exceed it (spent {self.epsilon_upper:.6g})."
            )
        self._spent.compose(event, count)


class RenyiFilter(PrivacyFilter):
    """Admits events while the (ε, δ) budget holds, at one Rényi order fixed in advance.

    Args:
      target_epsilon: The ε never to be exceeded.
      delta: Its δ.
      order: α; by default the one that admits the most Gaussian releases (`default_order`).
      neighboring_relation: Which data sets are neighbours.

    >>> budget = RenyiFilter(target_epsilon=1.0, delta=1e-5)
    >>> step = dpa.GaussianDpEvent(50.0)
    >>> while budget.admits(step):
    ...     budget.spend(step)
    >>> budget.epsilon_upper <= 1.0
    True
    """

    def __init__(
        self,
        *,
        target_epsilon: float,
        delta: float,
        order: float | None = None,
        neighboring_relation: NeighboringRelation = _ADD_OR_REMOVE_ONE,
    ) -> None:
        super().__init__(
            target_epsilon=target_epsilon, delta=delta, neighboring_relation=neighboring_relation
        )
        self.order = default_order(target_epsilon, delta) if order is None else order
        if validate.real("order", self.order) <= 1.0:
            raise ValueError(f"`order` must be above 1, got {order!r}.")

    def _epsilon(self, books: RenyiAccountant) -> float:
        return epsilon_from_divergence(self.order, books.divergence(self.order), self.delta)


class GaussianFilter(PrivacyFilter):
    """Admits plain Gaussians while the (ε, δ) budget holds; exact, as if they were fixed before.

    Sampled Gaussians are not admitted: their curves are not ordered by one parameter. The arguments
    are those of `PrivacyFilter`.

    >>> budget = GaussianFilter(target_epsilon=1.0, delta=1e-5)
    >>> budget.spend(dpa.GaussianDpEvent(50.0), 179)  # the Rényi filter admits 152
    >>> budget.admits(dpa.GaussianDpEvent(50.0)), round(budget.epsilon_upper, 4)
    (False, 0.9981)
    """

    def _epsilon(self, books: RenyiAccountant) -> float:
        # Of nothing but Gaussians the accountant's answer is the exact curve's.
        return books.get_epsilon(self.delta) if _only_gaussians(books) else math.inf


class CombinedFilter(PrivacyFilter):
    """Admits plain Gaussians at nearly their exact cost, and all else by a Rényi filter.

    Half of δ is the Gaussians', half the Rényi filter's: see the module's docstring for the proof.
    The arguments are those of `PrivacyFilter`.

    >>> budget = CombinedFilter(target_epsilon=1.0, delta=1e-5)
    >>> budget.spend(dpa.GaussianDpEvent(50.0), 140)
    >>> budget.admits(dpa.GaussianDpEvent(50.0), 25), budget.admits(dpa.LaplaceDpEvent(50.0))
    (True, True)
    """

    def __init__(
        self,
        *,
        target_epsilon: float,
        delta: float,
        neighboring_relation: NeighboringRelation = _ADD_OR_REMOVE_ONE,
    ) -> None:
        super().__init__(
            target_epsilon=target_epsilon, delta=delta, neighboring_relation=neighboring_relation
        )
        # δ is halved downwards: both together are at most δ.
        self._gaussian_delta = math.nextafter(_GAUSSIAN_SHARE * self.delta, 0.0)
        self._renyi_delta = math.nextafter((1.0 - _GAUSSIAN_SHARE) * self.delta, 0.0)
        if min(self._gaussian_delta, self._renyi_delta) <= 0.0:
            raise validate.refusal("delta", "large enough to be halved", delta)
        self.order = default_order(self.target_epsilon, self._renyi_delta)

    def _epsilon(self, books: RenyiAccountant) -> float:
        if _only_gaussians(books):
            return books.get_epsilon(self._gaussian_delta)
        return epsilon_from_divergence(self.order, books.divergence(self.order), self._renyi_delta)


def _only_gaussians(books: RenyiAccountant) -> bool:
    return all(isinstance(release, releases.Gaussian) for release in books.composition)


def default_order(target_epsilon: float, delta: float) -> float:
    """The order at which a composition of Gaussians may be longest, or nearly so.

    ρ-zCDP has D_α = ρα, so that order α leaves ρ(α) = D(α)/α, D(α) the divergence that converts to
    ε at δ. The largest ρ is sought around the maximiser for the simpler conversion ε = ρα +
    log(1/δ)/(α−1), which is α = 1 + x + √(x² + x) with x = log(1/δ)/ε. If it lies above the last
    order at which batches of fixed size have a good bound, and that order leaves a third as much at
    least, that order is taken.
    """
    epsilon = validate.positive("target_epsilon", target_epsilon)
    x = -math.log(validate.open_unit("delta", delta)) / epsilon

    def allowed(order: float) -> float:
        return (epsilon - epsilon_from_divergence(order, 0.0, delta)) / order

    excess = x + math.sqrt(x * x + x)
    best = max((1.0 + excess * 0.97**k for k in range(100)), key=allowed)
    limit = float(MAX_FIXED_SIZE_ORDER)
    return limit if best > limit and allowed(limit) >= allowed(best) / 3.0 else best
