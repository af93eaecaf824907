"""Guesses of the two laws on cells of the score's line, made from past draws only.

A guess steers the next bet; a bad one costs power, never validity (see `audits.testing.bets`).
There are two kinds. The *normal* guess fits a normal law to each side: it needs few draws and
extrapolates into tails that no draw has reached. The *histogram* guess counts: it sees atoms, gaps
and any shape, and needs more draws.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from accountants.arrays import FloatArray
from audits.testing.scores import LARGEST

_TAIL = 5.2
_SPACING = 0.3
_MOST_CELLS = 96
_CLIP = 6.0
_QUARTILES = np.array([0.25, 0.5, 0.75])
_PRIOR_DRAWS = 80.0
_LAPLACE_CELLS = 8
# Squared standard errors by which the two deviations must differ before they are taken to.
_RATIO_DOUBT = 9.0


@dataclass(frozen=True, slots=True, eq=False)
class Guess:
    """Cells (−∞, e₁), [e₁, e₂), …, and a guessed law on them for each side."""

    edges: FloatArray
    first: FloatArray
    second: FloatArray

    def cell(self, scores: FloatArray) -> NDArray[np.intp]:
        """The cell of each score."""
        return np.searchsorted(self.edges, scores, side="right")


def normal_guess(first: FloatArray, second: FloatArray, prior: float) -> Guess | None:
    """Normal laws fitted to past scores, `None` where that makes no sense (few values, atoms).

    The distance of the means in standard deviations is shrunk towards `prior`, which counts as
    `_PRIOR_DRAWS` draws.
    """
    with np.errstate(all="ignore"):
        guess = _fit_normal(first, second, prior)
    if guess is None:
        return None
    if not all(np.isfinite(a).all() for a in (guess.edges, guess.first, guess.second)):
        return None
    return guess if (np.diff(guess.edges) > 0.0).all() else None


def _fit_normal(first: FloatArray, second: FloatArray, prior: float) -> Guess | None:
    pooled = np.concatenate([first, second])
    ranks = np.rint((pooled.size - 1) * _QUARTILES).astype(int)
    low, middle, high = np.partition(pooled, ranks)[ranks]
    spread = float(high - low)
    if not 0.0 < spread < LARGEST or first.size < 3 or second.size < 3:
        return None
    lower, upper = middle - _CLIP * spread, middle + _CLIP * spread
    if not math.isfinite(lower) or not math.isfinite(upper):
        return None
    (first_mean, first_variance), (second_mean, second_variance) = (
        _moments(np.minimum(np.maximum(side, lower), upper)) for side in (first, second)
    )
    means, variances = (first_mean, second_mean), (first_variance, second_variance)
    if not max(abs(means[0]), abs(means[1]), *variances) < 1e150:
        return None
    pooled_variance = 0.5 * (variances[0] + variances[1])
    if not pooled_variance > 1e-24 * max(means[0] ** 2, means[1] ** 2, 1e-280):
        return None
    weight = _PRIOR_DRAWS / (_PRIOR_DRAWS + first.size)
    deviation = math.sqrt(pooled_variance)
    move = 0.5 * weight * (abs(means[0] - means[1]) - prior * deviation)
    move = math.copysign(move, (means[0] - means[1]) * move) if move else 0.0
    means = means[0] - move, means[1] + move
    # The log ratio of the two deviations, shrunk: its standard error is about √(1/n).
    count = min(first.size, second.size)
    log_ratio = 0.5 * math.log(max(variances[0], 1e-300) / max(variances[1], 1e-300))
    shrunk = log_ratio * max(0.0, 1.0 - _RATIO_DOUBT / (count * log_ratio**2)) if log_ratio else 0.0
    shrunk = max(-6.0, min(6.0, shrunk))
    predictive = math.sqrt(pooled_variance * (1.0 + 1.0 / count))
    deviations = predictive * math.exp(0.5 * shrunk), predictive * math.exp(-0.5 * shrunk)
    ends = [
        mean + sign * _TAIL * deviation
        for mean, deviation in zip(means, deviations, strict=True)
        for sign in (-1.0, 1.0)
    ]
    start, stop = min(ends), max(ends)
    spacing = _SPACING * min(deviations) * (1.0 if count < 2000 else 0.6)
    if not 0.0 < spacing < math.inf or not math.isfinite(stop - start):
        return None
    cells = int(min(_MOST_CELLS, np.ceil((stop - start) / spacing)))
    edges = np.linspace(start, stop, cells)
    standard = (edges - np.array(means)[:, None]) / np.array(deviations)[:, None]
    return Guess(edges, *normal_cells(standard))


def _moments(scores: FloatArray) -> tuple[float, float]:
    """Mean and variance; numpy's own functions take longer to call than to compute."""
    mean = np.add.reduce(scores) / scores.size
    deviations = scores - mean
    return float(mean), float(np.add.reduce(deviations * deviations) / (scores.size - 1))


