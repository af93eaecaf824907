"""The textbook theorems, so that the papers' arithmetic can be reproduced and shown loose.

All results are upper bounds of ε (or noise that suffices). Each function refuses arguments for
which its theorem was not proved.
"""

import math

from accountants import validate

# Beyond, the bound itself leaves the floats; it has said nothing for long by then.
_LARGEST_EPSILON = 500.0


def gaussian_noise_multiplier(epsilon: float, delta: float) -> float:
    """The noise multiplier √(2·ln(1.25/δ))/ε that suffices for (ε, δ)-DP, for ε < 1 only.

    Dwork & Roth 2014, Theorem 3.22 (TUM Theorem 1, Thesis Theorem 2.2.1). The proof needs ε < 1,
    and the statement fails beyond: at ε = 10, δ = 1e-5 the true δ is larger than the claimed one.
    Use `accountants.calibrate_noise` there.

    >>> round(gaussian_noise_multiplier(0.5, 1e-5), 4)
    9.6896
    """
    epsilon, delta = validate.positive("epsilon", epsilon), validate.open_unit("delta", delta)
    if epsilon >= 1.0:
        raise ValueError(
            f"`epsilon` must be below 1 for the classical Gaussian calibration, got {epsilon!r}."
        )
    return math.sqrt(2.0 * (math.log(1.25) - math.log(delta))) / epsilon


def gaussian_epsilon(noise_multiplier: float, delta: float) -> float:
    """The ε that the classical calibration grants a noise multiplier; refuses ε ≥ 1."""
    noise_multiplier = validate.positive("noise_multiplier", noise_multiplier)
    delta = validate.open_unit("delta", delta)
    epsilon = math.sqrt(2.0 * (math.log(1.25) - math.log(delta))) / noise_multiplier
    if epsilon >= 1.0:
        raise ValueError(
            f"`noise_multiplier` must exceed {epsilon * noise_multiplier:.6g} for the classical "
            f"Gaussian theorem at delta={delta}, got {noise_multiplier!r}."
        )
    return epsilon


def basic_composition(epsilon: float, delta: float, count: int) -> tuple[float, float]:
    """`count` (ε, δ)-DP releases are (count·ε, count·δ)-DP (Dwork & Roth 2014, Theorem 3.16).

    >>> basic_composition(0.5, 0.001, 4)
    (2.0, 0.004)
    """
    epsilon, delta = (
        validate.non_negative("epsilon", epsilon),
        validate.closed_unit("delta", delta),
    )
    count = validate.count("count", count)
    return validate.real("count * epsilon", count * epsilon), min(1.0, count * delta)


def advanced_composition(
    epsilon: float, delta: float, count: int, slack: float
) -> tuple[float, float]:
    """`count` (ε, δ)-DP releases are (ε′, count·δ + slack)-DP.

    ε′ = √(2·count·ln(1/slack))·ε + count·ε·(e^ε − 1): Dwork & Roth 2014, Theorem 3.20 (TUM
    Theorem 2).

    >>> round(advanced_composition(0.1, 0.0, 100, 1e-5)[0], 4)
    5.8502
    """
    epsilon, delta = (
        validate.non_negative("epsilon", epsilon),
        validate.closed_unit("delta", delta),
    )
    count, slack = validate.count("count", count), validate.open_unit("slack", slack)
    if epsilon > _LARGEST_EPSILON:
        raise ValueError(f"`epsilon` must be at most {_LARGEST_EPSILON:g} here, got {epsilon!r}.")
    spread = math.sqrt(-2.0 * count * math.log(slack)) * epsilon
    drift = count * epsilon * math.expm1(epsilon)
    return spread + drift, min(1.0, count * delta + slack)
