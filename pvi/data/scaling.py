"""Feature scaling, and what it costs in privacy.

The exact mean and standard deviation of a column are a function of every record. A model whose
inputs were scaled by them is a function of them too: publishing the scaler (or letting clients
exchange the exact sums, TUM section 5.3.2) releases statistics of the data beside the model,
with no noise and no finite ε. In one column an adversary who knows all records but one gets the
last one back by a subtraction. The exact minimum and maximum are worse: they *are* two records.
A privacy certificate for the training does not cover this. Secure summation, which TUM
suggests, hides the summands and not the sum, so it does not change the answer.

Three honest ways out:

* `scaler_from_bounds`: bounds that anyone could have written down without the data (an age lies
  between 0 and 120). Nothing is released, so nothing is accounted. Values outside are clipped,
  or a single outlier could still be as large as it likes.
* `fit_scaler` on *public* data of the same kind, never on the records to be protected.
* A noisy mean and variance with their own share of the budget: `mechanisms.ColumnSums`, by secure
  sum, with a certificate.

`fit_scaler` on the protected records is here because the papers did it (TUM section 5.3.2; the
Workshop's and TMLR's published preprocessing) and their figures cannot be reproduced otherwise.
It marks its result: `Scaler.data_dependent` is true.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pvi.validate import finite_array, flag, reals


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scaler:
    """The map x ↦ (clip(x) − shift) / scale, column by column.

    Attributes:
      shift: What is subtracted, shape (d,).
      scale: What is divided by, shape (d,), positive.
      lower: Values below are raised to this first; −∞ where there is no clipping.
      upper: Values above are lowered to this first; +∞ where there is no clipping.
      data_dependent: Whether shift and scale were computed from records. If so, using this
        scaler releases them: see the module's notes.
    """

    shift: NDArray[np.float64]
    scale: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    data_dependent: bool

    def __post_init__(self) -> None:
        for name, check in (
            ("shift", finite_array),
            ("scale", finite_array),
            ("lower", reals),
            ("upper", reals),
        ):
            object.__setattr__(self, name, check(name, getattr(self, name)))
        flag("data_dependent", self.data_dependent)
        shapes = {a.shape for a in (self.shift, self.scale, self.lower, self.upper)}
        if len(shapes) != 1 or self.shift.ndim != 1:
            raise ValueError(
                f"`shift`, `scale`, `lower` and `upper` must have one shape (d,), got {shapes}."
            )
        if not np.all(self.scale > 0):
            raise ValueError(f"`scale` must be positive in every column, got {self.scale.min()}.")
        if not np.all(self.lower < self.upper):
            raise ValueError("`lower` must be below `upper` in every column, got others.")

    def __call__(self, features: ArrayLike) -> NDArray[np.float64]:
        """Scales features of shape (..., d); NaN, a value that is missing, stays NaN."""
        values = reals("features", features)
        if values.ndim == 0 or values.shape[-1] != self.shift.shape[0]:
            raise ValueError(
                f"`features` must have the shape (..., {self.shift.shape[0]}), got {values.shape}."
            )
        scaled: NDArray[np.float64] = (
            np.clip(values, self.lower, self.upper) - self.shift
        ) / self.scale
        return scaled


def fit_scaler(features: ArrayLike) -> Scaler:
    """Scales each column to mean 0 and standard deviation 1, *exactly, from the records*.

    The standard deviation divides by n, as TUM section 5.3.2 does. A constant column is centred
    and left at scale 1. No noise is added, so under differential privacy this is an unaccounted
    release of 2d numbers: see the module's notes before using it on records to be protected.

    Args:
      features: Records, shape (n, d), finite.

    Example:
      >>> scaler = fit_scaler([[0.0, 5.0], [2.0, 5.0]])
      >>> scaler([[0.0, 5.0], [2.0, 5.0]]).tolist(), scaler.data_dependent
      ([[-1.0, 0.0], [1.0, 0.0]], True)
    """
    values = finite_array("features", features)
    if values.ndim != 2 or values.shape[0] == 0:
        raise ValueError(
            f"`features` must have the shape (n, d) with n at least 1, got {values.shape}."
        )
    constant = np.all(values == values[0], axis=0)
    deviation = np.where(constant, 1.0, values.std(axis=0))
    return Scaler(
        # A constant's mean is that constant; a sum of rounded terms would miss it by an ulp.
        shift=np.where(constant, values[0], values.mean(axis=0)),
        # Columns that vary only below what a double can square are left at their own scale.
        scale=np.where(deviation > 0, deviation, 1.0),
        lower=np.full(values.shape[1], -np.inf),
        upper=np.full(values.shape[1], np.inf),
        data_dependent=True,
    )


def scaler_from_bounds(lower: ArrayLike, upper: ArrayLike) -> Scaler:
    """Maps [lower, upper] onto [−1, 1] column by column and clips what lies outside.

    The bounds must be known without looking at the records; then nothing is released and every
    scaled record lies in the cube [−1, 1]^d, so its norm is at most √d whatever the data.

    Args:
      lower: Public lower bounds, shape (d,), finite.
      upper: Public upper bounds, shape (d,), finite, above lower.

    Example:
      >>> scaler = scaler_from_bounds([0], [100])
      >>> scaler([[50.0], [250.0]]).tolist(), scaler.data_dependent
      ([[0.0], [1.0]], False)
    """
    low = np.atleast_1d(finite_array("lower", lower))
    high = np.atleast_1d(finite_array("upper", upper))
    if low.shape != high.shape or low.ndim != 1:
        raise ValueError(
            f"`lower` and `upper` must have one shape (d,), got {low.shape} and {high.shape}."
        )
    if not np.all(low < high):
        raise ValueError("`lower` must be below `upper` in every column, got others.")
    return Scaler(
        shift=low / 2 + high / 2,
        scale=high / 2 - low / 2,
        lower=low,
        upper=high,
        data_dependent=False,
    )
