"""What is measured on a mechanism's outputs: any function from outputs to numbers will do.

An audit is valid for every statistic that does not depend on the draws it is tested on. A statistic
takes a batch of outputs and returns one number for each. Those here are small named objects, so
that a verdict can say what was looked at and a worker process can be sent one.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from accountants import validate
from accountants.arrays import FloatArray
from audits.testing.scores import as_floats, as_scores


class Statistic(Protocol):
    """A batch of outputs to one number each."""

    def __call__(self, outputs: Any) -> Any:
        """One score per output."""


def as_matrix(outputs: Any) -> FloatArray:
    """A batch of numeric outputs of one shape as (n, d); a `TypeError` says what else is needed."""
    if isinstance(outputs, Iterator | range):
        raise TypeError(f"`outputs` must be a list or an array, got a {type(outputs).__name__}.")
    try:
        matrix = _real(outputs)
    except Exception:
        try:
            matrix = np.asarray([_flat(output) for output in outputs])
        except Exception:
            several = isinstance(outputs, Sequence | np.ndarray) and np.size(outputs[:1])
            got = type(outputs[0]) if several else type(outputs)
            raise TypeError(
                "`outputs` must be numbers or arrays of one shape (`statistic` must be given for "
                f"others), got {got.__name__}."
            ) from None
    if matrix.ndim == 0:
        raise TypeError("`outputs` must be a batch of outputs, got one number.")
    return matrix.reshape(len(matrix), int(np.prod(matrix.shape[1:])))


def _real(numbers: Any) -> FloatArray:
    """Numbers as floats; a complex one becomes two. None and text are no numbers."""
    array = np.asarray(numbers)
    if array.dtype.kind == "O" and not any(x is None or isinstance(x, str) for x in array.flat):
        array = as_floats(array)
    if array.dtype.kind not in "biufc":
        raise TypeError(f"not numbers: {array.dtype}")
    if array.dtype.kind == "c":
        array = np.stack([array.real, array.imag], axis=-1)
    return as_floats(array)


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

    def __post_init__(self) -> None:
        validate.count("index", self.index, minimum=0)

    def __call__(self, outputs: Any) -> FloatArray:
        """The coordinate of each output."""
        matrix = as_matrix(outputs)
        if self.index >= matrix.shape[1]:
            raise ValueError(
                f"`outputs` must have a coordinate {self.index}, got {matrix.shape[1]} of them."
            )
        column: FloatArray = matrix[:, self.index]
        return column

    def __str__(self) -> str:
        return f"coordinate {self.index}"


@dataclass(frozen=True, slots=True)
class Summary:
    """A named summary of the coordinates, see `SUMMARIES` and `FLOATING_POINT`."""

    name: str

    def __post_init__(self) -> None:
        validate.one_of("name", self.name, [*SUMMARIES, *FLOATING_POINT])

    def __call__(self, outputs: Any) -> FloatArray:
        """The summary of each output."""
        with np.errstate(all="ignore"):
            summary = (SUMMARIES | FLOATING_POINT)[self.name]
            return np.asarray(summary(as_matrix(outputs)), dtype=np.float64)

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


def _lowest_bit(matrix: FloatArray) -> FloatArray:
    """The least exponent e of a coordinate k·2^e with odd k: the finest grid that shows.

    Zero is on every grid, 1024; a coordinate that is not finite counts as 1025.
    """
    fractions, exponents = np.frexp(np.where(np.isfinite(matrix), matrix, 0.0))
    digits = np.abs(np.ldexp(fractions, 53)).astype(np.int64)
    lowest = np.log2(np.maximum(digits & -digits, 1).astype(np.float64)) + exponents - 53.0
    lowest = np.where(matrix == 0.0, 1024.0, np.where(np.isfinite(matrix), lowest, 1025.0))
    return np.asarray(lowest.min(axis=1))


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
"""What a hunt looks at by itself."""

FLOATING_POINT: dict[str, Callable[[FloatArray], Any]] = {"exponent of the lowest bit": _lowest_bit}
"""What shows that noise was added in floats (Mironov 2012): x + noise keeps no bit finer than x's.

That refutes every textbook sampler, whatever else it does right, so it must be asked for by name.
"""


@dataclass(frozen=True, slots=True, eq=False)
class LikelihoodRatio:
    """log p − log q for known densities: the best statistic where the mechanism's law is known.

    Attributes:
      log_first: Log density on the first data set, vectorised over outputs.
      log_second: Log density on the second one.
    """

    log_first: Callable[[Any], Any]
    log_second: Callable[[Any], Any]

    def __post_init__(self) -> None:
        validate.function("log_first", self.log_first)
        validate.function("log_second", self.log_second)

    def __call__(self, outputs: Any) -> FloatArray:
        """The log likelihood ratio of each output."""
        with np.errstate(invalid="ignore"):  # two infinities: an output that neither side has
            return validate.reals("log_first", self.log_first(outputs)) - validate.reals(
                "log_second", self.log_second(outputs)
            )

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
