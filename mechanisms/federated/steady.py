"""A local solver that gives an answer whatever the data are, for processes that others ask."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pvi import LocalProblem, LocalResult, LocalSolver
from pvi.validate import checked, having

# So far from the largest float that sums and quotients of answers stay finite.
_LARGEST = 1e150


@dataclass(slots=True)
class SteadySolver(LocalSolver):
    """Gives "no change" where the inner solver fails, in whatever way.

    Whether a solver fails depends on the data, and a refusal would tell: no event covers that. No
    change is clipped and gets noise like any other. `GuardedSolver` is for simulations, in which an
    unforeseen error should be seen; here the owner sees it in `failures`.

    Attributes:
      solver: The inner solver.
      failures: How often it failed; for the owner's eyes.
    """

    solver: LocalSolver
    failures: int = field(default=0, init=False, compare=False)

    def __post_init__(self) -> None:
        having("solver", self.solver, "solve")

    @checked(problem=LocalProblem)
    def solve(self, problem: LocalProblem) -> LocalResult:
        """The inner solver's answer if it is finite and not vast, or the problem's start."""
        try:
            found = self.solver.solve(problem)
            if _usable(found.q.vector) and all(_usable(own) for own in found.state.values()):
                return found
        except Exception:
            pass
        self.failures += 1
        return LocalResult(problem.start, problem.state)


def _usable(values: Any) -> bool:
    return bool((np.abs(values) < _LARGEST).all())  # False for NaN
