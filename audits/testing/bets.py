r"""The bet with the largest growth rate against a claimed curve, valid by construction.

**What is bet on.** One draw x from the mechanism on the first data set, one draw y on the second,
and disjoint cells 0, …, K−1 that cover the outcomes, in an order S_k = cells 0..k of nested events
chosen before the draws. For weights a, b ≥ 0 and λ_kj ≥ 0 let

    α(i) = a + Σ_{k ≥ i} Σ_j λ_kj·w_j,     β(i) = b + Σ_{k < i} Σ_j λ_kj·v_j,
    Z = a + b + Σ λ_kj.

**Validity.** α(x) is a + Σ λ_kj·w_j·1{x ∈ S_k} and β(y) is b + Σ λ_kj·v_j·1{y ∉ S_k}, so that under
the claim E[α(x)] + E[β(y)] ≤ a + b + Σ λ_kj·(w_j·P(S_k) + v_j·Q(S_kᶜ)) ≤ Z
(`audits.claims.region`). The draws are independent, hence by the inequality of the arithmetic and
the geometric mean

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

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.linalg import lapack

from accountants.arrays import FloatArray
from audits.claims.region import Region

_MOST_STEPS = 60
_CENTRING = 0.1
# Where the search starts: how far inside the claim, and its gap as a share of the divergence there.
_INWARDS, _FIRST_GAP = 0.1, 0.5
# A bet is looked at once its gap is below this share of the divergence.
_LOOK = 0.3
_TO_BOUNDARY = 0.95
# Cells that the guess calls impossible keep this much, or the problem would be singular.
_LEAST_MASS = 1e-9
_LEAST_SLACK = 1e-13


@dataclass(frozen=True, slots=True, eq=False)
class Bet:
    """Log factors per cell.

    Attributes:
      log_first: What a draw on the first data set earns, by its cell.
      log_second: What a draw on the second data set earns.
      growth: The expected log factor of one pair of draws under the guess.
    """

    log_first: FloatArray
    log_second: FloatArray
    growth: float


def best_bet(first: FloatArray, second: FloatArray, curve: Region, *, gap: float = 0.01) -> Bet:
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
    first: FloatArray, second: FloatArray, curve: Region, gap: float
) -> tuple[FloatArray, FloatArray]:
    """2α/Z and 2β/Z per cell, for cells in decreasing order of first/second."""
    best = np.ones(first.size), np.ones(first.size)
    p, q = 0.5 * first, 0.5 * second
    lines = _Lines(np.stack([curve.w, curve.v]))
    point = _start(p, q, lines)
    best_growth = 0.0
    for _ in range(_MOST_STEPS):
        if point is None:
            break
        # (p⁰, q⁰) abides by the claim, so no bet grows faster than its divergence.
        divergence = point.divergence(p, q)
        # Far from the end the bet is not worth looking at.
        if 2.0 * point.gap() <= _LOOK * divergence:
            factors = _from_multipliers(point.multiplier, *point.laws(), lines)
            growth = float(first @ np.log(factors[0]) + second @ np.log(factors[1]))
            if growth > best_growth:
                best, best_growth = factors, growth
            if best_growth >= (1.0 - gap) * divergence:
                break
        point = point.step(p, q, lines)
    return best


@dataclass(frozen=True, slots=True, eq=False)
class _Lines:
    """The claim's lines as matrices: (w, v), and what a Newton step sums up."""

    weights: FloatArray
    products: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        w, v = self.weights
        object.__setattr__(self, "products", np.stack([w * w, v * v, w * v], axis=1))


