r"""The bet with the largest growth rate against a claimed curve, valid by construction.

**What is bet on.** One draw x from the mechanism on the first data set, one draw y on the second,
and disjoint cells 0, …, K−1 that cover the outcomes, in an order S_k = cells 0..k of nested events
chosen before the draws. For weights a, b ≥ 0 and λ_kj ≥ 0 let

    α(i) = a + Σ_{k ≥ i} Σ_j λ_kj·w_j,     β(i) = b + Σ_{k < i} Σ_j λ_kj·v_j,
    Z = a + b + Σ λ_kj.

**Validity.** α(x) is a + Σ λ_kj·w_j·1{x ∈ S_k} and β(y) is b + Σ λ_kj·v_j·1{y ∉ S_k}, so that
under the claim E[α(x)] + E[β(y)] ≤ a + b + Σ λ_kj·(w_j·P(S_k) + v_j·Q(S_kᶜ)) ≤ Z
(`audits.curve`). The draws are independent, hence by the inequality of the arithmetic and the
geometric mean

    E[α(x)·β(y)] = E[α(x)]·E[β(y)] ≤ (Z/2)²:

the *factor* (2α(x)/Z)·(2β(y)/Z) is a non-negative random variable of mean at most 1, an e-variable,
whatever a, b, λ, the cells and their order are, as long as they do not depend on x and y. Products
of such factors over draws are a non-negative supermartingale if each is chosen from the past.

**Growth.** For a guess (p, q) of the two laws on the cells, the best weights maximise
Σ p log α + Σ q log β − 2 log Z. The dual problem is to find the claim-abiding pair (p⁰, q⁰) that is
nearest to the guess in Kullback–Leibler divergence (the reverse information projection of Grünwald,
de Heide, Koolen 2024, on this polyhedron), and 2α/Z = p/p⁰. In the coordinates F_k = p⁰(S_k),
G_k = q⁰(S_kᶜ) the Hessian has bandwidth 2 and every constraint involves one (F_k, G_k), so an
interior-point step costs O(K). The λ are its multipliers. Stopping it early, or a poor guess, costs
growth, never validity: Z is computed from the λ that are used.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from audits.curve import Curve

FloatArray = NDArray[np.float64]

_MOST_STEPS = 40
_CENTRING = 0.15
_TO_BOUNDARY = 0.95
# Cells that the guess calls impossible keep this much, or the problem would be singular.
_LEAST_MASS = 1e-12
_LEAST_SLACK = 1e-13


@dataclass(frozen=True, slots=True, eq=False)
class Bet:
    """Log factors per cell: `log_first[i]` if x falls into cell i, `log_second[i]` for y.

    Attributes:
      growth: The expected log factor of one pair of draws under the guess.
    """

    log_first: FloatArray
    log_second: FloatArray
    growth: float


def best_bet(first: FloatArray, second: FloatArray, curve: Curve, *, gap: float = 0.01) -> Bet:
    """The bet against `curve` that grows fastest if the cells have the probabilities given.

    Args:
      first: Guessed probabilities of the cells on the first data set.
      second: The same on the second data set.
      curve: The claim.
      gap: Stop when the growth is within this fraction of the optimum.
    """
    first = np.maximum(first, _LEAST_MASS) / np.maximum(first, _LEAST_MASS).sum()
    second = np.maximum(second, _LEAST_MASS) / np.maximum(second, _LEAST_MASS).sum()
    order = np.argsort(second / first, kind="stable")
    alpha, beta = _factors(first[order], second[order], curve, gap)
    log_first, log_second = np.empty_like(alpha), np.empty_like(beta)
    log_first[order], log_second[order] = np.log(alpha), np.log(beta)
    growth = float(first @ log_first + second @ log_second)
    return Bet(log_first, log_second, growth)


def _factors(
    first: FloatArray, second: FloatArray, curve: Curve, gap: float
) -> tuple[FloatArray, FloatArray]:
    """2α/Z and 2β/Z per cell, for cells in decreasing order of first/second."""
    w, v = curve.w, curve.v
    size, lines = first.size - 1, w.size
    nothing = np.ones(first.size), np.ones(first.size)
    if size == 0:
        return nothing
    own = np.outer(np.cumsum(first)[:-1], w) + np.outer(np.cumsum(second[::-1])[-2::-1], v)
    if own.max() <= 1.0:  # The guess itself abides by the claim: there is nothing to bet on.
        return nothing
    p, q = 0.5 * first, 0.5 * second
    # F and G with their fixed ends; a pair of equal laws satisfies every claim.
    inside, outside = np.zeros(size + 2), np.zeros(size + 2)
    np.cumsum(p + q, out=inside[1:])
    inside[-1] = 1.0
    np.subtract(1.0, inside, out=outside)
    step_f, step_g = np.zeros(size + 2), np.zeros(size + 2)
    slack = 1.0 - np.outer(inside[1:-1], w) - np.outer(outside[1:-1], v)
    slack = np.maximum(slack, _LEAST_SLACK)
    multiplier = 1e-2 / slack
    squares = np.stack([w * w, w * v, v * v], axis=1)
    bands, gradient = np.zeros((3, 2 * size)), np.empty(2 * size)
    for _ in range(_MOST_STEPS):
        p0, q0 = inside[1:] - inside[:-1], outside[:-1] - outside[1:]
        ratio_p, ratio_q = p / p0, q / q0
        complementarity = float((multiplier * slack).sum())
        divergence = 2.0 * float(p @ np.log(2.0 * ratio_p) + q @ np.log(2.0 * ratio_q))
        if complementarity < 0.5 * gap * abs(divergence) or complementarity < 1e-9:
            break
        pull = (_CENTRING * complementarity / (size * lines)) / slack
        gradient[0::2] = ratio_p[1:] - ratio_p[:-1] + pull @ w
        gradient[1::2] = ratio_q[:-1] - ratio_q[1:] + pull @ v
        curvature = multiplier / slack
        by_line = curvature @ squares
        curve_p, curve_q = ratio_p / p0, ratio_q / q0
        bands[2, 0::2] = curve_p[:-1] + curve_p[1:] + by_line[:, 0]
        bands[2, 1::2] = curve_q[:-1] + curve_q[1:] + by_line[:, 2]
        bands[1, 1::2] = by_line[:, 1]
        bands[0, 2::2] = -curve_p[1:-1]
        bands[0, 3::2] = -curve_q[1:-1]
        _, step, failed = lapack.dpbsv(bands, gradient)
        if failed:
            break
        step_f[1:-1], step_g[1:-1] = -step[0::2], -step[1::2]
        change = np.outer(step_f[1:-1], w) + np.outer(step_g[1:-1], v)
        change_multiplier = pull - multiplier + curvature * change
        reach = min(
            _reach(slack, -change),
            _reach(multiplier, change_multiplier),
            _reach(p0, step_f[1:] - step_f[:-1]),
            _reach(q0, step_g[:-1] - step_g[1:]),
        )
        length = min(1.0, _TO_BOUNDARY * reach)
        if not length > 1e-12:
            break
        inside, outside = inside + length * step_f, outside + length * step_g
        slack = np.maximum(slack - length * change, _LEAST_SLACK)
        multiplier = multiplier + length * change_multiplier
    constants = p[-1] / (1.0 - inside[-2]), q[0] / (1.0 - outside[1])
    return _from_multipliers(multiplier, *constants, curve)


def _reach(value: FloatArray, change: FloatArray) -> float:
    """How far along `change` the positive `value` stays non-negative."""
    worst = float((change / value).min())
    return -1.0 / worst if worst < 0.0 else np.inf


def _from_multipliers(
    multiplier: FloatArray, constant_first: float, constant_second: float, curve: Curve
) -> tuple[FloatArray, FloatArray]:
    """α, β and Z of the module's docstring from λ, a and b; this is where validity is made."""
    multiplier = np.maximum(multiplier, 0.0)
    rises = np.append(np.cumsum((multiplier @ curve.w)[::-1])[::-1], 0.0)
    falls = np.append(0.0, np.cumsum(multiplier @ curve.v))
    total = constant_first + constant_second + float(multiplier.sum())
    alpha = 2.0 * (constant_first + rises) / total
    beta = 2.0 * (constant_second + falls) / total
    if not (np.isfinite(alpha).all() and np.isfinite(beta).all() and alpha.min() > 0 < beta.min()):
        return np.ones_like(alpha), np.ones_like(beta)
    return alpha, beta
