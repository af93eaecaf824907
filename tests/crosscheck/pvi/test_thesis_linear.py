"""The Thesis's linear example (4.1.5, Fig. 4.1): the exact optimum against its eq. 4.12.

Five clients with 200 points each, θ = (−1, 2), noise 3, prior N(0, I).
"""

import numpy as np
import pytest
from scipy import optimize

from pvi import (
    Client,
    ExactSolver,
    Federation,
    LinearRegression,
    MeanFieldGaussian,
    Sequential,
    Shard,
    Synchronous,
    WholeShard,
    kl_to_full,
)

MODEL = LinearRegression(dimension=2, noise_std=3.0)
PRIOR = MeanFieldGaussian.from_mean_variance(np.zeros(2), np.ones(2))


def thesis_data(rng, repetitions, clients=5, records=200):
    column = rng.normal(size=(repetitions, clients * records, 1))
    inputs = np.concatenate([np.ones_like(column), column], axis=-1)
    targets = inputs @ [-1.0, 2.0] + 3.0 * rng.normal(size=inputs.shape[:-1])
    return Shard(inputs=inputs, targets=targets)


def run(shard, method, schedule, rounds, damping=1.0):
    clients = [
        Client(
            m,
            WholeShard(model=MODEL, shard=part, solver=ExactSolver(method=method)),
            damping=damping,
        )
        for m, part in enumerate(shard.partition(5))
    ]
    prior = PRIOR.broadcast_to(shard.batch_shape)
    return Federation(prior, clients, schedule, rng=np.random.default_rng(0)).run(rounds).posterior


def mean_field_optimum(shard):
    """The minimiser of KL(q ‖ full posterior), from the full posterior's own formula."""
    precision = np.eye(2) + np.swapaxes(shard.inputs, -1, -2) @ shard.inputs / 9.0
    moment = np.einsum("...nk,...n->...k", shard.inputs, shard.targets) / 9.0
    mean = np.einsum("...ij,...j->...i", np.linalg.inv(precision), moment)
    return MeanFieldGaussian.from_mean_variance(
        mean, 1 / np.diagonal(precision, axis1=-2, axis2=-1)
    )


@pytest.fixture(scope="module")
def shard():
    return thesis_data(np.random.default_rng(41), 400)


def test_mean_field_optimum_is_what_numerical_minimisation_finds(shard):
    one = Shard(inputs=shard.inputs[0], targets=shard.targets[0])
    mean, covariance = MODEL.posterior_moments(PRIOR, one)

    def objective(v):
        q = MeanFieldGaussian.from_mean_variance(v[:2], np.exp(v[2:]))
        return float(kl_to_full(q, mean, covariance))

    found = optimize.minimize(objective, [0, 0, -4, -4], method="Nelder-Mead", tol=1e-12).x
    best = mean_field_optimum(one)
    np.testing.assert_allclose(found[:2], best.mean, atol=1e-6)
    np.testing.assert_allclose(np.exp(found[2:]), best.variance, rtol=1e-4)


@pytest.mark.parametrize(
    ("schedule", "damping", "rounds"), [(Sequential(), 1.0, 12), (Synchronous(), 0.2, 200)]
)
def test_exact_update_reaches_the_mean_field_optimum(shard, schedule, damping, rounds):
    q = run(shard, "optimum", schedule, rounds, damping)
    assert float(q.kl(mean_field_optimum(shard)).max()) < 1e-12


def test_equation_4_12_does_not(shard):
    q = run(shard, "thesis_update", Sequential(), 12)
    distance = q.kl(mean_field_optimum(shard))
    assert float(np.median(distance)) > 0.01
    assert float(distance.max()) > 1.0
    # Its precision is right; only its mean is off.
    np.testing.assert_allclose(q.precision, mean_field_optimum(shard).precision, rtol=1e-12)


def test_equation_4_12_is_right_without_correlation():
    column = np.array([-1.0, 1.0] * 500)[:, None]
    inputs = np.concatenate([np.ones_like(column), column], axis=-1)
    rng = np.random.default_rng(2)
    balanced = Shard(inputs=inputs, targets=inputs @ [-1.0, 2.0] + 3 * rng.normal(size=1000))
    q = run(balanced, "thesis_update", Sequential(), 3)
    assert float(q.kl(mean_field_optimum(balanced))) < 1e-12


def test_distance_to_the_full_posterior_matches_theory(shard):
    """Mean KL to the full posterior: about ρ²/2 = 1/2000 for the optimum, 0.275 for eq. 4.12.

    By hand, for large N: eq. 4.12 shifts θ₀ by S₀₁θ₁/N and θ₁ by S₀₁θ₀/N with S₀₁ ~ N(0, N), so
    the mean KL is ½ (θ₀² + θ₁²)/9 ≈ 0.278, less about 1% for the prior. The sum is a scaled χ²₁
    with standard deviation √2 times its mean; 400 repetitions, 6 standard errors (false alarm
    below 1e-6 also for this skewed law, by its exact χ²₄₀₀ tail).
    """
    mean, covariance = MODEL.posterior_moments(PRIOR, shard)
    theory = 0.5 * (1 + 4) / 9
    thesis = kl_to_full(run(shard, "thesis_update", Sequential(), 12), mean, covariance)
    exact = kl_to_full(run(shard, "optimum", Sequential(), 12), mean, covariance)
    band = 6 * np.sqrt(2 / 400)
    assert abs(float(thesis.mean()) / theory - 1) < band
    assert abs(float(exact.mean()) / (0.5 / 1000) - 1) < band
