"""What is measured on a mechanism's outputs: any function from outputs to numbers will do.

An audit is valid for every statistic that does not depend on the draws it is tested on. A statistic
takes a batch of outputs and returns one number for each. Those here are small named objects, so
that a verdict can say what was looked at and a worker process can be sent one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from accountants.arrays import FloatArray
from audits.testing.guesses import as_scores


class Statistic(Protocol):
    """A batch of outputs to one number each."""

    def __call__(self, outputs: Any) -> Any:
        """One score per output."""


def as_matrix(outputs: Any) -> FloatArray:
    """A batch of numeric outputs of one shape as (n, d); a `TypeError` says what else is needed."""
    try:
        matrix = _real(outputs)
    except (TypeError, ValueError):
        try:
            matrix = np.asarray([_flat(output) for output in outputs])
        except (TypeError, ValueError):
            got = type(outputs[0]) if isinstance(outputs, Sequence | np.ndarray) else type(outputs)
            raise TypeError(
                "`statistic` must be given for outputs that are not numbers or arrays of one "
                f"shape, got {got.__name__}."
            ) from None
    return matrix.reshape(len(matrix), -1)


def _real(numbers: Any) -> FloatArray:
    """Numbers as floats; a complex one becomes two. None and text are no numbers."""
    array = np.asarray(numbers)
    if array.dtype.kind == "O" and not any(x is None or isinstance(x, str) for x in array.flat):
        array = array.astype(np.float64)
    if array.dtype.kind not in "biufc":
        raise TypeError(f"not numbers: {array.dtype}")
    if array.dtype.kind == "c":
        array = np.stack([array.real, array.imag], axis=-1)
    return array.astype(np.float64, copy=False)


def _flat(output: Any) -> FloatArray:
    """A tuple or list of arrays as one vector."""
    if isinstance(output, (tuple, list)):
        return np.concatenate([_flat(part) for part in output])
    return _real(output).ravel()


@dataclass(frozen=True, slots=True)
class Itself:
    """The output, a number, as it is."""

    def __call__(self, outputs: Any) -> FloatArray:
        """Each output."""
        return as_matrix(outputs).reshape(-1)

    def __str__(self) -> str:
        return "the output itself"


@dataclass(frozen=True, slots=True)
class Coordinate:
    """One coordinate of the output."""

    index: int = 0

    def __call__(self, outputs: Any) -> FloatArray:
        """The coordinate of each output."""
        column: FloatArray = as_matrix(outputs)[:, self.index]
        return column

    def __str__(self) -> str:
        return f"coordinate {self.index}"


@dataclass(frozen=True, slots=True)
class Summary:
    """A named summary of the coordinates, see `SUMMARIES`."""

    name: str

    def __call__(self, outputs: Any) -> FloatArray:
        """The summary of each output."""
        with np.errstate(all="ignore"):
            return np.asarray(SUMMARIES[self.name](as_matrix(outputs)), dtype=np.float64)

    def __str__(self) -> str:
        return f"the {self.name}"


def _repeated(matrix: FloatArray) -> FloatArray:
    """How many coordinates equal another one of the same output."""
    ordered = np.sort(matrix, axis=1)
    return np.asarray((ordered[:, 1:] == ordered[:, :-1]).sum(axis=1), dtype=np.float64)


def _trailing_zero_bits(matrix: FloatArray) -> FloatArray:
    """Zero bits at the end of the first coordinate's significand: rounding, grids."""
    bits = np.ascontiguousarray(matrix[:, 0]).view(np.uint64) & np.uint64((1 << 52) - 1)
    lowest = bits & (~bits + np.uint64(1))
    return np.where(bits == 0, 52.0, np.log2(np.maximum(lowest, 1).astype(np.float64)))


SUMMARIES: dict[str, Callable[[FloatArray], Any]] = {
    "sum": lambda m: m.sum(axis=1),
    "norm": lambda m: np.linalg.norm(m, axis=1),
    "log norm": lambda m: np.log(np.linalg.norm(m, axis=1)),
    "largest coordinate": lambda m: m.max(axis=1),
    "smallest coordinate": lambda m: m.min(axis=1),
    "spread": lambda m: m.max(axis=1) - m.min(axis=1),
    "number of repeated coordinates": _repeated,
    "number of non-finite coordinates": lambda m: (~np.isfinite(m)).sum(axis=1),
    "trailing zero bits": _trailing_zero_bits,
    "distance to the nearest integer": lambda m: np.abs(m - np.round(m)).min(axis=1),
    "difference of the first and the last coordinate": lambda m: m[:, 0] - m[:, -1],
}


