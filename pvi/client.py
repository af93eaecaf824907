"""A client: its factor, its local state, and at most one unresolved proposal."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from pvi.gaussian import MeanFieldGaussian
from pvi.messages import (
    Acknowledgement,
    ProtocolError,
    Revision,
    Snapshot,
    StaleSnapshotError,
    Update,
    Withdrawal,
)
from pvi.solvers.problem import Context
from pvi.strategies.protocol import PartState, Strategy
from pvi.validate import at_least, function, generator, having, instance, positive


class Alteration(NamedTuple):
    """What is sent, and what the client's own factor will remember of it.

    Attributes:
      sent: The change that goes to the server.
      kept: The change of the client's factor upon commit; None means the same. Where it differs
        from `sent`, the posterior is not the prior times the factors: the caller's choice.
    """

    sent: MeanFieldGaussian
    kept: MeanFieldGaussian | None = None


AlterUpdate: TypeAlias = Callable[[MeanFieldGaussian, Context], Alteration]
"""Alters a client's damped change before it is sent."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pending:
    """A proposal that waits for the server's word, with what the commit will set."""

    update: Update
    factor: MeanFieldGaussian
    state: tuple[PartState, ...]


class Client:
    """Proposes updates of its factor, and commits one only when the server has acknowledged it.

    Args:
      number: The client's number, from 0.
      strategy: What it does with its data.
      damping: The exponent ρ in (0, 1] of every change. The client damps and the server applies
        what it is sent, so the two cannot disagree.
      factor: The initial factor; 1 if not given.
      alter: Alters the damped change before it is sent.
    """

    def __init__(
        self,
        number: int,
        strategy: Strategy,
        *,
        damping: float = 1.0,
        factor: MeanFieldGaussian | None = None,
        alter: AlterUpdate | None = None,
    ) -> None:
        self.number = at_least("number", number, 0)
        self.strategy = having("strategy", strategy, "model", "initial_state", "propose")
        self.damping = positive("damping", damping, upper=1.0)
        first = MeanFieldGaussian.unit(strategy.model.dimension) if factor is None else factor
        self.factor = instance("factor", first, MeanFieldGaussian)
        self.alter = None if alter is None else function("alter", alter)
        self.state = strategy.initial_state()
        self.sequence = 0
        self.revisions = 0
        self.pending: Pending | None = None

    def propose(self, snapshot: Snapshot, rng: np.random.Generator) -> Update:
        """Computes an update from the server's posterior; the factor stays as it is until commit.

        A snapshot also tells the fate of an unresolved update, as an acknowledgement would.

        Raises:
          ProtocolError: If an earlier update is still unresolved (`retry` or `withdraw` it), or
            the server knows updates of this client that the client does not.
          StaleSnapshotError: If the snapshot is older than the client's last resolved update.
        """
        self._check_recipient(instance("snapshot", snapshot, Snapshot).client)
        self.acknowledge(
            Acknowledgement(
                client=self.number, sequence=snapshot.resolved, applied=snapshot.applied
            )
        )
        if self.pending is not None:
            raise ProtocolError(
                f"client {self.number} still waits for the server's word on update "
                f"{self.pending.update.sequence}; retry or withdraw it"
            )
        if snapshot.resolved < self.sequence:
            raise StaleSnapshotError(
                f"client {self.number} got a snapshot that ends at its update {snapshot.resolved}, "
                f"but update {self.sequence} is resolved; ask for a new one"
            )
        if snapshot.resolved > self.sequence:
            raise ProtocolError(
                f"the server has resolved update {snapshot.resolved} of client {self.number}, "
                f"which knows only {self.sequence}: was the client restored from an older save?"
            )
        context = Context(client=self.number, round=snapshot.round, rng=generator(rng))
        wish = self.strategy.propose(
            snapshot.posterior, self.factor, self.state, self.damping, context
        )
        altered = self.alter(wish.change, context) if self.alter else Alteration(wish.change)
        kept = altered.sent if altered.kept is None else altered.kept
        update = Update(
            client=self.number,
            round=snapshot.round,
            sequence=self.sequence + 1,
            change=altered.sent,
        )
        self.pending = Pending(update=update, factor=self.factor * kept, state=wish.state)
        return update

    def acknowledge(self, acknowledgement: Acknowledgement) -> bool:
        """Commits or forgets the pending update; gives False for a word on any other update."""
        instance("acknowledgement", acknowledgement, Acknowledgement)
        self._check_recipient(acknowledgement.client)
        pending = self.pending
        if pending is None or acknowledgement.sequence != pending.update.sequence:
            return False
        if acknowledgement.applied:
            self.factor, self.state = pending.factor, pending.state
        self.sequence = pending.update.sequence
        self.pending = None
        return True

    def retry(self) -> Update:
        """Gives the unresolved update, to be sent again."""
        return self._require_pending().update

    def withdraw(self) -> Withdrawal:
        """Gives a request to void the unresolved update; the server's answer decides."""
        return Withdrawal(client=self.number, sequence=self._require_pending().update.sequence)

    def adopt(self, factor: MeanFieldGaussian) -> None:
        """Replaces the factor."""
        instance("factor", factor, MeanFieldGaussian)
        if self.pending is not None:
            raise ProtocolError(
                f"client {self.number} cannot adopt a factor while an update is unresolved"
            )
        self.factor = factor

    def revise(self, revision: Revision) -> bool:
        """Follows the next revision; gives False for one that was followed already.

        Raises:
          ProtocolError: One before it is missing, or it belongs after another update.
        """
        self._check_recipient(instance("revision", revision, Revision).client)
        if revision.number <= self.revisions:
            return False
        if revision.number > self.revisions + 1 or revision.sequence != self.sequence:
            raise ProtocolError(
                f"revision {revision.number} after update {revision.sequence} reached client "
                f"{self.number} after revision {self.revisions} and update {self.sequence}"
            )
        share = revision.share
        if share.precision.shape[-1] != self.factor.dimension:
            raise ProtocolError(f"a revision's share has {share.dimension} coordinates")
        if revision.kind == "reset":
            self.reset(share)
        else:
            self.adopt(self.factor * share)
        self.revisions = revision.number
        return True

    @property
    def factors(self) -> int:
        """How many factors it keeps: one, or one for each of its virtual clients."""
        return sum(part.factor is not None for part in self.state) or 1

    def reset(self, share: MeanFieldGaussian) -> None:
        """Sets each of the client's factors to `share`; its virtual clients' multiply to its own.

        Solvers keep their states.
        """
        self.adopt(instance("share", share, MeanFieldGaussian) ** self.factors)
        self.state = tuple(part.with_factor(share) for part in self.state)

    def _require_pending(self) -> Pending:
        if self.pending is None:
            raise ProtocolError(f"client {self.number} has no unresolved update")
        return self.pending

    def _check_recipient(self, number: int) -> None:
        if number != self.number:
            raise ProtocolError(f"a message for client {number} reached client {self.number}")
