"""Which records enter a local step. Simulation samplers: numpy generators are not cryptographic."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from pvi.validate import FloatArray, IntArray, at_least, positive


class Batch(NamedTuple):
    """The records of one step.

    Attributes:
        indices: rows to take, (L,) or (..., L); None takes all.
        mask: 1 or 0 per taken row, (..., L); None keeps all. A masked row's gradient is zero.
        expected_size: the size that the step is scaled by: what was asked for, not what came.
    """

    indices: IntArray | None
    mask: FloatArray | None
    expected_size: float


class Sampler(Protocol):
    """Chooses the records of a local step. Inherit from it if every step is drawn alike."""

    __slots__ = ()

    def begin(self) -> "Sampler":
        """Gives the sampler of one local optimisation; itself if steps do not depend on others."""
        return self

    def draw(self, size: int, batch_shape: tuple[int, ...], rng: np.random.Generator) -> Batch:
        """Draws from `size` records, independently for each of the repetitions `batch_shape`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FullBatch(Sampler):
    """Every record in every step."""

    def draw(self, size: int, batch_shape: tuple[int, ...], rng: np.random.Generator) -> Batch:
        """Gives all records."""
        return Batch(None, None, float(size))


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedSizeSampling(Sampler):
    """`batch_size` records without replacement, anew in each step.

    Attributes:
        batch_size: the number of records; a smaller shard gives all of its records.
    """

    batch_size: int

    def __post_init__(self) -> None:
        at_least("batch_size", self.batch_size, 1)

    def draw(self, size: int, batch_shape: tuple[int, ...], rng: np.random.Generator) -> Batch:
        """Draws a uniform subset."""
        taken = min(self.batch_size, size)
        if not batch_shape:
            return Batch(rng.permutation(size)[:taken], None, float(taken))
        keys = rng.random((*batch_shape, size))
        return Batch(np.argpartition(keys, taken - 1, axis=-1)[..., :taken], None, float(taken))


@dataclass(frozen=True, slots=True, kw_only=True)
class PoissonSampling(Sampler):
    """Each record on its own with probability `sampling_rate`, anew in each step.

    The step is scaled by the expected size, never by the realised one.

    Attributes:
        sampling_rate: in (0, 1].
    """

    sampling_rate: float

    def __post_init__(self) -> None:
        positive("sampling_rate", self.sampling_rate, upper=1.0)

    def draw(self, size: int, batch_shape: tuple[int, ...], rng: np.random.Generator) -> Batch:
        """Draws a Poisson subset: rows for one run, a mask over all rows for many."""
        chosen = rng.random((*batch_shape, size)) < self.sampling_rate
        expected = self.sampling_rate * size
        if not batch_shape:
            return Batch(np.flatnonzero(chosen), None, expected)
        return Batch(None, chosen.astype(np.float64), expected)
