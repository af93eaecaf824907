r"""One-run canary audit: many canaries, one training.

Each of m canaries is included by a fair coin. After one run the auditor scores every canary from
what was released, guesses "in" for the highest scores and "out" for the lowest, and abstains on
the rest. The coins are independent of each other, so one run gives many trials; the trials are not
independent given the release, which is why the ordinary binomial test is wrong and these two are
needed.

* (ε, δ): Steinke, Nasr, Jagielski 2023, Theorem 5.2: the number of right guesses among r is
  stochastically dominated by Binomial(r, e^ε/(1+e^ε)), up to a term in m·δ.
* A whole trade-off curve f: Mahloujifar, Melis, Chaudhuri 2024, Algorithm 3. If c of c′ guesses are
  right with probability at least τ, then a recursion in the tail probabilities r and the failures h
  must stay consistent, r₀ + h₀ ≤ c′/m; where it is not, the probability is below τ.

Both are valid for scores that depend on the release and the canaries only, not on the coins.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from accountants import validate
from audits.claims import Claim, PointClaim
from audits.claims.region import Region
from audits.evidence import Evidence, Method
from audits.testing.guesses import as_scores
from audits.verdict import Verdict, Word

_SMALLEST_LOG_P = math.log(1e-12)


@dataclass(frozen=True, slots=True)
class Guesses:
    """How many canaries there were, on how many a guess was made, how many were right."""

    canaries: int
    made: int
    right: int


def guess(included: Any, scores: Any, made: int) -> Guesses:
    """Guesses "in" for the highest made/2 scores and "out" for the lowest.

    Args:
      included: The coins, true where the canary was in the training data.
      scores: One per canary, larger where inclusion looks likelier.
      made: The number of guesses.
    """
    coins = np.asarray(included, dtype=bool).ravel()
    values = as_scores(scores)
    if coins.size != values.size or coins.size < 2:
        raise ValueError(
            "`included` and `scores` must have one entry per canary, at least 2, "
            f"got {coins.size} and {values.size}."
        )
    made = min(validate.count("made", made), coins.size)
    order = np.argsort(values, kind="stable")
    low, high = order[: made // 2], order[coins.size - (made - made // 2) :]
    right = int((~coins[low]).sum() + coins[high].sum())
    return Guesses(coins.size, made, right)


def point_p_value(guesses: Guesses, epsilon: float, delta: float) -> float:
    """The p-value of (ε, δ)-DP (Steinke et al. 2023, Theorem 5.2).

    >>> round(point_p_value(Guesses(100, 100, 90), 1.0, 0.0), 6)
    2.7e-05
    """
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
    for i in range(right - 1, -1, -1):
        allowed = _least_error(curve, tail)
        if allowed > failures:
            tail += i / (made - i) * (allowed - failures)
            failures = allowed
        if tail + failures > made / m:
            return False
    return True


def _least_error(curve: Region, power: float) -> float:
    """f⁻¹(1 − power): the least type I error of a test with this power; f is its own inverse."""
    alpha = max(0.0, 1.0 - power)
    w, v = curve.w, curve.v
    lines: NDArray[np.float64] = (w + v * (1.0 - alpha) - 1.0) / w
    return max(0.0, float(lines.max()))


def one_run_audit(
    included: Any,
    scores: Any,
    claim: Claim,
    *,
    confidence: float = 0.99,
    made: int | None = None,
) -> Verdict:
    """Tests a claim on the canaries of one run.

    Args:
      included: The fair, independent coins by which canaries were included.
      scores: One per canary, computed without looking at the coins.
      claim: What is asserted of the run under add/remove (or zero-out) of one canary.
      confidence: 1 − α.
      made: The number of guesses. By default, all, a half, a fifth and a twentieth of the canaries
        are tried at α/4 each.
    """
    confidence = validate.open_unit("confidence", confidence)
    total = np.asarray(included).size
    sizes = [made] if made is not None else sorted({max(2, total // k) for k in (1, 2, 5, 20)})
    found = []
    for size in sizes:
        guesses = guess(included, scores, size)
        found.append((_p_value(guesses, claim), guesses))
    p_value, guesses = min(found, key=lambda pair: pair[0])
    p_value = min(1.0, p_value * len(sizes))
    evidence = Evidence(
        method=Method.ONE_RUN,
        samples=guesses.canaries,
        drawn=guesses.canaries,
        p_value=p_value,
        confidence=confidence,
        statistic=f"{guesses.right} right of {guesses.made} guesses",
        assumptions=(
            "canaries were included by independent fair coins",
            "scores were computed without the coins",
        ),
    )
    refuted = p_value <= 1.0 - confidence
    word = Word.REFUTED if refuted else Word.NOT_REFUTED
    reason = ""
    best = guess(np.arange(total) >= total // 2, np.arange(total), sizes[-1])
    if not refuted and _p_value(best, claim) * len(sizes) > 1.0 - confidence:
        word = Word.INCONCLUSIVE
        reason = "Even if every guess had been right, the claim would have stood."
    return Verdict(word=word, claim=claim, evidence=evidence, reason=reason)
