"""Whoever runs the rounds: asks holders for updates, applies each once, and tells them.

The rounds are those of `Experiment.run`, with the engine's own server. What the coordinator says is
on its disk first: an update is applied, saved, and only then acknowledged; so one that is killed
goes on from its file, and asks again for what it may have lost. Holders answer a repeated question
as before.

Who is missing: where each message protects itself, the round goes on without, and a late update is
applied when its client is reached again. Where noise is shared (`ServerRule.joint`), a group of
which somebody is missing is void: nothing of it is applied or released.
"""

import os
import secrets
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from accountants import validate
from accountants.arrays import FloatArray
from mechanisms.experiment import Experiment
from mechanisms.federated import coordinator_state
from mechanisms.federated.coordinator_state import Course
from mechanisms.federated.courier import Courier
from mechanisms.federated.messages import (
    Engage,
    Question,
    Refusal,
    Standing,
    Statement,
    bundle,
    unbundle,
)
from mechanisms.federated.seal import Seal, SealError
from mechanisms.federated.telling import Teller
from mechanisms.observed import check_held_out
from mechanisms.private_run import Recorder
from mechanisms.progress import Observer
from mechanisms.release import Transcript
from pvi import (
    Acknowledgement,
    MeanFieldGaussian,
    Revision,
    Server,
    ServerContext,
    Shard,
    Snapshot,
    Update,
    WireError,
    Withdrawal,
)
from pvi.validate import function, having

_MOST_REVISIONS = 32  # in one bundle


class HolderRefusedError(ValueError):
    """A holder does not take part."""


class NobodyAnswersError(ConnectionError):
    """No holder can be reached. What was made is saved; the same call goes on from there."""


