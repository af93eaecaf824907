r"""Skellam noise: the difference of two Poisson variables, closed under addition.

Sk(μ) = Poisson(μ/2) − Poisson(μ/2) has mean 0 and variance μ, and Sk(μ) + Sk(ν) = Sk(μ + ν): shares
add up exactly. For a shift by an integer vector of Euclidean norm Δ₂ and taxicab norm Δ₁, and every
*integer* order α > 1 (Agarwal, Kairouz, Liu 2021, Theorem 3.5; per coordinate, and norms add up),

    D_α ≤ αΔ₂²/2μ + min( ((2α − 1)Δ₂² + 6Δ₁)/4μ², 3Δ₁/2μ ).

Either branch is ξ + ρα. (α − 1)·D_α is convex in α (it is a log-moment) and 0 at α = 1, so between
two integers it is at most the chord of (α − 1)(ξ + ρα), which is above that parabola by
ρ·s(1 − s) ≤ ρ·(α − 1) at α = a + s. So for *every* α > 1, D_α ≤ (ξ + ρ) + ρα: what accountants call
zero-concentrated with ρ and ξ + ρ. ∎
"""

import math
import secrets
from fractions import Fraction

from accountants import validate
from mechanisms.primitives.discrete_gaussian import RandBelow, checked_randbelow, ratio

_ROUNDING = 1e-12


def divergence(order: int, variance: float, norm: float, taxicab: float) -> float:
    """D_α of a whole order α > 1, from above: the bound of the module.

    >>> round(divergence(2, 100.0, 1.0, 1.0), 6)
    0.010225
    """
    order = validate.count("order", order, minimum=2)
    mu = validate.positive("variance", variance)
    square = validate.non_negative("norm", norm) ** 2
    taxicab = validate.non_negative("taxicab", taxicab)
    first = ((2 * order - 1) * square + 6.0 * taxicab) / (4.0 * mu * mu)
    return (0.5 * order * square / mu + min(first, 1.5 * taxicab / mu)) * (1.0 + _ROUNDING)


def concentration(variance: float, norm: float, taxicab: float) -> tuple[float, float]:
    """(ρ, ξ) of the module, upper bounds: D_α ≤ ξ + ρα for all real α > 1.

    Args:
      variance: μ.
      norm: Δ₂ of the integer shift.
      taxicab: Δ₁ of it.

    >>> rho, xi = concentration(100.0, 1.0, 1.0)
    >>> round(rho, 6), round(xi, 6)
    (0.00505, 0.005175)
    """
    mu = validate.positive("variance", variance)
    square = validate.non_negative("norm", norm) ** 2
    taxicab = validate.non_negative("taxicab", taxicab)
    gaussian = 0.5 * square / mu
    first = (gaussian + 0.5 * square / mu / mu, (6.0 * taxicab - square) / (4.0 * mu * mu))
    second = (gaussian, 1.5 * taxicab / mu)
    # Both hold; which is smaller depends on the order. At order 2 + 1/√ρ the bounds of ε are made.
    order = 2.0 + 1.0 / math.sqrt(gaussian) if gaussian else 2.0
    rho, xi = min(first, second, key=lambda pair: pair[1] + order * pair[0])
    return rho * (1.0 + _ROUNDING), max(0.0, xi + rho) * (1.0 + _ROUNDING)


def _poisson_part(numerator: int, denominator: int, randbelow: RandBelow) -> int:
    """Poisson(λ) for λ = numerator/denominator ≤ 1/2, exactly.

    k is proposed with probability 2^−(k+1) and kept with (2λ)^k/k!, both in whole numbers; what is
    kept has mass ∝ λ^k/k!. More than half of the proposals are kept.
    """
    while True:
        k = 0
        while randbelow(2):
            k += 1
        if all(randbelow(denominator * j) < 2 * numerator for j in range(1, k + 1)):
            return k


def sample_skellam(variance: Fraction | int, randbelow: RandBelow = secrets.randbelow) -> int:
    """An integer of law Sk(variance), exactly; it takes time in proportion to the variance.

    Args:
      variance: μ > 0 as an exact rational.
      randbelow: Uniform integers; the operating system's entropy if not given.
    """
    a, b = ratio(variance)
    if validate.function("randbelow", randbelow) is not secrets.randbelow:
        randbelow = checked_randbelow(randbelow)
    # Poisson(μ/2) is the sum of a//b of Poisson(1/2) and one of the rest's half.
    whole, rest = divmod(a, b)
    total = 0
    for sign in (1, -1):
        total += sign * sum(_poisson_part(1, 2, randbelow) for _ in range(whole))
        if rest:
            total += sign * _poisson_part(rest, 2 * b, randbelow)
    return total
