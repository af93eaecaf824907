r"""Sums of discrete Gaussians: how far they are from one, and from a rounded continuous one.

Discrete Gaussians are not closed under addition, but nearly. For independent X ~ N_Z(0, a) and
Y ~ N_Z(0, b), V = a + b and c = ab/V, complete the square in Σ_y e^{−y²/2a − (x−y)²/2b}:

    P(X + Y = x) ∝ e^{−x²/2V} · h(xa/V),   h(μ) = Σ_y e^{−(y−μ)²/2c}.

By Poisson's summation formula h(μ) = √(2πc)·(1 + 2·Σ_{k≥1} e^{−2π²ck²}·cos 2πkμ), so that h lies
between (1 − η) and (1 + η) times √(2πc), with η = 2·Σ_{k≥1} e^{−2π²ck²}. Numerator and
normalisation each hold such a factor: pointwise

    P(X + Y = x) / N_Z(0, V)(x)  ∈  [(1−η)/(1+η), (1+η)/(1−η)] = [e^{−τ}, e^τ],  τ = 2·artanh η.

Ratios within e^{±τ} stay so if both laws are convolved with a third, so the next summand adds its
own τ: for m summands, the (k+1)st added to a sum of variance V_k, τ = Σ_k 2·artanh η(c_k) with
c_k = V_k·σ²_{k+1}/(V_k + σ²_{k+1}). If all σ² are equal, c_k = σ²k/(k+1): the exponents are those
of Kairouz, Liu, Steinke 2021 (Theorem 1), with 4 in the place of their constant 10. ∎

A law within e^{±τ} of another is within tanh(τ/2) ≤ τ/2 of it in total variation. With
`discrete_gaussian`'s bound of the last step, a sum of shares is within
τ/2 + 0.121/V of N(0, V) rounded to integers. The bounds are two-sided: they serve lower ends of ε
as well as upper ones.
"""

import math
from collections.abc import Sequence

from accountants import validate
from mechanisms.primitives.discrete_gaussian import total_variation

# Of an exponential and a handful of products; logarithms are of numbers near 1.
_ROUNDING = 1e-12


def log_ratio(stds_in_steps: Sequence[float]) -> float:
    """τ: the law of the sum is within e^{±τ} of one discrete Gaussian, at every integer.

    An upper bound; infinite where deviations are so small that the proof says nothing.

    Args:
      stds_in_steps: The parameters σ of the summands, in steps of the grid.

    >>> log_ratio([3.0]), 0.0 < log_ratio([3.0, 3.0]) < 1e-37
    (0.0, True)
    """
    stds = validate.sequence("stds_in_steps", stds_in_steps, validate.positive, least=1)
    total, found = stds[0] * stds[0], 0.0
    for std in stds[1:]:
        found += _one_more(total, std * std)
        total += std * std
    return found * (1.0 + _ROUNDING)


def _one_more(total: float, variance: float) -> float:
    """What a summand adds to τ, from above."""
    combined = 1.0 / (1.0 / total + 1.0 / variance) if min(total, variance) > 0.0 else 0.0
    exponent = 2.0 * math.pi * math.pi * combined * (1.0 - _ROUNDING)
    # Σ_{k≥1} q^{k²} ≤ q·Σ q^{3k}; below 5e-324 nothing is left of it but the sum's being positive.
    first = math.exp(-exponent) + 5e-324
    eta = 2.0 * first / (1.0 - first**3) * (1.0 + _ROUNDING) if first < 1.0 else 1.0
    return 2.0 * math.atanh(eta) if eta < 1.0 else math.inf


def sum_distance(least_std_in_steps: float, summands: int, draws: int) -> float:
    """Total variation of sums of discrete Gaussians from rounded continuous ones, from above.

    It holds for the sum of any of the summands: those that an adversary knows may be left out.

    Args:
      least_std_in_steps: The smallest of the summands' σ, in steps of the grid, at least 1.
      summands: How many there are at most.
      draws: How many sums: coordinates times releases.

    >>> 0.121 / 64 < sum_distance(8.0, 10, 1) < 0.1211 / 64
    True
    """
    draws = validate.count("draws", draws, minimum=0)
    more = validate.count("summands", summands) - 1
    # A sum's variance is at least a summand's, so c_k is at least half of the least variance.
    variance = validate.positive("least_std_in_steps", least_std_in_steps) ** 2
    each = _one_more(variance, variance) if more and draws else 0.0
    rounded = total_variation(least_std_in_steps, draws)
    return min(1.0, (rounded + 0.5 * each * more * draws) * (1.0 + _ROUNDING))
