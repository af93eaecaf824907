"""Noisy gradient steps of one client of partitioned VI, for specimens whose flaw is DP-SGD's own.

Data are the gradients that the records shall have, an array (records, dimension). A record of
linear regression with the input x and the target y has, at mean μ and variance v, the gradients
x·(y − xᵀμ) by the mean and −½x²·v by the log-variance. With inputs of norm 1e-9 and targets of 1e9
times the gradient's norm the former is the gradient asked for, to 1e-15 or better, and the latter
is 5e-19 at v = 1: nothing, beside noise.
"""

from typing import Protocol

import numpy as np

from accountants.arrays import FloatArray
from mechanisms import Budget, DPOptimisation, PrivateRun, Setting
from pvi import (
    SGD,
    Aggregate,
    Client,
    Federation,
    GradientSolver,
    LinearRegression,
    MeanFieldGaussian,
    Sampler,
    Shard,
    Synchronous,
    WholeShard,
)

LEARNING_RATE = 1e-3
RULE = SGD(learning_rate=LEARNING_RATE)
_INPUT = 1e-9


class Run(Protocol):
    """What goes on by rounds: a federation, or a mechanism's run."""

    @property
    def posterior(self) -> MeanFieldGaussian:
        """The server's q."""
        ...

    def run(self, rounds: int) -> object:
        """Makes `rounds` more rounds."""
        ...


def _shard(gradients: FloatArray) -> Shard:
    """Records that have these gradients by the mean."""
    norms = np.linalg.norm(gradients, axis=1)
    directions = gradients / np.where(norms > 0.0, norms, 1.0)[:, None]
    return Shard(inputs=_INPUT * directions, targets=norms / _INPUT)


def _model(gradients: FloatArray) -> LinearRegression:
    """The model that the records are for."""
    return LinearRegression(dimension=gradients.shape[1], noise_std=1.0)


def _prior(gradients: FloatArray, n: int) -> MeanFieldGaussian:
    """Standard normal, for n independent runs."""
    ones = np.ones((n, gradients.shape[1]))
    return MeanFieldGaussian.from_mean_variance(0.0 * ones, ones)


def optimised(
    mechanism: DPOptimisation,
    gradients: FloatArray,
    rng: np.random.Generator,
    n: int,
    *,
    budget: Budget | None = None,
) -> PrivateRun:
    """The sound mechanism, n runs at once."""
    return mechanism.build(
        Setting(model=_model(gradients), prior=_prior(gradients, n)),
        [_shard(gradients)],
        rng,
        budget=budget,
    )


def client_run(
    aggregate: Aggregate, sampler: Sampler, gradients: FloatArray, rng: np.random.Generator, n: int
) -> Federation:
    """A client that sums gradients by a rule that `mechanisms` does not have, n runs at once."""
    solver = GradientSolver(rule=RULE, steps=1, sampler=sampler, aggregate=aggregate)
    strategy = WholeShard(model=_model(gradients), shard=_shard(gradients), solver=solver)
    prior = _prior(gradients, n)
    return Federation(prior, [Client(0, strategy)], Synchronous(), rng=rng, record=False)


def moves(run: Run, rounds: int) -> FloatArray:
    """What each round did to mean and log-variance, over the learning rate: (n, rounds · 2d).

    A message is the change of natural parameters; who knows q before it can tell this from it, and
    the reverse. In the first round it is the noisy sum of gradients, times the public scale.
    """
    seen = [_parameters(run.posterior)]
    for _ in range(rounds):
        run.run(1)
        seen.append(_parameters(run.posterior))
    return np.concatenate(np.diff(seen, axis=0), axis=1) / LEARNING_RATE


def _parameters(q: MeanFieldGaussian) -> FloatArray:
    return np.concatenate([q.mean, np.log(q.variance)], axis=1)
