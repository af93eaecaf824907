r"""One-run canary audit: many canaries, one training.

Each of m canaries is included by a fair coin. After one run the auditor scores every canary from
what was released. The coins are independent of each other, so one run gives many trials; the trials
are not independent given the release, which is why the ordinary binomial test is wrong and these
three are needed.

* Guesses, (ε, δ): Steinke, Nasr, Jagielski 2023, Theorem 5.2: "in" is guessed for the highest
  scores and "out" for the lowest; the number of right guesses among r is stochastically dominated
  by Binomial(r, e^ε/(1+e^ε)), up to a term in m·δ.
* Guesses, a whole trade-off curve f: Mahloujifar, Melis, Chaudhuri 2024, Algorithm 3. If c of c′
  guesses are right with probability at least τ, then a recursion in the tail probabilities r and
  the failures h must stay consistent, r₀ + h₀ ≤ c′/m; where it is not, the probability is below τ.
* Whole scores, (ε, δ) or a curve: bets whose stakes grow with the score, see
  `audits.estimators.score_bets`, where the theorem and its proof are.

All are valid for scores that depend on the release and the canaries only, not on the coins. Equal
scores are put in a random order, or an order of the canaries that follows the coins would pass for
knowledge.

**The bound of ε.** For a fixed δ each ε₀ of a fixed grid is tested at α. The bound is the largest
grid point up to which *all* are refuted. If ε* is the truth and g the first grid point above it,
(g, δ)-DP is true, and the bound exceeds ε* only if g was refuted: probability at most α.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from accountants import validate
from accountants.arrays import FloatArray
from audits.claims import Claim, PointClaim
from audits.claims.region import Region
from audits.estimators.score_bets import Revealed, score_p_value
from audits.evidence import Evidence, Method
from audits.testing.scores import as_scores
from audits.verdict import Verdict, Word

_SMALLEST_LOG_P, _SMALLEST_P = math.log(1e-12), 1e-300
_DEFAULT_DELTA = 1e-5
_GRID = np.concatenate([np.arange(80) / 40, np.arange(20, 80) / 10, np.arange(32, 161) / 4])
# All, a half, a fifth and a twentieth of the canaries are guessed; together they have half of α.
_PARTS = (1, 2, 5, 20)
_MOST_CANARIES = 10**7


@dataclass(frozen=True, slots=True)
class Guesses:
    """How many canaries there were, on how many a guess was made, how many were right."""

    canaries: int
    made: int
    right: int

    def __post_init__(self) -> None:
        canaries = validate.count("canaries", self.canaries, maximum=10**8)
        made = validate.count("made", self.made, maximum=canaries)
        validate.count("right", self.right, minimum=0, maximum=made)


def guess(included: Any, scores: Any, made: int, *, rng: np.random.Generator) -> Guesses:
    """Guesses "in" for the highest made/2 scores and "out" for the lowest.

    Args:
      included: The coins, true where the canary was in the training data.
      scores: One per canary, larger where inclusion looks likelier.
      made: The number of guesses.
      rng: Puts equal scores in a random order.
    """
    coins, values = _coins_and_scores(included, scores)
    return _guess(coins[_order(values, rng)], validate.count("made", made))


def _guess(ordered: NDArray[np.bool_], made: int) -> Guesses:
    """The guesses on coins in ascending order of their scores."""
    made = min(made, ordered.size)
    low, high = ordered[: made // 2], ordered[ordered.size - (made - made // 2) :]
    return Guesses(ordered.size, made, int((~low).sum() + high.sum()))


def _order(values: FloatArray, rng: np.random.Generator) -> NDArray[np.intp]:
    """Ascending, equal values in random order."""
    validate.generator("rng", rng)
    shuffled = rng.permutation(values.size)
    order: NDArray[np.intp] = shuffled[np.argsort(values[shuffled], kind="stable")]
    return order


def _coins_and_scores(included: Any, scores: Any) -> tuple[NDArray[np.bool_], FloatArray]:
    coins = _coins(included)
    values = as_scores(scores)
    if coins.size != values.size or coins.size < 2:
        raise ValueError(
            "`included` and `scores` must have one entry per canary, at least 2, "
            f"got {coins.size} and {values.size}."
        )
    return coins, values


def _coins(included: Any) -> NDArray[np.bool_]:
    """Truth values, or zeros and ones."""
    coins = validate.reals("included", included).ravel()
    if not np.isin(coins, (0.0, 1.0)).all():
        raise validate.refusal("included", "True or False for each canary", included)
    return coins.astype(bool)


def point_p_value(guesses: Guesses, epsilon: float, delta: float) -> float:
    """The p-value of (ε, δ)-DP (Steinke et al. 2023, Theorem 5.2).

    >>> round(point_p_value(Guesses(100, 100, 90), 1.0, 0.0), 6)
    2.7e-05
    """
    validate.instance("guesses", guesses, Guesses)
    epsilon, delta = validate.non_negative("epsilon", epsilon), validate.closed_unit("delta", delta)
    m, r, v = guesses.canaries, guesses.made, guesses.right
    success = 1.0 / (1.0 + math.exp(-epsilon))
    beta = float(stats.binom.sf(v - 1, r, success))
    if delta == 0.0 or v == 0:
        return min(1.0, beta)
    below = np.cumsum(stats.binom.pmf(np.arange(v - 1, -1, -1), r, success))
    alpha = float((below / np.arange(1, v + 1)).max())
    return min(1.0, beta + 2.0 * m * delta * alpha)


def _p_value(guesses: Guesses, claim: Claim) -> float:
    if isinstance(claim, PointClaim):
        return point_p_value(guesses, claim.epsilon, claim.delta)
    return curve_p_value(guesses, claim.region())


def curve_p_value(guesses: Guesses, curve: Region) -> float:
    """The p-value of a trade-off curve (Mahloujifar et al. 2024, Algorithm 3), by bisection."""
    validate.instance("guesses", guesses, Guesses)
    validate.instance("curve", curve, Region)
    low, high = _SMALLEST_LOG_P, 0.0
    if not _consistent(guesses, curve, math.exp(low)):
        return math.exp(low)
    # The largest τ at which so many right guesses are still consistent with the claim.
    for _ in range(24):
        middle = 0.5 * (low + high)
        if _consistent(guesses, curve, math.exp(middle)):
            low = middle
        else:
            high = middle
    return math.exp(high)


def _consistent(guesses: Guesses, curve: Region, tau: float) -> bool:
    """Whether P(at least `right` right guesses) = τ is possible under the curve."""
    m, made, right = guesses.canaries, guesses.made, guesses.right
    tail, failures = tau * right / m, tau * (made - right) / m
    # f⁻¹(1 − power), the least type I error of a test with this power, is the largest of lines in
    # the power; f is its own inverse. Lines with a vanishing w say nothing.
    telling = curve.w > 1e-300
    slopes = curve.v[telling] / curve.w[telling]
    offsets = 1.0 - 1.0 / curve.w[telling]
    for i in range(right - 1, -1, -1):
        allowed = max(0.0, float((offsets + slopes * min(1.0, tail)).max())) if slopes.size else 0.0
        if allowed > failures:
            tail += i / (made - i) * (allowed - failures)
            failures = allowed
        if tail + failures > made / m:
            return False
    return True


def one_run_audit(
    included: Any,
    scores: Any,
    claim: Claim,
    *,
    rng: np.random.Generator,
    confidence: float = 0.99,
    made: int | None = None,
    delta: float | None = None,
) -> Verdict:
    """Tests a claim on the canaries of one run, and bounds ε from below.

    Args:
      included: The fair, independent coins by which canaries were included.
      scores: One per canary, computed without looking at the coins.
      claim: What is asserted of the run under add/remove (or zero-out) of one canary.
      rng: Puts equal scores in a random order.
      confidence: 1 − α.
      made: The number of guesses, to test these alone. By default half of α is for guesses on all,
        a half, a fifth and a twentieth of the canaries, and half for bets on the whole scores.
      delta: Where ε is bounded; the claim's δ if it is a point, else 1e-5.

    >>> rng = np.random.default_rng(0)
    >>> coins = rng.random(1000) < 0.5
    >>> verdict = one_run_audit(coins, coins + rng.normal(size=1000), PointClaim(0.2), rng=rng)
    >>> verdict.refuted, 0.2 < verdict.evidence.epsilon_lower < 4.4
    (True, True)
    """
    confidence = validate.open_unit("confidence", confidence)
    if not isinstance(claim, Claim):
        raise TypeError(f"`claim` must be a Claim, got {validate.shown(claim)}.")
    if delta is None:
        delta = claim.delta if isinstance(claim, PointClaim) else _DEFAULT_DELTA
    delta = validate.closed_unit("delta", delta)
    coins, values = _coins_and_scores(included, scores)
    looks = _Looks.of(coins, values, rng, made, 1.0 - confidence)
    p_value, words, log_e_value = looks.p_value(claim)
    evidence = Evidence(
        method=Method.ONE_RUN,
        samples=coins.size,
        drawn=coins.size,
        log_e_value=log_e_value,
        p_value=p_value,
        epsilon_lower=looks.epsilon_lower(delta),
        delta=delta,
        confidence=confidence,
        statistic=words,
        assumptions=(
            "canaries were included by independent fair coins",
            "scores were computed without the coins",
        ),
    )
    refuted = p_value <= 1.0 - confidence
    word = Word.REFUTED if refuted else Word.NOT_REFUTED
    reason = ""
    if not refuted:
        best = np.arange(coins.size) >= coins.size // 2
        perfect = _Looks.of(best, np.arange(coins.size, dtype=float), rng, made, 1.0 - confidence)
        if perfect.p_value(claim)[0] > 1.0 - confidence:
            word = Word.INCONCLUSIVE
            reason = "Even if every guess had been right, the claim would have stood."
    return Verdict(word=word, claim=claim, evidence=evidence, reason=reason)


@dataclass(frozen=True, slots=True, eq=False)
class _Looks:
    """The tests that share α: guesses of several sizes, and bets on the whole scores."""

    guesses: tuple[Guesses, ...]
    revealed: Revealed | None
    level: float

    @classmethod
    def of(
        cls,
        coins: NDArray[np.bool_],
        values: FloatArray,
        rng: np.random.Generator,
        made: int | None,
        level: float,
    ) -> "_Looks":
        ordered = coins[_order(values, rng)]
        if made is not None:
            return cls((_guess(ordered, validate.count("made", made)),), None, level)
        sizes = sorted({max(2, coins.size // part) for part in _PARTS})
        guesses = tuple(_guess(ordered, size) for size in sizes)
        return cls(guesses, Revealed.of(coins, values), level)

    def p_value(self, claim: Claim) -> tuple[float, str, float | None]:
        """Bonferroni's p-value, the look that it comes from in words, and the log e-value."""
        share = len(self.guesses) * (1 if self.revealed is None else 2)
        found = [(_p_value(one, claim), one) for one in self.guesses]
        p_value, best = min(found, key=lambda pair: pair[0])
        p_value, words = p_value * share, f"{best.right} right of {best.made} guesses"
        log_e_value = None
        if self.revealed is not None:
            by_scores, log_e_value = score_p_value(self.revealed, claim.region(), 0.5 * self.level)
            if 2.0 * by_scores < p_value:
                p_value, words = 2.0 * by_scores, f"the whole scores of {best.canaries} canaries"
        # A tail too small for floats is not 0.
        return min(1.0, max(p_value, _SMALLEST_P)), words, log_e_value

    def epsilon_lower(self, delta: float) -> float:
        """The largest grid point up to which every (ε₀, δ) is refuted; 0.0 if there is none."""
        bound = 0.0
        if delta >= 1.0:
            return bound
        for epsilon in _GRID.tolist():
            if self.p_value(PointClaim(epsilon, delta=delta))[0] > self.level:
                break
            bound = epsilon
        return bound


