"""Gradients of the models against torch autograd and finite differences."""

import math

import numpy as np
import pytest
import torch

from pvi import (
    LinearRegression,
    LogisticRegression,
    MeanFieldGaussian,
    Shard,
    elbo,
    elbo_gradient,
    local_energy,
)
from pvi.models.bnn import BayesianNeuralNetwork
from pvi.solvers import prior_gradient


def random_q(rng, dimension, *lead):
    return MeanFieldGaussian.from_mean_variance(
        rng.normal(size=(*lead, dimension)), rng.uniform(0.1, 1.0, size=(*lead, dimension))
    )


def random_shard(rng, n, k, *lead, labels=False):
    targets = rng.normal(size=(*lead, n))
    return Shard(
        inputs=rng.normal(size=(*lead, n, k)), targets=np.sign(targets) if labels else targets
    )


def from_parameters(parameters):
    mean, log_variance = np.split(parameters, 2)
    return MeanFieldGaussian.from_mean_variance(mean, np.exp(log_variance))


def central_differences(function, point, step=1e-5):
    columns = []
    for direction in np.eye(len(point)) * step:
        columns.append((function(point + direction) - function(point - direction)) / (2 * step))
    return np.stack(columns, axis=-1)


def parameters_of(q):
    return np.concatenate([q.mean, np.log(q.variance)])


@pytest.mark.parametrize(
    ("model", "labels"),
    [
        (LinearRegression(dimension=3, noise_std=0.7), False),
        (LogisticRegression(dimension=3, nodes=64), True),
    ],
)
def test_per_example_gradients_match_finite_differences(model, labels):
    rng = np.random.default_rng(1)
    q, shard = random_q(rng, 3), random_shard(rng, 6, 3, labels=labels)
    numeric = central_differences(
        lambda v: model.expected_log_likelihood(from_parameters(v), shard, rng), parameters_of(q)
    )
    analytic = model.gradients(q, shard, rng)
    assert analytic.shape == (6, 6)
    np.testing.assert_allclose(analytic, numeric, rtol=0, atol=2e-8)
    assert np.abs(analytic).max() > 0.1


def test_linear_gradients_match_torch_autograd():
    rng = np.random.default_rng(2)
    q, shard = random_q(rng, 3), random_shard(rng, 5, 3)
    mean = torch.tensor(q.mean, requires_grad=True)
    log_variance = torch.tensor(np.log(q.variance), requires_grad=True)
    inputs, targets = torch.from_numpy(shard.inputs), torch.from_numpy(shard.targets)
    rows = []
    for x, y in zip(inputs, targets, strict=True):
        moment = (y - x @ mean) ** 2 + (x**2) @ torch.exp(log_variance)
        value = -0.5 * moment / 0.49 - 0.5 * math.log(2 * math.pi * 0.49)
        rows.append(torch.cat(torch.autograd.grad(value, (mean, log_variance))).numpy())
    model = LinearRegression(dimension=3, noise_std=0.7)
    np.testing.assert_allclose(model.gradients(q, shard), np.stack(rows), rtol=1e-12, atol=1e-13)


def network_by_hand(model, theta, inputs):
    """A second implementation of the network, in numpy."""
    k, h = model.inputs, model.hidden
    first, bias = theta[: h * k].reshape(h, k), theta[h * k : h * k + h]
    hidden = np.maximum(inputs @ first.T + bias, 0)
    return hidden @ theta[h * k + h : -1] + theta[-1]


def log_sigmoid(u):
    return -np.logaddexp(0, -u)


def test_network_expectation_matches_a_numpy_forward_pass():
    rng = np.random.default_rng(3)
    model = BayesianNeuralNetwork(inputs=2, hidden=4, samples=3)
    assert model.dimension == 4 * 2 + 4 + 4 + 1
    q, shard = random_q(rng, model.dimension), random_shard(rng, 5, 2, labels=True)
    noise = np.random.default_rng(9).standard_normal((3, model.dimension))
    expected = np.mean(
        [
            log_sigmoid(shard.targets * network_by_hand(model, theta, shard.inputs))
            for theta in q.mean + np.sqrt(q.variance) * noise
        ],
        axis=0,
    )
    ours = model.expected_log_likelihood(q, shard, np.random.default_rng(9))
    np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-13)


