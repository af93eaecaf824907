"""Bayesian linear regression with known noise: y = θ·x + ε, ε ~ N(0, noise_std²) (Thesis 4.1.1)."""

import math
from dataclasses import dataclass

import numpy as np

from pvi.gaussian import ImproperGaussianError, MeanFieldGaussian
from pvi.models.protocol import check_weights, linear_predictor, temperature_of
from pvi.shard import Shard
from pvi.validate import FloatArray, at_least, checked, finite_array, positive

_FEW_COORDINATES = 8
# Beyond, the noise's variance or its inverse leaves the floats.
_SMALLEST = 1e-100


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearRegression:
    """Linear regression; a column of ones in the inputs gives the intercept.

    Attributes:
      dimension: The number of columns of the inputs.
      noise_std: The standard deviation of the targets' noise.

    Example:
      >>> model = LinearRegression(dimension=1, noise_std=1.0)
      >>> prior = MeanFieldGaussian.from_mean_variance([0.0], [1.0])
      >>> shard = Shard(inputs=[[1.0], [1.0], [1.0]], targets=[1.0, 2.0, 3.0])
      >>> model.optimum(prior, shard).mean
      array([1.5])
    """

    dimension: int
    noise_std: float

    def __post_init__(self) -> None:
        at_least("dimension", self.dimension, 1)
        if not _SMALLEST <= positive("noise_std", self.noise_std) <= 1.0 / _SMALLEST:
            allowed = f"in [{_SMALLEST:g}, {1.0 / _SMALLEST:g}]"
            raise ValueError(f"`noise_std` must be {allowed}, got {self.noise_std!r}.")

    @checked(q=MeanFieldGaussian, shard=Shard)
    def expected_log_likelihood(
        self, q: MeanFieldGaussian, shard: Shard, rng: np.random.Generator | None = None
    ) -> FloatArray:
        """Gives each record's E_q[log p(y | x, θ)], shape (..., n). Exact; `rng` is not used."""
        residual = shard.targets - linear_predictor(shard.inputs, q.mean)
        spread = linear_predictor(shard.inputs**2, q.variance)
        variance = self.noise_std**2
        return np.asarray(
            -0.5 * (math.log(2.0 * math.pi * variance) + (residual**2 + spread) / variance)
        )

    @checked(q=MeanFieldGaussian, shard=Shard)
    def gradients(
        self, q: MeanFieldGaussian, shard: Shard, rng: np.random.Generator | None = None
    ) -> FloatArray:
        """Gives each record's gradient by mean and log-variance, shape (..., n, 2d).

        The data part of Thesis eq. 4.21–4.22, with the sign of ascent and by log-variance.
        """
        residual = (shard.targets - linear_predictor(shard.inputs, q.mean)) / self.noise_std**2
        curvature = q.variance * (-0.5 / self.noise_std**2)
        if self.dimension <= _FEW_COORDINATES:  # long loops over repetitions, not short over d
            gradients = np.empty((2 * self.dimension, *residual.shape))
            for j in range(self.dimension):
                column = shard.inputs[..., j]
                np.multiply(residual, column, out=gradients[j])
                np.multiply(column**2, curvature[..., j, None], out=gradients[self.dimension + j])
            return np.moveaxis(gradients, 0, -1)
        by_mean = residual[..., None] * shard.inputs
        by_log_variance = shard.inputs**2 * curvature[..., None, :]
        by_mean, by_log_variance = np.broadcast_arrays(by_mean, by_log_variance)
        return np.asarray(np.concatenate([by_mean, by_log_variance], axis=-1))

    @checked(cavity=MeanFieldGaussian, shard=Shard)
    def optimum(
        self, cavity: MeanFieldGaussian, shard: Shard, temperature: float = 1.0
    ) -> MeanFieldGaussian:
        """Gives the exact maximiser of the local free energy over mean-field Gaussians.

        With D the cavity's precision and A = XᵀX/σ², the tilted distribution is a full Gaussian of
        precision D + A. The best factorised one has its mean, μ = (D + A)⁻¹(cavity's natural mean +
        Xᵀy/σ²), and the diagonal of its precision.
        """
        scale = temperature_of(temperature) / self.noise_std**2
        gram = scale * shard.gram
        target = cavity.natural_mean + scale * shard.moment
        mean = _solve_shifted(gram, cavity.precision, target)
        precision = cavity.precision + np.diagonal(gram, axis1=-2, axis2=-1)
        return MeanFieldGaussian(natural_mean=precision * mean, precision=precision)

    @checked(cavity=MeanFieldGaussian, shard=Shard)
    def thesis_update(
        self, cavity: MeanFieldGaussian, shard: Shard, temperature: float = 1.0
    ) -> MeanFieldGaussian:
        """Gives Thesis eq. 4.12: natural parameters add up and off-diagonals are dropped.

        Its precision is the optimum's; its mean is right only where offdiag(XᵀX)μ = 0. Kept so
        that the difference can be shown; use `optimum`.
        """
        scale = temperature_of(temperature) / self.noise_std**2
        return MeanFieldGaussian(
            natural_mean=cavity.natural_mean + scale * shard.moment,
            precision=cavity.precision + scale * np.diagonal(shard.gram, axis1=-2, axis2=-1),
        )

    @checked(prior=MeanFieldGaussian, shard=Shard)
    def posterior_moments(
        self, prior: MeanFieldGaussian, shard: Shard
    ) -> tuple[FloatArray, FloatArray]:
        """Gives mean and covariance of the full posterior, the Thesis's yardstick (4.1.4)."""
        precision = shard.gram / self.noise_std**2 + _diagonal(prior.precision)
        target = prior.natural_mean + shard.moment / self.noise_std**2
        identity = np.broadcast_to(np.eye(self.dimension), precision.shape)
        return _solve(precision, target[..., None])[..., 0], _solve(precision, identity)

    @checked(shard=Shard)
    def log_likelihood(self, weights: FloatArray, shard: Shard) -> FloatArray:
        """Gives log p(y | x, weights) of each record, shape (..., n)."""
        weights = check_weights(weights, self.dimension)
        residual = shard.targets - linear_predictor(shard.inputs, weights)
        variance = self.noise_std**2
        return np.asarray(-0.5 * (math.log(2.0 * math.pi * variance) + residual**2 / variance))

    @checked(shard=Shard)
    def scores(self, weights: FloatArray, shard: Shard) -> FloatArray:
        """Gives each record's gradient of the log-likelihood by the weights, shape (..., n, d)."""
        weights = check_weights(weights, self.dimension)
        residual = shard.targets - linear_predictor(shard.inputs, weights)
        return np.asarray(residual[..., None] * shard.inputs / self.noise_std**2)


