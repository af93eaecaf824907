r"""Repeat and select: a mechanism is run a random number K of times, and the best run is released.

Papernot & Steinke 2022, in Rényi divergences, with ε(λ) the divergence of one run:

* K truncated negative binomial with shape η ≥ 0 and parameter γ (Theorem 2), for every λ̂ ≥ 1:
  ε(λ) + (1+η)(1 − 1/λ̂)·ε(λ̂) + (1+η)·log(1/γ)/λ̂ + log(E[K])/(λ−1);
* K Poisson with mean μ (Theorem 6): ε(λ) + μ·δ̂ + log(μ)/(λ−1), if a run is (ε̂, δ̂)-DP for ε̂ =
  log(1 + 1/(λ−1)).

η = 0 is the logarithmic, η = 1 the geometric distribution. An upper bound: nothing is claimed from
below. K is not released, and its law not chosen by looking at data.
"""

import functools
import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy import optimize

from accountants import releases

__all__ = ["divergence", "halting_parameter"]

Parts = Sequence[tuple[releases.Elementary, int]]
Divergence = Callable[[releases.Elementary, float], float]

_ROUNDING = 1e-11
# γ is found to less than this, and taken smaller by as much.
_GAMMA_ROUNDING = 1e-9
# λ̂ − 1 that are tried; each of them gives a bound.
_EXCESSES: list[float] = np.geomspace(1e-4, 1e5, 200).tolist()


def divergence(parts: Parts, mean: float, shape: float, order: float, inner: Divergence) -> float:
    """An upper bound of the divergence of the selected run at `order` > 1.

    Args:
      parts: One run: releases and their counts.
      mean: E[K], at least 1.
      shape: η ≥ 0, or ∞ for the Poisson distribution.
      order: λ.
      inner: The divergences of the releases.
    """
    once = _of_one_run(parts, order, inner)
    surplus = math.log(mean) / (order - 1.0)
    if shape == math.inf:
        target = math.log1p(1.0 / (order - 1.0))
        return (once + mean * _delta(tuple(parts), target, inner) + surplus) * (1.0 + _ROUNDING)
    return (once + _constant(tuple(parts), mean, shape, inner) + surplus) * (1.0 + _ROUNDING)


def _of_one_run(parts: Parts, order: float, inner: Divergence) -> float:
    return math.fsum(count * inner(release, order) for release, count in parts)


@functools.lru_cache(maxsize=256)
def _constant(parts: Parts, mean: float, shape: float, inner: Divergence) -> float:
    """The least over λ̂ of the two terms that do not depend on λ."""
    if mean == 1.0:  # One run, always.
        return 0.0
    toll = -math.log(halting_parameter(mean, shape))
    least = min(
        (excess * _of_one_run(parts, 1.0 + excess, inner) + toll) / (1.0 + excess)
        for excess in _EXCESSES
    )
    return (1.0 + shape) * least


@functools.lru_cache(maxsize=4096)
def _delta(parts: Parts, epsilon: float, inner: Divergence) -> float:
    """δ̂ of one run at ε̂, from its divergences (Canonne, Kamath, Steinke 2020, Proposition 12)."""
    best = 0.0
    for excess in _EXCESSES:
        order = 1.0 + excess
        gap = _of_one_run(parts, order, inner) - epsilon + math.log1p(-1.0 / order)
        best = min(best, excess * gap - math.log(order))
    return math.exp(best)


def halting_parameter(mean: float, shape: float) -> float:
    """The γ in (0, 1] for which E[K] is `mean`, rounded down: a smaller one costs more.

    >>> round(halting_parameter(10.0, 1.0), 6)
    0.1
    """
    if mean == 1.0:
        return 1.0

    def excess(log_gamma: float) -> float:
        return math.log(_mean(log_gamma, shape)) - math.log(mean)

    # E[K] falls in γ, from ∞ to 1.
    low = -1.0
    while excess(low) < 0.0:
        low *= 2.0
    high = -1e-12
    if excess(high) > 0.0:
        return math.exp(high) * (1.0 - _GAMMA_ROUNDING)
    root = float(optimize.brentq(excess, low, high, xtol=1e-13))
    return math.exp(root) * (1.0 - _GAMMA_ROUNDING)


def _mean(log_gamma: float, shape: float) -> float:
    """E[K]: η(1−γ)/(γ(1−γ^η)), or (1/γ − 1)/log(1/γ) for η = 0."""
    odds = math.expm1(-log_gamma)
    if shape * -log_gamma < 1e-12:
        return odds / -log_gamma
    return shape * odds / -math.expm1(shape * log_gamma)