class Coordinator:
    """Runs an experiment over holders.

    Args:
      experiment: What is run.
      seals: For each client, the seal that it shares with this coordinator.
      courier: What carries the bytes.
      rng: For the schedule, and for the server's noise where that is a simulation's.
      checkpoint: A file that is written before anyone is told of anything, and gone on from if it
        is there. It holds what clients sent.
      observer: Who is told of each round.
      held_out: Records that no client holds; no certificate speaks of them.
      attempts: How often a silent client is asked in a round.
      run: The run's name, for a new one; made up if not given.

    Attributes:
      experiment: What is run.
      server: The engine's server.
      statements: What each client has last said of its budget.
    """

    def __init__(
        self,
        experiment: Experiment,
        seals: Mapping[int, Seal],
        courier: Courier,
        *,
        rng: np.random.Generator,
        checkpoint: str | os.PathLike[str] | None = None,
        observer: Observer | None = None,
        held_out: Shard | None = None,
        attempts: int = 3,
        run: str | None = None,
    ) -> None:
        self.experiment = validate.instance("experiment", experiment, Experiment)
        clients = range(experiment.clients)
        if set(validate.mapping("seals", seals)) != set(clients):
            raise ValueError(f"`seals` must be those of clients 0 to {len(clients) - 1}.")
        self._seals = {m: validate.instance("seals", seal, Seal) for m, seal in seals.items()}
        self._courier = having("courier", courier, "exchange")
        self._rng = validate.generator("rng", rng)
        self._file = None if checkpoint is None else validate.file_name("checkpoint", checkpoint)
        if self._file is not None and self._file.is_dir():
            raise ValueError(f"`checkpoint` must be no folder, got {self._file}.")
        self._attempts = validate.count("attempts", attempts)
        if held_out is not None:
            check_held_out(experiment, held_out)
        if observer is not None:
            function("observer", observer)
        self._rule = experiment.mechanism.server_rule(experiment.layout)
        self._facts = experiment.mechanism.contributions(experiment.layout)
        self._recorder = Recorder()
        self._text = experiment.to_json()
        self.server = Server(
            self._prior(), experiment.clients, alter=self._alter, on_improper="refuse"
        )
        self._group: dict[int, Update] = {}
        self.statements: dict[int, Statement] = {}
        self._course = Course(
            run=secrets.token_hex(16) if run is None else validate.text("run", run),
            before=self.server.posterior.vector,
            heard=[0] * experiment.clients,
        )
        if self._file is not None and self._file.exists():
            self._course = coordinator_state.load(
                self._file, self._text, self.server, self._recorder, self._rng
            )
        self._teller = Teller(experiment, observer, held_out)

    @property
    def run_name(self) -> str:
        """The run's name."""
        return self._course.run

    @property
    def round(self) -> int:
        """Rounds made."""
        return self._course.made

    @property
    def posterior(self) -> MeanFieldGaussian:
        """q; where weights are averaged, a Gaussian of precision 1 about them."""
        return self.server.posterior

    @property
    def estimate(self) -> FloatArray:
        """The present estimate of θ."""
        return self.posterior.mean

    @property
    def averages(self) -> bool:
        """Whether weights are averaged, so that there is no posterior."""
        return self._rule.averages

    @property
    def transcript(self) -> Transcript:
        """All that reached the coordinator, and all sums."""
        return tuple(self._recorder.releases)

    @property
    def updated(self) -> tuple[int, ...]:
        """Who sent an update in the last round, in order."""
        return tuple(self._course.updated)

    @property
    def left_out(self) -> dict[int, str]:
        """Clients that take part no more, and why."""
        return dict(self._course.left_out)

    def run(self) -> None:
        """Makes the rounds that are missing, and tells all clients what became of their updates.

        Raises:
          HolderRefusedError: A holder does not take part at all.
        NobodyAnswersError: No holder can be reached.
        """
        course, experiment = self._course, self.experiment
        self._teller.begin(self, course.change, course.note)
        if not course.made and not course.groups:
            self._engage()
            self._save()
        while course.made < experiment.rounds:
            began = time.perf_counter()
            self._begin_round()
            while course.made < self.server.round:
                self._make_group(course.groups[course.place])
                course.place += 1
                if course.place == len(course.groups):
                    self._end_round()
                self._save()
            self._teller.round_ended(self, course.change, course.note, time.perf_counter() - began)
        self._settle()
        self._teller.end(self)

    def _prior(self) -> MeanFieldGaussian:
        prior = self.experiment.setting().prior
        if not self._rule.averages:
            return prior
        return MeanFieldGaussian(natural_mean=prior.mean, precision=np.ones_like(prior.mean))

    def _engage(self) -> None:
        clients = range(self.experiment.clients)
        asks = {m: [Engage(client=m, experiment=self._text)] for m in clients}
        answers = self._ask(asks)
        for m in clients:
            found = answers.get(m, ())
            if found and isinstance(found[0], Refusal):
                raise HolderRefusedError(f"client {m} does not take part: {found[0].reason}")
            if not found:
                self._course.stray.add(m)

    def _begin_round(self) -> None:
        course, server = self._course, self.server
        if course.groups:
            return  # it was begun by an earlier process
        server.round += 1
        self._teller.round_began(server.round)
        groups = self.experiment.schedule.groups(self.experiment.clients, server.round, self._rng)
        course.groups = [[int(m) for m in group] for group in groups]
        course.place, course.note, course.updated = 0, "", []
        course.before = server.posterior.vector
        if self.experiment.schedule.stale and not course.held:
            start = (server.round, server.posterior)
            course.held = dict.fromkeys(range(self.experiment.clients), start)

    def _end_round(self) -> None:
        course, server, rule = self._course, self.server, self._rule
        if rule.is_due(server.round):
            self._revise()
        after, before = server.posterior.vector, course.before
        course.change = float(np.max(np.abs(after - before) / (1.0 + np.abs(after))))
        course.made, course.groups = server.round, []

    def _revise(self) -> None:
        """Resets all factors, or shares out what the server added; see `ServerRule`."""
        course, server, clients = self._course, self.server, self.experiment.clients
        course.revisions += 1
        if self._rule.after_round == "reset":
            factors = sum(self._rule.factors.get(m, 1) for m in range(clients))
            share = (server.posterior / server.prior) ** (1.0 / factors)
            course.shares[course.revisions] = ("reset", share)
        else:
            course.shares[course.revisions] = ("adopt", server.offset ** (1.0 / clients))
        server.offset = MeanFieldGaussian.unit(server.prior.dimension)

    def _make_group(self, group: Sequence[int]) -> None:
        course, server = self._course, self.server
        members = [m for m in group if m not in course.left_out]
        if self._rule.joint and len(members) < len(group):
            members = []  # nobody pays for a group that can only be void
        self._look_after_strays(members)
        updates = self._updates(members)
        if course.stray >= set(range(self.experiment.clients)) - set(course.left_out) != set():
            raise NobodyAnswersError(
                f"no holder has answered in round {server.round}; the run can be taken up again"
            )
        missing = [m for m in group if m not in updates]
        if missing:
            self._remark(f"without clients {missing}")
        if self._rule.joint and missing:
            for m, update in updates.items():
                self._record(update)
                server.withdraw(Withdrawal(client=m, sequence=update.sequence))
            self._recorder.abandon_group()
            self._remark("the group is void")
        elif updates:
            self._group = updates
            for update in updates.values():
                self._record(update)
            server.receive(*updates.values(), rng=self._rng)
            if not all(server.applied[m] for m in updates):
                self._recorder.abandon_group()
                self._remark("the updates would make the posterior improper, and are void")
        if self.experiment.schedule.stale:
            for m in updates:
                course.held[m] = (server.round, server.posterior)

    def _updates(self, members: Sequence[int]) -> dict[int, Update]:
        """New updates of those who gave one, in the group's order."""
        asks = {m: [*self._news(m), self._snapshot(m)] for m in members}
        if self._teller.is_heard:  # a certified cost may take as long as an update
            asks = {m: [*messages, Question(client=m)] for m, messages in asks.items()}
        answers, found = self._ask(asks), {}
        for m in members:
            for message in answers.get(m, ()):
                if isinstance(message, Update) and self._fits(m, message):
                    found[m] = message
                elif isinstance(message, Refusal):
                    self._take_refusal(m, message)
        return found

    def _take_refusal(self, client: int, refusal: Refusal) -> None:
        self._remark(f"client {client}: {refusal.reason}")
        if refusal.kind in ("budget", "permission"):
            self._course.left_out[client] = f"{refusal.kind}: {refusal.reason}"
        else:
            self._course.stray.add(client)

    def _fits(self, client: int, update: Update) -> bool:
        """Whether the server can take it; a client that says otherwise cannot end the run."""
        server = self.server
        fits = (
            update.client == client
            and update.sequence == server.resolved[client] + 1
            and update.change.precision.shape == server.posterior.precision.shape
            and update.round <= server.round
        )
        if not fits:
            self._remark(f"client {client} sent what is no update of it now")
        return fits

    def _look_after_strays(self, members: Sequence[int]) -> None:
        """Asks those whose last answer was lost where they stand.

        An update that they still hold came too late where noise was shared, or where factors have
        been revised since: it is void.
        """
        strays = [m for m in members if m in self._course.stray]
        if not strays:
            return
        asks = {m: [Engage(client=m, experiment=self._text)] for m in strays}
        for m, found in self._ask(asks).items():
            message = found[0]
            if isinstance(message, Refusal):
                self._take_refusal(m, message)
                continue
            self._course.stray.discard(m)
            late = message.pending and message.sequence == self.server.resolved[m]
            if late and (self._rule.joint or self._rule.after_round != "nothing"):
                self.server.withdraw(Withdrawal(client=m, sequence=message.sequence + 1))
        self._save()  # before anyone is told

    def _snapshot(self, client: int) -> Snapshot:
        snapshot = self.server.snapshot(client)
        if client not in self._course.held:
            return snapshot
        made, posterior = self._course.held[client]
        return Snapshot(
            client=client,
            round=made,
            posterior=posterior,
            resolved=snapshot.resolved,
            applied=snapshot.applied,
        )

    def _news(self, client: int) -> list[Any]:
        """The fate of its last update, and revisions that it may not have followed."""
        server, course = self.server, self._course
        sequence = server.resolved[client]
        news: list[Any] = []
        if sequence:
            news.append(
                Acknowledgement(client=client, sequence=sequence, applied=server.applied[client])
            )
        waiting = [number for number in course.shares if number > course.heard[client]]
        for number in waiting[:_MOST_REVISIONS]:
            kind, share = course.shares[number]
            news.append(
                Revision(client=client, number=number, sequence=sequence, kind=kind, share=share)
            )
        return news

    def _settle(self) -> None:
        """Tells everyone what became of the last update, and asks what has been spent."""
        members = list(range(self.experiment.clients))
        self._look_after_strays(members)
        while True:
            before = list(self._course.heard)
            self._ask({m: [*self._news(m), Question(client=m)] for m in members})
            self._save()
            members = [m for m in members if self._course.heard[m] < self._course.revisions]
            if not members or before == self._course.heard:
                return

    def _ask(self, asks: Mapping[int, Sequence[Any]]) -> dict[int, tuple[Any, ...]]:
        """What clients answer; each is asked again, with the same words, while it is silent."""
        found: dict[int, tuple[Any, ...]] = {}
        contents = {m: bundle(messages, run=self._course.run) for m, messages in asks.items()}
        for attempt in range(self._attempts):
            missing = {
                m: self._seals[m].ask(content) for m, content in contents.items() if m not in found
            }
            if not missing:
                break
            self._teller.asked(missing, self.server.round, again=attempt > 0)
            for m, answer in self._courier.exchange(missing).items():
                messages = self._open(m, missing[m], answer) if m in missing else None
                if messages is not None:
                    found[m] = messages
                    self._teller.answered(m, self.server.round, len(answer))
        for m in asks:
            if m in found:
                self._note_standing(m, found[m])
            else:
                self._course.stray.add(m)
                self._teller.silent(m, self.server.round)
        return found

    def _open(self, client: int, asked: bytes, answer: bytes) -> tuple[Any, ...] | None:
        """The messages in an answer; None if it is not this client's answer to this question."""
        try:
            run, messages = unbundle(self._seals[client].open_answer(asked, answer))
        except (SealError, WireError):
            return None
        return messages if run == self._course.run and messages else None

    def _note_standing(self, client: int, messages: Sequence[Any]) -> None:
        course = self._course
        for message in messages:
            if isinstance(message, Standing):
                course.heard[client] = max(course.heard[client], message.revisions)
            elif isinstance(message, Statement):
                self.statements[client] = message
        everywhere = min(course.heard)
        course.shares = {k: share for k, share in course.shares.items() if k > everywhere}

    def _record(self, update: Update) -> None:
        facts = self._facts[update.client]
        change = update.change
        value = change.natural_mean if self._rule.averages else change.vector
        self._recorder.message(value, update.round, facts)
        self._course.updated.append(update.client)

    def _alter(self, total: MeanFieldGaussian, context: ServerContext) -> MeanFieldGaussian:
        released = total
        if self._rule.noisy_sum is not None:
            sent = np.stack([self._group[m].change.vector for m in context.clients], axis=-2)
            released = MeanFieldGaussian.from_vector(self._rule.noisy_sum(sent, context.rng))
        self._recorder.close_group(released.vector, context.round, self._rule.noise)
        floor = self._rule.precision_floor
        if floor is None:
            return released
        lowest = floor - self.server.posterior.precision
        return MeanFieldGaussian(
            natural_mean=released.natural_mean, precision=np.maximum(released.precision, lowest)
        )

    def _remark(self, text: str) -> None:
        self._course.note = f"{self._course.note}; {text}" if self._course.note else text

    def _save(self) -> None:
        if self._file is not None:
            coordinator_state.save(
                self._file, self._text, self.server, self._course, self._recorder, self._rng
            )
