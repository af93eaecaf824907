"""What a client does with its data when asked for an update: one of TMLR's three ways.

A strategy gives the change of natural parameters that it would like, and what to remember if the
server applies it. It changes nothing itself: the client commits upon acknowledgement.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeAlias

from pvi._validate import FloatArray
from pvi.gaussian import MeanFieldGaussian
from pvi.local import Context, LocalSolver
from pvi.models.protocol import Model
from pvi.rules import State
from pvi.shard import Shard

AlterPart: TypeAlias = Callable[[MeanFieldGaussian, int, Context], MeanFieldGaussian]
"""Alters the change of one part (given by its index) before the parts are combined."""


class Wish(NamedTuple):
    """The change that a strategy proposes, and the state that goes with it."""

    change: MeanFieldGaussian
    state: State


class Strategy(Protocol):
    """Computes a client's undamped change and the new local state."""

    @property
    def model(self) -> Model:
        """The likelihood."""
        ...

    @property
    def size(self) -> int:
        """The number of records."""
        ...

    def propose(
        self,
        posterior: MeanFieldGaussian,
        factor: MeanFieldGaussian,
        state: State,
        damping: float,
        context: Context,
    ) -> Wish:
        """Gives the damped change of the client's factor, from the server's posterior."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeShard:
    """One optimisation on all local data (TMLR Algorithm 1).

    Attributes:
        model: the likelihood.
        shard: the client's data.
        solver: the local solver.
    """

    model: Model
    shard: Shard
    solver: LocalSolver

    @property
    def size(self) -> int:
        """The number of records."""
        return self.shard.size

    def propose(
        self,
        posterior: MeanFieldGaussian,
        factor: MeanFieldGaussian,
        state: State,
        damping: float,
        context: Context,
    ) -> Wish:
        """Gives (q*/q)^damping with q* the optimum for the cavity q/factor."""
        result = self.solver.solve(
            self.model,
            self.shard,
            cavity=posterior / factor,
            start=posterior,
            state=state,
            temperature=1.0,
            context=context,
        )
        return Wish((result.q / posterior) ** damping, result.state)


def _keep_part(change: MeanFieldGaussian, part: int, context: Context) -> MeanFieldGaussian:
    return change


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalAveraging:
    """N optimisations on shards with likelihoods to the power N, averaged (TMLR Algorithm 2).

    Attributes:
        model: the likelihood.
        shards: the disjoint parts of the client's data.
        solver: the local solver.
        alter_part: alters a part's change before averaging.
    """

    model: Model
    shards: Sequence[Shard]
    solver: LocalSolver
    alter_part: AlterPart = field(default=_keep_part)

    def __post_init__(self) -> None:
        _check_shards(self.shards)

    @property
    def size(self) -> int:
        """The number of records."""
        return sum(shard.size for shard in self.shards)

    def propose(
        self,
        posterior: MeanFieldGaussian,
        factor: MeanFieldGaussian,
        state: State,
        damping: float,
        context: Context,
    ) -> Wish:
        """Gives the damped mean of the parts' changes (TMLR eq. 3.1–3.2)."""
        parts = len(self.shards)
        total = MeanFieldGaussian.unit(posterior.dimension)
        new_state: dict[str, FloatArray] = {}
        for index, shard in enumerate(self.shards):
            result = self.solver.solve(
                self.model,
                shard,
                cavity=posterior / factor,
                start=posterior,
                state=_select(state, index),
                temperature=float(parts),
                context=context,
            )
            total = total * self.alter_part(result.q / posterior, index, context)
            new_state |= _prefix(result.state, index)
        return Wish(total ** (damping / parts), new_state)


@dataclass(frozen=True, slots=True, kw_only=True)
class VirtualClients:
    """N virtual clients, each with its own factor, updated in parallel (TMLR Algorithm 3).

    Attributes:
        model: the likelihood.
        shards: the virtual clients' data.
        solver: the local solver.
        alter_part: alters a virtual client's change before it is damped and summed. The virtual
            factor remembers the altered change.
    """

    model: Model
    shards: Sequence[Shard]
    solver: LocalSolver
    alter_part: AlterPart = field(default=_keep_part)

    def __post_init__(self) -> None:
        _check_shards(self.shards)

    @property
    def size(self) -> int:
        """The number of records."""
        return sum(shard.size for shard in self.shards)

    def propose(
        self,
        posterior: MeanFieldGaussian,
        factor: MeanFieldGaussian,
        state: State,
        damping: float,
        context: Context,
    ) -> Wish:
        """Gives the product of the virtual clients' damped changes (TMLR eq. 3.4–3.5)."""
        total = MeanFieldGaussian.unit(posterior.dimension)
        new_state: dict[str, FloatArray] = {}
        for index, shard in enumerate(self.shards):
            own = dict(_select(state, index))
            stored = own.pop("virtual_factor", None)
            virtual = (
                MeanFieldGaussian.unit(posterior.dimension)
                if stored is None
                else MeanFieldGaussian.from_vector(stored)
            )
            result = self.solver.solve(
                self.model,
                shard,
                cavity=posterior / virtual,
                start=posterior,
                state=own,
                temperature=1.0,
                context=context,
            )
            change = self.alter_part(result.q / posterior, index, context) ** damping
            total = total * change
            own_state = {**result.state, "virtual_factor": (virtual * change).vector}
            new_state |= _prefix(own_state, index)
        return Wish(total, new_state)


def _check_shards(shards: Sequence[Shard]) -> None:
    if not shards:
        raise ValueError("shards is empty; at least one is needed")


def _prefix(state: State, part: int) -> dict[str, FloatArray]:
    return {f"{part}/{name}": value for name, value in state.items()}


def _select(state: State, part: int) -> State:
    start = f"{part}/"
    return {
        name.removeprefix(start): value for name, value in state.items() if name.startswith(start)
    }
