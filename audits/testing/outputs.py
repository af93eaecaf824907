"""Outputs of any kind as numbers: text, None, dicts, tables, ragged lists, exceptions.

An `Encoder` is fitted on draws that no test uses: it learns where numbers stand in an output, which
words occur, and what an output usually looks like. Then every output is a row of numbers, the same
columns for both data sets; what was never seen before has a column of its own. Arrays of numbers of
one shape stay as they are.
"""

import math
import numbers
import pickle
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from accountants.arrays import FloatArray
from audits.testing.statistics import Statistic, as_matrix, name_of

Leaf: TypeAlias = float | str
Path: TypeAlias = tuple[str, ...]

_MOST_ENTRIES = 32
_MOST_WORDS = 16
_MOST_COLUMNS = 400
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


class Raised:
    """An exception as an output: that a mechanism fails on some data tells them apart.

    Attributes:
      error: What was raised.
    """

    __slots__ = ("error",)

    def __init__(self, error: Exception) -> None:
        try:  # Some exceptions cannot be sent from a worker.
            pickle.loads(pickle.dumps(error))
        except Exception:
            error = RuntimeError(f"{type(error).__name__}: {error}")
        self.error = error

    def __repr__(self) -> str:
        return f"raised {type(self.error).__name__}"


def _leaves(output: Any, path: Path = ()) -> Iterator[tuple[Path, Leaf]]:
    """The numbers and words of one output, each with its place."""
    if isinstance(output, Raised):
        yield (*path, "kind"), repr(output)
    elif isinstance(output, bool | np.bool_) or output is None:
        yield path, str(output)
    elif isinstance(output, numbers.Real):
        yield path, _as_float(output)
    elif isinstance(output, numbers.Complex):
        yield from (((*path, "real"), float(output.real)), ((*path, "imag"), float(output.imag)))
    elif isinstance(output, str | bytes):
        yield from ((path, repr(output)), ((*path, "length"), float(len(output))))
    elif isinstance(output, Mapping):
        yield (*path, "size"), float(len(output))
        for key, value in list(output.items())[:_MOST_ENTRIES]:
            yield from _leaves(value, (*path, repr(key)))
    elif hasattr(output, "columns") and hasattr(output, "to_numpy"):  # A table of pandas or polars.
        yield (*path, "rows"), float(len(output))
        for name in list(output.columns)[:_MOST_ENTRIES]:
            yield from _leaves(np.asarray(output[name]), (*path, str(name)))
    elif isinstance(output, Set):
        yield from ((path, repr(sorted(map(repr, output)))), ((*path, "size"), float(len(output))))
    elif isinstance(output, np.ndarray | Sequence):
        yield from _sequence(output, path)
    else:
        yield path, _ADDRESS.sub("", repr(output))


def _sequence(output: Any, path: Path) -> Iterator[tuple[Path, Leaf]]:
    """Length, entries, and what the numbers among them add up to."""
    entries = output.ravel().tolist() if isinstance(output, np.ndarray) else list(output)
    shape = np.shape(output) if isinstance(output, np.ndarray) else (len(entries),)
    for axis, length in enumerate(shape):
        yield (*path, f"length {axis}"), float(length)
    real = [
        _as_float(x) for x in entries if isinstance(x, numbers.Real) and not isinstance(x, bool)
    ]
    if real:
        with np.errstate(all="ignore"):
            summaries = {"sum": sum(real), "least": min(real), "largest": max(real)}
        for name, value in summaries.items():
            yield (*path, name), value
        yield (*path, "last"), real[-1]
    words = Counter(repr(x) for x in entries if isinstance(x, str | bytes | None))
    for word, count in words.most_common(_MOST_WORDS):
        yield (*path, f"number of {word}"), float(count)
    for index, entry in enumerate(entries[:_MOST_ENTRIES]):
        yield from _leaves(entry, (*path, str(index)))


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


