"""Closed forms as local solvers."""

from dataclasses import dataclass

from pvi.gaussian import MeanFieldGaussian
from pvi.models.protocol import ExactModel
from pvi.solvers.problem import LocalProblem, LocalResult, LocalSolver
from pvi.validate import checked, instance, shown


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactSolver(LocalSolver):
    """The model's closed form.

    Attributes:
      method: The name of the model's method: `optimum`, or a variant such as `thesis_update`.
    """

    method: str = "optimum"

    def __post_init__(self) -> None:
        instance("method", self.method, str)

    @checked(problem=LocalProblem)
    def solve(self, problem: LocalProblem) -> LocalResult:
        """Gives the closed form; `start` is not used."""
        context, q = problem.context, self.closed_form(problem)
        q.require_proper(client=context.client, round=context.round)
        return LocalResult(q, problem.state)

    @checked(problem=LocalProblem)
    def closed_form(self, problem: LocalProblem) -> MeanFieldGaussian:
        """Gives the stationary point, which need not be a distribution."""
        model = problem.model
        if not isinstance(model, ExactModel) or not hasattr(model, self.method):
            raise TypeError(
                f"`model` must have a closed form {shown(self.method)} (or use a GradientSolver), "
                f"got {type(model).__name__}."
            )
        closed_form = getattr(model, self.method)
        q: MeanFieldGaussian = closed_form(problem.cavity, problem.shard, problem.temperature)
        return q
