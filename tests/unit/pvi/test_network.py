"""The neural network in a federation: it learns what a linear model cannot."""

import numpy as np
import pytest

from pvi import (
    Adam,
    Client,
    Federation,
    FixedSizeSampling,
    GradientSolver,
    LogisticRegression,
    MeanFieldGaussian,
    Sequential,
    Shard,
    WholeShard,
)
from pvi.models.bnn import BayesianNeuralNetwork


def exclusive_or(rng, size):
    inputs = rng.uniform(-2, 2, size=(size, 2))
    return Shard(inputs=inputs, targets=np.sign(inputs[:, 0] * inputs[:, 1]))


def train(model, shards, start, rng):
    prior = MeanFieldGaussian.from_mean_variance(
        np.zeros(model.dimension), np.ones(model.dimension)
    )
    solver = GradientSolver(
        rule=Adam(learning_rate=0.03), steps=60, sampler=FixedSizeSampling(batch_size=32)
    )
    # the start enters as the first client's initial factor, so that q = prior × factors holds
    factors = [start / prior, None, None]
    clients = [
        Client(m, WholeShard(model=model, shard=shard, solver=solver), damping=0.5, factor=factor)
        for m, (shard, factor) in enumerate(zip(shards, factors, strict=True))
    ]
    return Federation(prior, clients, Sequential(), rng=rng).run(8).posterior


@pytest.mark.slow
def test_network_learns_exclusive_or_and_logistic_regression_cannot():
    rng = np.random.default_rng(0)
    shards, test = [exclusive_or(rng, 100) for _ in range(3)], exclusive_or(rng, 400)
    network = BayesianNeuralNetwork(inputs=2, hidden=20)
    start = MeanFieldGaussian.from_mean_variance(
        network.initial_mean(rng), np.full(network.dimension, 1e-2)
    )
    q = train(network, shards, start, rng)
    right = network.predict_sampled(q, test.inputs, rng) > 0.5
    assert (right == (test.targets > 0)).mean() > 0.9

    line = LogisticRegression(dimension=2)
    flat = MeanFieldGaussian.from_mean_variance(np.zeros(2), np.full(2, 0.1))
    q = train(line, shards, flat, rng)
    assert ((line.predict(q, test.inputs) > 0.5) == (test.targets > 0)).mean() < 0.65


def test_network_prediction_averages_over_draws():
    """With next to no variance, every draw is the mean network, computed by hand here."""
    model = BayesianNeuralNetwork(inputs=1, hidden=2)
    mean = np.array([1.0, -2.0, 0.5, 0.25, 3.0, -1.0, 0.1])
    q = MeanFieldGaussian.from_mean_variance(mean, np.full(7, 1e-20))
    hidden = np.maximum([1.0 * 0.7 + 0.5, -2.0 * 0.7 + 0.25], 0.0)
    logit = 3.0 * hidden[0] - 1.0 * hidden[1] + 0.1
    chance = model.predict_sampled(q, np.array([[0.7]]), np.random.default_rng(0), samples=3)
    np.testing.assert_allclose(chance, [1 / (1 + np.exp(-logit))], rtol=1e-8)


def test_network_refuses_what_it_cannot_take():
    model = BayesianNeuralNetwork(inputs=1, hidden=2)
    q = MeanFieldGaussian.from_mean_variance(np.zeros(7), np.ones(7))
    with pytest.raises(ValueError, match=r"`targets` must be .*, got 0\.5"):
        model.gradients(q, Shard(inputs=[[1.0]], targets=[0.5]), np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"`hidden` must be .*, got 0"):
        BayesianNeuralNetwork(inputs=1, hidden=0)


@pytest.mark.parametrize("samples", [1, 3])
def test_the_gradient_by_hand_is_that_of_autodiff(samples):
    torch = pytest.importorskip("torch")
    model = BayesianNeuralNetwork(inputs=3, hidden=4, samples=samples)
    rng = np.random.default_rng(3)
    q = MeanFieldGaussian.from_mean_variance(
        rng.normal(size=model.dimension), rng.uniform(0.1, 1.0, size=model.dimension)
    )
    shard = Shard.from_classes(rng.normal(size=(6, 3)), rng.integers(0, 2, size=6))
    ours = model.gradients(q, shard, np.random.default_rng(8))
    parameters = torch.tensor(np.concatenate([q.mean, -np.log(q.precision)]), requires_grad=True)
    noise = torch.from_numpy(np.random.default_rng(8).standard_normal((samples, model.dimension)))
    mean, log_variance = parameters[: model.dimension], parameters[model.dimension :]
    for record in range(shard.size):
        row = torch.from_numpy(shard.inputs[record])
        value = torch.zeros((), dtype=torch.float64)
        for draw in noise:
            theta = mean + torch.exp(0.5 * log_variance) * draw
            hidden = torch.relu(theta[:12].reshape(4, 3) @ row + theta[12:16])
            logit = theta[16:20] @ hidden + theta[20]
            value = value + torch.nn.functional.logsigmoid(shard.targets[record] * logit)
        (expected,) = torch.autograd.grad(value / samples, parameters)
        np.testing.assert_allclose(ours[record], expected.numpy(), rtol=1e-9, atol=1e-12)
