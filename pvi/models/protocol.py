"""What the engine asks of a model."""

from typing import Protocol, cast, runtime_checkable

import numpy as np

from pvi.gaussian import MeanFieldGaussian
from pvi.shard import Shard
from pvi.validate import FloatArray, finite_array, having, real


@runtime_checkable
class Model(Protocol):
    """A likelihood p(targets | inputs, θ) with θ of `dimension` coordinates."""

    @property
    def dimension(self) -> int:
        """The number d of coordinates of θ."""
        ...

    def expected_log_likelihood(
        self, q: MeanFieldGaussian, shard: Shard, rng: np.random.Generator
    ) -> FloatArray:
        """Gives E_q[log p(target | input, θ)] of each record, shape (..., n)."""
        ...

    def gradients(self, q: MeanFieldGaussian, shard: Shard, rng: np.random.Generator) -> FloatArray:
        """Gives each record's gradient of the above by q's mean and log-variance, (..., n, 2d).

        The first d entries are the derivatives by the mean, the last d those by the log-variance.
        """
        ...


@runtime_checkable
class ExactModel(Model, Protocol):
    """A model whose local optimum has a closed form."""

    def optimum(
        self, cavity: MeanFieldGaussian, shard: Shard, temperature: float = 1.0
    ) -> MeanFieldGaussian:
        """Gives argmax_q of temperature · E_q[log p(shard | θ)] − KL(q ‖ cavity)."""
        ...


@runtime_checkable
class PointModel(Protocol):
    """A likelihood differentiated at a single θ, for federated averaging."""

    @property
    def dimension(self) -> int:
        """The number of weights."""
        ...

    def log_likelihood(self, weights: FloatArray, shard: Shard) -> FloatArray:
        """Gives log p(target | input, weights) of each record, shape (..., n)."""
        ...

    def scores(self, weights: FloatArray, shard: Shard) -> FloatArray:
        """Gives each record's gradient of the above by the weights, shape (..., n, d)."""
        ...


def check_model(name: str, value: object) -> Model:
    """Gives `value` if it has what the engine asks of a model."""
    return having(name, cast(Model, value), "dimension", "expected_log_likelihood", "gradients")


def temperature_of(value: float) -> float:
    """Gives a power of the likelihood: from 0 to 1e100, beyond which nothing stays finite."""
    return real("temperature", value, lower=0.0, upper=1e100)


def check_weights(weights: FloatArray, dimension: int) -> FloatArray:
    """Gives `weights` as finite numbers, `dimension` in the last axis."""
    array = finite_array("weights", weights, min_ndim=1)
    if array.shape[-1] != dimension:
        raise ValueError(f"`weights` must be {dimension} numbers, got shape {array.shape}.")
    return array


def linear_predictor(inputs: FloatArray, weights: FloatArray) -> FloatArray:
    """Gives inputs·weights over batch axes, shape (..., n)."""
    if inputs.shape[-1] != weights.shape[-1]:
        raise ValueError(
            f"`inputs` must have a column for each of {weights.shape[-1]} weights, got "
            f"{inputs.shape[-1]}."
        )
    if inputs.ndim == 2:  # one matrix for all repetitions: a single large product
        return np.asarray(weights @ inputs.T)
    return np.asarray((inputs @ weights[..., None])[..., 0])
