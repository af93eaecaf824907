r"""Moments of the likelihood ratio of the Poisson-subsampled Gaussian, for real powers.

With sampling rate q and noise multiplier σ the two output laws of one step are N(0, σ²) and
(1−q)·N(0, σ²) + q·N(1, σ²); their ratio, at noise y ~ N(0,1) of the first, is

    w(y) = 1 − q + q·e^{y/σ − 1/(2σ²)},    E[w] = 1.

`log_moment(q, σ, s)` is log E[w^s]: s = α > 1 gives (α−1) times the Rényi divergence of order α in
the *remove* direction, s = 1−α < 0 the *add* direction (Mironov, Talwar, Zhang 2019, section 3).

**Method.** The integrand φ(y)·w(y)^s is analytic in the strip |Im y| < πσ, so the trapezoid rule
converges geometrically. On the line Im y = d, |w(y+id)| ≤ w(y) and |w(y+id)| ≥ w(y)·cos(d/2σ), so
by Trefethen & Weideman 2014, Theorem 5.1, step η has a relative error of at most

    2·e^{d²/2}·cos(d/2σ)^{min(s,0)} / (e^{2πd/η} − 1)    for any 0 < d < πσ.

Beyond [min(s,0)/σ − R, max(s,1)/σ + R] the log-integrand falls at least as fast as a Gaussian's
(its slope is −y + s·(w−1+q)/(wσ), and the last factor lies in [0, 1/σ]), so truncation costs a
relative e^{−R²/2}.

For small q, E[w^s] is 1 + O(q²) and the naive sum loses all digits. Because E[w] = 1, the sum is
taken over (1+x)^s − 1 − s·x with x = w − 1 instead, which is non-negative for s outside (0, 1)
(Bernoulli) and so cannot cancel. η and R are chosen such that both errors are below e^{−40}·q²,
hence far below the rounding, which is about 1e-13 relative.
"""

import functools
import math

import numpy as np
from numpy.typing import ArrayLike

from accountants.arrays import FloatArray

# Below this |x| the power series of log(1+x) − x and e^t − 1 − t replace the differences.
_SERIES_RADIUS = 0.05
_SERIES_TERMS = 14
# Logarithms above this leave 1 below the rounding, and are nowhere near overflow in exp.
_OVERFLOW_GUARD = 40.0


def _exp_minus_1_minus_t(t: FloatArray) -> FloatArray:
    """e^t − 1 − t, by its series near 0."""
    total = np.zeros_like(t)
    for k in range(_SERIES_TERMS, 1, -1):
        total = (total + 1.0) * t / k
    # The loop leaves Σ_{k≥2} t^{k-1}/k!; one more factor t completes it.
    return total * t


def _x_minus_log1p(x: FloatArray) -> FloatArray:
    """X − log(1+x), by its series near 0."""
    total = np.zeros_like(x)
    for k in range(_SERIES_TERMS, 1, -1):
        total = total * -x + 1.0 / k
    return total * x * x


def log_bernoulli_gap(log_w: FloatArray, x: FloatArray, power: float) -> FloatArray:
    """log(w^s − 1 − s·x), x = w − 1: accurate near w = 1, and where w^s or w overflows."""
    t = power * log_w
    near = (np.abs(x) < _SERIES_RADIUS) & (np.abs(t) < 4.0 * _SERIES_RADIUS)
    power_dominates = t > _OVERFLOW_GUARD
    line_dominates = (log_w > _OVERFLOW_GUARD) & (t <= 0.0)
    rest = ~(near | power_dominates | line_dominates)

    gap = np.empty_like(t)
    gap[near] = np.log(_exp_minus_1_minus_t(t[near]) - power * _x_minus_log1p(x[near]))
    gap[rest] = np.log(np.expm1(t[rest]) - power * x[rest])
    far_t, far_log_w = t[power_dominates], log_w[power_dominates]
    linear = (1.0 - power) * np.exp(-far_t) + power * np.exp(far_log_w - far_t)
    gap[power_dominates] = far_t + np.log1p(-linear)
    # Here w^s ≤ 1 and s < 0: what is left of |s|·x is below the rounding.
    gap[line_dominates] = math.log(abs(power)) + log_w[line_dominates]
    return gap


def _strip_step(noise_multiplier: float, exponent: float, negative_power: float) -> float:
    """The largest trapezoid step η whose error bound is e^{−exponent}, over the strip width d."""
    wide = math.sqrt(2.0 * exponent)
    widths = np.minimum(wide, noise_multiplier * np.array([0.2, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0]))
    secant = negative_power * np.log(np.cos(widths / (2.0 * noise_multiplier)))
    return float(np.max(2.0 * math.pi * widths / (exponent + 0.5 * widths**2 + secant)))


@functools.lru_cache(maxsize=4096)
def _log_moment(sampling_rate: float, noise_multiplier: float, power: float) -> float:
    if power in (0.0, 1.0):
        return 0.0
    if sampling_rate == 1.0:
        return 0.5 * power * (power - 1.0) / noise_multiplier**2
    scale = 1.0 / noise_multiplier
    log_rate = math.log(sampling_rate)
    exponent = 42.0 - 2.0 * log_rate + math.log1p(abs(power))
    reach = math.sqrt(2.0 * exponent)
    # The line s·x, whose mass is that of w, needs the reach of power 1.
    low, high = min(power, 0.0) * scale - reach, max(power, 1.0) * scale + reach
    step = _strip_step(noise_multiplier, exponent, min(power, 0.0))
    y = np.arange(math.floor(low / step), math.ceil(high / step) + 1) * step

    u = scale * (y - 0.5 * scale)
    x = sampling_rate * np.expm1(np.minimum(u, _OVERFLOW_GUARD))
    log_w = np.where(
        u < _OVERFLOW_GUARD, np.log1p(x), np.logaddexp(math.log1p(-sampling_rate), log_rate + u)
    )
    terms = log_bernoulli_gap(log_w, x, power) - 0.5 * y * y
    top = float(np.max(terms))
    log_gap = top + math.log(float(np.sum(np.exp(terms - top))) * step / math.sqrt(2.0 * math.pi))
    return float(np.logaddexp(0.0, log_gap)) if log_gap > -30.0 else math.exp(log_gap)


def log_moment(sampling_rate: float, noise_multiplier: float, powers: ArrayLike) -> FloatArray:
    """Log E[w^s] at real `powers` s outside (0, 1); neither side, relative accuracy ~1e-12.

    Args:
      sampling_rate: q in (0, 1].
      noise_multiplier: σ, positive.
      powers: s ≥ 1 (remove direction, s = α) or s ≤ 0 (add direction, s = 1 − α).
    """
    values = np.asarray(powers, dtype=np.float64)
    if np.any((values > 0.0) & (values < 1.0)):
        raise ValueError(f"`powers` must lie outside (0, 1), got {powers!r}.")
    flat = [_log_moment(sampling_rate, noise_multiplier, float(s)) for s in values.ravel()]
    return np.array(flat).reshape(values.shape)
