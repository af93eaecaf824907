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

from dataclasses import dataclass, field
from functools import lru_cache

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
# F grows along the cells, G falls.
_SIGNS = np.array([1.0, -1.0])


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
    guess = np.maximum(np.stack([first, second], axis=1), _LEAST_MASS)
    guess /= guess.sum(axis=0)
    order = np.argsort(guess[:, 1] / guess[:, 0], kind="stable")
    logs = np.empty_like(guess)
    logs[order] = np.log(_factors(guess[order], _lines(curve), gap))
    return Bet(logs[:, 0], logs[:, 1], float(np.vdot(guess, logs)))


# The arrays below have a column for each data set: what concerns both is computed at once, because
# they are so small that a search costs as much as it makes calls.


def _factors(guess: FloatArray, lines: "_Lines", gap: float) -> FloatArray:
    """2α/Z and 2β/Z per cell, for cells in decreasing order of the guesses' ratio."""
    best, best_growth = np.ones_like(guess), 0.0
    half = 0.5 * guess
    point = _start(half, lines)
    for _ in range(_MOST_STEPS):
        if point is None:
            break
        # (p⁰, q⁰) abides by the claim, so no bet grows faster than its divergence.
        divergence = point.divergence(half)
        # Far from the end the bet is not worth looking at.
        if 2.0 * point.gap <= _LOOK * divergence:
            factors = _from_multipliers(point.multiplier, point.laws, lines)
            growth = float(np.vdot(guess, np.log(factors)))
            if growth > best_growth:
                best, best_growth = factors, growth
            if best_growth >= (1.0 - gap) * divergence:
                break
        point = point.step(half, lines)
    return best


@dataclass(frozen=True, slots=True, eq=False)
class _Lines:
    """The claim's lines as matrices: (w, v) in rows and in columns, and what a step sums up."""

    weights: FloatArray
    columns: FloatArray
    products: FloatArray


@lru_cache(maxsize=8)
def _lines(curve: Region) -> _Lines:
    w, v = curve.w, curve.v
    products = np.stack([w * w, v * v, w * v], axis=1)
    return _Lines(np.stack([w, v]), np.stack([w, v], axis=1), products)


@dataclass(slots=True, eq=False)
class _Point:
    """An iterate.

    Attributes:
      bounds: F and G with their fixed ends 0 and 1.
      slack: Of each line at each boundary between cells.
      multiplier: λ.
      laws: p⁰ and q⁰ per cell.
      gap: How far λ is from complementing the slacks, in all.
    """

    bounds: FloatArray
    slack: FloatArray
    multiplier: FloatArray
    laws: FloatArray = field(init=False)
    gap: float = field(init=False)

    def __post_init__(self) -> None:
        self.laws = (self.bounds[1:] - self.bounds[:-1]) * _SIGNS
        self.gap = float(np.vdot(self.multiplier, self.slack))

    def divergence(self, half: FloatArray) -> float:
        """The Kullback–Leibler divergences of both guesses from (p⁰, q⁰), added."""
        return 2.0 * float(np.vdot(half, np.log(2.0 * half / self.laws)))

    def step(self, half: FloatArray, lines: _Lines) -> "_Point | None":
        """One primal-dual Newton step towards the centre, or `None` if there is no progress."""
        laws, slack, multiplier = self.laws, self.slack, self.multiplier
        size = len(slack)
        inverse = 1.0 / slack
        centre = _CENTRING * self.gap / slack.size
        products = (multiplier * inverse) @ lines.products
        ratio = half / laws
        curvature = ratio / laws
        gradient = (ratio[1:] - ratio[:-1]) * _SIGNS + centre * (inverse @ lines.columns)
        bands = np.zeros((3, 2 * size), order="F")
        bands[2] = (curvature[:-1] + curvature[1:] + products[:, :2]).ravel()
        bands[1, 1::2] = products[:, 2]
        bands[0, 2:] = -curvature[1:-1].ravel()
        _, solution, failed = lapack.dpbsv(bands, gradient.ravel(), overwrite_ab=1, overwrite_b=1)
        if failed:
            return None
        steps = np.zeros((size + 2, 2))
        steps[1:-1] = -solution.reshape(size, 2)
        change = steps[1:-1] @ lines.weights
        relative = change * inverse
        change_multiplier = multiplier * (relative - 1.0) + centre * inverse
        shrinks = ((steps[1:] - steps[:-1]) * _SIGNS / laws).min()
        primal = _reach(min(float(-relative.max()), float(shrinks)))
        dual = _reach(float((change_multiplier / multiplier).min()))
        if not (primal > 1e-10 or dual > 1e-10):
            return None
        return _Point(
            self.bounds + primal * steps,
            np.maximum(slack - primal * change, _LEAST_SLACK),
            multiplier + dual * change_multiplier,
        )


def _start(half: FloatArray, lines: _Lines) -> _Point | None:
    """A point on the way from the guess to a pair of equal laws, which satisfies every claim.

    `None` if the guess itself abides by the claim: there is nothing to bet on.
    """
    guess = np.empty((len(half) + 1, 2))
    guess[0], guess[-1] = (0.0, 1.0), (1.0, 0.0)
    inner = guess[1:-1]
    inner[:, 0] = np.cumsum(2.0 * half[:-1, 0])
    inner[:, 1] = np.cumsum(2.0 * half[:0:-1, 1])[::-1]
    own = inner @ lines.weights
    if own.size == 0 or own.max() <= 1.0:
        return None
    equal = np.empty_like(guess)
    equal[:, 0] = 0.5 * (guess[:, 0] + 1.0 - guess[:, 1])
    equal[:, 1] = 1.0 - equal[:, 0]
    there = equal[1:-1] @ lines.weights
    # Where the claim is kept the quotient is not positive, so that it does not count.
    share = float(((own - 1.0) / np.maximum(own - there, 1e-300)).max())
    share = min(1.0, share + _INWARDS * (1.0 - share))
    slack = np.maximum(1.0 - share * there - (1.0 - share) * own, _LEAST_SLACK)
    point = _Point(share * equal + (1.0 - share) * guess, slack, 1.0 / slack)
    first_gap = max(_FIRST_GAP * point.divergence(half), _LEAST_SLACK)
    point.multiplier, point.gap = first_gap / slack.size / slack, first_gap
    return point


def _reach(worst: float) -> float:
    """The step, at most 1, that keeps positive what changes by `worst` of itself a unit."""
    return min(1.0, -_TO_BOUNDARY / worst) if worst < 0.0 else 1.0


def _from_multipliers(multiplier: FloatArray, laws: FloatArray, lines: _Lines) -> FloatArray:
    """2α/Z and 2β/Z from λ ≥ 0; this is where validity is made.

    The constants a and b are those of the stationarity condition Σ p⁰·α = Σ p = 1/2.
    """
    multiplier = np.maximum(multiplier, 0.0)
    weighted = multiplier @ lines.columns
    sums = np.zeros_like(laws)
    sums[:-1, 0] = np.cumsum(weighted[::-1, 0])[::-1]
    np.cumsum(weighted[:, 1], out=sums[1:, 1])
    constants = np.maximum(1e-9, 0.5 - (laws * sums).sum(axis=0))
    factors: FloatArray = 2.0 * (constants + sums) / float(constants.sum() + multiplier.sum())
    return factors if np.isfinite(factors).all() else np.ones_like(factors)
