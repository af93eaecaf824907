"""Many small optimisations at once: a client's parts of equal size as one batched run."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from pvi.gaussian import MeanFieldGaussian
from pvi.models.protocol import Model
from pvi.shard import Shard
from pvi.solvers.local import Context, GradientSolver, LocalResult
from pvi.solvers.rules import State


@dataclass(frozen=True, slots=True)
class StackedSolver:
    """A gradient solver that takes the parts of a client together.

    Parts do not see each other: each has its own row of every array, and its result is what the
    inner solver gives for it alone (but for the order in which random numbers are drawn). Parts of
    one size run in one call. As with the inner solver, an optimisation that diverges is an error.

    Attributes:
        solver: what is done for each part.
    """

    solver: GradientSolver

    def solve(
        self,
        model: Model,
        shard: Shard,
        *,
        cavity: MeanFieldGaussian,
        start: MeanFieldGaussian,
        state: State,
        temperature: float,
        context: Context,
    ) -> LocalResult:
        """Solves for one part."""
        return self.solver.solve(
            model,
            shard,
            cavity=cavity,
            start=start,
            state=state,
            temperature=temperature,
            context=context,
        )

    def solve_parts(
        self,
        model: Model,
        shards: Sequence[Shard],
        *,
        cavities: MeanFieldGaussian,
        start: MeanFieldGaussian,
        states: Sequence[State],
        temperature: float,
        context: Context,
    ) -> tuple[MeanFieldGaussian, list[State]]:
        """Solves for all parts: their q along a leading axis, in order, and their states.

        Args:
            model: the likelihood.
            shards: the parts.
            cavities: one per part along the leading axis, or the same for all without it.
            start: where each part begins.
            states: one per part.
            temperature: the power of the likelihood.
            context: who asks, and when.
        """
        if start.batch_shape or any(shard.batch_shape for shard in shards):
            raise ValueError("`start` and `shards` must have no batch axes: parts are stacked here")
        count = len(shards)
        cavities = cavities.broadcast_to((count,))
        found = np.empty((count, 2 * start.dimension))
        new_states: list[State] = [{} for _ in shards]
        by_size = sorted(range(count), key=lambda part: shards[part].size)
        for _, group in groupby(by_size, key=lambda part: shards[part].size):
            parts = list(group)
            result = self.solve(
                model,
                Shard(
                    inputs=np.stack([shards[part].inputs for part in parts]),
                    targets=np.stack([shards[part].targets for part in parts]),
                ),
                cavity=cavities[parts],
                start=start.broadcast_to((len(parts),)),
                state=_stack([states[part] for part in parts]),
                temperature=temperature,
                context=context,
            )
            found[parts] = result.q.vector
            if self.solver.persistent:
                for row, part in enumerate(parts):
                    new_states[part] = _row(result.state, row)
        return MeanFieldGaussian.from_vector(found), new_states


def _stack(states: Sequence[State]) -> State:
    """Arrays side by side; numbers, the same for all parts of a client, once."""
    first = states[0]
    return {
        name: np.stack([state[name] for state in states]) if value.ndim else value
        for name, value in first.items()
    }


def _row(state: State, row: int) -> State:
    return {name: value[row] if value.ndim else value for name, value in state.items()}
