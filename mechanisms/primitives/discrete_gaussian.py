r"""The discrete Gaussian, sampled exactly (Canonne, Kamath, Steinke 2020, Algorithms 1–3).

N_Z(0, σ²) has mass ∝ exp(−n²/2σ²) at every integer n. The sampler draws uniform integers and
compares; it uses no floating-point number, so the law is exact, low bits included.

**What it costs, compared with N(0, σ²).** For integer-valued queries of sensitivity Δ the Rényi
divergences of every order are at most those of the continuous Gaussian (Theorems 4 and 14), so
zero-concentrated DP holds with the same ρ = Δ²/2σ². For a whole privacy profile, sampling included:

*Rounding N(0, σ²) to the nearest integer after adding an integer query is post-processing*, so the
rounded Gaussian has exactly the event of the continuous one. With g the density of N(0, σ²) and
r(n) = ∫_{n−½}^{n+½} g, the midpoint rule's Peano kernel K ≤ 1/8 on a cell gives
|r(n) − g(n)| ≤ ⅛∫_cell |g″|, so Σ|r − g| ≤ ⅛∫|g″| = ⅛·4·max|g′| = φ(1)/(2σ²) =: b, and also
|Σg − 1| ≤ b. Hence the discrete Gaussian p = g/Σg has Σ|p − r| ≤ 2b, a total variation distance

    TV(N_Z(0, σ²), rounded N(0, σ²)) ≤ b = φ(1)/(2σ²) < 0.121/σ².

N draws cost at most N·b in total variation (a union bound that adaptivity does not spoil), and two
laws that are each within t of an (ε, δ)-indistinguishable pair are (ε, δ + (1 + e^ε)·t)-so. That is
`delta_slack`. At the default grid, σ ≥ 2³² steps, one draw costs 6.6e-21. ∎
"""

import math
import secrets
from collections.abc import Callable
from fractions import Fraction
from numbers import Integral, Rational
from typing import TypeAlias

import numpy as np

from accountants import validate

RandBelow: TypeAlias = Callable[[int], int]
"""Gives a uniform integer in [0, n)."""

# Of logarithms up to 1500 and their exponential.
_ROUNDING = 1e-12
# φ(1)/2, rounded up.
_TOTAL_VARIATION = 0.121


def _bernoulli_exp_unit(numerator: int, denominator: int, randbelow: RandBelow) -> bool:
    """True with probability e^{−γ}, γ = numerator/denominator in [0, 1] (their Algorithm 1)."""
    k = 1
    while randbelow(denominator * k) < numerator:
        k += 1
    return k % 2 == 1


def bernoulli_exp(
    numerator: int, denominator: int, randbelow: RandBelow = secrets.randbelow
) -> bool:
    """True with probability exp(−numerator/denominator), exactly, for a rational ≥ 0."""
    while numerator > denominator:
        if not _bernoulli_exp_unit(1, 1, randbelow):
            return False
        numerator -= denominator
    return _bernoulli_exp_unit(numerator, denominator, randbelow)


def sample_discrete_laplace(scale: int, randbelow: RandBelow = secrets.randbelow) -> int:
    """An integer with mass ∝ exp(−|n|/scale), exactly (their Algorithm 2)."""
    while True:
        remainder = randbelow(scale)
        if not _bernoulli_exp_unit(remainder, scale, randbelow):
            continue
        quotient = 0
        while _bernoulli_exp_unit(1, 1, randbelow):
            quotient += 1
        magnitude = remainder + scale * quotient
        negative = randbelow(2) == 1
        if not (negative and magnitude == 0):
            return -magnitude if negative else magnitude


def sample_discrete_gaussian(
    variance: Fraction | int, randbelow: RandBelow = secrets.randbelow
) -> int:
    """An integer with mass ∝ exp(−n²/2σ²), exactly (their Algorithm 3).

    Args:
      variance: σ² > 0 as an exact rational.
      randbelow: Uniform integers; the operating system's entropy if not given.
    """
    a, b = ratio(variance)
    if validate.function("randbelow", randbelow) is not secrets.randbelow:
        randbelow = checked_randbelow(randbelow)
    scale = math.isqrt(a // b) + 1
    while True:
        proposal = sample_discrete_laplace(scale, randbelow)
        # (|Y| − σ²/t)²/2σ² with σ² = a/b.
        excess = abs(proposal) * b * scale - a
        if bernoulli_exp(excess * excess, 2 * a * b * scale * scale, randbelow):
            return proposal


def ratio(variance: Fraction | int) -> tuple[int, int]:
    """A positive rational as numerator and denominator."""
    if isinstance(variance, bool) or not isinstance(variance, Rational) or not variance > 0:
        raise validate.refusal("variance", "a positive Fraction or int", variance)
    return int(variance.numerator), int(variance.denominator)


def checked_randbelow(randbelow: RandBelow) -> RandBelow:
    """A stranger's uniform integers: the loops end only if these are what they should be."""

    def draw(below: int) -> int:
        drawn = randbelow(below)
        if not isinstance(drawn, Integral) or not 0 <= drawn < below:
            raise ValueError(
                f"`randbelow` must give whole numbers in [0, {validate.shown(below)}), got "
                f"{validate.shown(drawn)}."
            )
        return drawn

    return draw


def total_variation(std_in_steps: float, draws: int) -> float:
    """Upper bound of the distance of `draws` draws from as many rounded Gaussians (module proof).

    Args:
      std_in_steps: The standard deviation σ in steps of the grid, at least 1.
      draws: Coordinates times releases.

    >>> total_variation(2.0**32, 1) < 6.6e-21
    True
    """
    if validate.real("std_in_steps", std_in_steps) < 1.0:
        raise ValueError(f"`std_in_steps` must be at least 1, got {std_in_steps!r}.")
    draws = validate.count("draws", draws, minimum=0)
    return min(1.0, _TOTAL_VARIATION * draws / std_in_steps / std_in_steps)


def delta_slack(epsilon: float, distance: float) -> float:
    """What to add to δ(ε) when both laws are within total variation `distance` of those accounted.

    Rounded up, and at most 1.

    >>> 2e-9 <= delta_slack(0.0, 1e-9) <= 2.00000000001e-9
    True
    """
    epsilon = validate.non_negative("epsilon", epsilon)
    distance = validate.closed_unit("distance", distance)
    if distance == 0.0:
        return 0.0
    # In logarithms: e^ε alone may be beyond all doubles where the product is not.
    logarithm = np.logaddexp(0.0, epsilon) + math.log(distance)
    return min(1.0, math.exp(min(0.0, logarithm)) * (1.0 + _ROUNDING) + 5e-324)


def sample_array(
    variance: Fraction | int, shape: tuple[int, ...], randbelow: RandBelow = secrets.randbelow
) -> np.ndarray:
    """Independent draws as an array of Python integers (dtype object), so that none overflows."""
    flat = [sample_discrete_gaussian(variance, randbelow) for _ in range(math.prod(shape))]
    values = np.empty(len(flat), dtype=object)
    values[:] = flat
    return values.reshape(shape)
