r"""Moments of the likelihood ratio of Poisson-sampled Gaussians, real powers, from both sides.

`log_moment_bounds(q, σ, s)` contains log E[w^s], w the ratio of `accountants.likelihood_ratio`: s =
α > 1 gives (α−1) times the Rényi divergence of order α in the *remove* direction, s = 1−α < 0 the
*add* direction (Mironov, Talwar, Zhang 2019, section 3).

Two things are known, and intersected:

* the quadrature of `accountants.fourier.contour.quadrature`, with its proved error: some 1e-12
  relative wherever it can be had, and skipped where it would take too many nodes;
* without quadrature, for s = 1 + θ > 1, q^s·e^{sθ/2σ²} ≤ E[w^s] ≤ (1−q + q·e^{θ/2σ²})^s, the first
  because w ≥ q·e^v, the second by Minkowski's inequality. For s < 0, 1 ≤ E[w^s] by Jensen's
  inequality, and E[w^s] is at most (1−q)^s, as w ≥ 1−q, and at most E[w^{1−s}] (Mironov, Talwar,
  Zhang 2019, Theorem 5). Where the noise is small or the power large, the first pair meets.
"""

import functools
import math

import numpy as np
from numpy.typing import ArrayLike

from accountants.arrays import FloatArray
from accountants.bounds import Bounds
from accountants.fourier.contour.quadrature import (
    ADD,
    REMOVE,
    REPLACE,
    ContourError,
    Direction,
    Line,
)

# Errors of the quadrature, relative to M − 1, of e^-40.
_DIGITS = 40.0
_MAX_NODES = 100_000
# What a few roundings do to a sum of logarithms; they are relative to its largest term.
_ROUNDING = 1e-14


@functools.lru_cache(maxsize=8192)
def log_moment_bounds(sampling_rate: float, noise_multiplier: float, power: float) -> Bounds:
    """An interval that contains log E[w^s]; never NaN, whatever the parameters.

    Args:
      sampling_rate: q in (0, 1].
      noise_multiplier: σ, positive.
      power: s ≥ 1 (remove direction, s = α) or s ≤ 0 (add direction, s = 1 − α).
    """
    if 0.0 < power < 1.0:
        raise ValueError(f"`power` must lie outside (0, 1), got {power!r}.")
    if power in (0.0, 1.0):
        return Bounds(0.0, 0.0)
    if sampling_rate == 1.0:
        value = 0.5 * power * ((power - 1.0) / noise_multiplier) / noise_multiplier
        return _widened(value, value)
    # 1 − s would round where s is tiny; θ is exact.
    theta = power - 1.0 if power > 0.0 else -power
    simple = _simple(sampling_rate, noise_multiplier, theta)
    if power < 0.0:
        least = _widened(0.0, power * math.log1p(-sampling_rate)).upper
        simple = Bounds(0.0, min(simple.upper, least))
    if simple.gap <= 1e-13 * simple.upper:
        return simple
    try:
        value, error = _quadrature(sampling_rate, noise_multiplier, power, theta)
    except ContourError:
        return simple
    return simple.intersect(Bounds(max(0.0, value - error), value + error))


@functools.lru_cache(maxsize=8192)
def log_moment_of_replacing(sampling_rate: float, noise_multiplier: float, theta: float) -> float:
    """An upper bound of log E_P[e^{θL}] for a record at −1 that becomes one at +1, θ > 0.

    The quadrature of log E[(w(y)/w(−y))^{1+θ}·w(−y)], or without it, by joint convexity,
    log(1 − q + q·e^{2θ(1+θ)/σ²}); and without sampling the exponent itself.
    """
    full = 2.0 * theta * (1.0 + theta) / noise_multiplier / noise_multiplier
    if full < 1.0:
        simple = math.log1p(sampling_rate * math.expm1(full))
    else:
        log_rest = math.log1p(-sampling_rate)
        simple = float(np.logaddexp(log_rest, math.log(sampling_rate) + full))
    simple = min(simple, full) * (1.0 + _ROUNDING) + _ROUNDING * min(1.0, full)
    try:
        value, error = _quadrature(
            sampling_rate, noise_multiplier, 1.0 + theta, theta, direction=REPLACE
        )
    except ContourError:
        return simple
    return min(simple, value + error)


def _widened(lower: float, upper: float) -> Bounds:
    """Both ends outwards by the rounding, and by what underflows."""
    return Bounds(max(0.0, lower * (1.0 - _ROUNDING)), upper * (1.0 + _ROUNDING) + 5e-324)


def _simple(rate: float, sigma: float, theta: float) -> Bounds:
    """What is known of log E[w^{1+θ}] without quadrature."""
    power, exponent = 1.0 + theta, theta / sigma / sigma / 2.0
    log_rate = math.log(rate)
    # Roundings are relative to the terms of a difference, not to its value.
    slack = _ROUNDING * (exponent - log_rate)
    lower = power * (exponent + log_rate - slack)
    if exponent < 1.0:
        upper = math.log1p(rate * math.expm1(exponent))
    else:
        upper = float(np.logaddexp(math.log1p(-rate), log_rate + exponent + slack))
    return _widened(lower, power * upper)


def _quadrature(
    rate: float, sigma: float, power: float, theta: float, direction: Direction | None = None
) -> tuple[float, float]:
    """The quadrature's value and a bound of its error.

    M − 1 is about q²·|s(s−1)|·min(1, 1/σ²)/2 at least; the exponent of the error is fitted to it.
    """
    if direction is None:
        direction = REMOVE if power > 0.0 else ADD
    exponent = _DIGITS - 2.0 * math.log(rate) + 2.0 * math.log(max(1.0, sigma))
    exponent += max(0.0, -math.log(theta)) + math.log1p(theta)
    line = Line(rate, sigma, direction, theta, 0.0, exponent)
    if line.size > _MAX_NODES:
        raise ContourError(f"{line.size} nodes in y")
    return line.log_moment(theta)


def log_moment(sampling_rate: float, noise_multiplier: float, powers: ArrayLike) -> FloatArray:
    """Upper bounds of log E[w^s] at real `powers` s outside (0, 1); see `log_moment_bounds`.

    >>> float(log_moment(1.0, 2.0, 3.0)) >= 0.75
    True
    """
    values = np.asarray(powers, dtype=np.float64)
    if np.any((values > 0.0) & (values < 1.0)):
        raise ValueError(f"`powers` must lie outside (0, 1), got {powers!r}.")
    flat = [
        log_moment_bounds(sampling_rate, noise_multiplier, float(s)).upper for s in values.ravel()
    ]
    return np.array(flat).reshape(values.shape)