@dataclass(frozen=True, slots=True, eq=False)
class LikelihoodRatio:
    """log p − log q for known densities: the best statistic where the mechanism's law is known.

    Attributes:
      log_first: Log density on the first data set, vectorised over outputs.
      log_second: Log density on the second one.
    """

    log_first: Callable[[Any], Any]
    log_second: Callable[[Any], Any]

    def __call__(self, outputs: Any) -> FloatArray:
        """The log likelihood ratio of each output."""
        ratio: FloatArray = np.asarray(self.log_first(outputs)) - self.log_second(outputs)
        return ratio

    def __str__(self) -> str:
        return "the likelihood ratio"


@dataclass(frozen=True, slots=True)
class Weighted:
    """A weighted sum of the output's coordinates."""

    weights: tuple[float, ...]

    def __call__(self, outputs: Any) -> FloatArray:
        """The weighted sum of each output."""
        score: FloatArray = as_matrix(outputs) @ np.array(self.weights)
        return score

    def __str__(self) -> str:
        return f"a weighted sum of {len(self.weights)} coordinates"


@dataclass(frozen=True, slots=True, eq=False)
class LinearScore:
    """A linear discriminant of robustly standardised coordinates, learnt from other draws."""

    centre: FloatArray
    scale: FloatArray
    weights: FloatArray

    @classmethod
    def learn(cls, first: Any, second: Any) -> "LinearScore":
        """The discriminant of two batches, with a ridge that fades as the batches grow."""
        one, two = as_matrix(first), as_matrix(second)
        pooled = np.concatenate([one, two])
        finite = np.where(np.isfinite(pooled), pooled, np.nan)
        blank = np.isnan(finite).all(axis=0)
        finite[:, blank] = 0.0
        centre = np.nanmedian(finite, axis=0)
        scale = np.nanmedian(np.abs(finite - centre), axis=0) * 1.4826
        scale = np.where(scale > 0.0, scale, np.nanstd(finite, axis=0))
        scale = np.where(scale > 0.0, scale, 1.0)
        score = cls(centre, scale, np.empty(0))
        one, two = score.features(one), score.features(two)
        difference = one.mean(axis=0) - two.mean(axis=0)
        residuals = np.concatenate([one - one.mean(axis=0), two - two.mean(axis=0)])
        count, width = residuals.shape
        shrink = width / (width + count)
        if width > 400:
            weights = difference / (residuals.var(axis=0) + 1e-6)
        else:
            covariance = residuals.T @ residuals / count
            target = np.eye(width) * (np.trace(covariance) / width + 1e-9)
            weights = np.linalg.solve(
                (1 - shrink) * covariance + shrink * target + 1e-9 * np.eye(width), difference
            )
        return cls(centre, scale, weights)

    def features(self, matrix: FloatArray) -> FloatArray:
        """Clipped standardised coordinates, their energy, and how many are not finite."""
        with np.errstate(all="ignore"):
            standard = (matrix - self.centre) / self.scale
        broken = ~np.isfinite(standard)
        standard = np.clip(np.where(np.isnan(standard), 0.0, standard), -8.0, 8.0)
        energy = np.log1p((standard**2).mean(axis=1, keepdims=True))
        return np.concatenate([standard, energy, broken.sum(axis=1, keepdims=True)], axis=1)

    def __call__(self, outputs: Any) -> FloatArray:
        """The discriminant of each output."""
        score: FloatArray = self.features(as_matrix(outputs)) @ self.weights
        return score

    def __str__(self) -> str:
        return "a learnt linear score"


def name_of(statistic: Any) -> str:
    """What a verdict calls the statistic."""
    named = getattr(statistic, "__name__", None)
    return str(statistic) if named is None else str(named)


def scores_of(statistic: Statistic, outputs: Any) -> FloatArray:
    """The statistic of each output, comparable: NaN and infinities included."""
    scores = as_scores(statistic(outputs))
    if scores.size != len(outputs):
        raise ValueError(
            f"`statistic` must give one number per output, got {scores.size} for {len(outputs)}."
        )
    return scores
