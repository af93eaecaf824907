"""Who updates when. A round is a list of groups; a group starts from one posterior."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self, TypeAlias

import numpy as np

from pvi.validate import at_least, finite_array

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Sequential:
    """One client after the other; a round visits each once.

    Attributes:
      order: The order of visits; 0, 1, 2, … if not given.
      shuffle: Visits in an order drawn anew for each round.
    """

    order: tuple[int, ...] | None = None
    shuffle: bool = False

    @property
    def stale(self) -> bool:
        """Always False."""
        return False

    def groups(self, clients: int, round: int, rng: np.random.Generator) -> Groups:  # noqa: A002
        """Gives M groups of one client."""
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
        rates = finite_array("rates", self.rates, min_ndim=1)
        if not (rates > 0).all():
            raise ValueError(f"`rates` must be above 0, got {self.rates}.")
        at_least("updates", self.updates, 1)

    @classmethod
    def inverse_size(cls, sizes: Sequence[int], *, updates: int = 1, stale: bool = False) -> Self:
        """Gives the schedule of equally fast clients: rates 1/N_m."""
        return cls(rates=tuple(1.0 / size for size in sizes), updates=updates, stale=stale)

    def groups(self, clients: int, round: int, rng: np.random.Generator) -> Groups:  # noqa: A002
        """Draws `updates` groups of one client."""
        if len(self.rates) != clients:
            raise ValueError(f"`rates` must have {clients} entries, got {len(self.rates)}.")
        share = np.asarray(self.rates) / sum(self.rates)
        return [(int(client),) for client in rng.choice(clients, size=self.updates, p=share)]
