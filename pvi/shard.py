"""A client's data."""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from pvi.validate import FloatArray, at_least, finite_array, row_numbers, sequence


@dataclass(frozen=True, kw_only=True, eq=False)
class Shard:
    """Records of one client, possibly over leading batch axes (one data set per repetition).

    Attributes:
      inputs: Shape (..., n, k), one row per record.
      targets: Shape (..., n).

    Example:
      >>> Shard(inputs=[[1.0, 2.0], [1.0, 0.0]], targets=[1.0, -1.0]).size
      2
    """

    inputs: FloatArray
    targets: FloatArray

    def __post_init__(self) -> None:
        inputs = finite_array("inputs", self.inputs, min_ndim=2)
        targets = finite_array("targets", self.targets, min_ndim=1)
        if inputs.shape[-2] != targets.shape[-1]:
            raise ValueError(
                f"`targets` must have one entry for each of {inputs.shape[-2]} rows of `inputs`, "
                f"got {targets.shape[-1]}."
            )
        _common_shape("inputs", inputs.shape[:-2], targets.shape[:-1])
        object.__setattr__(self, "inputs", inputs)
        object.__setattr__(self, "targets", targets)

    @classmethod
    def from_classes(cls, inputs: npt.ArrayLike, classes: npt.ArrayLike) -> Self:
        """Gives a shard for the binary classifiers: class 0 becomes −1 and class 1 becomes +1.

        Example:
          >>> Shard.from_classes([[0.5], [0.1]], [0, 1]).targets
          array([-1.,  1.])
        """
        labels = finite_array("classes", classes, min_ndim=1)
        if not np.isin(labels, (0.0, 1.0)).all():
            bad = labels[~np.isin(labels, (0.0, 1.0))].flat[0]
            raise ValueError(f"`classes` must be 0 and 1, got {bad}.")
        return cls(inputs=finite_array("inputs", inputs, min_ndim=2), targets=2.0 * labels - 1.0)

    @property
    def size(self) -> int:
        """The number n of records."""
        return int(self.targets.shape[-1])

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The leading axes."""
        return np.broadcast_shapes(self.inputs.shape[:-2], self.targets.shape[:-1])

    @cached_property
    def gram(self) -> FloatArray:
        """XᵀX, shape (..., k, k)."""
        return np.asarray(np.swapaxes(self.inputs, -1, -2) @ self.inputs)

    @cached_property
    def moment(self) -> FloatArray:
        """Xᵀy, shape (..., k)."""
        return np.asarray((np.swapaxes(self.inputs, -1, -2) @ self.targets[..., None])[..., 0])

    def take(self, indices: object) -> Self:
        """Gives the records at `indices`: (L,) for all repetitions alike, or (..., L)."""
        rows = row_numbers("indices", indices, self.size)
        if rows.ndim == 1:
            return type(self)(inputs=self.inputs[..., rows, :], targets=self.targets[..., rows])
        if not self.batch_shape:
            return type(self)(inputs=self.inputs[rows], targets=self.targets[rows])
        shape = _common_shape("indices", self.batch_shape, rows.shape[:-1])
        inputs = np.broadcast_to(self.inputs, (*shape, *self.inputs.shape[-2:]))
        targets = np.broadcast_to(self.targets, (*shape, self.size))
        rows = np.broadcast_to(rows, (*shape, rows.shape[-1]))
        return type(self)(
            inputs=np.take_along_axis(inputs, rows[..., None], axis=-2),
            targets=np.take_along_axis(targets, rows, axis=-1),
        )

    def partition(self, parts: int) -> tuple[Self, ...]:
        """Cuts the records into `parts` disjoint shards of nearly equal size, in their order."""
        at_least("parts", parts, 1, self.size)
        return tuple(self.take(rows) for rows in np.array_split(np.arange(self.size), parts))

    @classmethod
    def concatenate(cls, shards: "tuple[Shard, ...] | list[Shard]") -> Self:
        """Pools the records of several shards."""
        sequence("shards", shards, Shard, least=1)
        if len({shard.inputs.shape[-1] for shard in shards}) != 1:
            raise ValueError("`shards` must have the same number of columns, got several.")
        shape = _common_shape("shards", *(shard.batch_shape for shard in shards))
        return cls(
            inputs=np.concatenate(
                [np.broadcast_to(s.inputs, (*shape, *s.inputs.shape[-2:])) for s in shards], axis=-2
            ),
            targets=np.concatenate(
                [np.broadcast_to(s.targets, (*shape, s.size)) for s in shards], axis=-1
            ),
        )


def _common_shape(name: str, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise ValueError(f"`{name}` must have fitting batch axes, got {list(shapes)}.") from None
