"""A local solver that cannot stop a run."""

from dataclasses import dataclass, field

import numpy as np

from pvi import (
    Context,
    ImproperGaussianError,
    LocalResult,
    LocalSolver,
    MeanFieldGaussian,
    Model,
    Shard,
    State,
)


@dataclass(slots=True)
class GuardedSolver:
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
        """The inner solver's answer, or `start`."""
        try:
            return self.solver.solve(
                model,
                shard,
                cavity=cavity,
                start=start,
                state=state,
                temperature=temperature,
                context=context,
            )
        except (ImproperGaussianError, FloatingPointError, np.linalg.LinAlgError):
            self.failures += 1
            return LocalResult(start, state)
