"""Many repetitions in one call are the loop over them, to 1e-10."""

import numpy as np
import pytest

from pvi import (
    SGD,
    Adagrad,
    Adam,
    AveragedShards,
    Batch,
    Client,
    ExactSolver,
    Federation,
    GradientSolver,
    LinearRegression,
    LogisticRegression,
    MeanFieldGaussian,
    Sampler,
    Sequential,
    Shard,
    Synchronous,
    VirtualShards,
    WholeShard,
)

REPETITIONS = 100_000


def make_shards(rng, repetitions, labels=False):
    made = []
    for size in (3, 4, 6, 2, 5):
        inputs = rng.normal(size=(repetitions, size, 2))
        noise = rng.normal(size=(repetitions, size))
        targets = inputs @ [-1.0, 2.0] + noise
        made.append(Shard(inputs=inputs, targets=np.sign(targets) if labels else targets))
    return made


def run(strategies, prior, schedule, rounds=10):
    clients = [Client(m, strategy, damping=0.2) for m, strategy in enumerate(strategies)]
    federation = Federation(prior, clients, schedule, rng=np.random.default_rng(0))
    return federation.run(rounds).history.posterior


def assert_batched_is_one_by_one(build, shards, members, schedule, tolerance=1e-10):
    prior = MeanFieldGaussian.from_mean_variance(np.zeros(2), np.ones(2))
    repetitions = shards[0].inputs.shape[0]
    together = run(build(shards), prior.broadcast_to((repetitions,)), schedule)
    assert together.shape == (10, repetitions, 4)
    for i in members:
        alone = [Shard(inputs=s.inputs[i], targets=s.targets[i]) for s in shards]
        np.testing.assert_allclose(
            together[:, i], run(build(alone), prior, schedule), rtol=0, atol=tolerance
        )
    assert np.ptp(together[-1], axis=0).min() > 0.1


def test_hundred_thousand_exact_synchronous_runs():
    """Five clients, two dimensions, ten rounds; 40 of the repetitions are run on their own too."""
    rng = np.random.default_rng(1)
    model = LinearRegression(dimension=2, noise_std=1.0)

    def build(shards):
        return [WholeShard(model=model, shard=s, solver=ExactSolver()) for s in shards]

    members = rng.choice(REPETITIONS, size=40, replace=False)
    assert_batched_is_one_by_one(build, make_shards(rng, REPETITIONS), members, Synchronous())


@pytest.mark.parametrize("strategy", [AveragedShards, VirtualShards])
def test_partitioned_strategies(strategy):
    rng = np.random.default_rng(2)
    model = LinearRegression(dimension=2, noise_std=1.0)

    def build(shards):
        return [strategy(model=model, shards=s.partition(2), solver=ExactSolver()) for s in shards]

    assert_batched_is_one_by_one(build, make_shards(rng, 50), range(5), Sequential())


class FirstRecords(Sampler):
    """A sampler without chance, so that a batch and a loop see the same records."""

    def draw(self, size, batch_shape, rng):
        return Batch(np.arange(min(2, size)), None, 2.0)


@pytest.mark.parametrize(
    "rule", [SGD(learning_rate=0.05), Adagrad(learning_rate=0.2), Adam(learning_rate=0.05)]
)
@pytest.mark.parametrize("labels", [False, True])
def test_gradient_solvers(rule, labels):
    rng = np.random.default_rng(3)
    model = (
        LogisticRegression(dimension=2) if labels else LinearRegression(dimension=2, noise_std=1.0)
    )
    solver = GradientSolver(rule=rule, steps=4, sampler=FirstRecords())

    def build(shards):
        return [WholeShard(model=model, shard=s, solver=solver) for s in shards]

    assert_batched_is_one_by_one(build, make_shards(rng, 40, labels), range(4), Synchronous())


@pytest.mark.parametrize("dimension", [1, 2, 3, 5])
def test_closed_form_agrees_with_lapack(dimension):
    """The shortcuts for one and two coordinates against a plain solve."""
    rng = np.random.default_rng(4)
    model = LinearRegression(dimension=dimension, noise_std=0.5)
    inputs, targets = rng.normal(size=(6, 7, dimension)), rng.normal(size=(6, 7))
    cavity = MeanFieldGaussian.from_mean_variance(
        rng.normal(size=(6, dimension)), rng.uniform(0.5, 2, size=(6, dimension))
    )
    q = model.optimum(cavity, Shard(inputs=inputs, targets=targets), 3.0)
    for i in range(6):
        tilted = np.diag(cavity.precision[i]) + 12 * inputs[i].T @ inputs[i]
        moment = cavity.natural_mean[i] + 12 * inputs[i].T @ targets[i]
        np.testing.assert_allclose(q.mean[i], np.linalg.solve(tilted, moment), rtol=1e-10)
        np.testing.assert_allclose(q.precision[i], np.diag(tilted), rtol=1e-14)
