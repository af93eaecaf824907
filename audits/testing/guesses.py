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

_TAIL = 5.2
_SPACING = 0.3
_MOST_CELLS = 96
_CLIP = 6.0
_PRIOR_DRAWS = 20.0
_LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True, slots=True, eq=False)
class Guess:
    """Cells (−∞, e₁), [e₁, e₂), …, and a guessed law on them for each side."""

    edges: FloatArray
    first: FloatArray
    second: FloatArray

    def cell(self, scores: FloatArray) -> NDArray[np.intp]:
        """The cell of each score."""
        return np.searchsorted(self.edges, scores, side="right")


def as_scores(values: object) -> FloatArray:
    """Numbers as scores that can be compared: NaN becomes the largest of all.

    Any fixed map of outputs to the line keeps an audit valid. Infinities keep their place in the
    order, and an output that is NaN more often on one side can be noticed.
    """
    scores = np.asarray(values, dtype=np.float64).ravel()
    if np.isfinite(scores).all():
        return scores
    scores = np.clip(scores, -_LARGEST, _LARGEST)
    return np.where(np.isnan(scores), np.inf, scores)


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
    low, middle, high = np.quantile(pooled, (0.25, 0.5, 0.75), method="nearest")
    spread = float(high - low)
    if not 0.0 < spread < _LARGEST or first.size < 3 or second.size < 3:
        return None
    lower, upper = middle - _CLIP * spread, middle + _CLIP * spread
    if not math.isfinite(lower) or not math.isfinite(upper):
        return None
    first, second = np.clip(first, lower, upper), np.clip(second, lower, upper)
    means = float(first.mean()), float(second.mean())
    variances = float(first.var(ddof=1)), float(second.var(ddof=1))
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
    shrunk = log_ratio * max(0.0, 1.0 - 4.0 / (count * log_ratio**2)) if log_ratio else 0.0
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
    laws = [
        normal_cells((edges - mean) / deviation)
        for mean, deviation in zip(means, deviations, strict=True)
    ]
    return Guess(edges, *laws)


def normal_cells(edges: FloatArray) -> FloatArray:
    """Probabilities of the cells between standardised edges, without cancellation in the tails."""
    below = np.concatenate([[0.0], special.ndtr(edges), [1.0]])
    above = np.concatenate([[1.0], special.ndtr(-edges), [0.0]])
    return np.where(below[1:] < 0.5, np.diff(below), -np.diff(above))


def histogram_guess(first: FloatArray, second: FloatArray) -> Guess:
    """Smoothed frequencies on cells of about equal pooled mass, with every common atom apart."""
    pooled = np.sort(np.concatenate([first, second]))
    total = pooled.size
    cells = int(min(24, max(2, round(1.5 * total ** (1.0 / 3.0)))))
    inner = pooled[(np.arange(1, cells) * total) // cells]
    # Values that occur often are atoms: a cell of their own, [v, next float after v).
    starts = np.flatnonzero(np.concatenate([[True], pooled[1:] != pooled[:-1]]))
    counts = np.diff(np.append(starts, total))
    common = counts >= max(3.0, 0.02 * total)
    atoms = pooled[starts[common]]
    if atoms.size > 32:
        atoms = atoms[np.argsort(counts[common])[-32:]]
    tails = pooled[[min(total - 1, 3), max(0, total - 4)]]
    with np.errstate(over="ignore"):
        edges = np.unique(np.concatenate([inner, tails, atoms, np.nextafter(atoms, np.inf)]))
    edges = edges[edges < np.inf] if np.isfinite(edges).any() else edges[:1]
    guess = Guess(edges, np.empty(0), np.empty(0))
    size = edges.size + 1
    tally = [np.bincount(guess.cell(scores), minlength=size) for scores in (first, second)]
    common_law = (tally[0] + tally[1] + 0.5) / (total + 0.5 * size)
    weight = 2.0 * math.sqrt(size)
    laws = [(counted + weight * common_law) / (counted.sum() + weight) for counted in tally]
    return Guess(edges, laws[0], laws[1])
