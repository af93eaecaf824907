"""A run: server, clients and schedule, with history and a convergence report."""

import time
from collections.abc import Sequence
from typing import Literal

import numpy as np

from pvi import federation_state
from pvi.archive import Apply, Companion, Packed
from pvi.client import Client
from pvi.gaussian import MeanFieldGaussian
from pvi.generator_state import ClientRandomness
from pvi.history import Callback, History, Report, RoundEvent
from pvi.messages import Snapshot
from pvi.schedule import Explained, Schedule
from pvi.server import AlterTotal, Server
from pvi.validate import (
    FloatArray,
    at_least,
    flag,
    function,
    generator,
    having,
    instance,
    real,
    sequence,
)


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

    Attributes:
      companion: What is saved and restored with the federation; see `pvi.checkpoint`.
      client_rng: Gives a client's randomness for its update of a number, where clients do not share
        `rng`: then they may compute anywhere, in any order, with the same result.

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
        numbers = [client.number for client in sequence("clients", clients, Client)]
        if not numbers or numbers != list(range(len(clients))):
            raise ValueError(f"`clients` must be numbered 0, 1, 2, … in order, got {numbers}.")
        self.server = Server(prior, len(clients), alter=alter, on_improper=on_improper)
        for client in clients:
            self.server.posterior = self.server.posterior * client.factor
        self.server.posterior.require_proper(round=0)
        self.clients = tuple(clients)
        self.schedule = having("schedule", schedule, "groups", "stale")
        self.rng = generator(rng)
        self.record = flag("record", record)
        self.updates = 0
        self._entries: list[tuple[int, FloatArray, float, int, str]] = []
        self.held: dict[int, Snapshot] = {}
        self.companion: Companion | None = None
        self.client_rng: ClientRandomness | None = None

    @property
    def posterior(self) -> MeanFieldGaussian:
        """The server's q."""
        return self.server.posterior

    @property
    def history(self) -> History:
        """All recorded rounds so far, also after a run that ended with an error."""
        if not self._entries:
            none, count = np.zeros(0), np.zeros(0, dtype=np.int64)
            return History(round=count, posterior=none, change=none, updates=count, notes=())
        rounds, posteriors, changes, updates, notes = zip(*self._entries, strict=True)
        return History(
            round=np.array(rounds, dtype=np.int64),
            posterior=np.stack(np.broadcast_arrays(*posteriors)),
            change=np.array(changes),
            updates=np.array(updates, dtype=np.int64),
            notes=notes,
        )

    @history.setter
    def history(self, history: History) -> None:
        self._entries = [
            (int(number), posterior, float(change), int(updates), note)
            for number, posterior, change, updates, note in zip(
                history.round,
                history.posterior,
                history.change,
                history.updates,
                history.notes,
                strict=True,
            )
        ]

    @property
    def kind(self) -> str:
        """Its name in a checkpoint."""
        return "federation"

    def pack(self) -> Packed:
        """Gives the state that `pvi.save` writes."""
        return federation_state.pack(self)

    def unpack(self, packed: Packed) -> Apply:
        """Checks a saved state and gives what puts it in place; for `pvi.restore`."""
        return federation_state.unpack(instance("packed", packed, Packed), self)

    def run(
        self, rounds: int, *, tolerance: float | None = None, callbacks: Sequence[Callback] = ()
    ) -> Report:
        """Makes up to `rounds` more rounds; stops early once a round's change is ≤ `tolerance`.

        A round in which no update was applied says nothing about convergence.
        """
        at_least("rounds", rounds, 1)
        if tolerance is not None:
            real("tolerance", tolerance, lower=0.0)
        told = sequence("callbacks", callbacks, function)
        began = time.perf_counter()
        last_round = self.server.round + rounds
        made, change, converged, note = 0, np.inf, False, ""
        explained = self.schedule if isinstance(self.schedule, Explained) else None
        while made < rounds and not converged:
            before, updates = self.posterior.vector, self.updates
            self.server.round += 1
            made += 1
            groups = self.schedule.groups(len(self.clients), self.server.round, self.rng)
            note = explained.note if explained is not None else ""
            for group in groups:
                self._update(group)
            after = self.posterior.vector
            change = float(np.max(np.abs(after - before) / (1.0 + np.abs(after))))
            converged = tolerance is not None and change <= tolerance and self.updates > updates
            if self.record:
                self._entries.append((self.server.round, after, change, self.updates, note))
            event = RoundEvent(
                round=self.server.round,
                last_round=last_round,
                finished=converged or made == rounds,
                posterior=self.posterior,
                clients=tuple(client for group in groups for client in group),
                change=change,
                seconds=time.perf_counter() - began,
            )
            for callback in told:
                callback(event)
        return Report(
            posterior=self.posterior,
            converged=converged,
            rounds=made,
            change=change,
            history=self.history,
            reason="converged" if converged else note or "rounds",
        )

    def _update(self, group: tuple[int, ...]) -> None:
        if len(set(group)) != len(group):
            raise ValueError(f"the schedule gave the group {group}; a client may occur once in it")
        try:
            updates = [
                self.clients[client].propose(self._snapshot(client), self._rng_of(client))
                for client in group
            ]
            answers = self.server.receive(*updates, rng=self.rng)
        except BaseException:  # whoever interrupts a run may go on with it
            self._withdraw(group)
            raise
        for client, answer in zip(group, answers, strict=True):
            assert answer is not None
            self.clients[client].acknowledge(answer)
            self.updates += answer.applied
            if self.schedule.stale:
                self.held[client] = self.server.snapshot(client)

    def _rng_of(self, client: int) -> np.random.Generator:
        if self.client_rng is None:
            return self.rng
        return self.client_rng(client, self.clients[client].sequence + 1)

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
