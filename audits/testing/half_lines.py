"""Half-lines of scores as events: few masses to guess, and tails, bounded ratios, supports in view.

The event that looks best among many looks better than it is, so that masses are guessed cautiously.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from accountants.arrays import FloatArray
from audits.claims.region import Region
from audits.testing.event_bets import quick_growth
from audits.testing.guesses import Guess, common_values, tally

_TAIL_THRESHOLDS, _INNER_THRESHOLDS = 24, 48
# So many of the claim's lines tell half-lines apart well enough.
_LINES = 6


def thresholds(pooled: FloatArray) -> FloatArray:
    """Order statistics of sorted scores, dense at both ends, and the common values, each apart."""
    atoms = common_values(pooled)
    with np.errstate(over="ignore"):
        after = np.nextafter(atoms, np.inf)
    return np.unique(np.concatenate([pooled[_ranks(pooled.size)], atoms, after]))


@lru_cache(maxsize=256)
def _ranks(size: int) -> NDArray[np.intp]:
    tail = np.geomspace(1, size, _TAIL_THRESHOLDS).astype(int) - 1
    inner = np.linspace(0, size - 1, _INNER_THRESHOLDS).astype(int)
    return np.unique(np.concatenate([tail, size - 1 - tail, inner]))


def cautious_mass(hits: NDArray[np.intp], size: int, sign: FloatArray | float) -> FloatArray:
    """Krichevsky and Trofimov's estimate of a probability, moved by one standard error."""
    share = (hits + 0.5) / (size + 1.0)
    moved = share + sign * np.sqrt(share * (1.0 - share) / size)
    edge = 0.1 / size
    return np.clip(moved, edge, 1.0 - edge)


def half_line_guess(first: FloatArray, second: FloatArray, curve: Region) -> Guess | None:
    """Three cells: the half-line upwards and the one downwards that tell most, and what is between.

    Each is the one with the largest growth against a single line of the claim, in either direction;
    `None` where none contradicts the claim. The scores are sorted.
    """
    edges = thresholds(np.sort(np.concatenate([first, second]), kind="stable"))
    below = np.stack([np.searchsorted(scores, edges) for scores in (first, second)])
    above = np.array([[first.size], [second.size]]) - below
    events, size = np.stack([below, above]), min(first.size, second.size)
    lines = np.unique(np.linspace(0, curve.epsilons.size - 1, _LINES).astype(int))
    growth = quick_growth(
        cautious_mass(events, size, -1.0)[:, :, None, :],
        cautious_mass(events[:, ::-1], size, 1.0)[:, :, None, :],
        curve.epsilons[lines, None],
        curve.deltas[lines, None],
    ).max(axis=(1, 2))
    best = edges[growth.argmax(axis=1)][growth.max(axis=1) > 0.0]
    if not best.size:
        return None
    cells = np.unique(best)
    counts = tally(cells, first), tally(cells, second)
    towards = np.sign(counts[1] / second.size - counts[0] / first.size)
    laws = (
        cautious_mass(counts[0], first.size, towards),
        cautious_mass(counts[1], second.size, -towards),
    )
    return Guess(cells, laws[0] / laws[0].sum(), laws[1] / laws[1].sum())
