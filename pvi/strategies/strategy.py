"""What a client does with its data when asked for an update: one of TMLR's three ways.

A strategy gives the change of natural parameters that it would like, and what to remember if the
server applies it. It changes nothing itself: the client commits upon acknowledgement.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

from pvi.gaussian import MeanFieldGaussian
from pvi.models.protocol import Model
from pvi.shard import Shard
from pvi.solvers.local import Context, LocalSolver
from pvi.solvers.rules import State
from pvi.solvers.stacked import StackedSolver
from pvi.validate import FloatArray

AlterPart: TypeAlias = Callable[[MeanFieldGaussian, int, Context], MeanFieldGaussian]
"""Alters the change of one part (given by its index) before the parts are combined."""
AlterParts: TypeAlias = Callable[[MeanFieldGaussian, Context], MeanFieldGaussian]
"""The same for all parts at once, along a leading axis; for solvers that take parts together."""


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
class AveragedShards:
    """N optimisations on shards with likelihoods to the power N, averaged (TMLR Algorithm 2).

    Attributes:
        model: the likelihood.
        shards: the disjoint parts of the client's data.
        solver: the local solver.
        alter_part: alters a part's change before averaging.
        alter_parts: the same at once, for a `StackedSolver`; one by one if not given.
    """

    model: Model
    shards: Sequence[Shard]
    solver: LocalSolver
    alter_part: AlterPart = field(default=_keep_part)
    alter_parts: AlterParts | None = None

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
        states = _by_part(state, parts)
        if isinstance(self.solver, StackedSolver):
            q, new_states = self.solver.solve_parts(
                self.model,
                self.shards,
                cavities=posterior / factor,
                start=posterior,
                states=states,
                temperature=float(parts),
                context=context,
            )
            changes = _altered(self, q / posterior, context)
            return Wish(_product(changes) ** (damping / parts), _merge(new_states))
        total = MeanFieldGaussian.unit(posterior.dimension)
        new_state: dict[str, FloatArray] = {}
        for index, shard in enumerate(self.shards):
            result = self.solver.solve(
                self.model,
                shard,
                cavity=posterior / factor,
                start=posterior,
                state=states[index],
                temperature=float(parts),
                context=context,
            )
            total = total * self.alter_part(result.q / posterior, index, context)
            new_state |= _prefix(result.state, index)
        return Wish(total ** (damping / parts), new_state)


@dataclass(frozen=True, slots=True, kw_only=True)
class VirtualShards:
    """N virtual clients, each with its own factor, updated in parallel (TMLR Algorithm 3).

    Attributes:
        model: the likelihood.
        shards: the virtual clients' data.
        solver: the local solver.
        alter_part: alters a virtual client's change before it is damped and summed. The virtual
            factor remembers the altered change.
        alter_parts: the same at once, for a `StackedSolver`; one by one if not given.
    """

    model: Model
    shards: Sequence[Shard]
    solver: LocalSolver
    alter_part: AlterPart = field(default=_keep_part)
    alter_parts: AlterParts | None = None

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
        states = _by_part(state, len(self.shards))
        nothing = np.zeros(2 * posterior.dimension)
        factors = [own.pop("virtual_factor", nothing) for own in states]
        if isinstance(self.solver, StackedSolver):
            virtual = MeanFieldGaussian.from_vector(np.stack(factors))
            q, new_states = self.solver.solve_parts(
                self.model,
                self.shards,
                cavities=posterior / virtual,
                start=posterior,
                states=states,
                temperature=1.0,
                context=context,
            )
            changes = _altered(self, q / posterior, context) ** damping
            kept = (virtual * changes).vector
            merged = _merge(
                {**own, "virtual_factor": row} for own, row in zip(new_states, kept, strict=True)
            )
            return Wish(_product(changes), merged)
        total = MeanFieldGaussian.unit(posterior.dimension)
        new_state: dict[str, FloatArray] = {}
        for index, shard in enumerate(self.shards):
            virtual = MeanFieldGaussian.from_vector(factors[index])
            result = self.solver.solve(
                self.model,
                shard,
                cavity=posterior / virtual,
                start=posterior,
                state=states[index],
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


def _by_part(state: State, parts: int) -> list[dict[str, FloatArray]]:
    found: list[dict[str, FloatArray]] = [{} for _ in range(parts)]
    for name, value in state.items():
        part, own_name = name.split("/", 1)
        found[int(part)][own_name] = value
    return found


def _merge(states: Iterable[State]) -> State:
    return {
        f"{part}/{name}": value for part, own in enumerate(states) for name, value in own.items()
    }


def _altered(
    strategy: AveragedShards | VirtualShards, changes: MeanFieldGaussian, context: Context
) -> MeanFieldGaussian:
    if strategy.alter_parts is not None:
        return strategy.alter_parts(changes, context)
    rows = [
        strategy.alter_part(changes[part], part, context).vector
        for part in range(len(strategy.shards))
    ]
    return MeanFieldGaussian.from_vector(np.stack(rows))


def _product(changes: MeanFieldGaussian) -> MeanFieldGaussian:
    """The product over the leading axis."""
    return MeanFieldGaussian.from_vector(changes.vector.sum(axis=0))
