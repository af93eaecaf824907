"""What clients and server say to each other.

A client numbers its updates 1, 2, 3, … and has at most one unresolved. An update is resolved once
the server has either applied it or declared it void; both are final, and both can be asked for
again any number of times. So any message may be lost, delayed, repeated or overtaken:

- a lost or repeated `Update`: the client sends it again; the server applies a number only once;
- a lost `Acknowledgement`: the next one, or the next `Snapshot`, says the same;
- a client that gives up sends a `Withdrawal`: the server voids the update, or answers that it had
  been applied already, and the client follows that answer.

At every moment: posterior = prior · Π committed factors · Π updates applied but not yet committed
by their clients (· whatever the server's own `alter` hook added). Once every client has heard of
its last update, the third term is 1.
"""

from dataclasses import dataclass
from typing import Literal

from pvi.gaussian import MeanFieldGaussian
from pvi.validate import at_least, flag, instance, one_of


class ProtocolError(RuntimeError):
    """A message that cannot follow from the protocol, or a call out of turn."""


class StaleSnapshotError(ProtocolError):
    """A snapshot from before the client's last resolved update; ask for a new one."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Snapshot:
    """The server's state for one client.

    Attributes:
      client: The client for which it is meant.
      round: The server's round.
      posterior: q.
      resolved: The number of this client's last resolved update, 0 if there is none.
      applied: Whether that update was applied (else it was voided).
    """

    client: int
    round: int
    posterior: MeanFieldGaussian
    resolved: int
    applied: bool

    def __post_init__(self) -> None:
        at_least("client", self.client, 0)
        at_least("round", self.round, 0)
        instance("posterior", self.posterior, MeanFieldGaussian)
        at_least("resolved", self.resolved, 0)
        flag("applied", self.applied)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Update:
    """A client's proposal to multiply the posterior by `change`.

    Attributes:
      client: The sender.
      round: The server's round of the snapshot from which it was computed.
      sequence: The sender's number for it.
      change: The change of its factor, damped and altered already.
    """

    client: int
    round: int
    sequence: int
    change: MeanFieldGaussian

    def __post_init__(self) -> None:
        at_least("client", self.client, 0)
        at_least("round", self.round, 0)
        at_least("sequence", self.sequence, 0)
        instance("change", self.change, MeanFieldGaussian)


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawal:
    """A client's wish not to have its update applied, if that has not happened yet."""

    client: int
    sequence: int

    def __post_init__(self) -> None:
        at_least("client", self.client, 0)
        at_least("sequence", self.sequence, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledgement:
    """The server's final word on an update: applied, or void."""

    client: int
    sequence: int
    applied: bool

    def __post_init__(self) -> None:
        at_least("client", self.client, 0)
        at_least("sequence", self.sequence, 0)
        flag("applied", self.applied)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Revision:
    """The server's word on a client's factor, outside of any update.

    Attributes:
      client: The client for which it is meant.
      number: The server counts its revisions of this client 1, 2, 3, …
      sequence: The number of the client's last resolved update, after which this one follows.
      kind: "adopt": the client's factor is multiplied by `share`. "reset": each of its factors
        becomes `share`; see `Client.reset`.
      share: A factor, which must follow from public state.
    """

    client: int
    number: int
    sequence: int
    kind: Literal["adopt", "reset"]
    share: MeanFieldGaussian

    def __post_init__(self) -> None:
        at_least("client", self.client, 0)
        at_least("number", self.number, 1)
        at_least("sequence", self.sequence, 0)
        one_of("kind", self.kind, ("adopt", "reset"))
        instance("share", self.share, MeanFieldGaussian)
