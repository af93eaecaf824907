r"""Rényi divergences of the releases of `accountants.releases`: upper bounds, in both directions.

**Laws with a highest loss.** E_P[e^{(α−1)L}] − 1 = E_P[h(e^{−L})] with h(a) = a^{1−α} − a − α + αa,
convex and not negative: as with δ, mass between two nodes may go to both such that E[1] and E[a]
are kept (`discretise.upper`). One grid serves all orders. The sum has no negative terms, so that
nothing cancels, for tiny sampling rates or near order 1.

**A sample of zCDP**, or of any mechanism with divergences ε(α): the general upper bound of Zhu &
Wang 2019 ("Poission Subsampled Rényi Differential Privacy"; the one with a factor 3), at integer
orders; (α−1)·D_α is convex in α, so that the chord serves between them. The divergence without
sampling, and by joint convexity log(1 − q + q·e^{(α−1)ε(α)})/(α−1), are bounds too.

**A public choice** among pairs: E[e^{(α−1)L}] is the mean of theirs. **A batch with replacement**:
by joint convexity, as a choice among the Gaussian of k copies, k = 0 being no move at all.

The discrete Gaussian has at most the divergence of the Gaussian (Canonne, Kamath, Steinke 2020,
Theorem 4). The bounded-range law integrates to sinh((α−½)ε)/((2α−1)·sinh(ε/2)).
"""

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from scipy import special

from accountants import releases
from accountants.arrays import FloatArray
from accountants.fourier.grid import discretise
from accountants.fourier.pairs import pair_laws
from accountants.likelihood_ratio import UNIT_ROUNDOFF, Ratio, log_gap

__all__ = ["SUPPORTED", "divergence"]

Divergence: TypeAlias = Callable[[releases.Elementary, float], float]
SUPPORTED: tuple[type[releases.Elementary], ...] = (
    releases.DiscreteLaplace,
    releases.PureResponse,
    releases.TwoOutcomes,
    releases.BoundedRange,
    releases.DiscreteGaussian,
    releases.Sampled,
    releases.Labelled,
    releases.FixedSizeGroups,
    releases.Between,
    releases.SampledZeroConcentrated,
)
# Nodes: evenly, and ever denser towards both ends, where losses of samples crowd.
_EVENLY, _TOWARDS_END, _FINEST = 2**12, 2**11, 2.0**-40
# Losses below this are so far from 0 that nothing cancels.
_DEEP = -30.0
_MOST_INTEGER_ORDER = 512
_ROUNDING = 1e-13
_MANY_ATOMS = 2**20


def divergence(release: releases.Elementary, order: float, inner: Divergence) -> float | None:
    """An upper bound of D_order, or None for what is not of `SUPPORTED`.

    Args:
      release: Any release.
      order: Above 1.
      inner: The divergences of the releases that this one is made of.
    """
    excess = order - 1.0
    match release:
        case releases.Between(above, _):
            return inner(above, order)
        case releases.PureResponse(epsilon):
            losses = np.array([-epsilon, epsilon])
            return _of_nodes(losses, -np.logaddexp(0.0, -losses), order)
        case releases.DiscreteGaussian(deviation, sensitivity):
            return 0.5 * order * (sensitivity / deviation) ** 2
        case releases.BoundedRange(epsilon):
            return _bounded_range(epsilon, order)
        case releases.Labelled(probabilities, parts):
            terms = [excess * inner(part, order) for part in parts]
            return _log_of_mean(probabilities, terms) / excess
        case releases.FixedSizeGroups(rate, probabilities, mus):
            terms = [0.5 * order * excess * mu * mu for mu in mus]
            return _log_of_mean([rate * p for p in probabilities], terms) / excess
        case releases.SampledZeroConcentrated(rate, rho, xi):
            return _sampled(rate, lambda alpha: xi + rho * alpha, order)
        case releases.Sampled(rate, releases.DiscreteGaussian() as noise):
            return _sampled(rate, lambda alpha: inner(noise, alpha), order)
        case releases.Sampled(_, whole):
            sampled = max(_of_nodes(*nodes, order) for nodes in _nodes(release))
            return min(sampled, inner(whole, order))
        case releases.DiscreteLaplace() | releases.TwoOutcomes():
            return max(_of_nodes(*nodes, order) for nodes in _nodes(release))
    return None


@functools.lru_cache(maxsize=64)
def _nodes(release: releases.Elementary) -> tuple[tuple[FloatArray, FloatArray], ...]:
    """For both directions nodes from below the lowest loss on to above the highest, and log masses.

    The other direction's losses are the negatives: its highest loss is the lowest here.
    """
    laws = pair_laws(_with_few_atoms(release))
    found = []
    for law, mirrored in (laws, laws[::-1]):
        low, high = -mirrored.highest, law.highest
        span = high - low
        step = _FINEST * span
        towards = np.geomspace(1.0, 1.0 / _FINEST, _TOWARDS_END)
        places = np.concatenate(
            (towards, 1.0 / _FINEST - towards, np.linspace(0.0, 1.0 / _FINEST, _EVENLY))
        )
        inside = np.unique(np.rint(places).astype(np.int64))
        margin = 1 + int(_ROUNDING / _FINEST * max(abs(low), abs(high)) / span)
        indices = np.concatenate(([-margin], inside, [inside[-1] + margin]))
        part = discretise.upper(law, discretise.Grid(low, step, indices))
        assert part.infinite <= 1e-300
        some = part.masses > 0.0
        found.append((part.grid.nodes[some], np.log(part.masses[some])))
    return tuple(found)


