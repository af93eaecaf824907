"""What the strategies share that solve for each part of a client's data on its own."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from pvi.gaussian import MeanFieldGaussian
from pvi.models.protocol import Model, check_model
from pvi.shard import Shard
from pvi.solvers.problem import Context, LocalProblem, LocalSolver
from pvi.solvers.rules import State
from pvi.strategies.protocol import PartState
from pvi.validate import checked, function, having, sequence

AlterPart: TypeAlias = Callable[[MeanFieldGaussian, int, Context], MeanFieldGaussian]
"""Alters the change of one part (given by its index) before the parts are combined."""


def keep_part(change: MeanFieldGaussian, part: int, context: Context) -> MeanFieldGaussian:
    """Gives the change as it is."""
    return change


class PartChange(NamedTuple):
    """A part's altered change, and its solver's new state."""

    change: MeanFieldGaussian
    state: State


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardParts:
    """A client's data in disjoint parts.

    Attributes:
      model: The likelihood.
      shards: The parts.
      solver: The local solver.
      alter_part: Alters a part's change, in the order of the parts, before they are combined.
    """

    model: Model
    shards: Sequence[Shard]
    solver: LocalSolver
    alter_part: AlterPart = field(default=keep_part)

    def __post_init__(self) -> None:
        check_model("model", self.model)
        sequence("shards", self.shards, Shard, least=1)
        having("solver", self.solver, "solve", "solve_parts")
        function("alter_part", self.alter_part)

    @property
    def size(self) -> int:
        """The number of records."""
        return sum(shard.size for shard in self.shards)

    @checked(posterior=MeanFieldGaussian, context=Context)
    def part_changes(
        self,
        posterior: MeanFieldGaussian,
        cavities: Sequence[MeanFieldGaussian],
        state: tuple[PartState, ...],
        temperature: float,
        context: Context,
    ) -> Iterator[PartChange]:
        """Gives q*_k/q, altered, part by part, with q*_k the optimum for the part's cavity."""
        parts = len(self.shards)
        if (
            not parts
            == len(sequence("state", state, PartState))
            == len(sequence("cavities", cavities, MeanFieldGaussian))
        ):
            raise ValueError(f"`state` and `cavities` must be those of {parts} parts, got others.")
        problems = [
            LocalProblem(
                model=self.model,
                shard=shard,
                cavity=cavity,
                start=posterior,
                state=own.solver,
                temperature=temperature,
                context=context,
            )
            for shard, cavity, own in zip(self.shards, cavities, state, strict=True)
        ]
        for part, (q, solver_state) in enumerate(self.solver.solve_parts(problems)):
            yield PartChange(self.alter_part(q / posterior, part, context), solver_state)
