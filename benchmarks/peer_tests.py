"""Tests of others, re-implemented for the comparison after their papers and published code.

Each gets scores on a line and says whether the claim is false at level α; `None` where the method
has no answer to such a claim. What differs from the publication is said of each; where a choice was
left it was taken in the method's favour.
"""

import numpy as np
from scipy import stats

from audits import Claim


def nodes(claim: Claim) -> tuple[np.ndarray, np.ndarray]:
    """ε and δ(ε) along the claimed curve; one of each for a single point."""
    region = claim.region()
    return region.epsilons, region.deltas


def statdp(
    first: np.ndarray, second: np.ndarray, claim: Claim, level: float, rng: np.random.Generator
) -> bool | None:
    """Like StatDP: Ding, Wang, Wang, Zhang, Kifer, "Detecting violations of DP", CCS 2018.

    For pure ε. Half of the draws choose the event with the least p-value: single values of few, or
    half-lines (−∞, t] for ten t in the densest 70%. The other half tests it: the count of the side
    where it is likelier is thinned by e^−ε, and Fisher's exact test compares the two; the p-value
    is the mean over 200 thinnings. Other than in the published code the direction comes from the
    first half (choosing it on the second would double the level), half-lines are closed, and values
    are few up to 20 of them (there: .2% of the draws).
    """
    epsilons, deltas = nodes(claim)
    if deltas[-1] > 0.0:
        return None
    epsilon, half = float(epsilons[-1]), len(first) // 2

    def p_value(hits_p: int, hits_q: int, size: int, thinnings: int) -> float:
        thinned = rng.binomial(hits_p, np.exp(-epsilon), size=thinnings)
        tails = stats.hypergeom.sf(thinned - 1, 2 * size, thinned + hits_q, size)
        return float(np.mean(tails))

    pooled = np.sort(np.concatenate([first[:half], second[:half]]))
    values = np.unique(pooled)
    if values.size <= 20:
        events = [lambda s, v=v: s == v for v in values]
    else:
        width = int(0.7 * pooled.size)
        start = int(np.argmin(pooled[width:] - pooled[: pooled.size - width]))
        ends = np.linspace(pooled[start], pooled[start + width], 10)
        events = [lambda s, t=t: s <= t for t in ends]
    best, choice = np.inf, None
    for event in events:
        hits = [int(event(side[:half]).sum()) for side in (first, second)]
        order = (0, 1) if hits[0] >= hits[1] else (1, 0)
        if sum(hits) <= 0.001 * half * np.exp(epsilon):
            continue
        found = p_value(hits[order[0]], hits[order[1]], half, 200)
        if found < best:
            best, choice = found, (event, order)
    if choice is None:
        return False
    event, order = choice
    hits = [int(event(side[half:]).sum()) for side in (first, second)]
    return p_value(hits[order[0]], hits[order[1]], len(first) - half, 200) <= level


