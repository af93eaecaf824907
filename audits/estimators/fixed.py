"""Bounds of ε from a sample of fixed size.

They hold for one look at a sample whose size was fixed beforehand. To look as often as you like,
use `audits.estimate_epsilon`.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

from accountants import gaussian, validate
from accountants.arrays import FloatArray
from audits.claims import Claim
from audits.evidence import Evidence, Method
from audits.testing.scores import as_scores
from audits.verdict import Verdict, Word

# An infinite bound of ε contradicts every claim that promises anything at this one.
_FARTHEST_EPSILON = 1e6


def clopper_pearson(
    first: Any, second: Any, *, delta: float = 1e-5, confidence: float = 0.99
) -> Evidence:
    """A lower bound of ε from exact binomial bounds, with the threshold chosen on held-out scores.

    The first half of the scores chooses an event {s ≥ τ} or {s ≤ τ} and a direction; on the second
    half P(S) ≥ p and Q(S) ≤ q hold together with probability 1 − α (Clopper & Pearson 1934, α/2
    each), and then ε ≥ log((p − δ)/q). Nothing is assumed about the laws. The scores must be
    independent and in an order that does not depend on their values.

    Args:
      first: Scores on the first data set.
      second: Scores on the second one.
      delta: The δ at which ε is bounded.
      confidence: 1 − α.

    >>> rng = np.random.default_rng(0)
    >>> evidence = clopper_pearson(rng.normal(1, 1, 20000), rng.normal(0, 1, 20000))
    >>> 1.0 < evidence.epsilon_lower < 4.377
    True
    """
    delta = validate.closed_unit("delta", delta)
    level = (1.0 - validate.open_unit("confidence", confidence)) / 2.0
    one, two = _two_samples(first, second)
    train, test = (one[::2], two[::2]), (one[1::2], two[1::2])
    best, chosen = -math.inf, None
    for swapped in (False, True):
        p_scores, q_scores = train[::-1] if swapped else train
        for sign in (1.0, -1.0):
            threshold, bound = _best_threshold(sign * p_scores, sign * q_scores, delta, level)
            if bound > best:
                best, chosen = bound, (swapped, sign, threshold)
    assert chosen is not None
    swapped, sign, threshold = chosen
    p_scores, q_scores = test[::-1] if swapped else test
    hits_p = int((sign * p_scores >= threshold).sum())
    hits_q = int((sign * q_scores >= threshold).sum())
    bound = float(_bound(np.array([hits_p]), np.array([hits_q]), p_scores.size, delta, level)[0])
    return Evidence(
        method=Method.CLOPPER_PEARSON,
        samples=min(one.size, two.size),
        drawn=min(one.size, two.size),
        epsilon_lower=max(0.0, bound),
        delta=delta,
        confidence=confidence,
        trade_off_points=((hits_q, p_scores.size - hits_p, p_scores.size),),
    )


def _best_threshold(
    p_scores: FloatArray, q_scores: FloatArray, delta: float, level: float
) -> tuple[float, float]:
    pooled = np.unique(np.concatenate([p_scores, q_scores]))
    if pooled.size > 400:
        tails = np.concatenate([np.linspace(0, 1, 300), 1 - np.geomspace(1e-5, 1e-2, 100)])
        pooled = np.unique(np.quantile(pooled, tails, method="nearest"))
    p_sorted, q_sorted = np.sort(p_scores), np.sort(q_scores)
    hits_p = p_scores.size - np.searchsorted(p_sorted, pooled, side="left")
    hits_q = q_scores.size - np.searchsorted(q_sorted, pooled, side="left")
    bounds = _bound(hits_p, hits_q, p_scores.size, delta, level)
    best = int(np.argmax(bounds))
    return float(pooled[best]), float(bounds[best])


def _bound(
    hits_p: NDArray[np.integer[Any]],
    hits_q: NDArray[np.integer[Any]],
    size: int,
    delta: float,
    level: float,
) -> FloatArray:
    """log((p_lower − δ)/q_upper), −∞ where p_lower ≤ δ."""
    p_lower = np.where(
        hits_p > 0, stats.beta.ppf(level, np.maximum(hits_p, 1), size - hits_p + 1), 0.0
    )
    q_upper = np.where(
        hits_q < size,
        stats.beta.ppf(1.0 - level, hits_q + 1, np.maximum(size - hits_q, 1)),
        1.0,
    )
    excess = np.maximum(p_lower - delta, 0.0)
    with np.errstate(divide="ignore"):
        bounds: FloatArray = np.log(excess) - np.log(q_upper)
    return bounds


def gaussian_dp(
    first: Any, second: Any, *, delta: float = 1e-5, confidence: float = 0.99
) -> Evidence:
    """A lower bound of ε *assuming* normal scores of equal variance on both sides.

    The t statistic then has a non-central t law whose non-centrality is μ·√(n/2); a lower bound of
    |μ| at level α (α/2 each way) gives ε by the exact Gaussian curve. Sharp if the assumption
    holds. If it does not, the bound is no bound: it falsely accuses a correct Laplace mechanism.
    The evidence says so in `assumptions`.

    >>> rng = np.random.default_rng(0)
    >>> evidence = gaussian_dp(rng.normal(1, 1, 2000), rng.normal(0, 1, 2000))
    >>> 3.5 < evidence.epsilon_lower < 4.6
    True
    """
    delta = validate.open_unit("delta", delta)
    level = (1.0 - validate.open_unit("confidence", confidence)) / 2.0
    one, two = _two_samples(first, second)
    if not (np.isfinite(one).all() and np.isfinite(two).all()):
        raise ValueError(
            "`first` and `second` must be finite numbers for a normal law, got others."
        )
    freedom = one.size + two.size - 2
    variance = (one.var() * one.size + two.var() * two.size) / freedom
    scale = math.sqrt(1.0 / one.size + 1.0 / two.size)
    difference = abs(float(one.mean() - two.mean()))
    mu = math.inf if difference > 0.0 else 0.0
    if variance > 0.0:
        mu = _lower_non_centrality(difference / math.sqrt(variance) / scale, freedom, level) * scale
    epsilon = 0.0 if mu == 0.0 else math.inf if mu > 1e3 else gaussian.epsilon(mu, delta)
    return Evidence(
        method=Method.GAUSSIAN_DP,
        samples=min(one.size, two.size),
        drawn=min(one.size, two.size),
        epsilon_lower=epsilon,
        delta=delta,
        confidence=confidence,
        assumptions=(
            "the scores are normal with the same variance on both sides; where they are not, this "
            "number is not a bound",
        ),
    )


def _lower_non_centrality(statistic: float, freedom: int, level: float) -> float:
    """The non-centrality at which a t statistic this large has probability `level`; 0 if less."""

    def tail(centre: float) -> float:
        if freedom > 500:  # The normal limit, corrected; the exact law is slow there.
            spread = math.sqrt(1.0 + statistic**2 / (2.0 * freedom))
            corrected = statistic * (1.0 - 1.0 / (4.0 * freedom))
            return float(stats.norm.sf((corrected - centre) / spread))
        return float(stats.nct.sf(statistic, freedom, centre))

    if tail(0.0) >= level:
        return 0.0
    return float(optimize.brentq(lambda c: tail(c) - level, 0.0, statistic + 10.0))


def _two_samples(first: Any, second: Any) -> tuple[FloatArray, FloatArray]:
    one, two = (
        as_scores(validate.reals(name, scores))
        for name, scores in (("first", first), ("second", second))
    )
    if min(one.size, two.size) < 4 or one.size != two.size:
        raise ValueError(
            "`first` and `second` must hold the same number of scores, at least 4, "
            f"got {one.size} and {two.size}."
        )
    return one, two


def judge(claim: Claim, evidence: Evidence) -> Verdict:
    """The verdict on a claim from a lower bound of ε: refuted if the claim promises less there.

    The evidence says that no ε below `epsilon_lower` suffices at δ. A claim whose δ at such an ε is
    at most δ says that it does; the claim's δ is rounded upwards, so a true claim is refuted only
    where the evidence errs.
    """
    if not isinstance(claim, Claim):
        raise TypeError(f"`claim` must be a Claim, got {validate.shown(claim)}.")
    validate.instance("evidence", evidence, Evidence)
    below = min(evidence.epsilon_lower * (1.0 - 1e-9), _FARTHEST_EPSILON)
    refuted = evidence.epsilon_lower > 0.0 and claim.delta_upper(below) <= evidence.delta
    word = Word.REFUTED if refuted else Word.NOT_REFUTED
    reason = ""
    if not refuted and evidence.epsilon_lower == 0.0:
        word = Word.INCONCLUSIVE
        reason = "The sample is too small to show any privacy loss at all."
    return Verdict(word=word, claim=claim, evidence=evidence, reason=reason)
