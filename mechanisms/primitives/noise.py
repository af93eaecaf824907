"""Where noise comes from: a simulation's generator, or a source fit for a real release."""

import functools
import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from accountants import validate
from accountants.arrays import FloatArray
from mechanisms.primitives.discrete_gaussian import sample_array

# Below, a grid's steps are no normal floats.
_SMALLEST_EXPONENT = -1000
# Beyond, 64 bits of a grid's steps are no floats.
_LARGEST_STD = 1e280


class NoiseSource(Protocol):
    """Adds Gaussian noise to sums of bounded contributions."""

    @property
    def silent(self) -> bool:
        """Whether there is no noise at all; nothing is private then."""
        ...

    def grid(self, std: float) -> float | None:
        """The spacing of the noise's grid at this standard deviation; None for the real line."""
        ...

    def noisy_sum(
        self, rows: FloatArray, std: float | FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """Sums rows (..., n, p) over n and adds independent noise to each of the p entries.

        Args:
          rows: Clipped contributions.
          std: The standard deviation, one number or one for each of the leading axes.
          rng: Used by simulations only.
        """
        ...


def _sum(rows: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("...ij->...j", _checked_rows(rows)))


def _checked_rows(rows: FloatArray) -> FloatArray:
    array = validate.reals("rows", rows)
    if array.ndim < 2:
        raise ValueError(f"`rows` must have the shape (..., n, p), got {array.shape}.")
    return array


def _checked_std(std: float | FloatArray) -> float | FloatArray:
    """One number, or finite ones for the leading axes, none negative."""
    if not isinstance(std, np.ndarray):
        return validate.non_negative("std", std)
    array = validate.reals("std", std)
    if not ((array >= 0.0) & (array < np.inf)).all():
        raise validate.refusal("std", "finite and non-negative", std)
    return array


class SimulationNoiseWarning(UserWarning):
    """Noise that is fit for simulation only, where something real seems to depend on it."""


class Noised(Protocol):
    """What says how it is noised: a client's facts, or the server's."""

    @property
    def noise_std(self) -> float:
        """Of the noise; 0 for none."""
        ...

    @property
    def grid(self) -> float | None:
        """The spacing of discrete noise; None for the real line."""
        ...


def warn_of_simulation(sources: Iterable[Noised]) -> None:
    """Warns, once per process, where a run that is not a simulation draws continuous noise.

    A run is taken for real if it spends from a budget's file: a simulation has nothing that must
    outlive its process. Continuous noise exists in simulations only.
    """
    if any(source.noise_std > 0.0 and source.grid is None for source in sources):
        _say_once()


@functools.cache
def _say_once() -> None:
    warnings.warn(
        "this run spends from a budget's file, but its noise is a simulation's (floating point, "
        "from numpy's generator): use noise=ReleaseNoise() for a real release",
        SimulationNoiseWarning,
        stacklevel=5,
    )


@dataclass(frozen=True, slots=True)
class SimulationNoise:
    """**For simulation only**: floating-point normals of a numpy generator.

    A numpy generator is predictable from its outputs, and floating-point noise has low bits that
    depend on what it is added to (Mironov 2012). Audits and experiments need its speed and its
    seed; a real release needs `ReleaseNoise`.
    """

    @property
    def silent(self) -> bool:
        """False."""
        return False

    def grid(self, std: float) -> float | None:
        """None: accounted for as the real line."""
        validate.non_negative("std", std)
        return None

    def noisy_sum(
        self, rows: FloatArray, std: float | FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """The sum plus normals of the generator."""
        total, std = _sum(rows), _checked_std(std)
        noise = validate.generator("rng", rng).standard_normal(total.shape)
        noise *= std[..., None] if isinstance(std, np.ndarray) else std
        noise += total
        return noise


@dataclass(frozen=True, slots=True)
class NoNoise:
    """None at all, to measure how far one unit moves a release. Its events are not private."""

    @property
    def silent(self) -> bool:
        """True."""
        return True

    def grid(self, std: float) -> float | None:
        """None."""
        validate.non_negative("std", std)
        return None

    def noisy_sum(
        self, rows: FloatArray, std: float | FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """The sum."""
        _checked_std(std)
        validate.generator("rng", rng)
        return _sum(rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseNoise:
    """Fit for a real release: exact discrete Gaussians from the operating system's entropy.

    The grid's spacing is the power of two with 2^bits ≤ std/spacing < 2^(bits+1). Contributions
    are truncated towards zero to the grid, each on its own, so norms (and with them sensitivities)
    do not grow; sum and noise are added as 64-bit integers, where even an overflow would be
    post-processing, and the result is rounded to float64 last. Accounting: the Gaussian's event,
    with δ larger by at most `discrete_gaussian.delta_slack`. The generator `rng` is not used.

    Not covered: timing, and what leaks outside of the released values.

    Attributes:
      bits: The grid's fineness; 32 makes one draw cost 6.6e-21 in total variation.
    """

    bits: int = 32

    def __post_init__(self) -> None:
        if validate.count("bits", self.bits) > 44:
            raise ValueError(f"`bits` must be between 1 and 44, got {self.bits!r}.")

    @property
    def silent(self) -> bool:
        """False."""
        return False

    def grid(self, std: float) -> float:
        """The spacing, a power of two."""
        exponent = math.frexp(validate.positive("std", std))[1] - 1 - self.bits
        if exponent < _SMALLEST_EXPONENT or std > _LARGEST_STD:
            least = f"2**{_SMALLEST_EXPONENT + self.bits}"
            raise validate.refusal("std", f"in [{least}, {_LARGEST_STD:g}]", std)
        return 2.0**exponent

    def noisy_sum(
        self, rows: FloatArray, std: float | FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """The sum of the truncated rows plus discrete Gaussians on the grid."""
        if isinstance(std, np.ndarray):
            raise ValueError("`std` must be one number for a real release, got an array.")
        deviation = validate.positive("std", std)
        spacing = self.grid(deviation)
        with np.errstate(over="ignore"):
            scaled = np.trunc(_checked_rows(rows) / spacing)
        # A cast beyond 64 bits is no overflow that wraps round: it would not be post-processing.
        if not (np.abs(scaled) < 2.0**62).all():
            raise ValueError(
                f"`rows` must be below 2**62 steps of the grid ({2.0**62 * spacing:g}), got "
                f"{validate.shown(rows)}."
            )
        steps = scaled.astype(np.int64).sum(axis=-2)
        variance = (Fraction(deviation) / Fraction(spacing)) ** 2
        noise = sample_array(variance, steps.shape).astype(np.int64)
        return np.asarray((steps + noise).astype(np.float64) * spacing)
