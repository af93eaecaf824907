"""How records get into the steps of a training, as a command has read it."""

import math
from dataclasses import dataclass, replace

import dp_accounting as dpa
from dp_accounting import NeighboringRelation

from accountants import ShuffledDpEvent, UserDpEvent
from accountants.dp_sgd import repeated_event
from accountants.sampling import SamplingKind
from audits.signing.run import READINGS, WITHOUT_SAMPLING
from audits.signing.statement import delta_notes
from audits.wording import RELATIONS, sampling_words

INSTEAD_OF_SHUFFLING = (
    "No amplification by shuffling is proved. Let each record, on its own, join one of an epoch's "
    "batches at random (balls in bins) instead"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledSteps:
    """How records get into a step, and which data sets are neighbours.

    Attributes:
      kind: A word of `accountants.sampling`.
      rate: The share of the records in one batch.
      relation: Which data sets are neighbours.
      epoch: Batches in an epoch, where sizes of data and batches say so.
      drop_last: Whether a smaller last batch of an epoch is dropped.
      data_size: Records in the data set, where that is known.
      records: Neighbours differ in all records of one user, that many.
    """

    kind: SamplingKind
    rate: float
    relation: NeighboringRelation
    epoch: int | None = None
    drop_last: bool = False
    data_size: int | None = None
    records: int = 1

    @property
    def batches(self) -> int:
        """Batches in an epoch."""
        return self.epoch or max(1, round(1.0 / self.rate))

    @property
    def divides(self) -> bool:
        """Whether batches make up whole epochs."""
        return self.epoch is not None or math.isclose(self.batches * self.rate, 1.0)

    @property
    def in_epochs(self) -> bool:
        """Whether what is repeated is an epoch, not a step."""
        return self.kind in ("shuffled", "balls_in_bins")

    @property
    def accounted_rate(self) -> float:
        """The rate as the accountants take it: of epochs, one over their batches."""
        return 1.0 / self.batches if self.in_epochs and self.epoch else self.rate

    @property
    def share(self) -> float:
        """A record's chance to be in some batch of a shuffled epoch."""
        return min(1.0, self.batches * self.rate) if self.drop_last else 1.0

    def repeated(self, noise_multiplier: float, steps: int) -> tuple[dpa.DpEvent, int]:
        """What is repeated and how often; refused where sampling and relation do not fit."""
        if self.kind == "fixed_size" and self.relation is not NeighboringRelation.REPLACE_ONE:
            raise ValueError(
                "`--relation` must be REPLACE_ONE for --sampling fixed_size (a record more or less "
                f"changes everyone's sampling rate), got {self.relation.name}."
            )
        try:
            event, count = repeated_event(
                noise_multiplier,
                self.accounted_rate,
                steps,
                self.kind,
                self.relation,
                1 if self._is_fixed else self.records,
            )
            if isinstance(event, ShuffledDpEvent) and self.share < 1.0:
                event = ShuffledDpEvent(event.steps_per_epoch, event.event, self.share)
            if self._is_fixed and self.records > 1:
                event = UserDpEvent(self.records, self._of_sizes(event))
            return event, count
        except ValueError as error:
            raise ValueError(as_typed(str(error))) from error

    @property
    def _is_fixed(self) -> bool:
        return self.kind == "fixed_size" and self.rate < 1.0

    def _of_sizes(self, event: dpa.DpEvent) -> dpa.DpEvent:
        """The event with the sizes that were typed, which count for users of several records."""
        if self.data_size is None or not isinstance(event, dpa.SampledWithoutReplacementDpEvent):
            raise ValueError(
                "`--records-per-user` must come with --batch-size and --data-size for --sampling "
                f"fixed_size, got {self.records} without."
            )
        batch = round(self.rate * self.data_size)
        return dpa.SampledWithoutReplacementDpEvent(self.data_size, batch, event.event)

    @property
    def neighbours(self) -> str:
        """How neighbouring data sets differ, in words."""
        words = RELATIONS[self.relation]
        if self.records == 1:
            return words
        return words.replace("one record", f"all {self.records} records of one user")

    def notes(self, delta: float) -> list[str]:
        """What a reader should know of this δ."""
        return list(delta_notes(delta, self.data_size))

    @property
    def words(self) -> str:
        """Sampling and neighbours, in a few words."""
        sampled = f"{sampling_words(self.kind)}, " if self.kind != "all" else ""
        return sampled + self.neighbours

    def others(self, steps: int) -> list["SampledSteps"]:
        """The same numbers under other readings, where these are accounted for."""
        readings = READINGS if self.rate < 1.0 else WITHOUT_SAMPLING
        epochs = steps % self.batches == 0 and self.divides and self.records == 1
        found = [
            replace(self, kind=kind, relation=relation)
            for kind, relation in readings
            if (kind, relation) != (self.kind, self.relation)
            and (epochs or kind not in ("shuffled", "balls_in_bins"))
        ]
        # Of several records of one user the sizes count, not their quotient alone.
        return [one for one in found if not one._is_fixed or one.records == 1 or one.data_size]

    def describe(self) -> str:
        """The sampling in words."""
        if self.rate == 1.0:
            return "no sampling: every record is in every step"
        return {
            "poisson": "Poisson sampling: each record enters each batch independently with "
            f"probability {self.rate:g}",
            "fixed_size": f"batches of fixed size, a share of {self.rate:g} of the records drawn "
            "without replacement, afresh for every step",
            "shuffled": f"shuffled batches: each record is in {'at most' * (self.share < 1.0)}"
            f"{'exactly' * (self.share == 1.0)} one of {self.batches} batches per epoch, in a "
            "fresh random order",
            "balls_in_bins": f"balls in bins: each record, on its own, joins one of the "
            f"{self.batches} batches of an epoch, afresh for every epoch",
        }[self.kind]


def as_typed(message: str) -> str:
    """A message of the accountants with the options' names."""
    for name in ("steps", "sampling_rate", "relation", "records_per_user", "noise_multiplier"):
        message = message.replace(f"`{name}`", f"`--{name.replace('_', '-')}`")
    return message
