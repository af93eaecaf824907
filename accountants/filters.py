"""A Rényi filter: a budget that holds when parameters are chosen adaptively.

With parameters that depend on earlier outputs, the total divergence is itself random, and adding
up is no longer a theorem. Feldman & Zrnic 2021 (Theorem 4.3) show that it is enough to fix an order
α > 1 in advance and to stop *before* the running sum of D_α exceeds its budget: the whole
interaction then has D_α at most that budget. The order must not depend on the data.
"""

import math

import dp_accounting as dpa
from dp_accounting import NeighboringRelation

from accountants import validate
from accountants.renyi import RenyiAccountant, epsilon_from_divergence
from accountants.renyi_divergence import MAX_FIXED_SIZE_ORDER


class RenyiFilter:
    """Admits events while the (ε, δ) budget holds, at one order fixed in advance.

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
        neighboring_relation: NeighboringRelation = NeighboringRelation.ADD_OR_REMOVE_ONE,
    ) -> None:
        self.target_epsilon = validate.positive("target_epsilon", target_epsilon)
        self.delta = validate.open_unit("delta", delta)
        self.order = default_order(target_epsilon, delta) if order is None else order
        if validate.real("order", self.order) <= 1.0:
            raise ValueError(f"`order` must be above 1, got {order!r}.")
        self._spent = RenyiAccountant(neighboring_relation)

    @property
    def epsilon_upper(self) -> float:
        """The ε(δ) spent so far, an upper bound valid under adaptive parameters."""
        if isinstance(self._spent.ledger, dpa.NoOpDpEvent):
            return 0.0
        divergence = self._spent.divergence(self.order)
        return max(0.0, epsilon_from_divergence(self.order, divergence, self.delta))

    @property
    def ledger(self) -> dpa.DpEvent:
        """What has been spent, as one event."""
        return self._spent.ledger

    def admits(self, event: dpa.DpEvent, count: int = 1) -> bool:
        """Whether `count` times `event` still fits; the state does not change."""
        trial = RenyiAccountant(self._spent.neighboring_relation)
        trial.compose(self._spent.ledger).compose(event, count)
        divergence = trial.divergence(self.order)
        return epsilon_from_divergence(self.order, divergence, self.delta) <= self.target_epsilon

    def spend(self, event: dpa.DpEvent, count: int = 1) -> None:
        """Records `event`, or raises `ValueError` where it would overshoot the budget."""
        if not self.admits(event, count):
            raise ValueError(
                f"`event` must fit the budget epsilon={self.target_epsilon}, delta={self.delta}: "
                f"{event} x {count} would exceed it (spent {self.epsilon_upper:.6g})."
            )
        self._spent.compose(event, count)


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
