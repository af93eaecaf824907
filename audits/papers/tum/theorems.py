"""The TUM report's two theorems as formulas: what they say of k iterations with Gaussian noise."""

import functools
import math

import numpy as np

from accountants import classical, gaussian

_LARGE = 500.0
"""An ε of one round beyond which e^ε in Theorem 2 nears the largest float."""


def single_epsilon(mu: float, delta: float) -> float:
    """TUM's Theorem 1 solved for ε, whether or not the theorem applies (it needs ε < 1)."""
    return math.sqrt(2.0 * math.log(1.25 / delta)) * mu


def composed_by_tum(
    mu: float, rounds: int, delta: float, *, points: int = 120
) -> tuple[float, float]:
    """The least ε of Theorems 1 and 2 at a total δ, and the ε of one round in it.

    Not proved where the latter is 1 or more.

    Args:
      mu: Sensitivity over the noise's standard deviation.
      rounds: k.
      delta: In total, kδ₁ + δ′.
      points: On how fine a grid the best division of δ is sought.
    """
    return _best(mu, rounds, delta, exact=False, points=points)


def composed_exact_rounds(mu: float, rounds: int, delta: float) -> float:
    """The least ε of Theorem 2 on rounds with their exact ε: a proved upper bound."""
    return _best(mu, rounds, delta, exact=True, points=120)[0]


@functools.cache
def _best(mu: float, rounds: int, delta: float, *, exact: bool, points: int) -> tuple[float, float]:
    best = (math.inf, math.inf)
    for slack in (delta * np.geomspace(1e-4, 0.999, points)).tolist():
        each = (delta - slack) / rounds
        single = gaussian.epsilon(mu, each) if exact else single_epsilon(mu, each)
        if single < _LARGE:
            total = classical.advanced_composition(single, each, rounds, slack)[0]
            best = min(best, (total, single))
    return best