@checked(q=MeanFieldGaussian)
def kl_to_full(q: MeanFieldGaussian, mean: FloatArray, covariance: FloatArray) -> FloatArray:
    """Gives KL(q ‖ N(mean, covariance)), shape (...): the error measure of Thesis 4.1.4."""
    mean = finite_array("mean", mean, min_ndim=1)
    covariance = finite_array("covariance", covariance, min_ndim=2)
    if not mean.shape[-1] == q.dimension == covariance.shape[-1] == covariance.shape[-2]:
        raise ValueError(
            f"`mean` and `covariance` must be of {q.dimension} coordinates like `q`, got shapes "
            f"{mean.shape} and {covariance.shape}."
        )
    precision = _inverse(covariance)
    shift = (q.mean - mean)[..., None]
    quadratic = (np.swapaxes(shift, -1, -2) @ precision @ shift)[..., 0, 0]
    trace = (np.diagonal(precision, axis1=-2, axis2=-1) * q.variance).sum(axis=-1)
    log_ratio = np.linalg.slogdet(covariance)[1] + np.log(q.precision).sum(axis=-1)
    return np.asarray(0.5 * (trace - q.dimension + quadratic + log_ratio))


def _inverse(covariance: FloatArray) -> FloatArray:
    if not np.isfinite(np.linalg.slogdet(covariance)[1]).all():
        raise ValueError("`covariance` must be invertible, got a singular matrix.")
    return np.asarray(np.linalg.inv(covariance))


def _solve(matrix: FloatArray, target: FloatArray) -> FloatArray:
    try:
        return np.asarray(np.linalg.solve(matrix, target))
    except np.linalg.LinAlgError:
        raise ImproperGaussianError(
            "`cavity` or `prior` must leave a mean to the tilted distribution, got a precision "
            "that is singular"
        ) from None


def _diagonal(values: FloatArray) -> FloatArray:
    return np.asarray(values[..., None] * np.eye(values.shape[-1]))


def _solve_shifted(gram: FloatArray, shift: FloatArray, target: FloatArray) -> FloatArray:
    """Solves (gram + diag(shift)) x = target over batch axes.

    Two coordinates by Cramer's rule: LAPACK called once per repetition costs more than the answer.
    """
    if target.shape[-1] == 1:
        return np.asarray(target / (gram[..., 0] + shift))
    if target.shape[-1] == 2:
        a, d = gram[..., 0, 0] + shift[..., 0], gram[..., 1, 1] + shift[..., 1]
        b = gram[..., 0, 1]
        determinant = a * d - b * b
        if not (determinant > 0).all():  # improper tilted distribution: let LAPACK have its say
            return _solve(gram + _diagonal(shift), target[..., None])[..., 0]
        x, y = target[..., 0], target[..., 1]
        return np.stack([(d * x - b * y) / determinant, (a * y - b * x) / determinant], axis=-1)
    return _solve(gram + _diagonal(shift), target[..., None])[..., 0]
