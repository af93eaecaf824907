"""A client's data cut into parts, in a way that does not depend on the data."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from accountants import validate
from mechanisms.release import ASSIGNMENTS, Assignment
from pvi import Shard

MOST_PARTS = 10**6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Partition:
    """Parts of one client's data; use `whole`, `by_position` or `by_identity`.

    A record must be able to change one part only. Cutting by anything that depends on several
    records (sorting, clustering, balancing classes) breaks that, and so does cutting by a record's
    own values when it is replaced; neither can be built here.

    Attributes:
      shards: The parts.
      assignment: "position": by the record's place among the others, right where the number of
        records is public. "identity": by something that the record carries, such as a hash of a
        public key, whatever the others are.
      muted: Whether the client contributes zero instead of what its data say, its counts being what
        they are: the neighbour of a client under REPLACE_SPECIAL.
    """

    shards: tuple[Shard, ...]
    assignment: Assignment
    muted: bool = False

    def __post_init__(self) -> None:
        validate.sequence(
            "shards", self.shards, lambda name, one: validate.instance(name, one, Shard), least=1
        )
        validate.one_of("assignment", self.assignment, ASSIGNMENTS)
        validate.flag("muted", self.muted)

    @property
    def size(self) -> int:
        """The number of records."""
        return sum(shard.size for shard in self.shards)

    def mute(self) -> "Partition":
        """The same client, contributing zero."""
        return replace(self, muted=True)

    @classmethod
    def whole(cls, shard: Shard) -> Self:
        """One part: all of the client's data."""
        return cls(shards=(_shard(shard),), assignment="identity")

    @classmethod
    def by_position(cls, shard: Shard, parts: int) -> Self:
        """Consecutive parts of nearly equal size.

        >>> data = Shard(inputs=[[1.0], [2.0], [3.0]], targets=[0.0, 0.0, 0.0])
        >>> [part.size for part in Partition.by_position(data, 2).shards]
        [2, 1]
        """
        parts = validate.count("parts", parts, maximum=max(1, _shard(shard).size))
        return cls(shards=shard.partition(parts), assignment="position")

    @classmethod
    def by_identity(cls, shard: Shard, labels: npt.ArrayLike, parts: int) -> Self:
        """Record i to part labels[i].

        Args:
          shard: The client's data.
          labels: Integers in [0, parts), one per record, each a function of a public identity of
            the record (never of its values, nor of other records).
          parts: N, a public constant; a part may be empty.
        """
        array = np.asarray(labels) if isinstance(labels, np.ndarray | list | tuple) else None
        count = validate.count("parts", parts, maximum=MOST_PARTS)
        if array is None or isinstance(labels, np.ma.MaskedArray):
            raise TypeError(f"`labels` must be integers, got {validate.shown(labels)}.")
        if array.shape != (_shard(shard).size,) or not np.issubdtype(array.dtype, np.integer):
            raise ValueError(
                f"`labels` must be {shard.size} integers, one per record, got shape {array.shape} "
                f"of {array.dtype}."
            )
        if array.size and not (array.min() >= 0 and array.max() < count):
            raise ValueError(
                f"`labels` must be in [0, {count}), got {array.min()} to {array.max()}."
            )
        shards = tuple(shard.take(np.flatnonzero(array == part)) for part in range(count))
        return cls(shards=shards, assignment="identity")


def _shard(shard: Shard) -> Shard:
    return validate.instance("shard", shard, Shard)


def as_partitions(data: Sequence[Shard] | Sequence[Partition]) -> tuple[Partition, ...]:
    """Partitions as they are; shards as one part each."""
    partitions = []
    item: Any
    for item in validate.sequence("data", data, least=1):
        if isinstance(item, Partition):
            partitions.append(item)
        elif isinstance(item, Shard):
            partitions.append(Partition.whole(item))
        else:
            raise TypeError(
                "`data` must hold a Shard or a Partition per client (a list of shards does not say "
                f"how it was cut, so it may depend on the data), got {type(item).__name__}."
            )
    return tuple(partitions)
