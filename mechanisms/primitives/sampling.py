"""Which records enter a step, each scheme with the event that matches it and no other."""

import math
from dataclasses import dataclass
from typing import Protocol

import dp_accounting as dpa
from dp_accounting import NeighboringRelation

from accountants import validate
from accountants.events import BallsInBinsDpEvent
from accountants.sampling import SamplingKind
from mechanisms.errors import refuse
from pvi import (
    BallsInBinsSampling,
    FixedSizeSampling,
    FullBatch,
    PoissonSampling,
    Sampler,
    ShuffledSampling,
)
from pvi.validate import having


class Sampling(Protocol):
    """A scheme: how batches are drawn, and what the `steps` steps of one message release."""

    @property
    def kind(self) -> SamplingKind:
        """Its word in `accountants.sampling`."""
        ...

    def sampler(self) -> Sampler:
        """What draws the batches; the steps of every message begin afresh."""
        ...

    def scale(self) -> float:
        """The public factor that makes a batch's sum an estimate of the sum over all records."""
        ...

    def event(self, step: dpa.DpEvent, steps: int, relation: NeighboringRelation) -> dpa.DpEvent:
        """The event of one message: `steps` steps, each releasing `step` on its batch."""
        ...


def repeated(event: dpa.DpEvent, times: int) -> dpa.DpEvent:
    """`times` releases of `event`."""
    validate.instance("step", event, dpa.DpEvent)
    times = validate.count("steps", times)
    return event if times == 1 else dpa.SelfComposedDpEvent(event, times)


@dataclass(frozen=True, slots=True)
class AllRecords:
    """Every record in every step."""

    @property
    def kind(self) -> SamplingKind:
        """`all`."""
        return "all"

    def sampler(self) -> Sampler:
        """Full batches."""
        return FullBatch()

    def scale(self) -> float:
        """1."""
        return 1.0

    def event(self, step: dpa.DpEvent, steps: int, relation: NeighboringRelation) -> dpa.DpEvent:
        """The step itself, repeated."""
        validate.relation("relation", relation)
        return repeated(step, steps)


@dataclass(frozen=True, slots=True)
class Poisson:
    """Each record on its own with probability q, anew in each step.

    Attributes:
      sampling_rate: q in (0, 1].
    """

    sampling_rate: float

    def __post_init__(self) -> None:
        validate.rate("sampling_rate", self.sampling_rate)

    @property
    def kind(self) -> SamplingKind:
        """`poisson`."""
        return "poisson"

    def sampler(self) -> Sampler:
        """The engine's Poisson sampler."""
        return PoissonSampling(sampling_rate=self.sampling_rate)

    def scale(self) -> float:
        """1/q: public, whatever the number of records and the realised batch."""
        return 1.0 / self.sampling_rate

    def event(self, step: dpa.DpEvent, steps: int, relation: NeighboringRelation) -> dpa.DpEvent:
        """`PoissonSampledDpEvent`; without sampling where q = 1."""
        validate.relation("relation", relation)
        if self.sampling_rate == 1.0:
            return repeated(step, steps)
        return repeated(dpa.PoissonSampledDpEvent(self.sampling_rate, step), steps)


@dataclass(frozen=True, slots=True)
class FixedSize:
    """Exactly `batch_size` of `size` records without replacement, anew in each step.

    Attributes:
      batch_size: The records in a batch.
      size: The records of the client: a public number, so the relation must be a replacement.
    """

    batch_size: int
    size: int

    def __post_init__(self) -> None:
        _check_batch(self.batch_size, self.size)

    @property
    def kind(self) -> SamplingKind:
        """`fixed_size`."""
        return "fixed_size"

    def sampler(self) -> Sampler:
        """The engine's fixed-size sampler."""
        return FixedSizeSampling(batch_size=self.batch_size)

    def scale(self) -> float:
        """Size over batch size."""
        return self.size / self.batch_size

    def event(self, step: dpa.DpEvent, steps: int, relation: NeighboringRelation) -> dpa.DpEvent:
        """`SampledWithoutReplacementDpEvent`, under REPLACE_ONE only."""
        validate.relation("relation", relation)
        if self.batch_size == self.size and relation is not NeighboringRelation.ADD_OR_REMOVE_ONE:
            return repeated(step, steps)
        if relation is not NeighboringRelation.REPLACE_ONE:
            raise refuse(
                "batches of fixed size are accounted for under REPLACE_ONE only: one record more "
                "or less changes the sampling of all others, and no dominating pair is known here "
                f"for {relation.name}; a Poisson event would not describe these batches"
            )
        sampled = dpa.SampledWithoutReplacementDpEvent(self.size, self.batch_size, step)
        return repeated(sampled, steps)