def test_network_gradients_match_finite_differences():
    rng = np.random.default_rng(4)
    model = BayesianNeuralNetwork(inputs=2, hidden=3, samples=2)
    q, shard = random_q(rng, model.dimension), random_shard(rng, 4, 2, labels=True)
    numeric = central_differences(
        lambda v: model.expected_log_likelihood(
            from_parameters(v), shard, np.random.default_rng(7)
        ),
        parameters_of(q),
        step=1e-6,
    )
    analytic = model.gradients(q, shard, np.random.default_rng(7))
    assert analytic.shape == (4, 2 * model.dimension)
    np.testing.assert_allclose(analytic, numeric, rtol=0, atol=1e-8)
    assert np.abs(analytic).max() > 0.01


def test_network_default_is_the_papers_and_batches_are_a_loop():
    rng = np.random.default_rng(5)
    assert BayesianNeuralNetwork(inputs=3).hidden == 50
    model = BayesianNeuralNetwork(inputs=2, hidden=3)
    q, shard = random_q(rng, model.dimension, 2), random_shard(rng, 4, 2, labels=True)
    together = model.gradients(q, shard, np.random.default_rng(8))
    generator = np.random.default_rng(8)
    alone = np.stack([model.gradients(q[i], shard, generator) for i in range(2)])
    np.testing.assert_array_equal(together, alone)


@pytest.mark.parametrize(
    "model",
    [
        LinearRegression(dimension=2, noise_std=0.7),
        LogisticRegression(dimension=2),
        BayesianNeuralNetwork(inputs=2, hidden=3),
    ],
)
def test_scores_match_finite_differences(model):
    rng = np.random.default_rng(6)
    weights = rng.normal(size=model.dimension)
    shard = random_shard(rng, 4, 2, labels=True)
    numeric = central_differences(lambda w: model.log_likelihood(w, shard), weights)
    np.testing.assert_allclose(model.scores(weights, shard), numeric, rtol=0, atol=1e-8)


def test_prior_gradient_matches_finite_differences_for_an_improper_cavity_too():
    rng = np.random.default_rng(7)
    q = random_q(rng, 2)
    cavity = MeanFieldGaussian(natural_mean=[0.4, -1.0], precision=[2.0, -0.5])
    numeric = central_differences(
        lambda v: from_parameters(v).expectation_of(cavity) + from_parameters(v).entropy(),
        parameters_of(q),
    )
    np.testing.assert_allclose(prior_gradient(q, cavity), numeric, rtol=0, atol=1e-8)


def test_elbo_gradient_matches_finite_differences():
    rng = np.random.default_rng(8)
    model, prior = LogisticRegression(dimension=2, nodes=64), random_q(rng, 2)
    q, shards = random_q(rng, 2), [random_shard(rng, n, 2, labels=True) for n in (3, 5)]
    numeric = central_differences(
        lambda v: elbo(model, from_parameters(v), prior, shards, rng), parameters_of(q)
    )
    np.testing.assert_allclose(
        elbo_gradient(model, q, prior, shards, rng), numeric, rtol=0, atol=1e-7
    )
    pooled = local_energy(model, q, prior, Shard.concatenate(shards), rng) - prior.log_partition()
    assert float(pooled) == pytest.approx(float(elbo(model, q, prior, shards, rng)), abs=1e-11)


@pytest.mark.parametrize(
    ("model", "labels"),
    [
        (LinearRegression(dimension=2, noise_std=1.3), False),
        (LogisticRegression(dimension=2), True),
    ],
)
def test_batched_data_and_batched_q_are_a_loop(model, labels):
    rng = np.random.default_rng(9)
    q, shard = random_q(rng, 2, 4), random_shard(rng, 5, 2, 4, labels=labels)
    shared = random_shard(rng, 5, 2, labels=labels)
    for i in range(4):
        own = Shard(inputs=shard.inputs[i], targets=shard.targets[i])
        np.testing.assert_allclose(
            model.gradients(q, shard)[i], model.gradients(q[i], own), rtol=1e-13, atol=1e-14
        )
        np.testing.assert_allclose(
            model.gradients(q, shared)[i], model.gradients(q[i], shared), rtol=1e-13, atol=1e-14
        )
        np.testing.assert_allclose(
            model.expected_log_likelihood(q, shard)[i],
            model.expected_log_likelihood(q[i], own),
            rtol=1e-13,
        )
