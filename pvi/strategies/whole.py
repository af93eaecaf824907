"""One optimisation on all local data (TMLR Algorithm 1)."""

from dataclasses import dataclass

from pvi.gaussian import MeanFieldGaussian
from pvi.models.protocol import Model, check_model
from pvi.shard import Shard
from pvi.solvers.problem import Context, LocalProblem, LocalSolver
from pvi.strategies.protocol import PartState, Wish
from pvi.validate import checked, having, instance, positive, sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeShard:
    """One optimisation on all local data (TMLR Algorithm 1).

    Attributes:
      model: The likelihood.
      shard: The client's data.
      solver: The local solver.
    """

    model: Model
    shard: Shard
    solver: LocalSolver

    def __post_init__(self) -> None:
        check_model("model", self.model)
        instance("shard", self.shard, Shard)
        having("solver", self.solver, "solve")

    @property
    def size(self) -> int:
        """The number of records."""
        return self.shard.size

    def initial_state(self) -> tuple[PartState, ...]:
        """One part."""
        return (PartState(),)

    @checked(posterior=MeanFieldGaussian, factor=MeanFieldGaussian, context=Context)
    def propose(
        self,
        posterior: MeanFieldGaussian,
        factor: MeanFieldGaussian,
        state: tuple[PartState, ...],
        damping: float,
        context: Context,
    ) -> Wish:
        """Gives (q*/q)^damping with q* the optimum for the cavity q/factor."""
        damping = positive("damping", damping, upper=1.0)
        parts = sequence("state", state, PartState, least=1)
        problem = LocalProblem(
            model=self.model,
            shard=self.shard,
            cavity=posterior / factor,
            start=posterior,
            state=parts[0].solver,
            temperature=1.0,
            context=context,
        )
        q, solver_state = self.solver.solve(problem)
        return Wish((q / posterior) ** damping, (PartState(solver=solver_state),))
