"""Rényi divergences of elementary releases, as the curve order ↦ divergence.

`divergence(release, order)` is an upper bound of D_α over both directions of the release's
neighbouring pair, for every real order α > 1. For all but `FixedSizeGaussian`, `ZeroConcentrated`
and those of `renyi_derived` and `repetition` it is the divergence itself, up to rounding of about
1e-12. That of Poisson sampling under REPLACE_ONE is of the pair of `accountants.fourier.pairs`,
which dominates in all hockey-stick divergences, and so in all f-divergences, Rényi's among them.

References: Mironov 2017 (Gaussian, Laplace, randomised response); Mironov, Talwar, Zhang 2019
(Poisson-sampled Gaussian; their Theorem 5 shows that the remove direction is the larger one); Wang,
Balle, Kasiviswanathan 2019 (fixed batch size); Bun & Steinke 2016 (zCDP).
"""

import functools
import math

import numpy as np
from scipy import special

from accountants import releases, renyi_derived, repetition
from accountants.likelihood_ratio import UNIT_ROUNDOFF, Ratio, log_gap
from accountants.subsampled_gaussian import log_moment, log_moment_of_replacing

SUPPORTED: tuple[type[releases.Elementary], ...] = (
    releases.Gaussian,
    releases.PoissonGaussian,
    releases.PoissonGaussianReplace,
    releases.FixedSizeGaussian,
    releases.Laplace,
    releases.RandomizedResponse,
    releases.ZeroConcentrated,
    releases.RepeatAndSelect,
    *renyi_derived.SUPPORTED,
)
MAX_FIXED_SIZE_ORDER = 512
_LARGE_SHIFT = 2.0
# Ten times the largest error of a logarithm of a central moment that was seen.
_MEASURED_ERROR = 1e-10


def divergence(release: releases.Elementary, order: float) -> float:
    """An upper bound of the Rényi divergence of real order `order` > 1, in both directions."""
    match release:
        case releases.Gaussian(mu):
            return 0.5 * order * mu**2
        case releases.PoissonGaussian(rate, noise_multiplier):
            return float(log_moment(rate, noise_multiplier, order)) / (order - 1.0)
        case releases.FixedSizeGaussian(rate, noise_multiplier):
            return _fixed_size(rate, noise_multiplier, order)
        case releases.Laplace(scale):
            return _laplace(scale, order)
        case releases.RandomizedResponse(noise, buckets, special_record):
            return _randomized_response(noise, buckets, special_record, order)
        case releases.ZeroConcentrated(rho, xi):
            return xi + rho * order
        case releases.PoissonGaussianReplace(rate, noise_multiplier):
            return log_moment_of_replacing(rate, noise_multiplier, order - 1.0) / (order - 1.0)
        case releases.RepeatAndSelect(parts, mean, shape):
            return repetition.divergence(parts, mean, shape, order, divergence)
    derived = renyi_derived.divergence(release, order, divergence)
    if derived is not None:
        return derived
    raise TypeError(f"`release` must be one of {SUPPORTED}, got {release!r}.")


def _laplace(scale: float, order: float) -> float:
    """Mironov 2017, Proposition 6, arranged so that nothing overflows."""
    # e^{(α−1)/b}·[α + (α−1)·e^{−(2α−1)/b}] / (2α−1), its logarithm over α−1.
    inside = math.log1p(
        (order - 1.0) * math.expm1(-(2.0 * order - 1.0) / scale) / (2.0 * order - 1.0)
    )
    return 1.0 / scale + inside / (order - 1.0)


def _responses(
    noise: float, buckets: int, special_record: bool
) -> tuple[tuple[float, float], tuple[float, float]]:
    """(log probability, log likelihood ratio) of the true bucket and of others that tell.

    Logarithms, so that no probability underflows, and no difference from 1 is lost. Against another
    bucket's response the ratio is 1 + k(1−p)/p or its inverse; against the uniform response it is
    1 + (k−1)(1−p) at the true bucket and p at all others.
    """
    log_other = math.log(noise) - math.log(buckets)
    log_truth = math.log1p(-noise * (buckets - 1) / buckets)
    if special_record:
        log_others = math.log(noise) + math.log(buckets - 1) - math.log(buckets)
        ratio = math.log1p((buckets - 1) * (1.0 - noise))
        return (log_truth, ratio), (log_others, math.log(noise))
    ratio = float(np.logaddexp(0.0, math.log(buckets) + math.log1p(-noise) - math.log(noise)))
    return (log_truth, ratio), (log_other, -ratio)


def _randomized_response(noise: float, buckets: int, special_record: bool, order: float) -> float:
    """Σ Q·(r^α − 1 − α(r−1)), r the ratio, is E_Q[r^α] − 1 without cancellation."""
    log_p, log_ratio = np.array(_responses(noise, buckets, special_record)).T
    values = []
    for side in (1.0, -1.0):
        ratio = side * log_ratio
        at = Ratio(ratio, np.zeros_like(ratio), 64.0 * UNIT_ROUNDOFF * np.abs(ratio))
        gap, error = log_gap(at, order)
        # Forwards the weights are Q = P/r, backwards P.
        weights = log_p - log_ratio if side > 0.0 else log_p
        terms = gap + error + weights + 1e-14 * (1.0 + np.abs(weights))
        values.append(float(np.logaddexp(0.0, special.logsumexp(terms))))
    return max(values) / (order - 1.0)


