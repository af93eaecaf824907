"""Scores that are learnt from some draws and tested on others.

A discriminant of two batches is a statistic like any other, as long as the draws that it is tested
on are not those that it was learnt from.
"""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from accountants import validate
from accountants.arrays import FloatArray
from audits.testing.guesses import common_values
from audits.testing.statistics import as_matrix

# Beyond so many features the discriminant takes them one by one.
_MOST_FEATURES = 400
# A scale need not be exact: it is told from so many numbers, and outputs, of a side.
_MOST_SCALED, _LEAST_SCALED = 2**21, 8
_MOST_COORDINATES, _MOST_ATOMS = 12, 4
# Numbers that are scored at once: the steps of it stay in the processor's cache.
_TOGETHER = 2**17
# A richer score has more to fit: it is taken only if it separates held-out draws better by this.
_CLEARLY = 1.15


@dataclass(frozen=True, slots=True, eq=False)
class LinearScore:
    """A linear discriminant of robustly standardised coordinates."""

    centre: FloatArray
    scale: FloatArray
    weights: FloatArray

    def __post_init__(self) -> None:
        for name in ("centre", "scale", "weights"):
            numbers = validate.reals(name, getattr(self, name))
            if not np.isfinite(numbers).all():
                raise validate.refusal(name, "finite", getattr(self, name))
            object.__setattr__(self, name, numbers)

    @classmethod
    def learn(cls, first: Any, second: Any) -> Self:
        """The discriminant of two batches, with a ridge that fades as the batches grow."""
        one, two = as_matrix(first), as_matrix(second)
        if one.shape[1] != two.shape[1] or not one.size or not two.size:
            raise ValueError(
                "`first` and `second` must be batches of outputs of one size, got shapes "
                f"{one.shape} and {two.shape}."
            )
        kept = max(_LEAST_SCALED, _MOST_SCALED // one.shape[1])
        score = cls._of(np.concatenate([side[:: -(-len(side) // kept)] for side in (one, two)]))
        return replace(score, weights=_discriminant(score.features(one), score.features(two)))

    @classmethod
    def _of(cls, pooled: FloatArray) -> Self:
        """The features' scales, without weights."""
        return cls(*_scales(pooled), np.empty(0))

    def standardised(self, matrix: FloatArray) -> FloatArray:
        """Coordinates in robust standard deviations from the centre, clipped; NaN as 0."""
        matrix = validate.reals("matrix", matrix)
        if matrix.ndim != 2 or np.shape(self.centre) not in ((), matrix.shape[1:]):
            raise validate.refusal("matrix", f"of shape (n, {np.size(self.centre)})", matrix)
        with np.errstate(all="ignore"):
            standard = matrix - self.centre
            standard /= self.scale
        np.clip(standard, -8.0, 8.0, out=standard)
        if np.isnan(standard.sum()):  # Rarely: a mask would be one more pass.
            standard[np.isnan(standard)] = 0.0
        return standard

    def features(self, matrix: FloatArray) -> FloatArray:
        """Standardised coordinates, their energy, and how many are not finite."""
        return np.concatenate(self._linear(matrix), axis=1)

    def _linear(self, matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
        standard = self.standardised(matrix)
        energy = np.log1p(np.einsum("ij,ij->i", standard, standard) / matrix.shape[1])
        broken = matrix.shape[1] - np.count_nonzero(np.isfinite(matrix), axis=1)
        return standard, np.stack([energy, broken], axis=1)

    def _scored(self, matrix: FloatArray) -> FloatArray:
        # Without the features side by side: a wide matrix would be copied for two columns.
        standard, others = self._linear(matrix)
        score: FloatArray = standard @ self.weights[:-2] + others @ self.weights[-2:]
        return score

    def __call__(self, outputs: Any) -> FloatArray:
        """The discriminant of each output."""
        matrix = as_matrix(outputs)
        together = -(-_TOGETHER // max(matrix.shape[1], 1))
        scores = [
            self._scored(matrix[start : start + together])
            for start in range(0, max(len(matrix), 1), together)
        ]
        return scores[0] if len(scores) == 1 else np.concatenate(scores)

    def __str__(self) -> str:
        return "a learnt linear score"


@dataclass(frozen=True, slots=True, eq=False)
class QuadraticScore(LinearScore):
    """A discriminant of coordinates, common values, and the products of any two of them.

    Products of coordinates are the log density ratio of normal laws with different covariances; a
    common value times a coordinate is an event in a discrete and a continuous output together.
    """

    atoms: tuple[tuple[int, float], ...] = ()

    @classmethod
    def _of(cls, pooled: FloatArray) -> Self:
        atoms = tuple(
            (index, float(value))
            for index, column in enumerate(pooled[:, :_MOST_COORDINATES].T)
            for value in common_values(np.sort(column), _MOST_ATOMS)
        )
        return cls(*_scales(pooled), np.empty(0), atoms)

    def features(self, matrix: FloatArray) -> FloatArray:
        """The linear features, indicators of common values, and all products."""
        linear = LinearScore.features(self, matrix)
        parts = [self.standardised(matrix)[:, :_MOST_COORDINATES]]
        parts += [(matrix[:, [index]] == value).astype(float) for index, value in self.atoms]
        simple = np.concatenate(parts, axis=1)
        rows, columns = np.triu_indices(simple.shape[1])
        return np.concatenate([linear, simple, simple[:, rows] * simple[:, columns]], axis=1)

    def _scored(self, matrix: FloatArray) -> FloatArray:
        score: FloatArray = self.features(matrix) @ self.weights
        return score

    def __str__(self) -> str:
        return "a learnt quadratic score"


def learn_score(first: Any, second: Any) -> LinearScore:
    """The kind of score that separates held-out draws better, learnt from all of them.

    The linear one unless the quadratic one is clearly better.
    """
    one, two = as_matrix(first), as_matrix(second)
    half = len(one) // 2
    if one.shape[1] > _MOST_FEATURES:  # Products of twelve coordinates among so many: by luck only.
        return LinearScore.learn(one, two)
    separations = []
    for kind in (LinearScore, QuadraticScore):
        score = kind.learn(one[:half], two[:half])
        separations.append(_separation(score(one[half:]), score(two[half:])))
    kind = QuadraticScore if separations[1] > _CLEARLY * separations[0] else LinearScore
    return kind.learn(one, two)


def _separation(first: FloatArray, second: FloatArray) -> float:
    """The distance of the means in standard deviations; infinite if there is no spread at all."""
    spread = float(np.sqrt(0.5 * (first.var() + second.var())))
    distance = float(first.mean() - second.mean())
    if spread > 0.0:
        return distance / spread
    return np.inf if distance > 0.0 else 0.0


def _scales(pooled: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Medians and robust standard deviations of the finite values; 1 where there are none."""
    columns = np.ascontiguousarray(pooled.T)
    centre, scale = np.zeros(len(columns)), np.zeros(len(columns))
    whole = np.isfinite(columns).all(axis=1)
    centre[whole], scale[whole] = _middle_and_spread(columns[whole])
    for index in np.flatnonzero(~whole):
        finite = columns[index][np.isfinite(columns[index])]
        if finite.size:
            (centre[index],), (scale[index],) = _middle_and_spread(finite[None, :])
    return centre, np.where(scale > 0.0, scale, 1.0)


def _middle_and_spread(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Each row's median and robust standard deviation, or the plain one where that is 0."""
    middle = np.median(rows, axis=1)
    spread = np.median(np.abs(rows - middle[:, None]), axis=1) * 1.4826
    flat = ~(spread > 0.0)
    spread[flat] = np.std(rows[flat], axis=1)
    return middle, spread


def _discriminant(one: FloatArray, two: FloatArray) -> FloatArray:
    """Weights of Fisher's discriminant with a ridge."""
    difference: FloatArray = one.mean(axis=0) - two.mean(axis=0)
    count, width = len(one) + len(two), one.shape[1]
    if width > _MOST_FEATURES:
        spread = (len(one) * one.var(axis=0) + len(two) * two.var(axis=0)) / count
        return np.asarray(difference / (spread + 1e-6))
    residuals = np.concatenate([one - one.mean(axis=0), two - two.mean(axis=0)])
    shrink = width / (width + count)
    covariance = residuals.T @ residuals / count
    target = np.eye(width) * (np.trace(covariance) / width + 1e-9)
    return np.linalg.solve(
        (1 - shrink) * covariance + shrink * target + 1e-9 * np.eye(width), difference
    )
