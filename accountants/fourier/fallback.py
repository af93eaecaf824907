r"""What is proved without any engine: bounds that hold for every composition, however extreme.

An engine that has run out of range or of nodes answers with a wide interval. It is intersected with
what these say, each an upper bound:

* **Pure ε's add** (basic composition), and **Rényi divergences** do (`RenyiAccountant`, which also
  knows the exact curve of the same Gaussians without sampling: sampling never costs privacy). What
  that accountant has no divergence of is replaced by a release that dominates it (`_dominating`).
* **Total variation**: δ(ε) ≤ δ(0), and δ(0) of a composition is at most 1 − Π(1 − δᵢ(0)): couple
  each release, whatever the earlier ones were, so that its two sides agree with 1 − δᵢ(0).
"""

import math
from collections.abc import Iterable

from scipy import special

from accountants import groups, releases
from accountants.bounds import Bounds
from accountants.renyi import RenyiAccountant

__all__ = ["delta_bounds", "epsilon_bounds"]

Releases = Iterable[tuple[releases.Elementary, int]]

# Relative slack for the few roundings of a total variation.
_ROUNDING = 1e-12
# Sampling is no help where there is so little noise.
_LITTLE_NOISE = 1e-3
# Pure ε beyond which the response's e^{−ε} is not worth its while.
_LARGE = 300.0


class _Dominating(RenyiAccountant):
    """The Rényi accountant of releases that dominate the given ones."""

    def __init__(self, releases: Releases) -> None:
        super().__init__()
        for release, count in releases:
            self._releases[_dominating(release)] += count


def epsilon_bounds(releases: Releases, delta: float) -> Bounds:
    """ε(δ) is at most the upper end.

    >>> round(epsilon_bounds([(releases.Laplace(1.0), 2)], 1e-20).upper, 9)
    2.0
    >>> epsilon_bounds([(releases.PoissonGaussian(0.6, 0.1), 2)], 0.9)
    Bounds(lower=0.0, upper=0.0)
    """
    releases = list(releases)
    if _total_variation(releases) <= delta:
        return Bounds(0.0, 0.0)
    return Bounds(0.0, _Dominating(releases).get_epsilon_bounds(delta).upper)


def delta_bounds(releases: Releases, epsilon: float) -> Bounds:
    """δ(ε) is at most the upper end.

    >>> delta_bounds([(releases.Laplace(1.0), 2)], 2.1)
    Bounds(lower=0.0, upper=0.0)
    """
    releases = list(releases)
    upper = _Dominating(releases).get_delta_bounds(epsilon).upper
    return Bounds(0.0, min(upper, _total_variation(releases)))


def _dominating(release: releases.Elementary) -> releases.Elementary:
    """A release that dominates `release` and whose Rényi divergences are known.

    Sampling only helps; a mixture is dominated by its largest sensitivity (see `pairs`); and every
    pair of pure ε by the randomised response of that ε (Kairouz, Oh, Viswanath 2015, Theorem 2).
    """
    if isinstance(release, releases.GroupGaussian):
        return releases.Gaussian(release.reach / release.noise_multiplier)
    if isinstance(release, releases.PoissonGaussian) and release.noise_multiplier < _LITTLE_NOISE:
        return releases.Gaussian(1.0 / release.noise_multiplier)
    if (
        isinstance(release, releases.PoissonGaussianReplace | releases.FixedSizeGaussian)
        and release.noise_multiplier < _LITTLE_NOISE
    ):
        return releases.Gaussian(2.0 / release.noise_multiplier)
    if isinstance(release, releases.AllocatedGaussian):
        return releases.Gaussian(1.0 / release.noise_multiplier)
    if isinstance(release, releases.MixtureOfGaussians):
        return releases.Gaussian(max(release.sensitivities) / release.standard_deviation)
    if isinstance(release, releases.DiscreteLaplace):
        epsilon = release.noise_parameter * release.sensitivity * (1.0 + _ROUNDING)
        if epsilon > _LARGE:  # No divergence of any order is larger than the pure ε.
            return releases.ZeroConcentrated(rho=0.0, xi=epsilon)
        noise = 2.0 / (1.0 + math.exp(epsilon)) * (1.0 - _ROUNDING)
        return releases.RandomizedResponse(noise, 2, special=False)
    return release


def _gaussian_variation(mu: float) -> float:
    """δ(0) of N(0, 1) against N(μ, 1)."""
    return float(special.erf(mu / math.sqrt(8.0)))


def _variation(release: releases.Elementary) -> float:
    """An upper bound of δ(0) of one release, but for rounding."""
    match release:
        case releases.Gaussian(mu):
            return _gaussian_variation(mu)
        case releases.PoissonGaussian(rate, noise_multiplier):
            return rate * _gaussian_variation(1.0 / noise_multiplier)
        case releases.PoissonGaussianReplace(rate, noise_multiplier):
            return rate * _gaussian_variation(2.0 / noise_multiplier)
        case releases.GroupGaussian(records, rate, noise_multiplier, replaced, population):
            width = (2.0 if replaced else 1.0) / noise_multiplier
            return math.fsum(
                probability * _gaussian_variation(j * width)
                for j, probability in enumerate(groups.counts(records, rate, population))
            )
        case releases.FixedSizeGaussian(rate, noise_multiplier):
            return rate * _gaussian_variation(2.0 / noise_multiplier)
        case releases.AllocatedGaussian(_, noise_multiplier):
            return _gaussian_variation(1.0 / noise_multiplier)
        case releases.Laplace(scale):
            return -math.expm1(-0.5 / scale)
        case releases.DiscreteLaplace(parameter, sensitivity):
            return math.tanh(0.5 * parameter * sensitivity)
        case releases.RandomizedResponse(noise):
            return 1.0 - noise
        case releases.MixtureOfGaussians(deviation, sensitivities, probabilities):
            return math.fsum(
                probability * _gaussian_variation(sensitivity / deviation)
                for sensitivity, probability in zip(sensitivities, probabilities, strict=True)
            )
        case releases.PureResponse(epsilon):
            return math.tanh(0.5 * epsilon)
        case releases.TwoOutcomes(yes, _, log_yes, _):
            return math.exp(log_yes) * -math.expm1(-yes)
        case releases.BoundedRange(epsilon):
            return math.tanh(0.25 * epsilon)
        case releases.DiscreteGaussian(deviation, sensitivity):
            return 0.5 * sensitivity / deviation  # Pinsker's inequality.
        case releases.Sampled(rate, inner):
            return rate * _variation(inner)
        case releases.Labelled(chances, parts):
            pairs = zip(chances, parts, strict=True)
            return math.fsum(chance * _variation(part) for chance, part in pairs)
        case releases.FixedSizeGroups(rate, chances, mus):
            found = zip(chances, mus, strict=True)
            return rate * math.fsum(chance * _gaussian_variation(mu) for chance, mu in found)
        case releases.Between(above, _):
            return _variation(above)
    return 1.0


def _total_variation(releases: Releases) -> float:
    """An upper bound of δ(0) of the composition."""
    log_agree = 0.0
    for release, count in releases:
        variation = min(1.0, _variation(release) * (1.0 + _ROUNDING))
        log_agree += count * (math.log1p(-variation) if variation < 1.0 else -math.inf)
    return min(1.0, -math.expm1(log_agree * (1.0 + _ROUNDING)) * (1.0 + _ROUNDING))
