"""A local solver that cannot stop a run."""

from dataclasses import dataclass, field

import numpy as np

from pvi import (
    ExactSolver,
    ImproperGaussianError,
    LocalProblem,
    LocalResult,
    LocalSolver,
    MeanFieldGaussian,
)
from pvi.validate import checked, having

_FAILURES = (ImproperGaussianError, FloatingPointError, np.linalg.LinAlgError)


@dataclass(slots=True)
class GuardedSolver(LocalSolver):
    """Gives "no change" where the inner solver finds no distribution.

    An error in one client's optimisation would end the run, and with it tell something about that
    client's data that no event accounts for. No change is a change of norm 0, and clipped like any
    other.

    In a run of many repetitions these must not touch each other, or draws for an audit would not be
    independent. An exact solver draws nothing and remembers nothing, so the repetitions in which it
    fails can be told apart from the others; any other solver's failure there is an error still.

    Attributes:
      solver: The inner solver.
      failures: How often it failed; for the client's own eyes.
    """

    solver: LocalSolver
    failures: int = field(default=0, init=False, compare=False)

    def __post_init__(self) -> None:
        having("solver", self.solver, "solve")

    @checked(problem=LocalProblem)
    def solve(self, problem: LocalProblem) -> LocalResult:
        """The inner solver's answer, or the problem's start."""
        try:
            return self.solver.solve(problem)
        except _FAILURES:
            if not problem.batch_shape:
                self.failures += 1
                return LocalResult(problem.start, problem.state)
            if not isinstance(self.solver, ExactSolver):
                raise
            return self._solve_apart(self.solver, problem)

    def _solve_apart(self, solver: ExactSolver, problem: LocalProblem) -> LocalResult:
        """The closed form in those repetitions in which it is a distribution."""
        found = solver.closed_form(problem)
        start = problem.start.broadcast_to(found.batch_shape).vector
        usable = (found.precision > 0.0) & np.isfinite(found.natural_mean)
        proper = np.asarray(usable.all(axis=-1))
        self.failures += int(proper.size - proper.sum())
        chosen = np.where(proper[..., None], found.vector, start)
        return LocalResult(MeanFieldGaussian.from_vector(chosen), problem.state)
