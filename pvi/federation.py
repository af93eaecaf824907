"""A run: server, clients and schedule, with history, progress and a convergence report."""

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TextIO, TypeAlias

import numpy as np

from pvi.client import Client
from pvi.gaussian import MeanFieldGaussian
from pvi.messages import Snapshot
from pvi.schedule import Schedule
from pvi.server import AlterTotal, Server
from pvi.validate import FloatArray, IntArray, at_least, generator


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


Callback: TypeAlias = Callable[[RoundEvent], None]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class History:
    """A run as arrays, one entry per recorded round.

    Attributes:
      round: The rounds, shape (r,).
      posterior: Natural mean and precision, shape (r, ..., 2d).
      change: The largest relative change of natural parameters in the round, shape (r,).
      updates: Updates applied up to then (one message each way per update), shape (r,).
    """

    round: IntArray
    posterior: FloatArray
    change: FloatArray
    updates: IntArray

    def gaussian(self, index: int) -> MeanFieldGaussian:
        """Gives the posterior of entry `index`."""
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
    """

    posterior: MeanFieldGaussian
    converged: bool
    rounds: int
    change: float
    history: History


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

    def __call__(self, event: RoundEvent) -> None:
        """Writes the line."""
        if event.finished or event.seconds - self._last >= self.interval:
            self._last = event.seconds
            end = "\n" if event.finished else "\r"
            self.stream.write(
                f"round {event.round}/{event.last_round}  change {event.change:.2e}  "
                f"{event.seconds:.1f} s{end}"
            )
            self.stream.flush()


class Federation:
    """Clients and their server in one process.

    Args:
      prior: p; give it batch axes to run many repetitions at once.
      clients: Numbered 0, 1, 2, … in this order.
      schedule: Who updates when.
      rng: All randomness of the run, in order of use.
      alter: The server's `alter` hook.
      on_improper: Whether updates that would make the posterior improper `raise` or are refused.
      record: Keep every round's posterior in the history.

    Example:
      >>> from pvi import Client, ExactSolver, LinearRegression, Sequential, Shard, WholeShard
      >>> model = LinearRegression(dimension=1, noise_std=1.0)
      >>> shards = [Shard(inputs=[[1.0]], targets=[y]) for y in (1.0, 2.0, 3.0)]
      >>> clients = [
      ...     Client(m, WholeShard(model=model, shard=shard, solver=ExactSolver()))
      ...     for m, shard in enumerate(shards)
      ... ]
      >>> prior = MeanFieldGaussian.from_mean_variance([0.0], [1.0])
      >>> federation = Federation(prior, clients, Sequential(), rng=np.random.default_rng(0))
      >>> federation.run(1).posterior.mean
      array([1.5])
    """

    def __init__(
        self,
        prior: MeanFieldGaussian,
        clients: Sequence[Client],
        schedule: Schedule,
        *,
        rng: np.random.Generator,
        alter: AlterTotal | None = None,
        on_improper: Literal["raise", "refuse"] = "raise",
        record: bool = True,
    ) -> None:
        numbers = [client.number for client in clients]
        if not clients or numbers != list(range(len(clients))):
            raise ValueError(f"`clients` must be numbered 0, 1, 2, … in order, got {numbers}.")
        self.server = Server(prior, len(clients), alter=alter, on_improper=on_improper)
        for client in clients:
            self.server.posterior = self.server.posterior * client.factor
        self.server.posterior.require_proper(round=0)
        self.clients = tuple(clients)
        self.schedule = schedule
        self.rng = generator(rng)
        self.record = record
        self.updates = 0
        self._entries: list[tuple[int, FloatArray, float, int]] = []
        self.held: dict[int, Snapshot] = {}

    @property
    def posterior(self) -> MeanFieldGaussian:
        """The server's q."""
        return self.server.posterior

    @property
    def history(self) -> History:
        """All recorded rounds so far, also after a run that ended with an error."""
        if not self._entries:
            none, count = np.zeros(0), np.zeros(0, dtype=np.int64)
            return History(round=count, posterior=none, change=none, updates=count)
        rounds, posteriors, changes, updates = zip(*self._entries, strict=True)
        return History(
            round=np.array(rounds, dtype=np.int64),
            posterior=np.stack(np.broadcast_arrays(*posteriors)),
            change=np.array(changes),
            updates=np.array(updates, dtype=np.int64),
        )

    @history.setter
    def history(self, history: History) -> None:
        self._entries = [
            (int(number), posterior, float(change), int(updates))
            for number, posterior, change, updates in zip(
                history.round, history.posterior, history.change, history.updates, strict=True
            )
        ]

    def run(
        self, rounds: int, *, tolerance: float | None = None, callbacks: Sequence[Callback] = ()
    ) -> Report:
        """Makes up to `rounds` more rounds; stops early once a round's change is ≤ `tolerance`."""
        at_least("rounds", rounds, 1)
        began = time.perf_counter()
        last_round = self.server.round + rounds
        made, change, converged = 0, np.inf, False
        while made < rounds and not converged:
            before = self.posterior.vector
            self.server.round += 1
            made += 1
            groups = self.schedule.groups(len(self.clients), self.server.round, self.rng)
            for group in groups:
                self._update(group)
            after = self.posterior.vector
            change = float(np.max(np.abs(after - before) / (1.0 + np.abs(after))))
            converged = tolerance is not None and change <= tolerance
            if self.record:
                self._entries.append((self.server.round, after, change, self.updates))
            event = RoundEvent(
                round=self.server.round,
                last_round=last_round,
                finished=converged or made == rounds,
                posterior=self.posterior,
                clients=tuple(client for group in groups for client in group),
                change=change,
                seconds=time.perf_counter() - began,
            )
            for callback in callbacks:
                callback(event)
        return Report(
            posterior=self.posterior,
            converged=converged,
            rounds=made,
            change=change,
            history=self.history,
        )

    def _update(self, group: tuple[int, ...]) -> None:
        if len(set(group)) != len(group):
            raise ValueError(f"the schedule gave the group {group}; a client may occur once in it")
        try:
            updates = [
                self.clients[client].propose(self._snapshot(client), self.rng) for client in group
            ]
            answers = self.server.receive(*updates, rng=self.rng)
        except Exception:
            self._withdraw(group)
            raise
        for client, answer in zip(group, answers, strict=True):
            assert answer is not None
            self.clients[client].acknowledge(answer)
            self.updates += answer.applied
            if self.schedule.stale:
                self.held[client] = self.server.snapshot(client)

    def _withdraw(self, group: tuple[int, ...]) -> None:
        """Drops what the group had proposed, so that the federation can go on after an error."""
        for client in group:
            if self.clients[client].pending is not None:
                answer = self.server.withdraw(self.clients[client].withdraw())
                assert answer is not None
                self.clients[client].acknowledge(answer)
                self.held.pop(client, None)

    def _snapshot(self, client: int) -> Snapshot:
        if self.schedule.stale:
            if not self.updates:
                self.held = {m: self.server.snapshot(m) for m in range(len(self.clients))}
            return self.held.get(client, self.server.snapshot(client))
        return self.server.snapshot(client)
