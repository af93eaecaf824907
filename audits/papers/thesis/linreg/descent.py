"""DP-SGD as the Thesis writes it down (Algorithm 2 with eq. 4.21–4.22): a local solver.

For comparison with `mechanisms.DPOptimisation`, from which it differs by a `Variant`.
"""

from dataclasses import dataclass

import numpy as np

from audits.papers.thesis.linreg.sparse_poisson import GapSampler
from audits.papers.thesis.linreg.variant import Variant
from pvi import LinearRegression, LocalProblem, LocalResult, LocalSolver, Rule
from pvi.solvers import to_gaussian


@dataclass(frozen=True, slots=True, kw_only=True)
class ThesisDescent(LocalSolver):
    """Gradient ascent on mean and log-variance of the free energy divided by N.

    In each step every record of a Poisson sample gives a row that is clipped to C; the sum has
    noise of standard deviation σC. Adding or removing a record moves the sum by at most C, in
    either coordinates and with or without the prior's share. All that follows is post-processing,
    but for the division by the realised batch.

    Attributes:
      rule: How a gradient becomes a step.
      steps: Per message.
      sampler: Chooses each step's records.
      clip_norm: C.
      noise_multiplier: σ.
      variant: Which of the Thesis's ways are taken.
    """

    rule: Rule
    steps: int
    sampler: GapSampler
    clip_norm: float
    noise_multiplier: float
    variant: Variant

    def solve(self, problem: LocalProblem) -> LocalResult:
        """Takes `steps` steps from the start. For linear regression at temperature 1 only."""
        model, shard, cavity = problem.model, problem.shard, problem.cavity
        start, state, context = problem.start, problem.state, problem.context
        assert isinstance(model, LinearRegression)
        assert problem.temperature == 1.0
        start.require_proper(client=context.client, round=context.round)
        d, scale = model.dimension, 1.0 / model.noise_std**2
        (*shape, size) = shard.targets.shape
        records = shard.inputs.reshape(-1, d), shard.targets.reshape(-1)
        # The first record of each repetition, among those of all.
        first = size * np.arange(records[1].size // size).reshape(*shape, 1)
        parameters = np.concatenate([start.mean, -np.log(start.precision)], axis=-1)
        parameters = np.broadcast_to(parameters, (*shape, 2 * d))
        chain = np.ones((*shape, 2 * d))
        for _ in range(self.steps):
            batch = self.sampler.draw(size, tuple(shape), context.rng)
            assert batch.indices is not None
            assert batch.mask is not None
            chosen = batch.indices + first
            x, y = records[0][chosen], records[1][chosen]
            mean, variance = parameters[..., :d], np.exp(parameters[..., d:])
            prior = np.concatenate(
                [
                    cavity.natural_mean - cavity.precision * mean,
                    0.5 - 0.5 * cavity.precision * variance,
                ],
                axis=-1,
            )
            prior /= size
            rows = np.empty((*y.shape, 2 * d))
            residual = scale * (y - np.einsum("...nd,...d->...n", x, mean))
            rows[..., :d] = residual[..., None] * x
            rows[..., d:] = -0.5 * scale * x**2 * variance[..., None, :]
            if self.variant.spread_prior:
                rows += prior[..., None, :]
            if self.variant.by_variance:
                chain[..., d:] = variance  # d variance = variance · d log-variance
                rows /= chain[..., None, :]
            norms = np.sqrt(np.einsum("...np,...np->...n", rows, rows))
            weights = batch.mask * np.minimum(1.0, self.clip_norm / np.maximum(norms, 1e-100))
            total = np.einsum("...n,...np->...p", weights, rows)
            total += (
                self.noise_multiplier * self.clip_norm * context.rng.standard_normal(total.shape)
            )
            if self.variant.realised_batch:
                total /= np.maximum(batch.mask.sum(axis=-1, keepdims=True), 1.0)
            else:
                total /= batch.expected_size
            slope = total * chain
            if not self.variant.spread_prior:
                slope += prior
            change, state = self.rule.step(slope, state)
            parameters = parameters + change
            if not np.abs(parameters[..., d:]).max() < 200.0:
                break  # What follows raises.
        return LocalResult(to_gaussian(parameters, context), state)