def canaries_needed(
    claim: Claim, *, accuracy: float, guessed: float = 1.0, confidence: float = 0.99
) -> float:
    """How many canaries would refute a claim, if a share of the guesses is right; a plan, no bound.

    Half of the runs with that accuracy show fewer right guesses and then need a few more canaries.

    Args:
      claim: The claim to be refuted.
      accuracy: The share of right guesses that is hoped for, in (1/2, 1].
      guessed: The share of canaries on which a guess is made, in (0, 1].
      confidence: 1 − α.

    Returns:
      A whole number, or infinity where not even ten million would do: the accuracy is one that the
      claim allows.

    >>> canaries_needed(PointClaim(1.0), accuracy=0.9)
    40
    """
    if not isinstance(claim, Claim):
        raise TypeError(f"`claim` must be a Claim, got {validate.shown(claim)}.")
    if not 0.5 < validate.real("accuracy", accuracy) <= 1.0:
        raise ValueError(f"`accuracy` must be in (1/2, 1], got {accuracy!r}.")
    if not 0.0 < validate.real("guessed", guessed) <= 1.0:
        raise ValueError(f"`guessed` must be in (0, 1], got {guessed!r}.")
    level = 1.0 - validate.open_unit("confidence", confidence)

    def refuted(canaries: int) -> bool:
        made = math.ceil(guessed * canaries)
        return _p_value(Guesses(canaries, made, math.floor(accuracy * made)), claim) <= level

    high = 2
    while not refuted(high):
        high *= 2
        if high > _MOST_CANARIES:
            return math.inf
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if refuted(middle) else (middle, high)
    return high
