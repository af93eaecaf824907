"""The Rényi accountant: real orders, optimised continuously.

Rényi divergences add under (adaptive) composition (Mironov 2017, Proposition 1). Any order α > 1
with total divergence R gives, by Canonne, Kamath, Steinke 2020, Proposition 12,

    ε ≤ R + log((α−1)/α) − (log δ + log α)/(α−1),

so every order is an upper bound and the search for the best one can only cost tightness. Further
upper bounds are used where they are better:

* the pure ε, the limit α → ∞;
* δ(ε) ≤ δ(0) ≤ √(1−e^{−KL}), and KL is at most R of any order (Bretagnolle & Huber 1979);
* where all noise is Gaussian, the exact curve of the same composition without sampling: sampling
  never costs privacy, because the hockey-stick divergence is jointly convex. If nothing is sampled,
  that curve is the truth, and the answer is exact from both sides.
"""

import math
from collections.abc import Callable
from typing import ClassVar

import dp_accounting as dpa
import numpy as np
from scipy import optimize

from accountants import elementary, gaussian, pure, releases, renyi_divergence, validate
from accountants.base import IntervalAccountant
from accountants.bounds import Bounds

# The divergences are accurate to about 1e-12, relative; this is added to stay an upper bound.
ROUNDING = 1e-11
_LOWEST_LOG, _HIGHEST_LOG = math.log(1e-3), math.log(1e6)


def epsilon_from_divergence(order: float, divergence: float, delta: float) -> float:
    """The ε at which a mechanism with D_order ≤ divergence is (ε, δ)-DP; an upper bound.

    May be negative, which says that (0, δ)-DP holds with room to spare.
    """
    log_ratio = math.log(delta) + math.log(order)
    return divergence + math.log1p(-1.0 / order) - log_ratio / (order - 1.0)


def log_delta_from_divergence(order: float, divergence: float, epsilon: float) -> float:
    """Log δ at which a mechanism with D_order ≤ divergence is (ε, δ)-DP; an upper bound."""
    return (order - 1.0) * (divergence - epsilon + math.log1p(-1.0 / order)) - math.log(order)


def _unsampled_mu(release: releases.Elementary) -> float:
    match release:
        case releases.Gaussian(mu):
            return mu
        case releases.PoissonGaussian(_, noise_multiplier):
            return 1.0 / noise_multiplier
        case releases.FixedSizeGaussian(_, noise_multiplier):
            return 2.0 / noise_multiplier
        case releases.PoissonGaussianReplace(_, noise_multiplier):
            return 2.0 / noise_multiplier
    return math.inf


