"""Local solvers: how a client maximises its local free energy (Thesis eq. 2.4, TMLR eq. 2.4)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

from pvi.gaussian import ImproperGaussianError, MeanFieldGaussian
from pvi.models.protocol import ExactModel, Model
from pvi.shard import Shard
from pvi.solvers.minibatch import FullBatch, Sampler
from pvi.solvers.rules import Rule, State
from pvi.validate import FloatArray, at_least


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Who computes, when, and with which randomness.

    Attributes:
        client: the client's number.
        round: the server's round.
        rng: the source of all randomness of this call.
    """

    client: int
    round: int
    rng: np.random.Generator


@dataclass(frozen=True, slots=True, kw_only=True)
class StepContext(Context):
    """The context of one gradient step.

    Attributes:
        step: the step's number within this local optimisation, from 0.
        size: the number of records of the shard.
        expected_batch_size: the size that the sampler was asked for.
    """

    step: int
    size: int
    expected_batch_size: float


Aggregate: TypeAlias = Callable[[FloatArray, StepContext], FloatArray]
"""Turns per-example gradients (..., L, p) into an estimate (..., p) of their sum over the shard.

Rows left out by a masking sampler are zero. A wrapper substitutes its own.
"""


def scaled_sum(gradients: FloatArray, context: StepContext) -> FloatArray:
    """Gives the sum of the rows times size / expected batch size: the unbiased default."""
    if context.size == 0:  # an empty shard: nothing to scale
        return np.asarray(gradients.sum(axis=-2))
    return np.asarray(gradients.sum(axis=-2) * (context.size / context.expected_batch_size))


class LocalResult(NamedTuple):
    """A local solver's answer: the new distribution, and the state to carry on with."""

    q: MeanFieldGaussian
    state: State


class LocalSolver(Protocol):
    """Maximises temperature · E_q[log p(shard | θ)] − KL(q ‖ cavity) over q."""

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
        """Gives the new q; `start` is where an iterative solver begins."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactSolver:
    """The model's closed form.

    Attributes:
        method: the name of the model's method: `optimum`, or a variant such as `thesis_update`.
    """

    method: str = "optimum"

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
        """Gives the closed form; `start` is not used."""
        if not isinstance(model, ExactModel) or not hasattr(model, self.method):
            raise TypeError(
                f"{type(model).__name__} has no closed form {self.method!r}; use a GradientSolver"
            )
        q: MeanFieldGaussian = getattr(model, self.method)(cavity, shard, temperature)
        return LocalResult(q.require_proper(client=context.client, round=context.round), state)


@dataclass(frozen=True, slots=True, kw_only=True)
class GradientSolver:
    """Gradient ascent on mean and log-variance.

    Attributes:
        rule: SGD, Adagrad or Adam.
        steps: local steps per call.
        sampler: chooses each step's records.
        aggregate: forms the data gradient from the per-example gradients.
        spread_prior: adds 1/n of the prior term's gradient to each per-example gradient before
            aggregation (Thesis eq. 4.21–4.22) instead of once after it.
        average: divides the objective by n, so that a learning rate means the same for any n.
        persistent: keeps the rule's state from one call to the next; otherwise each starts afresh.
    """

    rule: Rule
    steps: int
    sampler: Sampler = field(default_factory=FullBatch)
    aggregate: Aggregate = scaled_sum
    spread_prior: bool = False
    average: bool = False
    persistent: bool = True

    def __post_init__(self) -> None:
        at_least("steps", self.steps, 1)

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
        """Takes `steps` steps from `start`."""
        shape = np.broadcast_shapes(start.batch_shape, cavity.batch_shape, shard.batch_shape)
        start.require_proper(client=context.client, round=context.round)
        parameters = np.broadcast_to(
            np.concatenate([start.mean, -np.log(start.precision)], axis=-1),
            (*shape, 2 * start.dimension),
        )
        rule_state: State = state if self.persistent else {}
        for step in range(self.steps):
            batch = self.sampler.draw(shard.size, shape, context.rng)
            step_context = StepContext(
                client=context.client,
                round=context.round,
                rng=context.rng,
                step=step,
                size=shard.size,
                expected_batch_size=batch.expected_size,
            )
            q = to_gaussian(parameters, context)
            rows = shard if batch.indices is None else shard.take(batch.indices)
            gradients = model.gradients(q, rows, context.rng)
            if temperature != 1.0:
                gradients = temperature * gradients
            prior = prior_gradient(q, cavity)
            if self.spread_prior:
                gradients = gradients + prior[..., None, :] / shard.size
            if batch.mask is not None:
                gradients = gradients * batch.mask[..., None]
            total = self.aggregate(gradients, step_context)
            if not self.spread_prior:
                total = total + prior
            if self.average:
                total = total / shard.size
            change, rule_state = self.rule.step(total, rule_state)
            parameters = parameters + change
        return LocalResult(to_gaussian(parameters, context), rule_state)


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
