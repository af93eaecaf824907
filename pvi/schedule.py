"""Who updates when. A round is a list of groups; a group starts from one posterior."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self, TypeAlias, runtime_checkable

import numpy as np

from pvi.validate import at_least, flag, generator, positive, sequence

Groups: TypeAlias = Sequence[tuple[int, ...]]


class Schedule(Protocol):
    """Gives the groups of a round."""

    @property
    def stale(self) -> bool:
        """Whether a client works from the posterior that it fetched after its previous update."""
        ...

    def groups(self, clients: int, round: int, rng: np.random.Generator) -> Groups:  # noqa: A002
        """Gives the groups of round `round` for `clients` clients."""
        ...


@runtime_checkable
class Explained(Protocol):
    """A schedule that says why a round is not the one that was intended."""

    @property
    def note(self) -> str:
        """About the groups that were given last; "" if there is nothing to say."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Sequential:
    """One client after the other; a round visits each once.

    Attributes:
      order: The order of visits; 0, 1, 2, … if not given.
      shuffle: Visits in an order drawn anew for each round.
    """

    order: tuple[int, ...] | None = None
    shuffle: bool = False

    def __post_init__(self) -> None:
        if self.order is not None:
            sequence("order", self.order, lambda name, client: at_least(name, client, 0))
        flag("shuffle", self.shuffle)

    @property
    def stale(self) -> bool:
        """Always False."""
        return False

    def groups(self, clients: int, round: int, rng: np.random.Generator) -> Groups:  # noqa: A002
        """Gives M groups of one client."""
        _check(clients, round, rng)
        order = tuple(range(clients)) if self.order is None else self.order
        if sorted(order) != list(range(clients)):
            raise ValueError(f"`order` must name each of {clients} clients once, got {order}.")
        if self.shuffle:
            order = tuple(int(i) for i in rng.permutation(clients))
        return [(client,) for client in order]


@dataclass(frozen=True, slots=True, kw_only=True)
class Synchronous:
    """All clients at once, from the same posterior; a round is one group."""

    @property
    def stale(self) -> bool:
        """Always False."""
        return False

    def groups(self, clients: int, round: int, rng: np.random.Generator) -> Groups:  # noqa: A002
        """Gives one group of M clients."""
        _check(clients, round, rng)
        return [tuple(range(clients))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asynchronous:
    """Clients report on their own, each at its own rate (Workshop section 3: rates ∝ 1/N_m).

    The next to report is client m with probability rates[m] / Σ rates: what independent
    exponential clocks give. All repetitions of a batched run share one order of reports.

    Attributes:
      rates: One positive number per client.
      updates: Reports per round.
      stale: Whether a client computes on the posterior that it fetched after its previous report
        (others have moved it since), or on a fresh one.
    """

    rates: tuple[float, ...]
    updates: int = 1
    stale: bool = False

    def __post_init__(self) -> None:
        rates = sequence("rates", self.rates, positive, least=1)
        positive("rates", sum(rates))  # so that shares can be formed
        at_least("updates", self.updates, 1)
        flag("stale", self.stale)

    @classmethod
    def inverse_size(cls, sizes: Sequence[int], *, updates: int = 1, stale: bool = False) -> Self:
        """Gives the schedule of equally fast clients: rates 1/N_m."""
        counts = sequence("sizes", sizes, lambda name, size: at_least(name, size, 1), least=1)
        return cls(rates=tuple(1.0 / size for size in counts), updates=updates, stale=stale)

    def groups(self, clients: int, round: int, rng: np.random.Generator) -> Groups:  # noqa: A002
        """Draws `updates` groups of one client."""
        _check(clients, round, rng)
        if len(self.rates) != clients:
            raise ValueError(f"`rates` must have {clients} entries, got {len(self.rates)}.")
        share = np.asarray(self.rates) / sum(self.rates)
        return [(int(client),) for client in rng.choice(clients, size=self.updates, p=share)]


def _check(clients: int, round_number: int, rng: np.random.Generator) -> None:
    at_least("clients", clients, 1)
    at_least("round", round_number, 0)
    generator(rng)
