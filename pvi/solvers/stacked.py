"""Many small optimisations at once: a client's parts of equal size as one batched run."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from pvi.gaussian import MeanFieldGaussian
from pvi.shard import Shard
from pvi.solvers.gradient import GradientSolver
from pvi.solvers.problem import LocalProblem, LocalResult, LocalSolver
from pvi.solvers.rules import State
from pvi.validate import checked, instance, sequence


@dataclass(frozen=True, slots=True)
class StackedSolver(LocalSolver):
    """A gradient solver that takes the parts of a client together.

    Parts do not see each other: each has its own row of every array, and its result is what the
    inner solver gives for it alone (but for the order in which random numbers are drawn). Parts of
    one size run in one call; where there are batch axes already, parts run one after the other. As
    with the inner solver, an optimisation that diverges is an error.

    Attributes:
      solver: What is done for each part.
    """

    solver: GradientSolver

    def __post_init__(self) -> None:
        instance("solver", self.solver, GradientSolver)

    @checked(problem=LocalProblem)
    def solve(self, problem: LocalProblem) -> LocalResult:
        """Solves for one part."""
        return self.solver.solve(problem)

    def solve_parts(self, problems: Sequence[LocalProblem]) -> Iterator[LocalResult]:
        """Solves for all parts, which share model, temperature and context, smallest first."""
        sequence("problems", problems, LocalProblem)
        if any(problem.batch_shape for problem in problems):
            return self.solver.solve_parts(problems)
        results: dict[int, LocalResult] = {}
        by_size = sorted(range(len(problems)), key=lambda part: problems[part].shard.size)
        for _, group in groupby(by_size, key=lambda part: problems[part].shard.size):
            parts = list(group)
            q, state = self.solver.solve(_stack([problems[part] for part in parts]))
            kept = state if self.solver.persistent else {}
            for row, part in enumerate(parts):
                own = {name: value[row] if value.ndim else value for name, value in kept.items()}
                results[part] = LocalResult(q[row], own)
        return (results[part] for part in range(len(problems)))


def _stack(problems: Sequence[LocalProblem]) -> LocalProblem:
    return replace(
        problems[0],
        shard=Shard(
            inputs=np.stack([problem.shard.inputs for problem in problems]),
            targets=np.stack([problem.shard.targets for problem in problems]),
        ),
        cavity=_stack_gaussians([problem.cavity for problem in problems]),
        start=_stack_gaussians([problem.start for problem in problems]),
        state=_stack_states([problem.state for problem in problems]),
    )


def _stack_gaussians(gaussians: Sequence[MeanFieldGaussian]) -> MeanFieldGaussian:
    return MeanFieldGaussian.from_vector(np.stack([gaussian.vector for gaussian in gaussians]))


def _stack_states(states: Sequence[State]) -> State:
    """Arrays side by side; numbers, the same for all parts of a client, once."""
    return {
        name: np.stack([state[name] for state in states]) if value.ndim else value
        for name, value in states[0].items()
    }
