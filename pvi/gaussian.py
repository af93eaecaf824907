"""Mean-field Gaussians in natural parameters: the family of all factors and posteriors."""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from pvi.validate import (
    FloatArray,
    at_least,
    finite_array,
    fits,
    generator,
    instance,
    positive,
    read_only,
    reals,
    shape,
)

_LOG_TWO_PI = math.log(2.0 * math.pi)


class ImproperGaussianError(ValueError):
    """A posterior has a precision that is not positive, or is not finite.

    Attributes:
      client: The client whose update caused it, if known.
      round: The round in which it happened, if known.
    """

    def __init__(
        self,
        message: str,
        *,
        client: int | None = None,
        round: int | None = None,  # noqa: A002
    ) -> None:
        place = [
            f"{name} {value}"
            for name, value in (("client", client), ("round", round))
            if value is not None
        ]
        super().__init__(f"{message} ({', '.join(place)})" if place else message)
        self.client = client
        self.round = round


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeanFieldGaussian:
    """An unnormalised Gaussian exp(η·θ − ½ θ·Λθ) with diagonal Λ, over leading batch axes.

    Products are sums of natural parameters and quotients are differences (Thesis eq. 4.9–4.10), so
    `*`, `/` and `**` never fail. A factor may be improper (Λ ≤ 0 somewhere); what needs a
    distribution (mean, variance, KL, entropy, samples) refuses an improper one.

    A value never changes: both arrays are read-only and shared with nobody who could write them,
    so a posterior can be handed out. Writable arrays are copied on the way in.

    Attributes:
      natural_mean: η = Λμ, shape (..., d).
      precision: The diagonal of Λ, shape (..., d).

    Example:
      >>> prior = MeanFieldGaussian.from_mean_variance([0.0], [1.0])
      >>> factor = MeanFieldGaussian(natural_mean=[3.0], precision=[2.0])
      >>> (prior * factor).mean
      array([1.])
      >>> ((prior * factor) / factor).variance
      array([1.])
    """

    natural_mean: FloatArray
    precision: FloatArray

    def __post_init__(self) -> None:
        natural_mean = _fixed("natural_mean", self.natural_mean)
        precision = _fixed("precision", self.precision)
        if natural_mean.shape[-1] != precision.shape[-1]:
            raise ValueError(
                "`natural_mean` and `precision` must agree in their last axes, got shapes "
                f"{natural_mean.shape} and {precision.shape}."
            )
        if natural_mean.shape != precision.shape:
            common = np.broadcast_shapes(natural_mean.shape, precision.shape)
            natural_mean = np.broadcast_to(natural_mean, common)
            precision = np.broadcast_to(precision, common)
        object.__setattr__(self, "natural_mean", natural_mean)
        object.__setattr__(self, "precision", precision)

    @classmethod
    def from_mean_variance(cls, mean: npt.ArrayLike, variance: npt.ArrayLike) -> Self:
        """Gives the normalisable Gaussian with this mean and these (positive) variances."""
        variance = finite_array("variance", variance, min_ndim=1)
        if not (variance > 0).all():
            raise ImproperGaussianError(f"`variance` must be above 0, got {variance.min()}.")
        precision = 1.0 / variance
        natural_mean = precision * finite_array("mean", mean)
        return cls(natural_mean=_sealed(natural_mean), precision=_sealed(precision))

    @classmethod
    def unit(cls, dimension: int, batch_shape: tuple[int, ...] = ()) -> Self:
        """Gives the constant function 1: the factor of a client that has said nothing yet."""
        axes = (*shape("batch_shape", batch_shape), at_least("dimension", dimension, 0))
        fits("dimension", *axes)
        zeros = _sealed(np.zeros(axes))
        return cls(natural_mean=zeros, precision=zeros)

    @classmethod
    def from_vector(cls, vector: npt.ArrayLike) -> Self:
        """Gives the Gaussian whose `vector` this is."""
        vector = read_only(reals("vector", vector))
        if vector.ndim == 0 or vector.shape[-1] % 2:
            raise ValueError(f"`vector` must have an even last axis, got shape {vector.shape}.")
        half = vector.shape[-1] // 2
        return cls(natural_mean=vector[..., :half], precision=vector[..., half:])

    @property
    def vector(self) -> FloatArray:
        """Natural mean and precision as one array of shape (..., 2d)."""
        return np.concatenate([self.natural_mean, self.precision], axis=-1)

    @property
    def dimension(self) -> int:
        """The number d of coordinates."""
        return int(self.precision.shape[-1])

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The leading axes."""
        return self.precision.shape[:-1]

    @property
    def is_proper(self) -> bool:
        """Whether every precision of every batch member is positive."""
        return bool((self.precision > 0).all())

    @property
    def mean(self) -> FloatArray:
        """μ = η/Λ."""
        return np.asarray(self.natural_mean / self.require_proper().precision)

    @property
    def variance(self) -> FloatArray:
        """1/Λ."""
        return np.asarray(1.0 / self.require_proper().precision)

    def require_proper(self, *, client: int | None = None, round: int | None = None) -> Self:  # noqa: A002
        """Gives itself back, or raises an error that says where and whose update it was."""
        if not self.is_proper:
            bad = np.argwhere(~(self.precision > 0))
            where = tuple(int(i) for i in bad[0])
            raise ImproperGaussianError(
                f"precision{list(where)} is {self.precision[where]:.6g} "
                f"({len(bad)} of {self.precision.size} are not above 0): not a distribution",
                client=client,
                round=round,
            )
        return self

    def broadcast_to(self, batch_shape: tuple[int, ...]) -> Self:
        """Gives the same Gaussian with leading axes `batch_shape`."""
        axes = (*shape("batch_shape", batch_shape), self.dimension)
        return type(self)(
            natural_mean=np.broadcast_to(self.natural_mean, axes),
            precision=np.broadcast_to(self.precision, axes),
        )

    def __getitem__(self, index: object) -> Self:
        """Selects batch members; the last axis is out of reach."""
        key = index if isinstance(index, tuple) else (index,)
        if not self.batch_shape:
            raise IndexError("this Gaussian has no batch axis to index")
        return type(self)(
            natural_mean=self.natural_mean[*key, ..., :], precision=self.precision[*key, ..., :]
        )

    def __mul__(self, other: Self) -> Self:
        return type(self)(
            natural_mean=_sealed(self.natural_mean + other.natural_mean),
            precision=_sealed(self.precision + other.precision),
        )

    def __truediv__(self, other: Self) -> Self:
        return type(self)(
            natural_mean=_sealed(self.natural_mean - other.natural_mean),
            precision=_sealed(self.precision - other.precision),
        )

    def __pow__(self, exponent: float) -> Self:
        return type(self)(
            natural_mean=_sealed(self.natural_mean * exponent),
            precision=_sealed(self.precision * exponent),
        )

    def damp(self, new: Self, damping: float) -> Self:
        """Gives self^(1−ρ) · new^ρ (TMLR App. B)."""
        instance("new", new, MeanFieldGaussian)
        return self * (new / self) ** positive("damping", damping, upper=1.0)

    def log_partition(self) -> FloatArray:
        """Log ∫ exp(η·θ − ½ θ·Λθ) dθ, shape (...)."""
        precision = self.require_proper().precision
        terms = self.natural_mean**2 / precision - np.log(precision) + _LOG_TWO_PI
        return np.asarray(0.5 * terms.sum(axis=-1))

    def entropy(self) -> FloatArray:
        """Differential entropy in nats, shape (...) (Thesis eq. 4.16)."""
        terms = 1.0 + _LOG_TWO_PI - np.log(self.require_proper().precision)
        return np.asarray(0.5 * terms.sum(axis=-1))

    def expectation_of(self, factor: Self) -> FloatArray:
        """E_self[η·θ − ½ θ·Λθ] with the parameters of `factor`, which may be improper."""
        instance("factor", factor, MeanFieldGaussian)
        second_moment = self.variance + self.mean**2
        terms = factor.natural_mean * self.mean - 0.5 * factor.precision * second_moment
        return np.asarray(terms.sum(axis=-1))

    def kl(self, other: Self) -> FloatArray:
        """KL(self ‖ other) in nats, shape (...).

        With r = Λ_self/Λ_other a term is ½((1/r − 1) + log r + Λ_other Δμ²). Near r = 1 the first
        two cancel, so they are taken as −u/(1+u) + log1p(u) with u = r − 1 from the difference of
        the precisions: accurate to about u²·1e-16, not 1e-16.
        """
        instance("other", other, MeanFieldGaussian)
        ratio = (
            self.require_proper().precision - other.precision
        ) / other.require_proper().precision
        spread = _log1p_minus_fraction(np.asarray(ratio))
        shift = other.precision * (self.mean - other.mean) ** 2
        return np.asarray(0.5 * (spread + shift).sum(axis=-1))

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...] = ()) -> FloatArray:
        """Draws θ, shape (*size, ..., d). For simulation and prediction."""
        repeats = shape("size", (size,) if isinstance(size, int | np.integer) else size)
        axes = (*repeats, *self.precision.shape)
        fits("size", *axes)
        noise = generator(rng).standard_normal(axes)
        return np.asarray(self.mean + noise * np.sqrt(self.variance))


def _fixed(name: str, value: npt.ArrayLike) -> FloatArray:
    """Finite numbers that nobody can change, checked after they were copied."""
    return finite_array(name, read_only(reals(name, value)), min_ndim=1)


def _sealed(fresh: FloatArray) -> FloatArray:
    """The same array, read-only from now on; for arrays that nobody else has seen yet."""
    fresh.setflags(write=False)
    return fresh


def _log1p_minus_fraction(u: FloatArray) -> FloatArray:
    """log(1+u) − u/(1+u) ≥ 0 for u > −1, by its series u²/2 − 2u³/3 + 3u⁴/4 − … near 0."""
    small = np.abs(u) < 1e-2
    v = np.where(small, u, 0.0)
    series = np.zeros_like(v)
    for k in range(9, 1, -1):
        series = series * v + (-1) ** k * (k - 1) / k
    return np.where(small, series * v * v, np.log1p(u) - u / (1.0 + u))
