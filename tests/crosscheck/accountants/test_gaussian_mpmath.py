"""The exact Gaussian against mpmath at 80 digits, written from the textbook formula."""

import math

import dp_accounting as dpa
import mpmath as mp
import numpy as np
import pytest

from accountants import gaussian

MUS = np.logspace(-6, 3, 19)
# Thresholds a = ε/μ − μ/2, from ε = 0 to δ around 1e-300.
THRESHOLDS = [-math.inf, -3.0, -0.4, 0.0, 0.7, 2.0, 5.0, 11.0, 20.0, 30.0, 36.5]
SMALLEST = mp.mpf("1e-300")


def exact_delta(mu: float, epsilon: float) -> mp.mpf:
    mu, epsilon = mp.mpf(mu), mp.mpf(epsilon)

    def tail(x):
        return mp.erfc(x / mp.sqrt(2)) / 2

    return tail(epsilon / mu - mu / 2) - mp.exp(epsilon) * tail(epsilon / mu + mu / 2)


def exact_epsilon(mu: float, delta: float, start: float) -> mp.mpf:
    """Newton's method on log δ at full precision."""
    epsilon = mp.mpf(start)
    for _ in range(60):
        value = exact_delta(mu, epsilon)
        slope = -mp.exp(epsilon) * mp.erfc((epsilon / mu + mp.mpf(mu) / 2) / mp.sqrt(2)) / 2
        step = (mp.log(value) - mp.log(mp.mpf(delta))) * value / slope
        epsilon -= step
        if abs(step) < mp.mpf(10) ** -60 * (1 + abs(epsilon)):
            break
    return epsilon


def cases():
    for mu in MUS:
        for threshold in THRESHOLDS:
            yield float(mu), max(0.0, float(mu * (threshold + mu / 2)))


@pytest.fixture(autouse=True)
def _precision():
    with mp.workdps(80):
        yield


def test_delta_is_accurate_to_1e_12_and_bracketed():
    checked = 0
    for mu, epsilon in cases():
        truth = exact_delta(mu, epsilon)
        if truth < SMALLEST:
            continue
        checked += 1
        assert abs(mp.mpf(gaussian.delta(mu, epsilon)) / truth - 1) < mp.mpf("1e-12"), (mu, epsilon)
        bounds = gaussian.delta_bounds(mu, epsilon)
        assert bounds.lower <= truth <= bounds.upper
    assert checked > 150


def test_log_delta_stays_within_its_error_model_far_below_the_smallest_float():
    for mu in (1e-3, 1.0, 30.0):
        for a in (50.0, 200.0, 1000.0):
            epsilon = mu * (a + mu / 2)
            truth = mp.log(exact_delta(mu, epsilon))
            error = abs(mp.mpf(gaussian.log_delta(mu, epsilon)) - truth)
            assert error <= gaussian.log_delta_error(a), (mu, a)
            bounds = gaussian.delta_bounds(mu, epsilon)
            assert bounds.lower <= mp.exp(truth) <= bounds.upper


def test_epsilon_is_accurate_to_1e_12_and_bracketed():
    """Where ε is well conditioned: a relative change of δ by 1e-16 moves it by less than 1e-13."""
    checked = 0
    for mu, epsilon in cases():
        delta = float(exact_delta(mu, epsilon))
        if delta < 1e-300 or epsilon == 0.0 or delta >= 1.0:
            continue
        truth = exact_epsilon(mu, delta, epsilon)
        bounds = gaussian.epsilon_bounds(mu, delta)
        assert bounds.lower <= truth <= bounds.upper, (mu, epsilon)
        slope = mp.exp(truth) * mp.erfc((truth / mu + mp.mpf(mu) / 2) / mp.sqrt(2)) / 2
        condition = mp.mpf(delta) / (slope * truth)
        if condition < 100:
            checked += 1
            error = abs(mp.mpf(gaussian.epsilon(mu, delta)) / truth - 1)
            assert error < mp.mpf("1e-12"), (mu, epsilon)
            assert bounds.gap <= 1e-10 * truth
    assert checked > 100


@pytest.mark.parametrize("delta", [1e-2, 1e-5, 1e-10])
@pytest.mark.parametrize("sigma", [0.1, 0.5, 1.0, 4.0, 30.0])
def test_epsilon_agrees_with_dp_accounting(sigma, delta):
    assert gaussian.epsilon(1 / sigma, delta) == pytest.approx(
        dpa.get_epsilon_gaussian(sigma, delta), rel=1e-6, abs=1e-9
    )
