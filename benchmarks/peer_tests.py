"""Tests of others in a few lines each, re-implemented from their papers for the comparison.

They are like the published ones in what they test and how, not in every detail: each gets scores on
a line and the claim's (ε, δ(ε)) along the curve, and says whether the claim is false at level α.
"""

import numpy as np
from scipy import stats

from audits import Claim


def nodes(claim: Claim) -> list[tuple[float, float]]:
    """(ε, δ(ε)) along the claimed curve; one for a single point."""
    region = claim.region()
    return list(zip(region.epsilons.tolist(), region.deltas.tolist(), strict=True))


def _half_lines(pooled: np.ndarray) -> np.ndarray:
    """Thresholds at quantiles: events are the scores from one on, and those below it."""
    return np.unique(np.quantile(pooled, np.linspace(0.02, 0.98, 33), method="nearest"))


def _refutes(
    hits_p: int, hits_q: int, size: int, epsilon: float, delta: float, level: float
) -> bool:
    """P(S) > e^ε·Q(S) + δ by two Clopper–Pearson bounds at half of the level each."""
    low = stats.beta.ppf(level / 2, hits_p, size - hits_p + 1) if hits_p else 0.0
    high = stats.beta.ppf(1 - level / 2, hits_q + 1, size - hits_q) if hits_q < size else 1.0
    return bool(low > np.exp(epsilon) * high + delta)


def statdp(
    first: np.ndarray, second: np.ndarray, claim: Claim, level: float, rng: np.random.Generator
) -> bool:
    """Like StatDP (Ding, Wang, Wang, Zhang, Kifer 2018).

    Half of the draws choose an event and a direction; on the other half P(S) ≤ e^ε·Q(S) is tested
    by Fisher's exact test after thinning P's count by e^−ε; with δ > 0 by two Clopper–Pearson
    bounds, at the curve's point that the first half chose.
    """
    half = len(first) // 2
    best, choice = -np.inf, None
    for p, q, sides in ((first, second, (0, 1)), (second, first, (1, 0))):
        for threshold in _half_lines(np.concatenate([first[:half], second[:half]])):
            for upwards in (True, False):
                in_p, in_q = ((s[:half] >= threshold) == upwards for s in (p, q))
                a, b = in_p.mean(), in_q.mean()
                for epsilon, delta in nodes(claim):
                    gap = a - np.exp(epsilon) * b - delta
                    error = np.sqrt((a * (1 - a) + np.exp(2 * epsilon) * b * (1 - b) + 0.1) / half)
                    if gap / error > best:
                        best, choice = gap / error, (sides, threshold, upwards, epsilon, delta)
    assert choice is not None
    sides, threshold, upwards, epsilon, delta = choice
    held = tuple((first, second)[side][half:] for side in sides)
    hits_p, hits_q = (int(((s >= threshold) == upwards).sum()) for s in held)
    size = len(held[0])
    if delta > 0.0:
        return _refutes(hits_p, hits_q, size, epsilon, delta, level)
    thinned = int(rng.binomial(hits_p, np.exp(-epsilon)))
    p_value = stats.hypergeom.sf(thinned - 1, 2 * size, thinned + hits_q, size)
    return bool(p_value < level)


def delta_siege(
    first: np.ndarray, second: np.ndarray, claim: Claim, level: float, rng: np.random.Generator
) -> bool:
    """Like Delta-Siege (Lokna, Paradis, Dimitrov, Vechev 2023).

    Half of the draws learn a likelihood ratio (cells of equal mass), whose level sets are the
    attacks, and choose the attack and the point of the curve with the largest violation; the other
    half bounds both masses by Clopper and Pearson.
    """
    half = len(first) // 2
    pooled = np.concatenate([first[:half], second[:half]])
    edges = np.unique(np.quantile(pooled, np.linspace(0, 1, 17)[1:-1], method="nearest"))
    best, choice = -np.inf, None
    for sides in ((0, 1), (1, 0)):
        p, q = ((first, second)[side][:half] for side in sides)
        cells = [np.bincount(np.searchsorted(edges, s, "right"), minlength=17) for s in (p, q)]
        order = np.argsort(-(cells[0] + 0.5) / (cells[1] + 0.5), kind="stable")
        masses = [np.cumsum(c[order]) / half for c in cells]
        for epsilon, delta in nodes(claim):
            a, b = masses
            gap = a - np.exp(epsilon) * b - delta
            error = np.sqrt((a * (1 - a) + np.exp(2 * epsilon) * b * (1 - b) + 0.1) / half)
            last = int(np.argmax(gap / error))
            if gap[last] / error[last] > best:
                best = gap[last] / error[last]
                choice = (sides, order[: last + 1], epsilon, delta)
    assert choice is not None
    sides, members, epsilon, delta = choice
    held = [np.searchsorted(edges, (first, second)[side][half:], "right") for side in sides]
    hits = [int(np.isin(cells, members).sum()) for cells in held]
    return _refutes(hits[0], hits[1], len(held[0]), epsilon, delta, level)


def sequential_mmd(
    first: np.ndarray, second: np.ndarray, claim: Claim, level: float, rng: np.random.Generator
) -> bool:
    """Like the sequential kernel test of González, Dulce-Rubio, Ramdas and Ribero (2025).

    A claim bounds the total variation, hence the distance of the laws' means in the feature space
    of a kernel by √2 times it; wealth is bet on a witness learnt from the past, with Newton steps
    for the stake. 50 random Fourier features of a Gaussian kernel, its width from ten draws.
    """
    epsilon, delta = nodes(claim)[0]
    variation = 1.0 - 2.0 * (1.0 - delta) / (1.0 + np.exp(epsilon))
    bound = np.sqrt(2.0) * variation
    width = np.median(np.abs(np.subtract.outer(first[:10], second[:10]))) or 1.0
    angles = np.concatenate([first, second])[:, None] * rng.normal(size=50) / width
    features = np.concatenate([np.cos(angles), np.sin(angles)], axis=1) / np.sqrt(50.0)
    steps = features[: len(first)] - features[len(first) :]
    witnesses = np.cumsum(steps, axis=0) - steps  # of the draws before each
    lengths = np.linalg.norm(witnesses, axis=1, keepdims=True)
    gains = (steps * witnesses / np.maximum(lengths, 1e-12)).sum(axis=1) - bound
    log_wealth, stake, curvature, largest = 0.0, 0.0, 1.0, 0.5 / (2.0 + bound)
    for gain in gains[10:]:
        log_wealth += np.log1p(stake * gain)
        if log_wealth >= -np.log(level):
            return True
        slope = gain / (1.0 + stake * gain)
        curvature += slope * slope
        stake = float(np.clip(stake + 2.0 / (2.0 - np.log(3.0)) * slope / curvature, 0.0, largest))
    return False


PEERS = {
    "StatDP-like": statdp,
    "Delta-Siege-like": delta_siege,
    "sequential MMD-like": sequential_mmd,
}
