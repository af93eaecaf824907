"""Data drawn from the models themselves, with any number of repetitions at once.

A client, a repetition of a whole study, or both are leading batch axes: `batch=(1000, 5)` gives
a thousand data sets of five clients each in one call.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from pvi.data.dataset import Dataset
from pvi.validate import at_least, finite_array, fits, generator, real, shape


def linear_data(
    *,
    theta: ArrayLike,
    noise_scale: float,
    size: int,
    rng: np.random.Generator,
    batch: tuple[int, ...] = (),
) -> Dataset:
    """Linear regression data: y = xᵀθ + σ_e·e, with x = (1, x₁, …, x_D) and all x_d, e ~ N(0, 1).

    Thesis section 4.1.5, eq. 4.23 and definition 4.1. Its clients are alike: the Fig. 4.1 data
    are `theta=[-1, 2], noise_scale=3, size=200, batch=(5,)`.

    Args:
      theta: Coefficients, the intercept first; shape (D+1,), or any shape that broadcasts
        against (*batch, D+1), so that repetitions may differ in their coefficients.
      noise_scale: σ_e, the standard deviation of the noise; 0 gives noiseless responses.
      size: The number of rows n of each repetition.
      rng: Where the randomness comes from.
      batch: Leading axes of independent repetitions.

    Returns:
      Features of shape (*batch, n, D+1), labels of shape (*batch, n).

    Example:
      >>> data = linear_data(
      ...     theta=[-1, 2], noise_scale=3, size=200, rng=np.random.default_rng(0), batch=(5,)
      ... )
      >>> data.features.shape, data.labels.shape
      ((5, 200, 2), (5, 200))
    """
    noise_scale = real("noise_scale", noise_scale, lower=0.0)
    features, signal = _design(theta, size, rng, batch)
    labels = signal + noise_scale * rng.standard_normal(signal.shape)
    return Dataset(features=features, labels=labels)


def logistic_data(
    *,
    theta: ArrayLike,
    size: int,
    rng: np.random.Generator,
    batch: tuple[int, ...] = (),
) -> Dataset:
    """Binary classification data: P(y = 1 | x) = 1/(1 + e^{−xᵀθ}), x as in `linear_data`.

    The likelihood is TMLR's (section 4) with its classes 0 and 1; the Workshop (eq. 6) calls them
    −1 and +1. Arguments and shapes are those of `linear_data`; labels are integers.

    Example:
      >>> data = logistic_data(theta=[0, 5], size=4, rng=np.random.default_rng(0))
      >>> sorted(set(data.labels.tolist())) in ([0], [1], [0, 1])
      True
    """
    features, signal = _design(theta, size, rng, batch)
    labels = (rng.random(signal.shape) < expit(signal)).astype(np.int64)
    return Dataset(features=features, labels=labels)


def _design(
    theta: ArrayLike, size: int, rng: np.random.Generator, batch: tuple[int, ...]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The features (*batch, n, d) and xᵀθ (*batch, n)."""
    generator(rng)
    coefficients = finite_array("theta", theta, min_ndim=1)
    width = coefficients.shape[-1]
    if width == 0:
        raise ValueError("`theta` must hold at least the intercept, got an empty last axis.")
    batch = shape("batch", batch)
    fits("size", *batch, at_least("size", size, 0), width)
    try:
        coefficients = np.broadcast_to(coefficients, (*batch, width))
    except ValueError:
        raise ValueError(
            f"`theta` must broadcast to (*batch, D+1) = {(*batch, width)}, got "
            f"{coefficients.shape}."
        ) from None
    features = np.empty((*batch, size, width))
    features[..., 0] = 1.0
    features[..., 1:] = rng.standard_normal((*batch, size, width - 1))
    return features, np.einsum("...nd,...d->...n", features, coefficients)