@dataclass(frozen=True, slots=True, eq=False)
class _Point:
    """An iterate: F and G with their fixed ends 0 and 1, the slack of each line, and λ."""

    inside: FloatArray
    outside: FloatArray
    slack: FloatArray
    multiplier: FloatArray

    def laws(self) -> tuple[FloatArray, FloatArray]:
        """p⁰ and q⁰ per cell."""
        return self.inside[1:] - self.inside[:-1], self.outside[:-1] - self.outside[1:]

    def gap(self) -> float:
        """How far λ is from complementing the slacks, in all."""
        return float(np.vdot(self.multiplier, self.slack))

    def divergence(self, p: FloatArray, q: FloatArray) -> float:
        """The Kullback–Leibler divergences of both guesses from (p⁰, q⁰), added."""
        p0, q0 = self.laws()
        return 2.0 * float(p @ np.log(2.0 * p / p0) + q @ np.log(2.0 * q / q0))

    def step(self, p: FloatArray, q: FloatArray, lines: _Lines) -> "_Point | None":
        """One primal-dual Newton step towards the centre, or `None` if there is no progress."""
        (p0, q0), slack, multiplier = self.laws(), self.slack, self.multiplier
        inverse = 1.0 / slack
        centre = _CENTRING * self.gap() / slack.size
        pulls = centre * (inverse @ lines.weights.T)
        products = (multiplier * inverse) @ lines.products
        ratio_p, ratio_q = p / p0, q / q0
        curve_p, curve_q = ratio_p / p0, ratio_q / q0
        size = len(slack)
        gradient = np.empty(2 * size)
        gradient[0::2] = ratio_p[1:] - ratio_p[:-1] + pulls[:, 0]
        gradient[1::2] = ratio_q[:-1] - ratio_q[1:] + pulls[:, 1]
        bands = np.zeros((3, 2 * size))
        bands[2, 0::2] = curve_p[:-1] + curve_p[1:] + products[:, 0]
        bands[2, 1::2] = curve_q[:-1] + curve_q[1:] + products[:, 1]
        bands[1, 1::2] = products[:, 2]
        bands[0, 2::2] = -curve_p[1:-1]
        bands[0, 3::2] = -curve_q[1:-1]
        _, solution, failed = lapack.dpbsv(bands, gradient)
        if failed:
            return None
        inner = -solution.reshape(size, 2)
        steps = np.zeros((2, size + 2))
        steps[:, 1:-1] = inner.T
        change = inner @ lines.weights
        relative = change * inverse
        change_multiplier = multiplier * (relative - 1.0) + centre * inverse
        primal = min(
            _reach(-relative.max()),
            _reach(((steps[0, 1:] - steps[0, :-1]) / p0).min()),
            _reach(((steps[1, :-1] - steps[1, 1:]) / q0).min()),
        )
        dual = _reach((change_multiplier / multiplier).min())
        if not (primal > 1e-10 or dual > 1e-10):
            return None
        return _Point(
            self.inside + primal * steps[0],
            self.outside + primal * steps[1],
            np.maximum(slack - primal * change, _LEAST_SLACK),
            multiplier + dual * change_multiplier,
        )


def _start(p: FloatArray, q: FloatArray, lines: _Lines) -> _Point | None:
    """A point on the way from the guess to a pair of equal laws, which satisfies every claim.

    `None` if the guess itself abides by the claim: there is nothing to bet on.
    """
    guess = np.zeros((2, p.size + 1))
    np.cumsum(2.0 * p, out=guess[0, 1:])
    guess[1, :-1] = np.cumsum(2.0 * q[::-1])[::-1]
    guess[0, -1] = guess[1, 0] = 1.0
    own = guess[:, 1:-1].T @ lines.weights
    if own.size == 0 or own.max() <= 1.0:
        return None
    half = 0.5 * (guess[0] + 1.0 - guess[1])
    equal = np.stack([half, 1.0 - half])
    there = equal[:, 1:-1].T @ lines.weights
    violated = own > 1.0
    share = float(((own - 1.0)[violated] / np.maximum(own - there, 1e-300)[violated]).max())
    share = min(1.0, share + _INWARDS * (1.0 - share))
    slack = np.maximum(1.0 - share * there - (1.0 - share) * own, _LEAST_SLACK)
    inside, outside = share * equal + (1.0 - share) * guess
    point = _Point(inside, outside, slack, 1.0 / slack)
    first_gap = max(_FIRST_GAP * point.divergence(p, q), _LEAST_SLACK)
    return replace(point, multiplier=first_gap / slack.size / slack)


def _reach(worst: float) -> float:
    """The step, at most 1, that keeps positive what changes by `worst` of itself a unit."""
    return min(1.0, -_TO_BOUNDARY / worst) if worst < 0.0 else 1.0


def _from_multipliers(
    multiplier: FloatArray, p0: FloatArray, q0: FloatArray, lines: _Lines
) -> tuple[FloatArray, FloatArray]:
    """2α/Z and 2β/Z from λ ≥ 0; this is where validity is made.

    The constants a and b are those of the stationarity condition Σ p⁰·α = Σ p = 1/2.
    """
    multiplier = np.maximum(multiplier, 0.0)
    weighted = multiplier @ lines.weights.T
    rises, falls = np.zeros(p0.size), np.zeros(p0.size)
    rises[:-1] = np.cumsum(weighted[::-1, 0])[::-1]
    np.cumsum(weighted[:, 1], out=falls[1:])
    constant_first = max(1e-9, 0.5 - float(p0 @ rises))
    constant_second = max(1e-9, 0.5 - float(q0 @ falls))
    total = constant_first + constant_second + float(multiplier.sum())
    alpha = 2.0 * (constant_first + rises) / total
    beta = 2.0 * (constant_second + falls) / total
    if not (np.isfinite(alpha).all() and np.isfinite(beta).all()):
        return np.ones_like(alpha), np.ones_like(beta)
    return alpha, beta