def _with_few_atoms(release: releases.Elementary) -> releases.Elementary:
    """The release, or the response of the same pure ε, which dominates it."""
    if isinstance(release, releases.Sampled):
        return replace(release, release=_with_few_atoms(release.release))
    if isinstance(release, releases.DiscreteLaplace) and release.sensitivity > _MANY_ATOMS:
        epsilon = release.noise_parameter * release.sensitivity
        return releases.PureResponse(epsilon * (1.0 + _ROUNDING))
    return release


def _of_nodes(losses: FloatArray, log_masses: FloatArray, order: float) -> float:
    """Log E_P[e^{(α−1)L}]/(α−1) from P-masses, rounded up."""
    slack = 16.0 * UNIT_ROUNDOFF * (np.abs(log_masses) + order * np.abs(losses) + 64.0)
    if losses[0] < _DEEP:
        terms = log_masses + (order - 1.0) * losses + slack
        return float(special.logsumexp(terms)) * (1.0 + _ROUNDING) / (order - 1.0)
    at = Ratio(losses, np.zeros_like(losses), 16.0 * UNIT_ROUNDOFF * np.abs(losses))
    gap, error = log_gap(at, order)
    # An atom at 0 has no share, whatever the error of its logarithm.
    error = np.where(np.isfinite(gap), np.nan_to_num(error, nan=0.0, posinf=0.0), 0.0)
    excess = float(special.logsumexp(log_masses - losses + gap + error + slack))
    return float(np.logaddexp(0.0, excess)) * (1.0 + _ROUNDING) / (order - 1.0)


def _log_of_mean(probabilities: Sequence[float], exponents: Sequence[float]) -> float:
    """log(1 + Σ p·(e^x − 1)), the rest of the probability being at x = 0, without cancellation."""
    x, weights = np.array(exponents), np.array(probabilities)
    if float(np.max(x)) < 1.0:
        return math.log1p(float(weights @ np.expm1(x))) * (1.0 + _ROUNDING)
    rest = max(0.0, 1.0 - math.fsum(probabilities))
    terms = np.append(np.log(weights) + x, math.log(rest) if rest else -math.inf)
    return float(special.logsumexp(terms)) * (1.0 + _ROUNDING) + _ROUNDING


def _bounded_range(epsilon: float, order: float) -> float:
    """log(sinh(cε/2)/(c·sinh(ε/2)))/(α−1), c = 2α − 1; at most ε."""
    half, factor = 0.5 * epsilon, 2.0 * order - 1.0
    far = factor * half
    if far < 1e-2:
        # log(sinh(x)/x) = x²/6 − x⁴/180 + x⁶/2835 − …, each partial sum on the next one's side.
        value = (far - half) * (far + half) * (1.0 / 6.0 - (far * far + half * half) / 180.0)
        value = (value + far**6 / 2835.0) * (1.0 + _ROUNDING)
    else:
        value = _log_sinhc(factor * half) - _log_sinhc(half)
        value += 64.0 * UNIT_ROUNDOFF * (1.0 + factor * half)
    return min(value / (order - 1.0), epsilon)


def _log_sinhc(x: float) -> float:
    """log(sinh(x)/x)."""
    return x + math.log(-math.expm1(-2.0 * x) / (2.0 * x))


def _sampled(rate: float, whole: Callable[[float], float], order: float) -> float:
    """Zhu & Wang 2019, and what holds at all orders; see the module."""
    full = (order - 1.0) * whole(order)
    best = min(full, _log_of_mean([rate], [full]))
    if order <= _MOST_INTEGER_ORDER:
        below = math.floor(order)
        share = order - below
        chord = (1.0 - share) * _theorem(rate, whole, below)
        if share:
            chord += share * _theorem(rate, whole, below + 1)
        best = min(best, chord)
    return best / (order - 1.0)


def _theorem(rate: float, whole: Callable[[float], float], order: int) -> float:
    """(α−1) times the bound at an integer order: log(1 + Σ_{j ≥ 2} …), 0 at order 1.

    With the binomial sum of 1 = ((1−q) + q)^α taken away, the terms of j ≥ 2 are
    C(α,j)·(1−q)^{α−j}·q^j·(c_j·e^{(j−1)ε(j)} − 1), c₂ = 1 and c_j = 3 beyond.
    """
    if order < 2:
        return 0.0
    j = np.arange(2, order + 1, dtype=np.float64)
    log_binomial = special.gammaln(order + 1.0) - special.gammaln(j + 1.0)
    log_binomial -= special.gammaln(order - j + 1.0)
    log_terms = log_binomial + j * math.log(rate) + (order - j) * math.log1p(-rate)
    log_terms += 1e-12 * np.abs(log_binomial)
    exponents = np.array([(i - 1.0) * whole(i) for i in j.tolist()])
    exponents[1:] += math.log(3.0)
    log_gains = exponents + np.log(-np.expm1(-np.maximum(exponents, 5e-324)))
    total = float(special.logsumexp(log_terms + log_gains)) + 1e-12 * order
    return float(np.logaddexp(0.0, total))
