r"""Bets on the coins of one run's canaries, with stakes from whole scores.

**Setting.** Coins S₁, …, S_m are fair and independent, Y is what was released, and every score is a
function of Y and of the canaries. An expert k turns the scores into a guess T_i of each coin with
odds e^{ℓ_i} > e^ε that it is right, or abstains; its wealth is

    W_k = ∏_i π_i/p if T_i is right, (1 − π_i)/(1 − p) if not,   p = e^ε/(1+e^ε), π_i = expit(ℓ_i).

**Theorem, δ = 0.** If the run is ε-DP for each canary, W = Σ_k prior_k·W_k is an e-value: E[W] ≤ 1.

*Proof.* Given Y = y and S_{<i}, the odds of S_i = 1 are the ratio of the densities of y given
(S_{<i}, 1) and (S_{<i}, 0). Both average over S_{>i} with the same weights, so they are neighbours'
mixtures, and the ratio lies in [e^{−ε}, e^ε]. A guess made from y is right with probability at most
p, so the i-th factor has conditional mean at most 1 as π_i ≥ p. Multiply from i = m down to 1. ∎

**Theorem, δ > 0.** Let expert k's odds be capped, ℓ_i ≤ ε + c_k, and d = m·δ/(1+e^ε). For every
whole K that is chosen beforehand, under (ε, δ)-DP

    W_K = Σ_k prior_k·e^{−c_k·K}·W_k     satisfies     P(1/W_K + d/(K+1) ≤ t) ≤ t for all t.

*Proof.* Given S_{<i}, let P_b be the law of Y if S_i = b, and x_b = (P_b − e^ε·P_{1−b})₊, which has
mass at most δ. From P_b ≤ e^ε·P_{1−b} + x_b follows that P(S_i = b | Y, S_{<i}) ≤ p + η with
η = x_b/((1+e^ε)(P_0+P_1)). Y has the density (P_0+P_1)/2 and x_0, x_1 are not both positive, so the
excess over p of the likelier value has mean at most (δ + δ)/(2(1+e^ε)) = δ/(1+e^ε). Let S′_i equal
S_i but with the excess moved to the wrong value: it is right with conditional probability at most p
and differs from S_i with probability at most δ/(1+e^ε). So the wealth W′_k on the S′_i has mean at
most 1 as before, and D, the number of differences, has mean at most d. One difference changes W_k
by a factor of at most π_i(1−p)/((1−π_i)p) ≤ e^{c_k}, so that W_K ≤ Σ_k prior_k·W′_k where D ≤ K. By
Markov's inequality, twice, P(W_K ≥ w) ≤ 1/w + d/(K+1); set w = 1/(t − d/(K+1)). ∎

A claimed curve is many (ε_j, δ_j) at once: the mean of their wealths is used, and the terms of δ
add up. The conditional odds are those of Steinke, Nasr, Jagielski 2023, who count right guesses;
Xiang, Wang, Wang 2025 ask when one run can be tight at all: where canaries do not disturb each
other. No normality or large number is assumed here.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from accountants.arrays import FloatArray
from audits.claims.region import Region

# Experts: log odds that grow with the signal, or full odds from a signal on; each with its cap.
_SLOPES = np.array([0.25, 0.5, 1.0, 2.0, 4.0, 8.0])
_STEPS = np.array([0.1, 1.0, 2.0, 3.0, 4.5])
_CAPS = np.array([0.3, 1.0, 3.0])
_LEVELS = 64
_CLIP = 6.0
_MOST_DIFFERENCES = 10**6


@dataclass(frozen=True, slots=True, eq=False)
class Revealed:
    """How often the guess was right and wrong, per kind and level of a canary's signal.

    Attributes:
      levels: Signals, the absolute distance of the score from the middle, ascending.
      right: (kinds, levels) canaries whose coin fell as the score's side of the middle says.
      wrong: The others.
    """

    levels: FloatArray
    right: NDArray[np.intp]
    wrong: NDArray[np.intp]

    @classmethod
    def of(cls, coins: NDArray[np.bool_], scores: FloatArray) -> "Revealed":
        """Two kinds of signal: the score in robust standard deviations, and its normal rank.

        Equal scores have equal signals, so that no order of the canaries matters.
        """
        ranks = special.ndtri((stats.rankdata(scores) - 0.5) / scores.size)
        levels = np.linspace(0.0, _CLIP, _LEVELS + 1)
        found = []
        for signal in (_standardised(scores), ranks):
            # Rounded towards the middle: a signal is never taken for a stronger one.
            level = np.minimum(np.abs(signal) / _CLIP * _LEVELS, _LEVELS).astype(np.intp)
            is_right = coins == (signal > 0.0)
            found.append(
                [np.bincount(level[x], minlength=_LEVELS + 1) for x in (is_right, ~is_right)]
            )
        counts = np.array(found)
        return cls(levels, counts[:, 0], counts[:, 1])

    def log_wealths(self, epsilon: float) -> FloatArray:
        """The log wealths of the experts, as (kinds, shapes, caps)."""
        linear = _SLOPES[:, None] * self.levels
        sudden = np.where(self.levels >= _STEPS[:, None], np.inf, 0.0)
        shapes = np.concatenate([linear, sudden])
        odds = np.minimum(shapes[:, None, :], epsilon + _CAPS[:, None])
        bets = odds > epsilon
        gain = np.where(bets, special.log_expit(odds) - special.log_expit(epsilon), 0.0)
        loss = np.where(bets, special.log_expit(-odds) - special.log_expit(-epsilon), 0.0)
        wealth: FloatArray = np.tensordot(self.right, gain, (1, 2)) + np.tensordot(
            self.wrong, loss, (1, 2)
        )
        return wealth


def _standardised(scores: FloatArray) -> FloatArray:
    """Scores in robust standard deviations from their median, clipped; their signs if none."""
    with np.errstate(all="ignore"):
        centred = scores - np.median(scores)
        spread = float(np.median(np.abs(centred))) * 1.4826
        signal = centred / spread if 0.0 < spread < np.inf else np.sign(centred)
    clipped: FloatArray = np.clip(np.nan_to_num(signal, nan=0.0), -_CLIP, _CLIP)
    return clipped


def differences_allowed(canaries: int, epsilon: float, delta: float, level: float) -> int | None:
    """The least K with d/(K+1) ≤ level; `None` where it is so large that nothing could be shown."""
    mean = canaries * delta * float(special.expit(-epsilon))
    allowed = max(0.0, math.ceil(mean / level) - 1.0)
    return int(allowed) if allowed <= min(_MOST_DIFFERENCES, canaries) else None


def score_p_value(revealed: Revealed, curve: Region, level: float) -> tuple[float, float | None]:
    """A p-value of a claim, and the log e-value if it is a single pure ε.

    Args:
      revealed: Signals and coins.
      curve: The claim.
      level: α; half of it is kept for the terms of δ. Only power depends on it.
    """
    canaries = int(revealed.right[0].sum() + revealed.wrong[0].sum())
    lines = list(zip(curve.epsilons.tolist(), curve.deltas.tolist(), strict=True))
    logs, slack = [], 0.0
    for epsilon, delta in lines:
        allowed = differences_allowed(canaries, epsilon, delta, 0.5 * level / len(lines))
        if allowed is None:
            continue
        wealths = revealed.log_wealths(epsilon) - allowed * _CAPS
        logs.append(float(special.logsumexp(wealths)) - math.log(wealths.size))
        slack += canaries * delta * float(special.expit(-epsilon)) / (allowed + 1)
    if not logs:
        return 1.0, None
    log_wealth = float(special.logsumexp(logs)) - math.log(len(lines))
    p_value = math.exp(-max(log_wealth, 0.0)) + slack
    is_pure = len(lines) == 1 and lines[0][1] == 0.0
    return min(1.0, p_value), log_wealth if is_pure else None
