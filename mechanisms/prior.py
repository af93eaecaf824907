"""A prior that a file can hold."""

from dataclasses import dataclass
from numbers import Real
from typing import Any, TypeAlias

import numpy as np

from accountants import validate
from pvi import MeanFieldGaussian
from pvi.validate import at_least
from pvi.validate import shape as pvi_shape

_SMALLEST = 1e-300
Numbers: TypeAlias = float | tuple[float, ...]
"""One number for all coordinates, or one for each."""


def _variance(name: str, value: float) -> float:
    """A variance whose inverse is a float as well."""
    if not _SMALLEST <= (number := validate.positive(name, value)) <= 1.0 / _SMALLEST:
        raise validate.refusal(name, f"in [{_SMALLEST:g}, {1.0 / _SMALLEST:g}]", value)
    return number


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """p(θ), independent normals: one mean and variance for all coordinates, or one for each.

    >>> Prior(variance=4.0).gaussian(2).variance
    array([4., 4.])
    """

    mean: Numbers = 0.0
    variance: Numbers = 1.0

    def __post_init__(self) -> None:
        checks: tuple[tuple[str, Any], ...] = (("mean", validate.real), ("variance", _variance))
        for name, check in checks:
            value = getattr(self, name)
            if isinstance(value, Real):
                check(name, value)
            else:
                validate.sequence(name, value, check, least=1)

    def gaussian(self, dimension: int, repetitions: tuple[int, ...] = ()) -> MeanFieldGaussian:
        """The distribution in so many coordinates, for independent repetitions if asked for."""
        dimension = at_least("dimension", dimension, 1)
        shape = pvi_shape("repetitions", (*pvi_shape("repetitions", repetitions), dimension))
        for name in ("mean", "variance"):
            count = np.size(getattr(self, name))
            if count not in (1, dimension):
                raise ValueError(f"`{name}` must be one number or {dimension}, got {count}.")
        return MeanFieldGaussian.from_mean_variance(
            np.broadcast_to(np.asarray(self.mean, dtype=np.float64), shape),
            np.broadcast_to(np.asarray(self.variance, dtype=np.float64), shape),
        )
