"""A data owner's own process: its data, its factor, its budget, its noise; nobody else's word.

Whoever asks (a coordinator, through any network and any courier) can at most make the holder spend
its budget on messages that its owner has allowed. For each new update the holder books the cost,
computes, saves what it will answer, forces that to the disk, and answers. So a process that is
killed has paid for whatever it may have said, and says the same again when it is asked again.
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dp_accounting as dpa
import numpy as np

from accountants import Certificate, codec, validate
from mechanisms.budget import Budget
from mechanisms.durable import exclusive
from mechanisms.experiment import Experiment
from mechanisms.federated.engagement import Engagement
from mechanisms.federated.ledger import OWNER, certificate_of, cost_of
from mechanisms.federated.messages import (
    Engage,
    Question,
    Reason,
    Refusal,
    Statement,
    bundle,
    unbundle,
)
from mechanisms.federated.own_data import read_own
from mechanisms.federated.permission import Permission, PermissionRefusedError
from mechanisms.federated.seal import Seal
from pvi import (
    Acknowledgement,
    ProtocolError,
    Revision,
    Shard,
    Snapshot,
    Update,
    WireError,
)
from pvi.generator_state import pinned

MOST_RUNS = 1000
"""A holder takes part in no more runs than this: each leaves a file."""
_MOST_PLANNED = 10**6
_PATIENCE = 2.0


class Holder:
    """Answers what its owner allows, within its budget.

    Args:
      permission: What is allowed.
      records: The owner's data; read from the permission's file if not given.

    Attributes:
      permission: What is allowed.
      budget: The owner's books, in the permission's folder.
      refusals: How often it said no, by kind; for the owner's eyes.
    """

    def __init__(self, permission: Permission, records: Shard | None = None) -> None:
        self.permission = validate.instance("permission", permission, Permission)
        self._seal = Seal.load(permission.key)
        self._records = None if records is None else validate.instance("records", records, Shard)
        self._folder = permission.state
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._runs = self._folder / "runs"
        self._runs.mkdir(mode=0o700, exist_ok=True)
        self.budget = budget_of(permission)
        self._engagements: dict[str, Engagement] = {}
        self._said: dict[str, tuple[int, Statement]] = {}
        self.refusals: dict[str, int] = {}

    @contextmanager
    def alone(self) -> Iterator[None]:
        """A time in which no other process answers for this owner.

        Raises:
          ValueError: Another one does.
        """
        try:
            with exclusive(self._folder / "holder", patience=_PATIENCE) as mark:
                mark.write("process", os.getpid())
                yield
        except BlockingIOError:
            raise ValueError(
                f"`state` must be a folder that no other holder uses, got {self._folder}."
            ) from None

    def certificate(self) -> Certificate:
        """What everything that was ever paid for costs at most."""
        return certificate_of(self.budget)

    def answer(self, asked: bytes) -> bytes:
        """The sealed answer to a sealed ask; messages after one that is refused are not read.

        Raises:
          SealError: Whoever asks has not the key: there is no answer.
        """
        content = self._seal.open_ask(asked)
        replies: list[Any] = []
        run = "unknown"
        try:
            run, messages = unbundle(content)
            for message in messages:
                replies.append(self._reply(run, message))
                if isinstance(replies[-1], Refusal):
                    break
        except WireError as error:
            replies.append(self._refuse(OWNER, "protocol", str(error)))
        except BaseException:
            self._engagements.pop(run, None)  # the file is what counts, if it could not be written
            raise
        return self._seal.answer(asked, bundle(replies, run=run))

    def _reply(self, run: str, message: Any) -> Any:
        client = getattr(message, "client", OWNER)
        try:
            match message:
                case Engage():
                    return self._engage(run, message).standing
                case Snapshot():
                    return self._update(self._engagement(run), message)
                case Acknowledgement():
                    self._own(run, client).hear(message)
                    return self._own(run, client).standing
                case Revision():
                    self._own(run, client).follow(message)
                    return self._own(run, client).standing
                case Question():
                    return self._statement(run, self._own(run, client))
        except PermissionRefusedError as error:
            return self._refuse(client, "permission", str(error))
        except ProtocolError as error:
            return self._refuse(client, "protocol", str(error))
        return self._refuse(client, "protocol", "this is nothing that a holder is asked")

    def _refuse(self, client: int, kind: Reason, reason: str) -> Refusal:
        self.refusals[kind] = self.refusals.get(kind, 0) + 1
        return Refusal(client=client, kind=kind, reason=reason[:2000])

    def _engage(self, run: str, message: Engage) -> Engagement:
        path = Engagement.file(self._runs, run)
        if path.exists():
            found = self._engagement(run)
            if (found.number, found.experiment.to_json()) != (message.client, message.experiment):
                raise ProtocolError(f"run {run!r} has begun already, as something else")
            return found
        experiment = _read_experiment(message.experiment)
        if len(list(self._runs.iterdir())) >= MOST_RUNS:
            raise PermissionRefusedError(f"`run` must be one of at most {MOST_RUNS}, got one more.")
        found = self._make(run, experiment, message.client)
        found.save()
        return found

    def _make(self, run: str, experiment: Experiment, client: int) -> Engagement:
        """The part in a run; permission is asked for again, as the owner may have changed it."""
        try:
            self.permission.check(experiment, client)
            found = Engagement(
                Engagement.file(self._runs, run),
                run=run,
                experiment=experiment,
                client=client,
                shard=self._own_records(experiment),
                scope=self.permission.scope,
            )
        except (ValueError, TypeError, dpa.UnsupportedEventError) as error:
            raise PermissionRefusedError(str(error)) from error
        self._engagements[run] = found
        return found

    def _own_records(self, experiment: Experiment) -> Shard:
        permission = self.permission
        return read_own(permission.data, permission.target, experiment.model, records=self._records)

    def _engagement(self, run: str) -> Engagement:
        if run not in self._engagements:
            path = Engagement.file(self._runs, run)
            if not path.exists():
                raise ProtocolError(f"no run {run!r} is known here; engage first")
            _, client, text = Engagement.peek(path)
            self._make(run, _read_experiment(text), client)
        return self._engagements[run]

    def _own(self, run: str, client: int) -> Engagement:
        found = self._engagement(run)
        if client != found.number:
            raise ProtocolError(f"a message for client {client} reached client {found.number}")
        return found

    def _update(self, engagement: Engagement, snapshot: Snapshot) -> Update | Refusal:
        """Books, computes, saves; an update that waits for its fate costs nothing again."""
        new = engagement.is_new(snapshot)
        if new and self.budget.book([engagement.charge], payer=engagement.run):
            return self._refuse(
                engagement.number, "budget", "one more message does not fit into the budget"
            )
        try:
            return engagement.update(snapshot, self._rng(engagement))
        except Exception:
            self._engagements.pop(engagement.run, None)  # what the file does not hold is not said
            if not new:
                raise
            # What went wrong may depend on the data. Solvers that see them are guarded; what is
            # left is made of noisy steps, or is the same for any data.
            return self._refuse(engagement.number, "failed", "no update could be computed")

    def _rng(self, engagement: Engagement) -> np.random.Generator:
        """For batches and Monte Carlo draws; a release's noise does not come from it."""
        if self.permission.trial_seed is not None:
            sequence = engagement.client.sequence + (engagement.client.pending is not None)
            return pinned(self.permission.trial_seed)(engagement.number, sequence + 1)
        return np.random.default_rng(secrets.randbits(256))

    def _statement(self, run: str, engagement: Engagement) -> Statement:
        permission, experiment = self.permission, engagement.experiment
        generation, said = self._said.get(run, (-1, None))
        if said is not None and generation == self.budget.books.generation:
            return said
        books = self.budget.books
        paid = books.receipts.get(run, {}).get(str(OWNER), 0)
        spent = self.budget.epsilon_upper(OWNER)
        said = Statement(
            client=engagement.number,
            messages=paid,
            scope=str(permission.scope),
            delta=permission.delta,
            limit=permission.epsilon,
            spent=spent if np.isfinite(spent) else None,
            scopes=tuple(str(scope) for scope in experiment.scopes),
            costs=tuple(
                cost_of(experiment, engagement.number, paid, scope) for scope in experiment.scopes
            ),
        )
        self._said[run] = (books.generation, said)
        return said