class RenyiAccountant(IntervalAccountant):
    """Upper bounds from Rényi divergences of real order; exact for unsampled Gaussians.

    >>> from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
    >>> step = PoissonSampledDpEvent(0.01, GaussianDpEvent(1.0))
    >>> round(RenyiAccountant().compose(step, 1000).get_epsilon(1e-5), 3)
    2.101
    """

    method: ClassVar[str] = "Rényi accountant"
    release_types: ClassVar[tuple[type[releases.Elementary], ...]] = renyi_divergence.SUPPORTED

    def _resolve(self, event: dpa.DpEvent) -> releases.Resolution:
        found = super()._resolve(event)
        if isinstance(found, releases.RepeatAndSelect):
            for release, _ in found.parts:
                if not isinstance(release, self.release_types):
                    name = type(release).__name__
                    raise elementary.NotSupportedError(f"no Rényi divergence of {name} is known")
        return found

    def divergence(self, order: float) -> float:
        """The total Rényi divergence at a real `order` > 1; an upper bound (see `ROUNDING`)."""
        if validate.real("order", order) <= 1.0:
            raise ValueError(f"`order` must be above 1, got {order!r}.")
        endless = self._non_private or self._revealed
        return math.inf if endless else self._divergence(order)

    def _divergence(self, order: float) -> float:
        return (1.0 + ROUNDING) * math.fsum(
            count * renyi_divergence.divergence(release, order)
            for release, count in self._releases.items()
        )

    def _max_divergence(self) -> float:
        return (1.0 + ROUNDING) * sum(
            count * pure.largest_loss(release) for release, count in self._releases.items()
        )

    def optimal_order(self, delta: float) -> float:
        """The order with the least Rényi bound of ε at `delta`, to about 1e-4 relative."""
        return self._best_epsilon(validate.open_unit("delta", delta))[0]

    def _best_epsilon(self, delta: float) -> tuple[float, float]:
        return self._minimise(
            lambda order: epsilon_from_divergence(order, self._divergence(order), delta)
        )

    def _epsilon_bounds(self, delta: float) -> Bounds:
        unsampled_mu = self._unsampled_mu()
        if self._nothing_sampled():
            return gaussian.epsilon_bounds(unsampled_mu, delta)
        if delta >= self._total_variation():
            return Bounds(0.0, 0.0)
        upper = max(0.0, min(self._best_epsilon(delta)[1], self._max_divergence()))
        if unsampled_mu < math.inf:
            upper = min(upper, gaussian.epsilon_bounds(unsampled_mu, delta).upper)
        return Bounds(0.0, upper)

    def _delta_bounds(self, epsilon: float) -> Bounds:
        unsampled_mu = self._unsampled_mu()
        if self._nothing_sampled():
            return gaussian.delta_bounds(unsampled_mu, epsilon)
        if epsilon >= self._max_divergence():
            return Bounds(0.0, 0.0)
        log_delta = self._minimise(
            lambda order: log_delta_from_divergence(order, self._divergence(order), epsilon)
        )[1]
        upper = math.nextafter(math.exp(min(0.0, log_delta)), math.inf)
        upper = min(1.0, upper, self._total_variation())
        if unsampled_mu < math.inf:
            upper = min(upper, gaussian.delta_bounds(unsampled_mu, epsilon).upper)
        return Bounds(0.0, upper)

    def _total_variation(self) -> float:
        """An upper bound of the total variation distance, δ(0)."""
        divergence = self._divergence(1.0 + math.exp(_LOWEST_LOG))
        return math.sqrt(-math.expm1(-divergence)) * (1.0 + ROUNDING)

    def _nothing_sampled(self) -> bool:
        return all(isinstance(release, releases.Gaussian) for release in self._releases)

    def _unsampled_mu(self) -> float:
        """μ of the composition without its sampling; infinite if not all noise is Gaussian."""
        squares = (count * _unsampled_mu(release) ** 2 for release, count in self._releases.items())
        return math.sqrt(math.fsum(squares))

    def _minimise(self, objective: Callable[[float], float]) -> tuple[float, float]:
        """The order in (1, 10⁶] with the least `objective`, and that value.

        A walk downhill on a geometric grid of α − 1 from a guess brackets the minimum, and bounded
        Brent refines it. A local minimum would still be a valid bound.
        """
        seen: dict[float, float] = {}

        def at(log_excess: float) -> float:
            if log_excess not in seen:
                seen[log_excess] = objective(1.0 + math.exp(log_excess))
            return seen[log_excess]

        stride, here = 1.0, self._guess()
        while here + stride <= _HIGHEST_LOG and at(here + stride) < at(here):
            here += stride
        while here - stride >= _LOWEST_LOG and at(here - stride) < at(here):
            here -= stride
        interval = (max(_LOWEST_LOG, here - stride), min(_HIGHEST_LOG, here + stride))
        optimize.minimize_scalar(at, bounds=interval, method="bounded", options={"xatol": 1e-4})
        # A divergence known at integer orders only has its kinks there.
        nearest = max(2, round(1.0 + math.exp(min(seen, key=seen.__getitem__))))
        at(math.log(nearest - 1.0))
        best = min(seen, key=seen.__getitem__)
        return 1.0 + math.exp(best), seen[best]

    def _guess(self) -> float:
        """log(α − 1) near the optimum of the zCDP curve through D₂, for log(1/δ) around 12."""
        rho = 0.5 * self._divergence(2.0)
        return float(np.clip(0.5 * math.log(12.0 / max(rho, 1e-12)), 0.0, math.log(64.0)))
