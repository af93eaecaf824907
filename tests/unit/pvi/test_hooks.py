"""The hooks suffice for a wrapper: rows clipped, noise added, in one batched run."""

import math

import numpy as np

from pvi import (
    SGD,
    Alteration,
    Client,
    ExactSolver,
    Federation,
    GradientSolver,
    LinearRegression,
    MeanFieldGaussian,
    PoissonSampling,
    Shard,
    Synchronous,
    WholeShard,
)

REPETITIONS = 20_000
CLIP, NOISE, RATE = 0.5, 2.0, 0.5


def clip(rows):
    norms = np.linalg.norm(rows, axis=-1, keepdims=True)
    return rows / np.maximum(1.0, norms / CLIP)


def test_clipped_and_noised_gradients_have_the_law_that_the_wrapper_wants():
    """One step from the prior moves the mean by rate·(Σ clipped·mask + noise)/sampling rate.

    Mean and variance of the step in both coordinates of the mean, over 20000 repetitions, each
    within 6.5 standard errors: false alarm below 1e-8.
    """

    def aggregate(gradients, context):
        noise = NOISE * CLIP * context.rng.standard_normal((REPETITIONS, gradients.shape[-1]))
        total = clip(gradients).sum(axis=-2) + noise
        return total * (context.size / context.expected_batch_size)

    rng = np.random.default_rng(0)
    shard = Shard(inputs=rng.normal(size=(4, 2)), targets=3 * rng.normal(size=4))
    model = LinearRegression(dimension=2, noise_std=1.0)
    solver = GradientSolver(
        rule=SGD(learning_rate=0.1),
        steps=1,
        sampler=PoissonSampling(sampling_rate=RATE),
        aggregate=aggregate,
    )
    prior = MeanFieldGaussian.from_mean_variance(np.zeros(2), np.ones(2))
    client = Client(0, WholeShard(model=model, shard=shard, solver=solver))
    federation = Federation(
        prior.broadcast_to((REPETITIONS,)), [client], Synchronous(), rng=np.random.default_rng(1)
    )
    step = federation.run(1).posterior.mean / 0.1 * RATE

    # at the prior: gradient by mean y·x, by log-variance −½x²
    rows = clip(np.hstack([shard.targets[:, None] * shard.inputs, -0.5 * shard.inputs**2]))[:, :2]
    assert (np.linalg.norm(rows, axis=1) < CLIP + 1e-12).all()
    mean = RATE * rows.sum(axis=0)
    variance = RATE * (1 - RATE) * (rows**2).sum(axis=0) + (NOISE * CLIP) ** 2
    assert (np.abs(step.mean(axis=0) - mean) < 6.5 * np.sqrt(variance / REPETITIONS)).all()
    assert (np.abs(step.var(axis=0) / variance - 1) < 6.5 * math.sqrt(2 / REPETITIONS)).all()


def test_noise_on_the_change_is_remembered_or_forgotten_as_the_wrapper_says():
    """Two books: noise in both, or only in what is sent, when q drifts from the factors."""
    model = LinearRegression(dimension=1, noise_std=1.0)
    shard = Shard(inputs=[[1.0]], targets=[2.0])
    noise = MeanFieldGaussian(natural_mean=[0.25], precision=[0.5])
    prior = MeanFieldGaussian.from_mean_variance([0.0], [1.0])
    for kept, drift in ((True, 0.0), (False, 0.25)):

        def alter(change, context, kept=kept):
            return Alteration(change * noise) if kept else Alteration(change * noise, kept=change)

        client = Client(0, WholeShard(model=model, shard=shard, solver=ExactSolver()), alter=alter)
        federation = Federation(prior, [client], Synchronous(), rng=np.random.default_rng(0))
        federation.run(5)
        gap = federation.posterior / (prior * client.factor)
        np.testing.assert_allclose(gap.natural_mean, [5 * drift], atol=1e-12)
