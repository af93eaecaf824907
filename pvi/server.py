"""The server: the posterior, and for each client the fate of its last update."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from pvi.client import Client
from pvi.gaussian import ImproperGaussianError, MeanFieldGaussian
from pvi.messages import Acknowledgement, ProtocolError, Snapshot, Update, Withdrawal
from pvi.validate import at_least, function, generator, instance, one_of, sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerContext:
    """Whose updates are applied together, when, and with which randomness."""

    clients: tuple[int, ...]
    round: int
    rng: np.random.Generator

    def __post_init__(self) -> None:
        sequence("clients", self.clients, lambda name, client: at_least(name, client, 0))
        at_least("round", self.round, 0)
        generator(self.rng)


_MOST_CLIENTS = 10**7
AlterTotal: TypeAlias = Callable[[MeanFieldGaussian, ServerContext], MeanFieldGaussian]
"""Alters the product of the changes that the server is about to apply together."""


class Server:
    """Multiplies acknowledged changes into the posterior, each exactly once.

    Args:
      prior: p; its batch axes are the repetitions.
      clients: The number of clients.
      alter: Alters the product of changes applied together.
      on_improper: What to do with updates that would make the posterior improper: `raise`, or
        `refuse` them (they are acknowledged as void).

    Attributes:
      posterior: q.
      offset: The product of what `alter` did: posterior = prior · Π applied changes · offset.
      round: Counted by the caller; goes into snapshots and error messages.
      resolved: For each client, the number of its last update that was applied or voided.
      applied: For each client, whether that update was applied.
      last: For each client, that update itself; None if there is none, or it was withdrawn.
    """

    def __init__(
        self,
        prior: MeanFieldGaussian,
        clients: int,
        *,
        alter: AlterTotal | None = None,
        on_improper: Literal["raise", "refuse"] = "raise",
    ) -> None:
        one_of("on_improper", on_improper, ("raise", "refuse"))
        self.prior = instance("prior", prior, MeanFieldGaussian).require_proper()
        self.posterior = prior
        self.offset = MeanFieldGaussian.unit(prior.dimension)
        self.round = 0
        self.alter = None if alter is None else function("alter", alter)
        self.on_improper = on_improper
        self.resolved = [0] * at_least("clients", clients, 1, _MOST_CLIENTS)
        self.applied = [False] * clients
        self.last: list[Update | None] = [None] * clients

    def snapshot(self, client: int) -> Snapshot:
        """Gives the posterior and the fate of the client's last update."""
        self._check_client(client)
        return Snapshot(
            client=client,
            round=self.round,
            posterior=self.posterior,
            resolved=self.resolved[client],
            applied=self.applied[client],
        )

    def receive(
        self, *updates: Update, rng: np.random.Generator | None = None
    ) -> tuple[Acknowledgement | None, ...]:
        """Applies the new ones among the updates together; gives one answer for each.

        A repeated update is answered as before. An update older than the client's last one gets
        None: its client has resolved it long ago.

        Raises:
          ProtocolError: An update is of another shape than the posterior, comes before an earlier
            one is resolved, or has a number that stood for other content. Nothing is applied.
        """
        new: dict[int, Update] = {}
        for update in updates:
            self._check_client(instance("updates", update, Update).client)
            self._check_shape(update.change, f"client {update.client}'s update")
            ahead = update.sequence - self.resolved[update.client]
            before = new.get(update.client) if ahead == 1 else self.last[update.client]
            if before is not None and before.sequence == update.sequence != 0:
                _check_same(before, update)
            if ahead > 1:
                raise ProtocolError(
                    f"client {update.client} sent update {update.sequence} while update "
                    f"{self.resolved[update.client] + 1} is unresolved"
                )
            if ahead == 1:
                new[update.client] = update
        if new:
            applied = self._apply(new, rng)
            for client, update in new.items():
                self.resolved[client], self.applied[client] = update.sequence, applied
                self.last[client] = update
        return tuple(self._answer(update.client, update.sequence) for update in updates)

    def withdraw(self, withdrawal: Withdrawal) -> Acknowledgement | None:
        """Voids an update that has not been applied; answers what its fate is."""
        client = instance("withdrawal", withdrawal, Withdrawal).client
        self._check_client(client)
        ahead = withdrawal.sequence - self.resolved[client]
        if ahead > 1:
            raise ProtocolError(
                f"client {client} withdrew update {withdrawal.sequence} while update "
                f"{self.resolved[client] + 1} is unresolved"
            )
        if ahead == 1:
            self.resolved[client], self.applied[client] = withdrawal.sequence, False
            self.last[client] = None
        return self._answer(client, withdrawal.sequence)

    def _apply(self, updates: dict[int, Update], rng: np.random.Generator | None) -> bool:
        total = MeanFieldGaussian.unit(self.prior.dimension)
        for update in updates.values():
            total = total * update.change
        altered = total
        if self.alter is not None:
            context = ServerContext(clients=tuple(updates), round=self.round, rng=generator(rng))
            altered = self.alter(total, context)
            self._check_shape(altered, "what `alter` gave")
        posterior = self.posterior * altered
        if not posterior.is_proper:
            if self.on_improper == "refuse":
                return False
            self._blame(updates, posterior)
        self.posterior = posterior
        if self.alter is not None:
            self.offset = self.offset * (altered / total)
        return True

    def _blame(self, updates: dict[int, Update], posterior: MeanFieldGaussian) -> None:
        """Raises, naming the client if one update alone is to blame."""
        culprits = [
            number
            for number, update in updates.items()
            if not (self.posterior * update.change).is_proper
        ]
        culprit = culprits[0] if culprits else (next(iter(updates)) if len(updates) == 1 else None)
        try:
            posterior.require_proper(client=culprit, round=self.round)
        except ImproperGaussianError as error:
            if culprit is None:
                raise ImproperGaussianError(
                    f"the updates of clients {sorted(updates)} together: {error}; "
                    "synchronous updates may need damping"
                ) from None
            raise

    def _answer(self, client: int, sequence: int) -> Acknowledgement | None:
        if sequence < self.resolved[client]:
            return None
        return Acknowledgement(client=client, sequence=sequence, applied=self.applied[client])

    def _check_client(self, client: int) -> None:
        if at_least("client", client, 0) >= len(self.resolved):
            raise ProtocolError(f"client {client} is unknown; there are {len(self.resolved)}")

    def _check_shape(self, change: MeanFieldGaussian, whose: str) -> None:
        """Refuses what would change the posterior's shape, or be repeated over its last axis."""
        there = self.posterior
        if change.precision.shape == there.precision.shape:
            return
        try:
            shape = np.broadcast_shapes(change.batch_shape, there.batch_shape)
        except ValueError:
            shape = ()
        if change.dimension != there.dimension or shape != there.batch_shape:
            raise ProtocolError(
                f"{whose} has the shape {(*change.batch_shape, change.dimension)}, the posterior "
                f"has {(*there.batch_shape, there.dimension)}"
            )


def _check_same(before: Update, update: Update) -> None:
    """Refuses an update that has an earlier one's number, but not its content."""
    if update is before:
        return
    same = before.round == update.round and all(
        np.array_equal(getattr(before.change, name), getattr(update.change, name))
        for name in ("natural_mean", "precision")
    )
    if not same:
        raise ProtocolError(
            f"client {update.client} sent update {update.sequence} twice, with two contents"
        )


def reset_factors(server: Server, clients: Sequence[Client]) -> None:
    """Sets every factor to the same share of posterior/prior (Thesis eq. 3.18).

    There is one factor for each client, or for each of its virtual clients. The posterior stays;
    whatever the server had added becomes part of the factors.
    """
    instance("server", server, Server)
    factors = sum(client.factors for client in sequence("clients", clients, Client, least=1))
    share = (server.posterior / server.prior) ** (1.0 / factors)
    for client in clients:
        client.reset(share)
    server.offset = MeanFieldGaussian.unit(server.prior.dimension)
