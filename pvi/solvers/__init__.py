"""Local solvers: how a client maximises its local free energy."""

from pvi.solvers.exact import ExactSolver
from pvi.solvers.gradient import (
    Aggregate,
    GradientSolver,
    StepContext,
    prior_gradient,
    scaled_sum,
    to_gaussian,
)
from pvi.solvers.minibatch import (
    BallsInBinsSampling,
    Batch,
    FixedSizeSampling,
    FullBatch,
    PoissonSampling,
    Sampler,
    ShuffledSampling,
)
from pvi.solvers.problem import Context, LocalProblem, LocalResult, LocalSolver
from pvi.solvers.rules import SGD, Adagrad, Adam, LearningRate, Rule, State
from pvi.solvers.stacked import StackedSolver

__all__ = [
    "SGD",
    "Adagrad",
    "Adam",
    "Aggregate",
    "BallsInBinsSampling",
    "Batch",
    "Context",
    "ExactSolver",
    "FixedSizeSampling",
    "FullBatch",
    "GradientSolver",
    "LearningRate",
    "LocalProblem",
    "LocalResult",
    "LocalSolver",
    "PoissonSampling",
    "Rule",
    "Sampler",
    "ShuffledSampling",
    "StackedSolver",
    "State",
    "StepContext",
    "prior_gradient",
    "scaled_sum",
    "to_gaussian",
]
