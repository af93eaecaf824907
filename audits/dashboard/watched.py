"""What a run has told so far, folded into what the pages show.

A run that was ended tells of its last round again when it goes on, so everything is kept by its
round or its client, and what is told twice is there once.
"""

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

from audits.dashboard.store import Store
from mechanisms.progress import (
    ClientStatus,
    EpsilonSpent,
    HeldOutScore,
    PosteriorSummary,
    ProgressEvent,
    RoundBegan,
    RoundEnded,
    RunBegan,
    RunEnded,
    Status,
    Traffic,
    from_json,
)


@dataclass(slots=True)
class Bytes:
    """A client's traffic, with the last round's apart, because that may be told again."""

    kind: str = ""
    round: int = -1
    before: tuple[int, int] = (0, 0)
    last: tuple[int, int] = (0, 0)

    def add(self, event: Traffic) -> None:
        """Counts a round's bytes, once."""
        if event.round != self.round:
            self.before = self.total
        self.round, self.last, self.kind = event.round, (event.sent, event.received), event.kind

    @property
    def total(self) -> tuple[int, int]:
        """Bytes sent and received."""
        return self.before[0] + self.last[0], self.before[1] + self.last[1]


@dataclass(slots=True)
class Watched:
    """A run as far as it has told.

    Attributes:
      clients: M; 0 before it began.
      rounds: T.
      round: The last round that was made.
      making: The round that is being made, or that was when the run was ended.
      change: By round, the largest change of a parameter.
      seconds: By round, what it took; rounds whose process is gone are not in it.
      scores: By round, how well held-out records were predicted.
      measure: In which measure, or "".
      records: How many were held out.
      notes: By round, why it was not as intended.
      posterior: The last estimate.
      status: By client.
      traffic: By client.
      spent: By scope and client, the last that was said.
      worst: By scope and round, the largest ε spent by any client; None where none is proved.
      ended: Whether all rounds have been made.
    """

    clients: int = 0
    rounds: int = 0
    round: int = 0
    making: int = 0
    change: dict[int, float] = field(default_factory=dict)
    seconds: dict[int, float] = field(default_factory=dict)
    scores: dict[int, float] = field(default_factory=dict)
    measure: str = ""
    records: int = 0
    notes: dict[int, str] = field(default_factory=dict)
    posterior: PosteriorSummary | None = None
    status: dict[int, Status] = field(default_factory=dict)
    traffic: dict[int, Bytes] = field(default_factory=dict)
    spent: dict[str, dict[int, EpsilonSpent]] = field(default_factory=dict)
    worst: dict[str, dict[int, float]] = field(default_factory=dict)
    ended: bool = False

    def add(self, event: ProgressEvent) -> None:
        """Takes note of an event."""
        match event:
            case RunBegan():
                self.clients, self.rounds, self.round = event.clients, event.rounds, event.round
            case RoundBegan():
                self.making = event.round
            case RoundEnded():
                self._round_ended(event)
            case ClientStatus():
                self.status[event.client] = event.status
            case PosteriorSummary():
                self.posterior = event
            case HeldOutScore():
                self.measure, self.records = event.measure, event.records
                self.scores[event.round] = event.value
            case Traffic():
                self.traffic.setdefault(event.client, Bytes()).add(event)
            case EpsilonSpent():
                self._spent(event)
            case RunEnded():
                self.ended = True

    def _round_ended(self, event: RoundEnded) -> None:
        self.round = self.making = event.round
        self.change[event.round] = event.change
        if event.seconds is not None:
            self.seconds[event.round] = event.seconds
        if event.note:
            self.notes[event.round] = event.note

    def _spent(self, event: EpsilonSpent) -> None:
        self.spent.setdefault(event.scope, {})[event.client] = event
        worst = self.worst.setdefault(event.scope, {})
        if event.spent is not None:
            worst[event.round] = max(worst.get(event.round, 0.0), event.spent)


class Watch:
    """What each run of a store has told, kept up to date without reading anything twice."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.RLock()
        self._known: dict[int, tuple[int, Watched]] = {}

    @contextlib.contextmanager
    def seen(self, run: int) -> Iterator[Watched]:
        """What the run has told up to now, as long as nothing is added to it."""
        with self._lock:
            last, watched = self._known.get(run, (-1, Watched()))
            while lines := self._store.told(run, last):
                for _, line in lines:
                    watched.add(from_json(line))
                last = lines[-1][0]
            self._known[run] = last, watched
            yield watched

    @contextlib.contextmanager
    def still(self) -> Iterator[None]:
        """Nothing is added to any run."""
        with self._lock:
            yield

    def forget(self, run: int) -> None:
        """The run has been removed."""
        with self._lock:
            self._known.pop(run, None)