def budget_of(permission: Permission) -> Budget:
    """The owner's books: those that are there, or new ones.

    Raises:
      ValueError: They were made for other terms than the permission's, and terms never change.
    """
    path = Path(permission.state) / "budget.json"
    terms = {
        "target_epsilon": permission.epsilon,
        "delta": permission.delta,
        "scope": permission.scope,
        "adaptive": permission.adaptive,
    }
    if not path.exists():
        return Budget(**terms, path=path)  # type: ignore[arg-type]
    found = Budget.load(path)
    if found.terms != Budget(**terms).terms:  # type: ignore[arg-type]
        raise ValueError(
            f"`permission` must have the terms of {path}, which never change: make a new folder "
            "`state` for a new budget, and add up."
        )
    return found


def _read_experiment(text: str) -> Experiment:
    """The experiment, if planning it would not take for ever."""
    try:
        body = codec.read_json(text)
        sizes = [body.get(name) for name in ("clients", "rounds")]
        if not all(type(size) is int for size in sizes) or sizes[0] * sizes[1] > _MOST_PLANNED:
            raise ValueError(f"`clients` times `rounds` must be at most {_MOST_PLANNED}.")
        return Experiment.from_json(text)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise PermissionRefusedError(f"`experiment` must be one: {error}") from error