@dataclass(frozen=True, slots=True)
class Encoder:
    """Outputs to rows of numbers.

    Attributes:
      width: For plain outputs, how many numbers one has; None for others.
      real: Places of numbers.
      words: Places of words, with those that have a column.
      optional: Places that some outputs do not have.
    """

    width: int | None
    real: tuple[Path, ...] = ()
    words: tuple[tuple[Path, tuple[str, ...]], ...] = ()
    optional: tuple[Path, ...] = ()

    @classmethod
    def fit(cls, outputs: Any) -> "Encoder":
        """What these outputs look like."""
        width = _width(outputs)
        if width is not None:
            return cls(width)
        rows = [dict(_leaves(output)) for output in outputs]
        seen: dict[Path, list[Leaf]] = {}
        for row in rows:
            for path, leaf in row.items():
                seen.setdefault(path, []).append(leaf)
        real = tuple(p for p, leaves in seen.items() if all(isinstance(x, float) for x in leaves))
        words = tuple(
            (path, tuple(word for word, _ in Counter(map(str, leaves)).most_common(_MOST_WORDS)))
            for path, leaves in seen.items()
            if path not in set(real)
        )
        optional = tuple(path for path, leaves in seen.items() if len(leaves) < len(rows))
        return cls(None, real[:_MOST_COLUMNS], words[:_MOST_COLUMNS], optional[:_MOST_COLUMNS])

    @property
    def is_plain(self) -> bool:
        """Whether outputs are numbers as they are."""
        return self.width is not None

    def __call__(self, outputs: Any) -> FloatArray:
        """One row per output; of plain ones, NaN for an output of another kind or size."""
        if self.width is not None:
            if _width(outputs) == self.width:
                return as_matrix(outputs)
            return np.stack([self._plain_row(output) for output in outputs])
        return np.stack([self._row(dict(_leaves(output))) for output in outputs])

    def _plain_row(self, output: Any) -> FloatArray:
        assert self.width is not None
        found = _width([output])
        if found != self.width:
            return np.full(self.width, np.nan)
        row: FloatArray = as_matrix([output])[0]
        return row

    def _row(self, leaves: dict[Path, Leaf]) -> FloatArray:
        row = [x if isinstance(x := leaves.get(path), float) else 0.0 for path in self.real]
        strange = 0
        for path, words in self.words:
            leaf = leaves.pop(path, None)
            row.extend(float(str(leaf) == word) for word in words)
            strange += leaf is not None and str(leaf) not in words
        row.extend(float(path in leaves) for path in self.optional)
        known = {*self.real, *self.optional}
        strange += sum(path not in known for path in leaves)
        strange += sum(not isinstance(leaves.get(path, 0.0), float) for path in self.real)
        return np.array([*row, float(strange)])


def _width(outputs: Any) -> int | None:
    """How many numbers each output has, if they are numbers or arrays of one shape."""
    try:
        return int(as_matrix(outputs).shape[1])
    except (TypeError, ValueError, OverflowError):
        return None


@dataclass(frozen=True, slots=True)
class Encoded:
    """A statistic of encoded outputs.

    Attributes:
      encoder: Outputs to rows of numbers.
      statistic: Rows to one number each.
    """

    encoder: Encoder
    statistic: Statistic

    def __call__(self, outputs: Any) -> Any:
        """The statistic of each output."""
        return self.statistic(self.encoder(outputs))

    def __str__(self) -> str:
        return name_of(self.statistic)


@dataclass(frozen=True, slots=True)
class Guarded:
    """Somebody's statistic, which has not heard of exceptions as outputs: they score NaN.

    Attributes:
      statistic: Outputs to one number each.
    """

    statistic: Statistic

    def __call__(self, outputs: Any) -> Any:
        """The statistic of each output that is one."""
        if isinstance(outputs, np.ndarray) and outputs.dtype.kind != "O":
            return self.statistic(outputs)
        fine = [k for k, output in enumerate(outputs) if not isinstance(output, Raised)]
        if len(fine) == len(outputs):
            return self.statistic(outputs)
        scores = np.full(len(outputs), np.nan)
        if fine:
            scores[fine] = np.asarray(self.statistic([outputs[k] for k in fine])).ravel()
        return scores

    def __str__(self) -> str:
        return name_of(self.statistic)
