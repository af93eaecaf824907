"""Neighbouring data sets: the pair that an audit is run on, and where to look for bad ones."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from dp_accounting import NeighboringRelation

from accountants import validate
from accountants.arrays import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """Two neighbouring data sets and their description.

    That they *are* neighbours under the claim's relation is the caller's word.
    """

    first: Any
    second: Any
    name: str = "the given pair"

    @classmethod
    def of(cls, pair: Any) -> "Pair":
        """A `Pair` from itself or from a tuple of two data sets."""
        if isinstance(pair, Pair):
            return pair
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(f"`pair` must be a Pair or two data sets, got {type(pair).__name__}.")
        return cls(pair[0], pair[1])


def candidate_pairs(
    relation: NeighboringRelation,
    *,
    records: int = 8,
    dimension: int = 1,
    bound: float = 1.0,
) -> Iterator[Pair]:
    """Pairs of arrays (records, dimension) on which mechanisms tend to give themselves away.

    The others: at zero, at the extremes ±bound, all but one coordinate, duplicates, tiny values, an
    outlier among them. The record that differs: an extreme, an outlier far beyond the bound, zero,
    a duplicate, NaN. Under ADD_OR_REMOVE_ONE it is there or not; under REPLACE_ONE it is one value
    or the other; under REPLACE_SPECIAL it is there or zero.

    Args:
      relation: Which data sets are neighbours.
      records: Size of the larger data set.
      dimension: Length of a record.
      bound: The norm to which the mechanism is said to clip.
    """
    relation = validate.relation("relation", relation)
    records = validate.count("records", records)
    dimension = validate.count("dimension", dimension)
    bound = validate.positive("bound", bound)
    values = _records(dimension, bound)
    for others_name, others in _backgrounds(records - 1, dimension, bound):
        for name, value in values.items():
            if relation is NeighboringRelation.REPLACE_ONE:
                for other_name, other in values.items():
                    if other_name < name and not np.array_equal(other, value, equal_nan=True):
                        yield Pair(
                            np.concatenate([others, value[None]]),
                            np.concatenate([others, other[None]]),
                            f"{records - 1} records at {others_name}, one replaced: "
                            f"{name} or {other_name}",
                        )
                continue
            special = relation is NeighboringRelation.REPLACE_SPECIAL
            if special and not value.any():
                continue
            without = np.concatenate([others, np.zeros((1, dimension))]) if special else others
            yield Pair(
                np.concatenate([others, value[None]]),
                without,
                f"{records - 1} records at {others_name}, with or without one at {name}",
            )


def _records(dimension: int, bound: float) -> dict[str, FloatArray]:
    axis = np.zeros(dimension)
    axis[0] = bound
    diagonal = np.full(dimension, bound / np.sqrt(dimension))
    values = {"+C": axis, "−C": -axis, "zero": np.zeros(dimension), "1000·C": 1000.0 * axis}
    if dimension > 1:
        last = np.zeros(dimension)
        last[-1] = bound
        values |= {"C on the diagonal": diagonal, "C in the last coordinate": last}
        values |= {"1000·C on the diagonal": 1000.0 * diagonal}
    return values | {"NaN": np.full(dimension, np.nan)}


def _backgrounds(count: int, dimension: int, bound: float) -> Iterator[tuple[str, FloatArray]]:
    axis = np.zeros(dimension)
    axis[0] = bound
    yield "zero", np.zeros((count, dimension))
    if count == 0:
        return
    yield "−C", np.tile(-axis, (count, 1))
    yield "+C", np.tile(axis, (count, 1))
    spread = np.linspace(-1.0, 1.0, count)[:, None] * axis[None, :]
    yield "an even spread over ±C", spread
    yield "C/1000", np.tile(1e-3 * axis, (count, 1))
    outlier = np.zeros((count, dimension))
    outlier[0] = 1000.0 * axis
    yield "zero but for an outlier", outlier
