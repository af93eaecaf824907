"""Which records enter a local step. Simulation samplers: numpy generators are not cryptographic."""

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from pvi.validate import FloatArray, IntArray, at_least, generator, positive, shape


class Batch(NamedTuple):
    """The records of one step.

    Attributes:
      indices: Rows to take, (L,) or (..., L); None takes all.
      mask: 1 or 0 per taken row, (..., L); None keeps all. A masked row's gradient is zero.
      expected_size: The size that the step is scaled by: what was asked for, not what came.
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
        _check(size, batch_shape, rng)
        return Batch(None, None, float(size))


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedSizeSampling(Sampler):
    """`batch_size` records without replacement, anew in each step.

    Attributes:
      batch_size: The number of records; a smaller shard gives all of its records.
    """

    batch_size: int

    def __post_init__(self) -> None:
        at_least("batch_size", self.batch_size, 1)

    def draw(self, size: int, batch_shape: tuple[int, ...], rng: np.random.Generator) -> Batch:
        """Draws a uniform subset."""
        _check(size, batch_shape, rng)
        taken = min(self.batch_size, size)
        if not len(batch_shape):
            return Batch(rng.permutation(size)[:taken], None, float(taken))
        keys = rng.random((*batch_shape, size))
        return Batch(np.argpartition(keys, taken - 1, axis=-1)[..., :taken], None, float(taken))


@dataclass(frozen=True, slots=True, kw_only=True)
class PoissonSampling(Sampler):
    """Each record on its own with probability `sampling_rate`, anew in each step.

    The step is scaled by the expected size, never by the realised one.

    Attributes:
      sampling_rate: In (0, 1].
    """

    sampling_rate: float

    def __post_init__(self) -> None:
        positive("sampling_rate", self.sampling_rate, upper=1.0)

    def draw(self, size: int, batch_shape: tuple[int, ...], rng: np.random.Generator) -> Batch:
        """Draws a Poisson subset: rows for one run, a mask over all rows for many."""
        _check(size, batch_shape, rng)
        chosen = rng.random((*batch_shape, size)) < self.sampling_rate
        expected = self.sampling_rate * size
        if not len(batch_shape):
            return Batch(np.flatnonzero(chosen), None, expected)
        return Batch(None, chosen.astype(np.float64), expected)


@dataclass(slots=True, kw_only=True)
class ShuffledSampling(Sampler):
    """The records in random order, cut into batches, one pass ("epoch") after the other.

    Every local optimisation begins an epoch of its own; its order is drawn with its first batch.

    Attributes:
      batch_size: The records in a batch; an epoch's last batch may be smaller.
    """

    batch_size: int
    _order: IntArray | None = field(default=None, init=False, repr=False)
    _position: int = field(default=0, init=False, repr=False)

    def __post_init__(self) -> None:
        at_least("batch_size", self.batch_size, 1)

    def begin(self) -> Sampler:
        """Gives a sampler at the beginning of an epoch."""
        return ShuffledSampling(batch_size=self.batch_size)

    def draw(self, size: int, batch_shape: tuple[int, ...], rng: np.random.Generator) -> Batch:
        """Gives the next batch of the epoch, in an order of its own for each repetition."""
        _check(size, batch_shape, rng)
        if self._order is None or self._position >= size:
            self._order = np.argsort(rng.random((*batch_shape, size)), axis=-1)
            self._position = 0
        rows = self._order[..., self._position : self._position + self.batch_size]
        self._position += self.batch_size
        return Batch(rows, None, float(self.batch_size))


@dataclass(slots=True, kw_only=True)
class BallsInBinsSampling(Sampler):
    """In each epoch each record, on its own, joins one of the steps, uniformly.

    Every local optimisation begins an epoch of its own; its choices are made with its first batch.
    The step is scaled by the expected size, never by the realised one.

    Attributes:
      steps_per_epoch: T.
    """

    steps_per_epoch: int
    _bins: IntArray | None = field(default=None, init=False, repr=False)
    _step: int = field(default=0, init=False, repr=False)

    def __post_init__(self) -> None:
        at_least("steps_per_epoch", self.steps_per_epoch, 1)

    def begin(self) -> Sampler:
        """Gives a sampler at the beginning of an epoch."""
        return BallsInBinsSampling(steps_per_epoch=self.steps_per_epoch)

    def draw(self, size: int, batch_shape: tuple[int, ...], rng: np.random.Generator) -> Batch:
        """Gives the epoch's next batch: rows for one run, a mask over all rows for many."""
        _check(size, batch_shape, rng)
        if self._bins is None or self._step == self.steps_per_epoch:
            self._bins = rng.integers(self.steps_per_epoch, size=(*batch_shape, size))
            self._step = 0
        chosen = self._bins == self._step
        self._step += 1
        expected = size / self.steps_per_epoch
        if not len(batch_shape):
            return Batch(np.flatnonzero(chosen), None, expected)
        return Batch(None, chosen.astype(np.float64), expected)


def _check(size: int, batch_shape: tuple[int, ...], rng: np.random.Generator) -> None:
    at_least("size", size, 0)
    shape("batch_shape", (*shape("batch_shape", batch_shape), size))
    generator(rng)
