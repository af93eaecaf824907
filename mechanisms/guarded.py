"""A local solver that cannot stop a run."""

from dataclasses import dataclass, field

import numpy as np

from pvi import ImproperGaussianError, LocalProblem, LocalResult, LocalSolver


@dataclass(slots=True)
class GuardedSolver(LocalSolver):
    """Gives "no change" where the inner solver finds no distribution.

    An error in one client's optimisation would end the run, and with it tell something about that
    client's data that no event accounts for. No change is a change of norm 0, and clipped like any
    other. In a batched run, one repetition's failure makes all of that call's repetitions stay.

    Attributes:
      solver: The inner solver.
      failures: How often it failed; for the client's own eyes.
    """

    solver: LocalSolver
    failures: int = field(default=0, init=False)

    def solve(self, problem: LocalProblem) -> LocalResult:
        """The inner solver's answer, or the problem's start."""
        try:
            return self.solver.solve(problem)
        except (ImproperGaussianError, FloatingPointError, np.linalg.LinAlgError):
            self.failures += 1
            return LocalResult(problem.start, problem.state)
