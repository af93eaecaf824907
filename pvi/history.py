"""What a run tells: events as it goes, its history as arrays, a report at its end."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TextIO, TypeAlias

import numpy as np

from pvi.gaussian import MeanFieldGaussian
from pvi.validate import (
    FloatArray,
    IntArray,
    at_least,
    finite_array,
    flag,
    having,
    instance,
    real,
    sequence,
    whole_numbers,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RoundEvent:
    """What a callback is told after a round.

    Attributes:
      round: The number of the round, from 1.
      last_round: The round at which this call of `run` ends at the latest.
      finished: Whether this was the last round of the call.
      posterior: q after the round.
      clients: Who updated, in order.
      change: The largest |Δλ| / (1 + |λ|) over natural parameters and repetitions.
      seconds: Since this call of `run` began.
    """

    round: int
    last_round: int
    finished: bool
    posterior: MeanFieldGaussian
    clients: tuple[int, ...]
    change: float
    seconds: float

    def __post_init__(self) -> None:
        at_least("round", self.round, 1)
        at_least("last_round", self.last_round, 1)
        flag("finished", self.finished)
        instance("posterior", self.posterior, MeanFieldGaussian)
        sequence("clients", self.clients, lambda name, client: at_least(name, client, 0))
        real("change", self.change, lower=0.0)
        real("seconds", self.seconds, lower=0.0)


Callback: TypeAlias = Callable[[RoundEvent], None]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class History:
    """A run as arrays, one entry per recorded round.

    Attributes:
      round: The rounds, shape (r,).
      posterior: Natural mean and precision, shape (r, ..., 2d).
      change: The largest relative change of natural parameters in the round, shape (r,).
      updates: Updates applied up to then (one message each way per update), shape (r,).
      notes: For each round, why it was not the one that the schedule intended; "" if it was.
    """

    round: IntArray
    posterior: FloatArray
    change: FloatArray
    updates: IntArray
    notes: tuple[str, ...]

    def __post_init__(self) -> None:
        whole_numbers("round", self.round)
        finite_array("posterior", self.posterior)
        finite_array("change", self.change)
        whole_numbers("updates", self.updates)
        sequence("notes", self.notes, str)

    def gaussian(self, index: int) -> MeanFieldGaussian:
        """Gives the posterior of entry `index`; negative ones count from the end."""
        entries = len(self.posterior)
        at_least("index", index, -entries, entries - 1)
        return MeanFieldGaussian.from_vector(self.posterior[index])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Report:
    """How a call of `run` ended.

    Attributes:
      posterior: q.
      converged: Whether the tolerance was met; False if none was given.
      rounds: Rounds made in this call.
      change: The last round's relative change.
      history: The whole history of the federation.
      reason: Why it ended as it did: "converged"; "rounds", as many as were asked for; or the note
        of the last round, if clients were left out of it.
    """

    posterior: MeanFieldGaussian
    converged: bool
    rounds: int
    change: float
    history: History
    reason: str

    def __post_init__(self) -> None:
        instance("posterior", self.posterior, MeanFieldGaussian)
        flag("converged", self.converged)
        at_least("rounds", self.rounds, 1)
        real("change", self.change, lower=0.0)
        instance("history", self.history, History)
        instance("reason", self.reason, str)


@dataclass(slots=True, kw_only=True)
class Progress:
    """A callback that writes one line, rewritten at most every `interval` seconds.

    Attributes:
      stream: Where to; standard error if not given.
      interval: Seconds between lines.
    """

    stream: TextIO = field(default_factory=lambda: sys.stderr)
    interval: float = 0.5
    _last: float = field(default=-np.inf, init=False, repr=False)

    def __post_init__(self) -> None:
        having("stream", self.stream, "write", "flush")
        real("interval", self.interval, lower=0.0)

    def __call__(self, event: RoundEvent) -> None:
        """Writes the line."""
        instance("event", event, RoundEvent)
        if event.finished or event.seconds - self._last >= self.interval:
            self._last = event.seconds
            end = "\n" if event.finished else "\r"
            self.stream.write(
                f"round {event.round}/{event.last_round}  change {event.change:.2e}  "
                f"{event.seconds:.1f} s{end}"
            )
            self.stream.flush()
