"""Expectations of log σ and its derivatives under a Gaussian margin, without Monte Carlo.

For u ~ N(a, s²) and f = log σ three numbers are wanted: E f(u), E f′(u), E f″(u).

Narrow margins (s < 2.2) use Gauss–Hermite on u = a + s z. Its accuracy falls as s grows, since the
poles of f lie only π/s from the axis in units of z. Wide margins turn the integral round: σ(u)σ(−u)
is the density of the logistic distribution, so with L ~ Logistic(0, 1)

    E f″ = −E_L[φ(y)]/s,   E f′ = E_L[Φ(y)],   E f = −s E_L[yΦ(y) + φ(y)],   y = (L − a)/s,

whose integrands are entire and flatten as s grows. The Gauss rule of the logistic weight comes from
its orthogonal polynomials (continuous Hahn, Koekoek, Lesky, Swarttouw 2010, section 9.4, at ½),
whose monic recurrence coefficients are π²k⁴/(4k² − 1); the first is the logistic variance π²/3.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh_tridiagonal
from scipy.special import expit, log_expit, ndtr

from pvi.validate import FloatArray

CROSSOVER = 2.2


class Rule(NamedTuple):
    """Nodes and weights (summing to one) of the two Gauss rules."""

    hermite: tuple[FloatArray, FloatArray]
    logistic: tuple[FloatArray, FloatArray]


def make_rule(nodes: int) -> Rule:
    """Gives both Gauss rules with this many nodes."""
    points, weights = np.polynomial.hermite_e.hermegauss(nodes)
    k = np.arange(1.0, nodes)
    off_diagonal = np.pi * k**2 / np.sqrt(4.0 * k**2 - 1.0)
    eigenvalues, vectors = eigh_tridiagonal(np.zeros(nodes), off_diagonal)
    return Rule((points, weights / weights.sum()), (eigenvalues, vectors[0] ** 2))


def expected_log_sigmoid(rule: Rule, centre: FloatArray, std: FloatArray) -> FloatArray:
    """Gives E[log σ(u)] for u ~ N(centre, std²), elementwise."""
    centre, std = np.broadcast_arrays(centre, std)
    value = np.empty(centre.shape)
    narrow = std < CROSSOVER
    points, weights = rule.hermite
    value[narrow] = log_expit(_spread(centre[narrow], std[narrow], points)) @ weights
    points, weights = rule.logistic
    y = _standardise(centre[~narrow], std[~narrow], points)
    value[~narrow] = -std[~narrow] * ((y * ndtr(y) + _density(y)) @ weights)
    return value


def expected_derivatives(
    rule: Rule, centre: FloatArray, std: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Gives (E[f′(u)], E[f″(u)]) for f = log σ and u ~ N(centre, std²), elementwise."""
    centre, std = np.broadcast_arrays(centre, std)
    slope, curvature = np.empty(centre.shape), np.empty(centre.shape)
    narrow = std < CROSSOVER
    points, weights = rule.hermite
    complement = expit(-_spread(centre[narrow], std[narrow], points))
    slope[narrow] = complement @ weights
    curvature[narrow] = (complement * (complement - 1.0)) @ weights
    points, weights = rule.logistic
    y = _standardise(centre[~narrow], std[~narrow], points)
    slope[~narrow] = ndtr(y) @ weights
    curvature[~narrow] = -(_density(y) @ weights) / std[~narrow]
    return slope, curvature


def _spread(centre: FloatArray, std: FloatArray, points: FloatArray) -> FloatArray:
    return np.asarray(centre[..., None] + std[..., None] * points)


def _standardise(centre: FloatArray, std: FloatArray, points: FloatArray) -> FloatArray:
    return np.asarray((points - centre[..., None]) / std[..., None])


def _density(y: FloatArray) -> FloatArray:
    return np.asarray(np.exp(-0.5 * y * y) / np.sqrt(2.0 * np.pi))
