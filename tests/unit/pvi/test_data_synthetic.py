"""Generators: they draw from the models they name."""

import numpy as np
import pytest
from scipy.special import expit

from pvi.data import linear_data, logistic_data


def test_linear_data_follow_the_thesis():
    """Thesis 4.1.5: intercept column, standard normal inputs, residuals of variance σ_e²."""
    rng = np.random.default_rng(0)
    data = linear_data(theta=[-1, 2, 0.5], noise_scale=3, size=400, rng=rng, batch=(50, 5))
    assert np.all(data.features[..., 0] == 1)
    inputs = data.features[..., 1:].reshape(-1, 2)
    n = len(inputs)
    assert np.abs(inputs.mean(axis=0)).max() < 5 / np.sqrt(n)
    assert np.abs(np.cov(inputs.T) - np.eye(2)).max() < 5 * np.sqrt(2 / n)
    residuals = (data.labels - data.features @ np.array([-1, 2, 0.5])).ravel()
    assert abs(residuals.mean()) < 5 * 3 / np.sqrt(n)
    assert residuals.var() == pytest.approx(9, rel=5 * np.sqrt(2 / n))
    assert np.abs(inputs.T @ residuals / n).max() < 5 * 3 / np.sqrt(n)


def test_noiseless_linear_data_are_exact_and_coefficients_may_differ_by_repetition():
    theta = np.random.default_rng(1).normal(size=(6, 1, 3))
    data = linear_data(
        theta=theta, noise_scale=0, size=4, rng=np.random.default_rng(2), batch=(6, 5)
    )
    assert data.features.shape == (6, 5, 4, 3)
    for i in range(6):
        np.testing.assert_allclose(data.labels[i], data.features[i] @ theta[i, 0], rtol=1e-12)


def test_repetitions_are_independent():
    data = linear_data(
        theta=[0, 1], noise_scale=1, size=3, rng=np.random.default_rng(3), batch=(100,)
    )
    assert len(np.unique(data.features[:, :, 1])) == 300


def test_logistic_labels_have_the_models_probabilities():
    theta = np.array([0.5, -2])
    data = logistic_data(theta=theta, size=500_000, rng=np.random.default_rng(4))
    assert set(np.unique(data.labels).tolist()) == {0, 1}
    assert data.labels.dtype == np.int64
    probability = expit(data.features @ theta)
    # The score at the true coefficients has mean 0; 3% off in theta would be some 8 deviations.
    score = data.features.T @ (data.labels - probability)
    deviation = np.sqrt(data.features.T**2 @ (probability * (1 - probability)))
    assert np.abs(score / deviation).max() < 4


def test_extreme_coefficients_do_not_overflow():
    data = logistic_data(theta=[1e6, 0], size=5, rng=np.random.default_rng(5))
    assert data.labels.tolist() == [1] * 5


def test_intercept_only_and_no_rows():
    rng = np.random.default_rng(6)
    assert linear_data(theta=[2.0], noise_scale=0, size=2, rng=rng).labels.tolist() == [2, 2]
    assert logistic_data(theta=[0, 1], size=0, rng=rng).features.shape == (0, 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"noise_scale": -1}, "`noise_scale` must be a finite number in .0, inf., got -1"),
        ({"noise_scale": float("nan")}, "`noise_scale` must be a finite number.*got nan"),
        ({"noise_scale": float("inf")}, "`noise_scale` must be a finite number.*got inf"),
        ({"theta": 1.0}, "`theta` must have at least 1 axes"),
        ({"theta": [np.nan]}, "`theta` must be finite, got nan"),
        ({"theta": []}, "must hold at least the intercept"),
        ({"size": -1}, "`size` must be at least 0, got -1"),
        ({"theta": np.zeros((3, 2)), "batch": (2,)}, r"`theta` must broadcast.*got \(3, 2\)"),
    ],
)
def test_refusals(arguments, message):
    base = {"theta": [0, 1], "noise_scale": 1, "size": 3, "rng": np.random.default_rng(0)}
    with pytest.raises(ValueError, match=message):
        linear_data(**(base | arguments))