def normal_cells(edges: FloatArray) -> FloatArray:
    """Probabilities of the cells between standardised edges, without cancellation in the tails.

    A row of edges for each law.
    """
    below, above = np.empty((2, len(edges), edges.shape[1] + 2))
    below[:, 0], above[:, 0], below[:, -1], above[:, -1] = 0.0, 1.0, 1.0, 0.0
    below[:, 1:-1], above[:, 1:-1] = special.ndtr(edges), special.ndtr(-edges)
    upwards, downwards = below[:, 1:] - below[:, :-1], above[:, :-1] - above[:, 1:]
    laws: FloatArray = np.where(below[:, 1:] < 0.5, upwards, downwards)
    return laws


def laplace_guess(first: FloatArray, second: FloatArray, prior: float) -> Guess | None:
    """Laplace laws of one scale fitted to past scores, `None` where that makes no sense.

    The distance of the medians in scales, which is the ε of such a mechanism, is shrunk towards
    `prior`. Cells lie between the medians: beyond them the likelihood ratio is constant.
    """
    count = min(first.size, second.size)
    if count < 3:
        return None
    with np.errstate(all="ignore"):
        centres = np.array([np.median(first), np.median(second)])
        scale = 0.5 * float(np.abs(first - centres[0]).mean() + np.abs(second - centres[1]).mean())
        distance = float(np.abs(centres[0] - centres[1]) / np.float64(scale))
    if not (0.0 < scale < 1e150 and 0.0 < distance < 1e6):
        return None
    weight = _PRIOR_DRAWS / (_PRIOR_DRAWS + count)
    half = 0.5 * scale * ((1.0 - weight) * distance + weight * prior)
    middle = 0.5 * (centres[0] + centres[1])
    edges = np.linspace(middle - half, middle + half, _LAPLACE_CELLS + 1)
    if not (np.diff(edges) > 0.0).all():
        return None
    low, high = (
        laplace_cells((edges - edges[0]) / scale),
        laplace_cells((edges - edges[-1]) / scale),
    )
    return Guess(edges, low, high) if centres[0] < centres[1] else Guess(edges, high, low)


def laplace_cells(edges: FloatArray) -> FloatArray:
    """Probabilities of the cells between standardised edges under Laplace's law."""
    below = np.where(edges < 0.0, 0.5 * np.exp(-np.abs(edges)), 1.0 - 0.5 * np.exp(-np.abs(edges)))
    return np.diff(np.concatenate([[0.0], below, [1.0]]))


def common_values(pooled: FloatArray, most: int = 32) -> FloatArray:
    """Values that occur often in sorted scores: atoms, the most frequent `most` of them."""
    least = math.ceil(max(3.0, 0.02 * pooled.size))
    candidates = pooled[::least]  # A value that comes up so often in a row is met on the way.
    starts = np.searchsorted(pooled, candidates)
    again = starts + least <= pooled.size
    candidates, starts = candidates[again], starts[again]
    atoms = np.unique(candidates[pooled[starts + least - 1] == candidates])
    if atoms.size <= most:
        return atoms
    counts = np.searchsorted(pooled, atoms, side="right") - np.searchsorted(pooled, atoms)
    return atoms[np.argsort(counts)[-most:]]


def tally(edges: FloatArray, ordered: FloatArray) -> NDArray[np.intp]:
    """How many of the sorted scores are in each of the cells that the edges make."""
    ends = np.empty(edges.size + 2, dtype=np.intp)
    ends[0], ends[-1] = 0, ordered.size
    ends[1:-1] = np.searchsorted(ordered, edges)
    return ends[1:] - ends[:-1]


def cell_edges(pooled: FloatArray) -> FloatArray:
    """Edges of cells of about equal mass for sorted scores, with every common atom apart.

    An atom's cell is [v, next float after v). An edge at infinity sets NaN apart, see `as_scores`.
    """
    total = pooled.size
    cells = int(min(24, max(2, round(1.5 * total ** (1.0 / 3.0)))))
    inner = pooled[(np.arange(1, cells) * total) // cells]
    atoms = common_values(pooled)
    tails = pooled[[min(total - 1, 3), max(0, total - 4)]]
    with np.errstate(over="ignore"):
        return np.unique(np.concatenate([inner, tails, atoms, np.nextafter(atoms, np.inf)]))


def histogram_guess(first: FloatArray, second: FloatArray) -> Guess:
    """Smoothed frequencies on cells of about equal pooled mass, with every common atom apart.

    The scores are sorted.
    """
    edges = cell_edges(np.sort(np.concatenate([first, second]), kind="stable"))
    size = edges.size + 1
    counts = tally(edges, first), tally(edges, second)
    common_law = (counts[0] + counts[1] + 0.5) / (first.size + second.size + 0.5 * size)
    weight = 2.0 * math.sqrt(size)
    laws = [(counted + weight * common_law) / (counted.sum() + weight) for counted in counts]
    return Guess(edges, laws[0], laws[1])