@dataclass(frozen=True, slots=True)
class Shuffled:
    """The records in random order, cut into batches, one pass ("epoch") after the other.

    Every message begins an epoch of its own, so that an update that fails half-way, or a resumed
    run, cannot bring a record into more batches than are counted. No amplification is claimed.
    Within an epoch a record is in exactly one batch, whichever the (data-independent) order; given
    the order, an epoch is therefore one release of that batch's step, and by joint convexity it is
    that for a random order too. A Poisson event with rate `batch_size`/`size` would promise more
    than is true (Chua et al. 2024).

    Attributes:
      batch_size: The records in a batch; an epoch's last batch may be smaller.
      size: The records of the client, a public number.
    """

    batch_size: int
    size: int

    def __post_init__(self) -> None:
        _check_batch(self.batch_size, self.size)

    @property
    def kind(self) -> SamplingKind:
        """`shuffled`."""
        return "shuffled"

    @property
    def steps_per_epoch(self) -> int:
        """How many batches use every record once."""
        return -(-self.size // self.batch_size)

    def sampler(self) -> Sampler:
        """The engine's sampler that walks through epochs."""
        return ShuffledSampling(batch_size=self.batch_size)

    def scale(self) -> float:
        """Size over batch size."""
        return self.size / self.batch_size

    def event(self, step: dpa.DpEvent, steps: int, relation: NeighboringRelation) -> dpa.DpEvent:
        """One unsampled step per epoch begun; refused for ADD_OR_REMOVE_ONE."""
        validate.relation("relation", relation)
        steps = validate.count("steps", steps)
        if relation is NeighboringRelation.ADD_OR_REMOVE_ONE:
            raise refuse(
                "one record more or less moves the boundaries of all shuffled batches; account for "
                "shuffling under REPLACE_ONE or REPLACE_SPECIAL. Accounted for as Poisson sampling "
                f"(which it is not) the rate would be {self.batch_size / self.size:g}"
            )
        return repeated(step, math.ceil(steps / self.steps_per_epoch))


@dataclass(frozen=True, slots=True)
class BallsInBins:
    """Per epoch each record, on its own, joins one of the steps, uniformly.

    Every message begins an epoch of its own. An epoch that a message does not finish costs at most
    a whole one: its first steps are a function of all of its steps' releases, the rest of which
    could have been made up and thrown away. Steps may depend on what earlier ones released; the
    pair of `accountants.fourier.allocation` covers that: given the past, a step shows the record's
    vector, of norm at most C, plus noise, which is a function of e_t·1[the record is in step t]
    plus noise of the same size, so the whole epoch is one of (1[the record is in t] + noise)_t.

    Attributes:
      steps_per_epoch: T.
    """

    steps_per_epoch: int

    def __post_init__(self) -> None:
        # The event knows how many steps can be accounted for.
        BallsInBinsDpEvent(self.steps_per_epoch, dpa.NoOpDpEvent())

    @property
    def kind(self) -> SamplingKind:
        """`balls_in_bins`."""
        return "balls_in_bins"

    def sampler(self) -> Sampler:
        """The engine's sampler that walks through epochs."""
        return BallsInBinsSampling(steps_per_epoch=self.steps_per_epoch)

    def scale(self) -> float:
        """T: public, whatever the number of records and the realised batch."""
        return float(self.steps_per_epoch)

    def event(self, step: dpa.DpEvent, steps: int, relation: NeighboringRelation) -> dpa.DpEvent:
        """`BallsInBinsDpEvent` per epoch begun; refused for REPLACE_ONE."""
        validate.relation("relation", relation)
        steps = validate.count("steps", steps)
        if self.steps_per_epoch == 1:
            return repeated(step, steps)
        if relation is NeighboringRelation.REPLACE_ONE:
            raise refuse(
                "balls in bins are accounted for under ADD_OR_REMOVE_ONE and REPLACE_SPECIAL only: "
                "no interval is computed for a record that becomes another one"
            )
        epoch = BallsInBinsDpEvent(self.steps_per_epoch, step)
        return repeated(epoch, math.ceil(steps / self.steps_per_epoch))


def _check_batch(batch_size: int, size: int) -> None:
    validate.count("size", size)
    if validate.count("batch_size", batch_size) > size:
        raise ValueError(f"`batch_size` must be at most size={size}, got {batch_size!r}.")


def require_match(sampler: Sampler, event: dpa.DpEvent) -> None:
    """Raises `UnsupportedEventError` where an event promises another sampling than is done.

    Args:
      sampler: What draws the batches.
      event: What is claimed of one step.

    >>> require_match(PoissonSampling(sampling_rate=0.1),
    ...               dpa.PoissonSampledDpEvent(0.1, dpa.GaussianDpEvent(1.0)))
    """
    having("sampler", sampler, "draw")
    validate.instance("event", event, dpa.DpEvent)
    while isinstance(event, dpa.SelfComposedDpEvent):
        event = event.event
    if isinstance(event, dpa.PoissonSampledDpEvent):
        done = sampler.sampling_rate if isinstance(sampler, PoissonSampling) else None
        if done is None or done > event.sampling_probability:
            raise refuse(
                f"the event claims Poisson sampling at rate {event.sampling_probability}, but "
                f"batches are drawn by {sampler}"
            )
    elif isinstance(event, dpa.SampledWithoutReplacementDpEvent):
        batch = sampler.batch_size if isinstance(sampler, FixedSizeSampling) else None
        if batch is None or batch > event.sample_size:
            raise refuse(
                f"the event claims batches of {event.sample_size} without replacement, but batches "
                f"are drawn by {sampler}"
            )
    elif isinstance(event, BallsInBinsDpEvent):
        bins = sampler.steps_per_epoch if isinstance(sampler, BallsInBinsSampling) else None
        if bins is None or bins < event.steps_per_epoch:
            raise refuse(
                f"the event claims balls in {event.steps_per_epoch} bins, but batches are drawn by "
                f"{sampler}"
            )
