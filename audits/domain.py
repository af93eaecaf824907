"""Which records a mechanism is said to accept, and the neighbouring data sets made of them.

A claim of privacy is about data that the mechanism accepts. A pair from its domain refutes the
claim; a NaN that nobody claimed to accept does not, though it may be worth knowing.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from dp_accounting import NeighboringRelation
from numpy.typing import NDArray

from accountants import validate
from accountants.arrays import FloatArray
from audits.pairs import Pair

_REPLACE, _ZERO_OUT = NeighboringRelation.REPLACE_ONE, NeighboringRelation.REPLACE_SPECIAL
# What no domain has unless it says so, as multiples of the largest bound.
_FOREIGN = {
    "NaN": math.nan,
    "+infinity": math.inf,
    "−infinity": -math.inf,
    "1e6 times the bound": 1e6,
}


_LARGEST_DIMENSION = 10**7


def _is_numbers(dtype: Any) -> bool:
    try:
        return isinstance(dtype, str | type | np.dtype) and np.dtype(dtype).kind in "fiub"
    except Exception:  # whatever numpy makes of a text
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """The records that are allowed, how many, and how a user's are exchanged.

    Data sets are arrays (records, dimension), or (records,) for dimension 0. With a `record`
    factory they are lists of what it makes (rows, categories, strings, dicts), or what `assemble`
    makes of such a list (a table).

    Attributes:
      dimension: The length of a record; 0 for plain numbers.
      bounds: (least, largest), for all coordinates or one pair for each.
      min_records: The size of the smallest data set, either neighbour's.
      max_records: The size of the largest.
      dtype: The arrays' type; integers stay integers.
      records_per_user: How many records a neighbour adds, removes or replaces: those of one user.
      special_values: Coordinates that are allowed beside the bounds: NaN, infinities, outliers.
      record: A record from a generator, for records that are no arrays.
      assemble: Records to a data set; a list by default.

    >>> ages = Domain(dimension=0, bounds=(0, 120), min_records=2, max_records=5, dtype=int)
    >>> pair = next(ages.pairs(NeighboringRelation.ADD_OR_REMOVE_ONE))
    >>> pair.first, pair.second
    (array([  0,   0,   0,   0, 120]), array([0, 0, 0, 0]))
    """

    dimension: int = 1
    bounds: tuple[float, float] | tuple[tuple[float, float], ...] = (-1.0, 1.0)
    min_records: int = 1
    max_records: int = 8
    dtype: Any = float
    records_per_user: int = 1
    special_values: tuple[float, ...] = ()
    record: Callable[[np.random.Generator], Any] | None = None
    assemble: Callable[[list[Any]], Any] | None = None

    def __post_init__(self) -> None:
        validate.count("dimension", self.dimension, minimum=0, maximum=_LARGEST_DIMENSION)
        validate.count("min_records", self.min_records, minimum=0)
        validate.count("max_records", self.max_records, minimum=max(1, self.min_records))
        user = validate.count("records_per_user", self.records_per_user)
        if user > self.max_records:
            raise ValueError(
                f"`records_per_user` must be at most max_records = {self.max_records}, got {user}."
            )
        try:
            low, high = self._limits()
        except (TypeError, ValueError):
            low = high = np.zeros(0)
        if low.shape != (max(self.dimension, 1),) or not (
            np.isfinite([low, high]).all() and (low < high).all()
        ):
            raise ValueError(
                "`bounds` must be (least, largest) with least < largest, or one such pair per "
                f"coordinate ({max(self.dimension, 1)}), got {validate.shown(self.bounds)}."
            )
        if not _is_numbers(self.dtype):
            raise validate.refusal("dtype", "a type of numbers", self.dtype)
        validate.reals("special_values", self.special_values)
        for name in ("record", "assemble"):
            if getattr(self, name) is not None and not callable(getattr(self, name)):
                got = validate.shown(getattr(self, name))
                raise TypeError(f"`{name}` must be callable, got {got}.")

    def _limits(self) -> tuple[FloatArray, FloatArray]:
        pairs = validate.reals("bounds", self.bounds)
        if pairs.ndim == 1:
            pairs = np.tile(pairs, (max(self.dimension, 1), 1))
        low, high = pairs.T
        return low, high

    def pairs(
        self, relation: NeighboringRelation, rng: np.random.Generator | None = None
    ) -> Iterator[Pair]:
        """Neighbouring data sets of the domain, the most telling first.

        Sizes: the largest, the smallest, and in between. The others: all at an extreme, in the
        middle, spread, alike but for little, random. The user's records: at the extremes, on the
        other side of the others', a near duplicate, random; special values where they are allowed.

        Args:
          relation: Which data sets are neighbours.
          rng: For random records; a fixed one by default, so that pairs are always the same.
        """
        rng = np.random.default_rng(0) if rng is None else rng
        validate.instance("rng", rng, np.random.Generator)
        yield from self._made(relation, self._values(rng), self._backgrounds(rng))

    def foreign_pairs(self, relation: NeighboringRelation) -> Iterator[Pair]:
        """Neighbours with a record that the domain does not allow: NaN, infinities, outliers."""
        if self.record is not None or np.dtype(self.dtype).kind != "f":
            return
        rng = np.random.default_rng(0)
        low, high = self._limits()
        largest = float(np.maximum(np.abs(low), np.abs(high)).max())
        values = {
            name: np.full(low.size, size * largest)
            for name, size in _FOREIGN.items()
            if not any(_equal(size, special) for special in self.special_values)
        }
        plain = dict(itertools.islice(self._values(rng).items(), 1))
        backgrounds = itertools.islice(self._backgrounds(rng), 1)
        for pair in self._made(relation, values | plain, backgrounds):
            if any(name in pair.name for name in values):
                yield pair

    def _made(
        self,
        relation: NeighboringRelation,
        values: dict[str, Any],
        backgrounds: Iterator[tuple[str, Callable[[int], list[Any]]]],
    ) -> Iterator[Pair]:
        relation = validate.relation("relation", relation)
        user = self.records_per_user
        least = self.min_records + (
            user if relation is NeighboringRelation.ADD_OR_REMOVE_ONE else 0
        )
        if least > self.max_records:
            raise ValueError(
                f"`max_records` must be at least {least} for neighbours under {relation.name}, got "
                f"{self.max_records}."
            )
        sizes = dict.fromkeys((self.max_records, max(least, user), (least + self.max_records) // 2))
        alone = False
        for size, (where, others) in itertools.product(sizes, list(backgrounds)):
            rest = others(size - user)
            if not rest and alone:  # Nobody else is the same wherever they are.
                continue
            alone |= not rest
            for name, without, words in self._units(relation, values):
                first = [*rest, *itertools.repeat(values[name], user)]
                second = rest if without is None else [*rest, *itertools.repeat(without, user)]
                count = f"{size - user} records {where}" if rest else "no others"
                unit = "a record" if user == 1 else f"a user's {user} records"
                yield Pair(self._set(first), self._set(second), f"{count}, {unit} {words}")

    def _units(
        self, relation: NeighboringRelation, values: dict[str, Any]
    ) -> Iterator[tuple[str, Any, str]]:
        """(value, what it is replaced by or None, in words)."""
        if relation is _REPLACE:
            for one, other in itertools.combinations(values, 2):
                if not _equal(values[one], values[other]):
                    yield one, values[other], f"replaced: {one} or {other}"
            return
        for name, value in values.items():
            if relation is _ZERO_OUT:
                zero = np.zeros_like(np.asarray(value)) if self.record is None else None
                if zero is None:
                    raise ValueError(
                        "`record` must be left out under REPLACE_SPECIAL: what is zero?"
                    )
                if not _equal(zero, value):
                    yield name, zero, f"{name} or at zero"
            else:
                yield name, None, f"{name} or absent"

    def _values(self, rng: np.random.Generator) -> dict[str, Any]:
        """Records by name, the most telling first."""
        if self.record is not None:
            return {f"made by the factory ({k + 1})": self.record(rng) for k in range(6)}
        low, high = self._limits()
        middle = 0.5 * (low + high)
        values = {"at the upper bounds": high, "at the lower bounds": low}
        values |= {
            f"beyond its bounds, at {special:g}": np.full(low.size, special)
            for special in self.special_values
        }
        if low.size > 1:
            for name, index in (("first", 0), ("last", -1)):
                single = middle.copy()
                single[index] = high[index]
                values[f"at its {name} upper bound"] = single
        values["in the middle"] = middle
        values["next to the upper bounds"] = (
            np.nextafter(self._cast(high), self._cast(low)) if self._real() else high - 1
        )
        values["at random"] = rng.uniform(low, high)
        distinct: dict[str, Any] = {}
        for name, value in values.items():
            record = self._cast(value)
            if not any(_equal(record, other) for other in distinct.values()):
                distinct[name] = record
        return distinct

    def _backgrounds(
        self, rng: np.random.Generator
    ) -> Iterator[tuple[str, Callable[[int], list[Any]]]]:
        """Where the others are, and their records as a function of their number."""
        if self.record is not None:
            make = self.record
            alike = make(rng)
            yield "alike", lambda count: [alike] * count
            yield "of all kinds", lambda count: [make(rng) for _ in range(count)]
            return
        low, high = self._limits()
        middle = 0.5 * (low + high)
        yield "at the lower bounds", lambda count: [low] * count
        yield "in the middle", lambda count: [middle] * count
        yield "at the upper bounds", lambda count: [high] * count
        yield (
            "spread evenly",
            lambda count: [low + share * (high - low) for share in np.linspace(0.0, 1.0, count)],
        )
        yield (
            "in the middle but for one at its bounds",
            lambda count: [high, *[middle] * (count - 1)] if count else [],
        )
        yield "at random", lambda count: list(rng.uniform(low, high, size=(count, low.size)))

    def _real(self) -> bool:
        return bool(np.dtype(self.dtype).kind == "f")

    def _cast(self, values: FloatArray) -> NDArray[Any]:
        rounded = values if self._real() else np.round(values)
        return rounded.astype(self.dtype)

    def _set(self, records: Sequence[Any]) -> Any:
        if self.record is not None:
            return list(records) if self.assemble is None else self.assemble(list(records))
        rows = self._cast(np.array(records, dtype=np.float64))
        rows = rows.reshape(len(records), max(self.dimension, 1))
        shaped = rows[:, 0] if self.dimension == 0 else rows
        return shaped if self.assemble is None else self.assemble(list(shaped))


def _equal(one: Any, other: Any) -> bool:
    try:
        same: bool = np.array_equal(np.asarray(one), np.asarray(other), equal_nan=True)
    except TypeError:
        same = one == other
    return bool(same)
