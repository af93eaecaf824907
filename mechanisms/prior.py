"""A prior that a file can hold."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from accountants import validate
from pvi import MeanFieldGaussian

Numbers: TypeAlias = float | tuple[float, ...]
"""One number for all coordinates, or one for each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """p(θ), independent normals: one mean and variance for all coordinates, or one for each.

    >>> Prior(variance=4.0).gaussian(2).variance
    array([4., 4.])
    """

    mean: Numbers = 0.0
    variance: Numbers = 1.0

    def __post_init__(self) -> None:
        for value in np.atleast_1d(self.mean).tolist():
            validate.real("mean", value)
        for value in np.atleast_1d(self.variance).tolist():
            validate.positive("variance", value)

    def gaussian(self, dimension: int, repetitions: tuple[int, ...] = ()) -> MeanFieldGaussian:
        """The distribution in so many coordinates, for independent repetitions if asked for."""
        for name in ("mean", "variance"):
            count = np.size(getattr(self, name))
            if count not in (1, dimension):
                raise ValueError(f"`{name}` must be one number or {dimension}, got {count}.")
        shape = (*repetitions, dimension)
        return MeanFieldGaussian.from_mean_variance(
            np.broadcast_to(np.asarray(self.mean, dtype=np.float64), shape),
            np.broadcast_to(np.asarray(self.variance, dtype=np.float64), shape),
        )
