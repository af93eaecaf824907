r"""Shuffled batches: what is known, and how far it is from Poisson sampling.

A shuffled epoch puts every record into exactly one of B batches, whose order is random; training
loaders do this, and accountants that assume Poisson sampling are often applied to it (Chua et al.
2024 show by how much that can be wrong). No amplification is claimed here:

* **Upper bound.** Given the order, a record enters one Gaussian release per epoch, and all else is
  post-processing or does not depend on it; mixing over orders cannot hurt (joint convexity). So E
  epochs cost at most the Gaussian with μ = s·√E/σ, s = 1 when the record is zeroed, 2 when it is
  replaced.
* **Lower bound**, from an explicit pair of data sets: all other records at −C and the one at +C
  against 0 (zeroed) or −C (replaced). Relative to the all-at-−C sums, the record's batch moves by
  a = 2 or b = 1, 0 noise units of 1/σ, the others by 0. For the event "some batch exceeds c",

      P = 1 − Φ(c)^{B−1}·Φ(c − a/σ),    Q = 1 − Φ(c)^{B−1}·Φ(c − b/σ),

  and (ε, δ)-DP requires P ≤ e^ε·Q + δ, hence ε ≥ log((P − δ)/Q); the complement gives the other
  direction. Every c is a valid test. One epoch is enough: more epochs release more.
"""

import math

import numpy as np
from dp_accounting import NeighboringRelation
from scipy import special

from accountants import gaussian, validate
from accountants.bounds import Bounds

# What rounding may have done to P and Q, which come from log Φ with a relative error of about
# 1e-14.
_SAFETY = 1e-11
_SHIFTS = {
    NeighboringRelation.REPLACE_SPECIAL: (2.0, 1.0),
    NeighboringRelation.REPLACE_ONE: (2.0, 0.0),
}


def shuffled_epsilon_bounds(
    *,
    noise_multiplier: float,
    batches: int,
    delta: float,
    epochs: int = 1,
    relation: NeighboringRelation = NeighboringRelation.REPLACE_SPECIAL,
) -> Bounds:
    """An interval that contains ε(δ) of shuffled batches; wide, and honest about it.

    Args:
      noise_multiplier: Noise standard deviation over C, positive.
      batches: Batches per epoch, each record in exactly one.
      delta: The target δ.
      epochs: Number of epochs, each freshly shuffled or not.
      relation: REPLACE_SPECIAL or REPLACE_ONE; with a record more or less the batches differ.

    >>> lower, upper = shuffled_epsilon_bounds(noise_multiplier=0.5, batches=1000, delta=1e-6)
    >>> lower > 8.0, upper < 12.0
    (True, True)
    """
    sigma = validate.positive("noise_multiplier", noise_multiplier)
    batches = validate.count("batches", batches)
    epochs = validate.count("epochs", epochs)
    delta = validate.open_unit("delta", delta)
    if validate.relation("relation", relation) not in _SHIFTS:
        raise ValueError(
            "`relation` must be REPLACE_SPECIAL or REPLACE_ONE for shuffled batches (a record more "
            f"or less changes them), got {relation.name}."
        )
    sensitivity = 2.0 if relation is NeighboringRelation.REPLACE_ONE else 1.0
    upper = gaussian.epsilon_bounds(sensitivity * math.sqrt(epochs) / sigma, delta).upper
    return Bounds(max(0.0, _epsilon_lower(sigma, batches, delta, *_SHIFTS[relation])), upper)


def _epsilon_lower(sigma: float, batches: int, delta: float, a: float, b: float) -> float:
    c = np.linspace(-10.0, 12.0 + a / sigma, 4001)
    others = (batches - 1) * special.log_ndtr(c)
    log_none_p = others + special.log_ndtr(c - a / sigma)
    log_none_q = others + special.log_ndtr(c - b / sigma)
    some_p, some_q = -np.expm1(log_none_p), -np.expm1(log_none_q)
    tests = [(some_p, some_q), (np.exp(log_none_q), np.exp(log_none_p))]
    best = 0.0
    for first, second in tests:
        left = first * (1.0 - _SAFETY) - delta
        usable = (left > 0.0) & (second > 1e-290)
        if usable.any():
            ratio = left[usable] / (second[usable] * (1.0 + _SAFETY))
            best = max(best, math.log(float(ratio.max())))
    return best
