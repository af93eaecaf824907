"""Gradient ascent on the local free energy, with a hook that forms the data gradient."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from pvi.gaussian import ImproperGaussianError, MeanFieldGaussian
from pvi.solvers.minibatch import FullBatch, Sampler
from pvi.solvers.problem import Context, LocalProblem, LocalResult, LocalSolver
from pvi.solvers.rules import Rule, State
from pvi.validate import (
    FloatArray,
    at_least,
    checked,
    flag,
    function,
    having,
    positive,
    real,
    reals,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepContext(Context):
    """The context of one gradient step.

    Attributes:
      step: The step's number within this local optimisation, from 0.
      size: The number of records of the shard.
      expected_batch_size: The size that the sampler was asked for.
    """

    step: int
    size: int
    expected_batch_size: float

    def __post_init__(self) -> None:
        Context.__post_init__(self)
        at_least("step", self.step, 0)
        at_least("size", self.size, 0)
        real("expected_batch_size", self.expected_batch_size, lower=0.0)


Aggregate: TypeAlias = Callable[[FloatArray, StepContext], FloatArray]
"""Turns per-example gradients (..., L, p) into an estimate (..., p) of their sum over the shard.

Rows left out by a masking sampler are zero. A wrapper substitutes its own.
"""


@checked(context=StepContext)
def scaled_sum(gradients: FloatArray, context: StepContext) -> FloatArray:
    """Gives the sum of the rows times size / expected batch size: the unbiased default."""
    gradients = reals("gradients", gradients)
    if gradients.ndim < 2:
        raise ValueError(f"`gradients` must have rows, got shape {gradients.shape}.")
    if context.size == 0:  # an empty shard: nothing to scale
        return np.asarray(gradients.sum(axis=-2))
    scale = context.size / positive("expected_batch_size", context.expected_batch_size)
    return np.asarray(gradients.sum(axis=-2) * scale)


@dataclass(frozen=True, slots=True, kw_only=True)
class GradientSolver(LocalSolver):
    """Gradient ascent on mean and log-variance.

    Attributes:
      rule: SGD, Adagrad or Adam.
      steps: Local steps per call.
      sampler: Chooses each step's records.
      aggregate: Forms the data gradient from the per-example gradients.
      spread_prior: Adds 1/n of the prior term's gradient to each per-example gradient before
        aggregation (Thesis eq. 4.21–4.22) instead of once after it.
      objective_divisor: What the objective is divided by, so that a learning rate means the same
        for any number of records; None for that number n itself.
      persistent: Keeps the rule's state from one call to the next; otherwise each starts afresh.
    """

    rule: Rule
    steps: int
    sampler: Sampler = field(default_factory=FullBatch)
    aggregate: Aggregate = scaled_sum
    spread_prior: bool = False
    objective_divisor: float | None = 1.0
    persistent: bool = True

    def __post_init__(self) -> None:
        having("rule", self.rule, "step")
        at_least("steps", self.steps, 1)
        having("sampler", self.sampler, "begin", "draw")
        function("aggregate", self.aggregate)
        flag("spread_prior", self.spread_prior)
        flag("persistent", self.persistent)
        if self.objective_divisor is not None:
            positive("objective_divisor", self.objective_divisor)

    @checked(problem=LocalProblem)
    def solve(self, problem: LocalProblem) -> LocalResult:
        """Takes `steps` steps from the problem's start."""
        shard, start, context = problem.shard, problem.start, problem.context
        shape, size = problem.batch_shape, problem.shard.size
        start.require_proper(client=context.client, round=context.round)
        parameters = np.broadcast_to(
            np.concatenate([start.mean, -np.log(start.precision)], axis=-1),
            (*shape, 2 * start.dimension),
        )
        divisor = size if self.objective_divisor is None else self.objective_divisor
        sampler = self.sampler.begin()
        state: State = problem.state if self.persistent else {}
        for step in range(self.steps):
            batch = sampler.draw(size, shape, context.rng)
            step_context = StepContext(
                client=context.client,
                round=context.round,
                rng=context.rng,
                step=step,
                size=size,
                expected_batch_size=batch.expected_size,
            )
            q = to_gaussian(parameters, context)
            rows = shard if batch.indices is None else shard.take(batch.indices)
            gradients = problem.model.gradients(q, rows, context.rng)
            if problem.temperature != 1.0:
                gradients = problem.temperature * gradients
            prior = prior_gradient(q, problem.cavity)
            if self.spread_prior:
                gradients = gradients + prior[..., None, :] / size
            if batch.mask is not None:
                gradients = gradients * batch.mask[..., None]
            total = self.aggregate(gradients, step_context)
            if not self.spread_prior:
                total = total + prior
            change, state = self.rule.step(total / divisor, state)
            parameters = parameters + change
        return LocalResult(to_gaussian(parameters, context), state)


def prior_gradient(q: MeanFieldGaussian, cavity: MeanFieldGaussian) -> FloatArray:
    """Gives the gradient of −KL(q ‖ cavity) by mean and log-variance, for improper cavities too."""
    by_mean = cavity.natural_mean - cavity.precision * q.mean
    by_log_variance = 0.5 - 0.5 * cavity.precision * q.variance
    return np.concatenate(np.broadcast_arrays(by_mean, by_log_variance), axis=-1)


def to_gaussian(parameters: FloatArray, context: Context) -> MeanFieldGaussian:
    """Gives the Gaussian of (mean, log-variance), or an error that says who diverged."""
    mean, log_variance = np.split(parameters, 2, axis=-1)
    if not ((np.abs(mean) < 1e100).all() and (np.abs(log_variance) < 200.0).all()):
        raise ImproperGaussianError(
            "the optimisation diverged: a mean is beyond ±1e100 or a log-variance beyond ±200; "
            "try a smaller learning rate or more damping",
            client=context.client,
            round=context.round,
        )
    precision = np.exp(-log_variance)
    return MeanFieldGaussian(natural_mean=precision * mean, precision=precision)
