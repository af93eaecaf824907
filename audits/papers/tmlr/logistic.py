"""Logistic regression with one weight, by quadrature: the smallest model that is not conjugate.

A factor or a posterior is an array (η, Λ) for exp(ηθ − ½Λθ²). Written on its own, so that the
properties of TMLR's Appendix A are not checked with the engine that implements the algorithms.
"""

import math

import numpy as np

from accountants.arrays import FloatArray

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(80)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
PRIOR = np.array([0.0, 1.0])


def data(seed: int, size: int, slope: float) -> FloatArray:
    """Products t·x of labels ±1 and inputs."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=size)
    labels = np.where(rng.random(size) < 1.0 / (1.0 + np.exp(-slope * x)), 1.0, -1.0)
    return np.asarray(labels * x)


def natural_gradient(q: FloatArray, signed: FloatArray) -> FloatArray:
    """d/dμ E_q[Σ log σ(t·x·θ)] by q's mean parameters, in the form (η, Λ).

    By Bonnet's and Price's theorems dE/dm = E[f′] and dE/dv = ½E[f″]; hence Λ = −E[f″] and
    η = E[f′] + m·Λ.
    """
    mean, deviation = q[0] / q[1], 1.0 / math.sqrt(q[1])
    theta = mean + deviation * _NODES
    sigmoid = 1.0 / (1.0 + np.exp(-signed[:, None] * theta))
    first = float(((signed[:, None] * (1.0 - sigmoid)).sum(axis=0) * _WEIGHTS).sum())
    second = float(
        ((-(signed[:, None] ** 2) * sigmoid * (1.0 - sigmoid)).sum(axis=0) * _WEIGHTS).sum()
    )
    return np.array([first - mean * second, -second])


def optimum(cavity: FloatArray, signed: FloatArray, temperature: float = 1.0) -> FloatArray:
    """The stationary point of the local ELBO: q − cavity = temperature · natural_gradient(q).

    Damped iteration. The bound is concave in (mean, standard deviation): it is the optimum.
    """
    q = cavity.copy()
    for _ in range(2000):
        new = cavity + temperature * natural_gradient(q, signed)
        if float(np.abs(new - q).max()) < 1e-13:
            break
        q = 0.5 * q + 0.5 * new
    return q


def elbo(q: FloatArray, signed: FloatArray) -> float:
    """E_q[log p(data | θ)] − KL(q ‖ prior)."""
    mean, variance = q[0] / q[1], 1.0 / q[1]
    theta = mean + math.sqrt(variance) * _NODES
    data_part = -float((np.logaddexp(0.0, -signed[:, None] * theta).sum(axis=0) * _WEIGHTS).sum())
    prior_mean, prior_variance = PRIOR[0] / PRIOR[1], 1.0 / PRIOR[1]
    kl = 0.5 * (
        variance / prior_variance
        + (mean - prior_mean) ** 2 / prior_variance
        - 1.0
        - math.log(variance / prior_variance)
    )
    return float(data_part - kl)
