r"""Bets on one event against one (ε, δ), vectorised: `audits.testing.bets` with two cells.

For an event S the claim says w·P(S) + v·Q(Sᶜ) ≤ 1 with w = 1/(e^ε + δ), v = e^ε/(e^ε + δ)
(`audits.claims.region`). With weights a, b, λ ≥ 0 and Z = a + b + λ the factor

    (2/Z)·(a + λ·w·1{x ∈ S}) · (2/Z)·(b + λ·v·1{y ∉ S})

has mean at most 1 under the claim for independent x ~ P, y ~ Q: the two means add up to at most Z,
and their product is at most (Z/2)². Whatever guess the weights come from, the factor is valid, and
so is a factor of 1, the answer where the guess promises no growth.

The weights that grow fastest for a guess (p, q) of (P(S), Q(S)) belong to the pair (p⁰, q⁰) on the
line p⁰ = e^ε·q⁰ + δ that is nearest in Kullback–Leibler divergence; 2α/Z is then p/p⁰ inside S and
(1−p)/(1−p⁰) outside.

**The nearest pair.** With s = e^{−ε}, x = p⁰ and y = x − δ (so that q⁰ = s·y) the divergence is
stationary where the cubic

    C(x) = (x − p)·y·(1 − s·y) + (s·y − q)·x·(1 − x)

vanishes. C(0) = p·δ·(1 + s·δ) ≥ 0, C(δ) = −q·δ·(1 − δ) ≤ 0, C(1) ≥ 0 and C(δ + 1/s) ≤ 0: all three
roots are real, and the middle one is ours. Laguerre's method converges towards it from any point
between the outer two, without ever stepping over it, and at third order (Householder 1970, 4.4). A
step is added to x and taken from 1 − x, which resolves both ends of the unit interval: for laws of
disjoint supports p is within 1/n of 1, and q of 0.
"""

import numpy as np
from numpy.typing import NDArray

from accountants.arrays import FloatArray

_SMALLEST = 1e-300
_STEPS, _QUICK_STEPS = 5, 3


def event_bet(
    p: FloatArray, q: FloatArray, epsilon: FloatArray, delta: float
) -> tuple[FloatArray, FloatArray]:
    """Log factors (x in S, x not in S, y in S, y not in S) and their growth under the guess.

    Args:
      p: Guesses of P(S), in (0, 1).
      q: Guesses of Q(S), in (0, 1); the arrays are broadcast.
      epsilon: The claimed ε.
      delta: The claimed δ.

    >>> logs, growth = event_bet(np.array(0.9), np.array(0.1), np.array(1.0), 0.0)
    >>> bool(growth > 0.1), logs.shape
    (True, (4,))
    """
    shape, made, p, q, shrunk, deltas = _contradicting(p, q, epsilon, delta)
    p0, other_p0, q0 = _nearest(p, q, shrunk, deltas, _STEPS)
    constant_first, constant_second = (1.0 - p) / other_p0, q / q0
    w, v = shrunk / (1.0 + deltas * shrunk), 1.0 / (1.0 + deltas * shrunk)
    stake = np.maximum(0.0, (p / p0 - constant_first) / w)
    half = 0.5 * (constant_first + constant_second + stake)
    ratios = np.stack(
        [
            constant_first + stake * w,
            constant_first,
            constant_second,
            constant_second + stake * v,
        ]
    )
    found = np.log(ratios / half)
    grown = p * found[0] + (1.0 - p) * found[1] + q * found[2] + (1.0 - q) * found[3]
    # A bet is made only where it grows under the guess.
    kept = (grown > 0.0) & np.isfinite(found).all(axis=0)
    logs, growth = np.zeros((4, *shape)), np.zeros(shape)
    logs[:, made], growth[made] = np.where(kept, found, 0.0), np.where(kept, grown, 0.0)
    return logs, growth


def quick_growth(
    p: FloatArray, q: FloatArray, epsilon: FloatArray, delta: FloatArray | float
) -> FloatArray:
    """About the growth of `event_bet`, to compare many events: a divergence.

    It is that of the guess from the nearest pair on the line, and flat around its minimum, so that
    a rough search for the pair will do.
    """
    shape, made, p, q, shrunk, deltas = _contradicting(p, q, epsilon, delta)
    p0, other_p0, q0 = _nearest(p, q, shrunk, deltas, _QUICK_STEPS)
    growth = np.zeros(shape)
    growth[made] = (
        p * np.log(p / p0)
        + (1.0 - p) * np.log((1.0 - p) / other_p0)
        + q * np.log(q / q0)
        + (1.0 - q) * np.log((1.0 - q) / (1.0 - q0))
    )
    return growth


def _contradicting(
    p: FloatArray, q: FloatArray, epsilon: FloatArray, delta: FloatArray | float
) -> tuple[tuple[int, ...], NDArray[np.bool_], FloatArray, FloatArray, FloatArray, FloatArray]:
    """Where the guess contradicts the claim, often in few places, and p, q, e^{−ε}, δ there."""
    shrunk = np.exp(-epsilon)
    made = shrunk * (p - delta) > q
    shape = made.shape
    p, q, shrunk, deltas = (np.broadcast_to(one, shape)[made] for one in (p, q, shrunk, delta))
    return shape, made, p, q, shrunk, deltas


def _nearest(
    p: FloatArray, q: FloatArray, shrunk: FloatArray, delta: FloatArray | float, steps: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """p⁰, 1 − p⁰ and q⁰ = (p⁰ − δ)·e^{−ε}, between p and the point of the line at q.

    The guess must contradict the claim, e^{−ε}·(p − δ) > q > 0: then p is above that point.
    """
    lowest = np.minimum(q / shrunk + delta, p)
    other_p, other_lowest, other_shrunk = 1.0 - p, 1.0 - lowest, 1.0 - shrunk
    p0, other_p0 = 0.5 * (lowest + p), 0.5 * (other_lowest + other_p)
    for _ in range(steps):
        above = p0 - delta
        rest = other_shrunk + shrunk * (other_p0 + delta)  # 1 − q⁰
        far_p = np.where(p < 0.5, p0 - p, other_p - other_p0)
        far_q = shrunk * above - q
        first, second = above * rest, p0 * other_p0
        first_slope, second_slope = rest - shrunk * above, other_p0 - p0
        value = far_p * first + far_q * second
        slope = first + far_p * first_slope + shrunk * second + far_q * second_slope
        bend = 2.0 * (first_slope - shrunk * far_p + shrunk * second_slope - far_q)
        divisor = slope + np.sqrt(np.maximum(4.0 * slope * slope - 6.0 * value * bend, 0.0))
        step = 3.0 * value / np.where(divisor > 0.0, divisor, np.inf)
        p0, other_p0 = p0 - step, other_p0 + step
    p0, other_p0 = np.clip(p0, lowest, p), np.clip(other_p0, other_p, other_lowest)
    return p0, other_p0, np.maximum((p0 - delta) * shrunk, _SMALLEST)
