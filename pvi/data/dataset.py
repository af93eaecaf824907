"""The one shape in which every loader and generator hands over data."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pvi.validate import reals, row_numbers, sequence


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dataset:
    """Feature rows and one label for each.

    Attributes:
      features: Array of shape (..., n, d), float64.
      labels: Array of shape (..., n): the response of a regression, or the classes 0 and 1.
      names: The d column names, or empty where columns have none.
    """

    features: NDArray[np.float64]
    labels: NDArray[np.float64 | np.int64]
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", reals("features", self.features))
        if not isinstance(self.labels, np.ndarray) or self.labels.dtype.kind not in "biuf":
            object.__setattr__(self, "labels", reals("labels", self.labels))
        sequence("names", self.names, str)
        if self.features.ndim < 2:
            raise ValueError(
                f"`features` must have the shape (..., n, d), got {self.features.shape}."
            )
        if self.labels.shape != self.features.shape[:-1]:
            raise ValueError(
                f"`labels` must have the shape {self.features.shape[:-1]}, one for each row of "
                f"`features`, got {self.labels.shape}."
            )
        if self.names and len(self.names) != self.features.shape[-1]:
            raise ValueError(
                f"`names` must hold {self.features.shape[-1]}, one for each column of `features`, "
                f"or none, got {len(self.names)}."
            )

    def __len__(self) -> int:
        """The number of rows n (of each repetition, where there are batch axes)."""
        return int(self.features.shape[-2])

    def take(self, rows: ArrayLike) -> "Dataset":
        """The same columns, only the given rows, of every repetition.

        Example:
          >>> data = Dataset(features=np.eye(3), labels=np.array([0, 1, 1]))
          >>> data.take([2, 0]).labels.tolist()
          [1, 0]
        """
        index = row_numbers("rows", rows, len(self))
        return Dataset(
            features=np.take(self.features, index, axis=-2),
            labels=np.take(self.labels, index, axis=-1),
            names=self.names,
        )

    def with_bias(self) -> "Dataset":
        """The same rows with a leading column of ones (TMLR section 4's augmented vector)."""
        ones = np.ones((*self.features.shape[:-1], 1))
        return Dataset(
            features=np.concatenate([ones, self.features], axis=-1),
            labels=self.labels,
            names=("bias", *self.names) if self.names else (),
        )