def delta_siege(
    first: np.ndarray, second: np.ndarray, claim: Claim, level: float, rng: np.random.Generator
) -> bool:
    """Like Delta-Siege: Lokna, Paradis, Dimitrov, Vechev, "Group and attack", CCS 2023.

    Half of the draws learn a classifier; sets of outputs on which it is sure enough are attacks,
    and the one is chosen whose Clopper–Pearson bounds (90%) violate the claimed curve most. The
    other half bounds the two masses at level α/2 each; the claim is false if these bounds break it
    at any point of the curve. The classifier here is a histogram of 16 cells of equal mass, or of
    the values where they are few, in place of logistic regression on features: it sees any shape.
    """
    epsilons, deltas = nodes(claim)
    half = len(first) // 2

    def violation(hits_p: np.ndarray, hits_q: np.ndarray, size: int, alpha: float) -> np.ndarray:
        """The largest log((p − δ)/q) − ε along the curve."""
        low = stats.beta.ppf(alpha, hits_p, size - hits_p + 1)
        high = stats.beta.ppf(1.0 - alpha, hits_q + 1, size - hits_q)
        low, high = np.where(hits_p > 0, low, 0.0), np.where(hits_q < size, high, 1.0)
        excess = np.maximum(low[:, None] - deltas, 1e-300)
        return (np.log(excess) - np.log(high[:, None]) - epsilons).max(axis=1)

    pooled = np.concatenate([first[:half], second[:half]])
    values = np.unique(pooled)
    inner = np.linspace(0, 1, 17)[1:-1]
    few = values.size <= 20
    edges = values[1:] if few else np.unique(np.quantile(pooled, inner, method="nearest"))
    best, choice = -np.inf, None
    for sides in ((0, 1), (1, 0)):
        cells = [np.searchsorted(edges, (first, second)[side][:half], "right") for side in sides]
        counts = [np.bincount(each, minlength=edges.size + 1) for each in cells]
        order = np.argsort(-(counts[0] + 0.5) / (counts[1] + 0.5), kind="stable")
        found = violation(*(np.cumsum(count[order])[:-1] for count in counts), half, 0.05)
        if found.size and found.max() > best:
            best, choice = found.max(), (sides, order[: int(found.argmax()) + 1])
    if choice is None:
        return False
    sides, members = choice
    held = [np.searchsorted(edges, (first, second)[side][half:], "right") for side in sides]
    hits = [np.array([np.isin(cells, members).sum()]) for cells in held]
    return bool(violation(*hits, len(first) - half, level / 2)[0] > 0.0)


def sequential_mmd(
    first: np.ndarray, second: np.ndarray, claim: Claim, level: float, rng: np.random.Generator
) -> bool:
    """Like González, Dulce-Rubio, Ramdas, Ribero, "Sequentially auditing DP", NeurIPS 2025.

    A claim of (ε, δ) bounds the distance of the laws' means in the feature space of a kernel by
    τ = √2·(1 − 2(1 − δ)/(1 + e^ε)) (Theorem 3.1); here the least τ along the curve. Wealth is bet
    on a witness of norm at most 1, learnt by online gradient ascent, with stakes by the online
    Newton step in [0, 1/(8 + 4τ)], as in the published code (Algorithm 1). A Gaussian kernel, its
    width the median distance of the first 20 draws, which are not tested. Scores are rounded to a
    grid of a tenth of the width, a post-processing, so that a step costs no walk over the past.
    """
    epsilons, deltas = nodes(claim)
    tau = float(np.sqrt(2.0) * (1.0 - 2.0 * (1.0 - deltas) / (1.0 + np.exp(epsilons))).min())
    if len(first) <= 20:
        return False
    head = np.concatenate([first[:20], second[:20]])
    apart = np.abs(np.subtract.outer(head, head))[np.triu_indices(head.size, 1)]
    width = float(np.median(apart)) or 1.0
    middle = float(np.median(head))
    places = [
        np.clip(np.round(10.0 * (side[20:] - middle) / width), -100, 100).astype(int) + 100
        for side in (first, second)
    ]
    grid = 0.1 * np.arange(201)
    kernel = np.exp(-0.5 * np.subtract.outer(grid, grid) ** 2)
    witness, length, moment = np.zeros(grid.size), 0.0, 0.0  # its values; its squared norm
    log_wealth, stake, curvature, largest = 0.0, 0.0, 1.0, 1.0 / (8.0 + 4.0 * tau)
    for x, y in zip(*places, strict=True):
        value = float(witness[x] - witness[y])
        payoff = value - tau
        log_wealth += float(np.log1p(stake * payoff))
        if log_wealth >= -np.log(level):
            return True
        slope = payoff / (1.0 + stake * payoff)
        curvature += slope * slope
        stake = min(max(stake + 2.0 / (2.0 - np.log(3.0)) * slope / curvature, 0.0), largest)
        step = 2.0 - 2.0 * float(kernel[x, y])
        if step > 0.0:
            moment += step
            rate = 0.5 / np.sqrt(moment)
            witness += rate * (kernel[x] - kernel[y])
            length += 2.0 * rate * value + rate * rate * step
            if length > 1.0:
                witness /= np.sqrt(length)
                length = 1.0
    return False


PEERS = {
    "StatDP-like": statdp,
    "Delta-Siege-like": delta_siege,
    "sequential MMD-like": sequential_mmd,
}
