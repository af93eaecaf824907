"""Logistic expectations against mpmath quadrature at 20 digits."""

from functools import cache

import mpmath as mp
import numpy as np
import pytest

from pvi import LogisticRegression, MeanFieldGaussian, Shard


@cache
def reference(centre, std):
    """E[log σ(u)], E[σ(−u)], E[−σ(u)σ(−u)] for u ~ N(centre, std²), integrated piecewise."""
    with mp.workdps(20):
        a, s = mp.mpf(centre), mp.mpf(std)
        cuts = {mp.mpf(-14), mp.mpf(14), mp.mpf(0)}
        for u in (-30, -6, 0, 6, 30):  # where the integrand bends
            z = (u - a) / s
            if -14 < z < 14:
                cuts.add(z)
        points = sorted(cuts)

        def integrate(f):
            return float(mp.quad(lambda z: mp.npdf(z) * f(a + s * z), points))

        return (
            integrate(lambda u: -mp.log1p(mp.exp(-u))),
            integrate(lambda u: 1 / (1 + mp.exp(u))),
            integrate(lambda u: -1 / ((1 + mp.exp(u)) * (1 + mp.exp(-u)))),
        )


@pytest.mark.parametrize(("nodes", "value", "slope"), [(32, 3e-7, 1e-5), (64, 1e-9, 1e-7)])
@pytest.mark.parametrize("std", [1e-3, 0.5, 1.0, 2.0, 2.19, 2.21, 3.0, 10.0, 40.0])
def test_documented_accuracy_holds(nodes, value, slope, std):
    model = LogisticRegression(dimension=1, nodes=nodes)
    for centre in (-5.0, 0.7, 6.0):
        q = MeanFieldGaussian.from_mean_variance([centre], [std**2])
        shard = Shard(inputs=[[1.0]], targets=[1.0])
        f, f1, f2 = reference(centre, std)
        assert abs(model.expected_log_likelihood(q, shard)[0] - f) < value
        by_mean, by_log_variance = model.gradients(q, shard)[0]
        assert abs(by_mean - f1) < slope
        assert abs(by_log_variance - 0.5 * std**2 * f2) < slope


def test_margin_of_several_inputs_and_a_negative_label():
    mean, variance, row = np.array([0.3, -0.8, 1.1]), np.array([0.2, 0.5, 0.1]), [1.0, 2.0, -0.5]
    q = MeanFieldGaussian.from_mean_variance(mean, variance)
    shard = Shard(inputs=[row], targets=[-1.0])
    model = LogisticRegression(dimension=3, nodes=64)
    centre = -(0.3 * 1.0 - 0.8 * 2.0 + 1.1 * -0.5)
    std = float(np.sqrt(0.2 * 1.0 + 0.5 * 4.0 + 0.1 * 0.25))
    f, f1, f2 = reference(centre, std)
    assert model.expected_log_likelihood(q, shard)[0] == pytest.approx(f, abs=1e-10)
    expected = np.concatenate([-f1 * np.array(row), 0.5 * f2 * np.square(row) * variance])
    np.testing.assert_allclose(model.gradients(q, shard)[0], expected, rtol=0, atol=1e-9)


def test_probit_prediction_is_close_to_the_integral_and_sampling_converges():
    """1000 draws, three inputs, within 6 standard errors (each at most 0.5/√1000): < 1e-8."""
    q = MeanFieldGaussian.from_mean_variance([0.5, -1.0], [0.3, 0.8])
    inputs = np.array([[1.0, 0.0], [0.5, 1.0], [2.0, -1.0]])
    model = LogisticRegression(dimension=2)
    exact = []
    for row in inputs:
        centre = float(row @ q.mean)
        std = float(np.sqrt(row**2 @ q.variance))
        exact.append(1 - reference(centre, std)[1])
    np.testing.assert_allclose(model.predict(q, inputs), exact, rtol=0, atol=0.01)
    sampled = model.predict_sampled(q, inputs, np.random.default_rng(3), samples=1000)
    np.testing.assert_allclose(sampled, exact, rtol=0, atol=6 * 0.5 / np.sqrt(1000))
    # MacKay's formula, written out for the first row
    assert model.predict(q, inputs)[0] == pytest.approx(
        1 / (1 + np.exp(-0.5 / np.sqrt(1 + np.pi * 0.3 / 8))), abs=1e-14
    )


def test_labels_other_than_plus_minus_one_are_refused():
    q = MeanFieldGaussian.from_mean_variance([0.0], [1.0])
    with pytest.raises(ValueError, match=r"`targets` must be .*, got 0\.0"):
        LogisticRegression(dimension=1).gradients(q, Shard(inputs=[[1.0]], targets=[0.0]))
