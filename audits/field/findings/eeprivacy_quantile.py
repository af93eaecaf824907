"""The noisy maximum has half of the noise that it needs.

Report noisy max with Lap(Δ/ε) is ε-differentially private for monotonic scores only (Dwork and
Roth, Claim 3.9, is about counting queries). The score of an option, −|#(values < option) − q·n|,
is not: if one of n values is replaced, an option below the quantile can lose 1 while one above it
gains 1. With two options that is a shift of 2 in their difference: from scores that are equal the
upper one wins with probability 1/2, and then the lower one with e^{−2ε}(1 + ε)/2 only, so that the
cost is 2ε − ln(1 + ε), 1.31 for ε = 1. Scores that rise and fall need Lap(2Δ/ε).
"""

from typing import Any

ABOUT = {
    "library": "eeprivacy",
    "requirements": ["eeprivacy==0.0.5"],
    "promise": (
        "Quantiles by report noisy max, ε-differentially private (docstring of PrivateQuantile)."
    ),
    "claim": {"epsilon": 1.0, "delta": 0.0, "relation": "REPLACE_ONE"},
    "domain": {"dimension": 0, "bounds": (0.0, 1.0), "min_records": 10, "max_records": 10},
    "repair": (
        "sensitivity = 2 * max_individual_contribution, or exponential noise instead of Laplace."
    ),
}


def _quantile(data: Any, epsilon: float) -> Any:
    from eeprivacy.operations import PrivateQuantile

    quantile = PrivateQuantile(options=[0.3, 0.6])
    return quantile.execute(values=data, epsilon=epsilon, quantile=0.5)


def flawed(data: Any) -> Any:
    return _quantile(data, 1.0)


def repaired(data: Any) -> Any:
    return _quantile(data, 0.5)
