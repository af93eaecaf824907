"""Rényi divergences of elementary releases, as the curve order ↦ divergence.

`divergence(release, order)` is an upper bound of D_α over both directions of the release's
neighbouring pair, for every real order α > 1. For all but `FixedSizeGaussian` and
`ZeroConcentrated` it is the divergence itself, up to rounding of about 1e-12.

References: Mironov 2017 (Gaussian, Laplace, randomised response); Mironov, Talwar, Zhang 2019
(Poisson-sampled Gaussian; their Theorem 5 shows that the remove direction is the larger one); Wang,
Balle, Kasiviswanathan 2019 (fixed batch size); Bun & Steinke 2016 (zCDP).
"""

import functools
import math

import numpy as np
from scipy import special

from accountants import elementary
from accountants.arrays import FloatArray
from accountants.subsampled_gaussian import log_moment

SUPPORTED: tuple[type[elementary.Elementary], ...] = (
    elementary.Gaussian,
    elementary.PoissonGaussian,
    elementary.FixedSizeGaussian,
    elementary.Laplace,
    elementary.RandomizedResponse,
    elementary.ZeroConcentrated,
)
_MAX_FIXED_SIZE_ORDER = 512


def divergence(release: elementary.Elementary, order: float) -> float:
    """An upper bound of the Rényi divergence of real order `order` > 1, in both directions."""
    match release:
        case elementary.Gaussian(mu):
            return 0.5 * order * mu**2
        case elementary.PoissonGaussian(rate, noise_multiplier):
            return float(log_moment(rate, noise_multiplier, order)) / (order - 1.0)
        case elementary.FixedSizeGaussian(rate, noise_multiplier):
            return _fixed_size(rate, noise_multiplier, order)
        case elementary.Laplace(scale):
            return _laplace(scale, order)
        case elementary.RandomizedResponse(noise, buckets, special_record):
            return _randomized_response(noise, buckets, special_record, order)
        case elementary.ZeroConcentrated(rho, xi):
            return xi + rho * order
    raise TypeError(f"`release` must be one of {SUPPORTED}, got {release!r}.")


def max_divergence(release: elementary.Elementary) -> float:
    """The limit α → ∞: the pure ε of the release, infinite for Gaussian noise."""
    match release:
        case elementary.Laplace(scale):
            return 1.0 / scale
        case elementary.RandomizedResponse(noise, buckets, special_record):
            probabilities, others = _response_laws(noise, buckets, special_record)
            return float(np.max(np.abs(np.log(probabilities) - np.log(others))))
    return math.inf


def _laplace(scale: float, order: float) -> float:
    """Mironov 2017, Proposition 6, arranged so that nothing overflows."""
    # e^{(α−1)/b}·[α + (α−1)·e^{−(2α−1)/b}] / (2α−1), its logarithm over α−1.
    inside = math.log1p(
        (order - 1.0) * math.expm1(-(2.0 * order - 1.0) / scale) / (2.0 * order - 1.0)
    )
    return 1.0 / scale + inside / (order - 1.0)


def _response_laws(
    noise: float, buckets: int, special_record: bool
) -> tuple[FloatArray, FloatArray]:
    """The responses as laws on (true bucket, other bucket, any further bucket)."""
    other = noise / buckets
    truth = 1.0 - noise + other
    rest = buckets - 2
    law = np.array([truth, other, rest * other])
    mirrored = np.array([other, truth, rest * other])
    uniform = np.array([1.0, 1.0, rest]) / buckets
    keep = slice(None) if rest else slice(0, 2)
    return law[keep], (uniform if special_record else mirrored)[keep]


def _randomized_response(noise: float, buckets: int, special_record: bool, order: float) -> float:
    first, second = _response_laws(noise, buckets, special_record)
    log_ratio = np.log(first) - np.log(second)
    forward = special.logsumexp(order * log_ratio, b=second)
    backward = special.logsumexp(-order * log_ratio, b=first)
    return float(max(forward, backward)) / (order - 1.0)