def _fixed_size(rate: float, noise_multiplier: float, order: float) -> float:
    """Wang, Balle, Kasiviswanathan 2019, Theorem 27, with the sensitivity 2C of REPLACE_ONE.

    The theorem speaks of integer orders; between them (α−1)·D_α is convex in α (their Corollary
    10), so the chord is an upper bound. Above its last order, or where it is smaller, joint
    convexity gives (α−1)·D_α ≤ log(1 − q + q·e^{2α(α−1)/σ²}).
    """
    # ∫P^α·Q^{1−α} is jointly convex, and batches without the record have equal laws.
    full = 2.0 * order * (order - 1.0) / noise_multiplier / noise_multiplier
    convex = math.log1p(rate * math.expm1(full)) if full < 1.0 else _log_mean(rate, full)
    if order > MAX_FIXED_SIZE_ORDER:
        return convex / (order - 1.0)
    log_a = _fixed_size_log_moments(rate, noise_multiplier)
    floor = math.floor(order)
    ceiling = min(floor + 1, MAX_FIXED_SIZE_ORDER)
    weight = order - floor
    chord = (1.0 - weight) * log_a[floor] + weight * log_a[ceiling]
    return min(convex, chord) / (order - 1.0)


def _log_mean(rate: float, exponent: float) -> float:
    """log(1 − q + q·e^exponent)."""
    return float(np.logaddexp(math.log1p(-rate), math.log(rate) + exponent))


@functools.lru_cache(maxsize=64)
def _fixed_size_log_moments(rate: float, noise_multiplier: float) -> tuple[float, ...]:
    """(α−1) times the theorem's bound at α = 0 … 512 (the first two are 0).

    The theorem: 1 + Σ_{j≥2} C(α,j)·q^j·ζ_j with ζ_j the smaller of 4·√(B_{2⌊j/2⌋}·B_{2⌈j/2⌉}) and
    2·e^{(j−1)ε(j)}, where ε(j) = 2j/σ² and B_j = E[(p/q − 1)^j] for even j. B_j is the
    j-th forward difference of e^{(x−1)ε(x)}, which cancels; as the moment of a non-negative
    variable it does not: it is the quadrature of (e^u − 1)^j, u = 2y/σ − 2/σ², over y ~ N(0,1).
    """
    mu = 2.0 / noise_multiplier
    j = np.arange(MAX_FIXED_SIZE_ORDER + 2, dtype=np.float64)
    simple = math.log(2.0) + 0.5 * j * (j - 1.0) * mu**2
    even = np.full_like(j, math.inf)
    # For a large shift the simple bound is the smaller one.
    for k in range(2, len(j) if mu <= _LARGE_SHIFT else 2, 2):
        even[k] = _log_even_central_moment(mu, k)
    lower, upper = 2 * (np.arange(len(j)) // 2), 2 * ((np.arange(len(j)) + 1) // 2)
    refined = np.full_like(j, math.inf)
    refined[2:-1] = math.log(4.0) + 0.5 * (even[lower[2:-1]] + even[upper[2:-1]])
    log_terms = np.minimum(simple, refined) + j * math.log(rate)
    result = [0.0, 0.0]
    log_factorial = special.gammaln(j + 1.0)
    for order in range(2, MAX_FIXED_SIZE_ORDER + 1):
        drawn = slice(2, order + 1)
        log_binomial = log_factorial[order] - log_factorial[drawn]
        log_binomial -= log_factorial[order::-1][drawn]
        log_sum = special.logsumexp(log_binomial + log_terms[drawn])
        result.append(float(np.logaddexp(0.0, log_sum)))
    return tuple(result)


def _log_even_central_moment(mu: float, power: int) -> float:
    """Log E[(e^{μy − μ²/2} − 1)^power] for even powers, by the trapezoid rule.

    The integrand is entire; its error is measured, not proved: below 1e-11 for all powers and μ up
    to 2 (tests/crosscheck/accountants/test_moments_balls.py). `_MEASURED_ERROR` is added.
    """
    step = 2.0 * math.pi / math.sqrt(2.0 * (45.0 + 2.0 * power))
    # The logarithm of |e^u − 1|^power is concave on either side of its zero, so the integrand falls
    # at least as fast as e^{−x²/2} beyond its peaks, near −√power and power·μ + √power.
    reach = 14.0 + math.sqrt(power)
    y = np.arange(-reach, power * mu + mu + reach, step)
    u = mu * (y - 0.5 * mu)
    with np.errstate(divide="ignore"):  # y may hit the zero of e^u − 1: log 0 is right there.
        log_size = np.where(
            u > 30.0,
            u + np.log1p(-np.exp(-np.maximum(u, 30.0))),
            np.log(np.abs(np.expm1(np.minimum(u, 30.0)))),
        )
    logarithm = float(special.logsumexp(power * log_size - 0.5 * y * y))
    return logarithm + math.log(step / math.sqrt(2.0 * math.pi)) + _MEASURED_ERROR