def _fixed_size(rate: float, noise_multiplier: float, order: float) -> float:
    """Wang, Balle, Kasiviswanathan 2019, Theorem 27, with the sensitivity 2C of REPLACE_ONE.

    The theorem speaks of integer orders; between them (α−1)·D_α is convex in α (their Corollary
    10), so the chord is an upper bound.
    """
    if order > _MAX_FIXED_SIZE_ORDER:
        return math.inf
    log_a = _fixed_size_log_moments(rate, noise_multiplier)
    floor = math.floor(order)
    ceiling = min(floor + 1, _MAX_FIXED_SIZE_ORDER)
    weight = order - floor
    return ((1.0 - weight) * log_a[floor] + weight * log_a[ceiling]) / (order - 1.0)


@functools.lru_cache(maxsize=64)
def _fixed_size_log_moments(rate: float, noise_multiplier: float) -> tuple[float, ...]:
    """(α−1) times the theorem's bound at α = 0 … 512 (the first two are 0).

    The theorem: 1 + Σ_{j≥2} C(α,j)·q^j·ζ_j with ζ_j the smaller of 4·√(B_{2⌊j/2⌋}·B_{2⌈j/2⌉}) and
    2·e^{(j−1)ε(j)}, where ε(j) = 2j/σ² and B_j = E[(p/q − 1)^j] for even j. B_j is the
    j-th forward difference of e^{(x−1)ε(x)}, which cancels; as the moment of a non-negative
    variable it does not: it is the quadrature of (e^u − 1)^j, u = 2y/σ − 2/σ², over y ~ N(0,1).
    """
    mu = 2.0 / noise_multiplier
    j = np.arange(_MAX_FIXED_SIZE_ORDER + 2, dtype=np.float64)
    simple = math.log(2.0) + 0.5 * j * (j - 1.0) * mu**2
    even = np.full_like(j, math.inf)
    for k in range(2, len(j), 2):
        even[k] = _log_even_central_moment(mu, k)
    lower, upper = 2 * (np.arange(len(j)) // 2), 2 * ((np.arange(len(j)) + 1) // 2)
    refined = np.full_like(j, math.inf)
    refined[2:-1] = math.log(4.0) + 0.5 * (even[lower[2:-1]] + even[upper[2:-1]])
    log_terms = np.minimum(simple, refined) + j * math.log(rate)
    result = [0.0, 0.0]
    log_factorial = special.gammaln(j + 1.0)
    for order in range(2, _MAX_FIXED_SIZE_ORDER + 1):
        drawn = slice(2, order + 1)
        log_binomial = log_factorial[order] - log_factorial[drawn]
        log_binomial -= log_factorial[order::-1][drawn]
        log_sum = special.logsumexp(log_binomial + log_terms[drawn])
        result.append(float(np.logaddexp(0.0, log_sum)))
    return tuple(result)


def _log_even_central_moment(mu: float, power: int) -> float:
    """Log E[(e^{μy − μ²/2} − 1)^power] for even powers, by the trapezoid rule.

    The integrand is entire, and on the line Im y = d it grows by e^{d²/2}·2^power at most relative
    to its size, so a step of 2π/√(2·(45 + power)) leaves less than e^{−45}.
    """
    step = 2.0 * math.pi / math.sqrt(2.0 * (45.0 + 2.0 * power))
    reach = 14.0
    y = np.arange(-reach, power * mu + reach, step)
    u = mu * (y - 0.5 * mu)
    with np.errstate(divide="ignore"):  # y may hit the zero of e^u − 1: log 0 is right there.
        log_size = np.where(
            u > 30.0,
            u + np.log1p(-np.exp(-np.maximum(u, 30.0))),
            np.log(np.abs(np.expm1(np.minimum(u, 30.0)))),
        )
    return float(special.logsumexp(power * log_size - 0.5 * y * y)) + math.log(
        step / math.sqrt(2.0 * math.pi)
    )
