"""Laws of the exact Gaussian curve."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from accountants import gaussian


def log_uniform(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(math.log(low), math.log(high)).map(math.exp)


mus = log_uniform(1e-6, 1e3)
deltas = log_uniform(1e-300, 0.999)
alphas = st.floats(1e-9, 1 - 1e-9)


@given(mus, st.floats(0, 50), st.floats(1.0, 2.0))
def test_delta_falls_in_epsilon_and_rises_in_mu(mu, a, factor):
    epsilon = mu * (a + mu / 2)
    here = gaussian.log_delta(mu, epsilon)
    slack = 2 * gaussian.log_delta_error(a + mu)
    assert gaussian.log_delta(mu, epsilon * factor) <= here + slack
    assert gaussian.log_delta(mu * factor, epsilon) >= here - slack
    assert here <= 0.0


@given(mus, deltas)
def test_epsilon_and_delta_are_inverse(mu, delta):
    bounds = gaussian.epsilon_bounds(mu, delta)
    assert bounds.lower <= gaussian.epsilon(mu, delta) <= bounds.upper
    assert gaussian.delta_bounds(mu, bounds.upper).lower <= delta
    if bounds.lower > 0.0:
        assert gaussian.delta_bounds(mu, bounds.lower).upper >= delta


@given(st.floats(0.01, 20.0), alphas)
def test_the_trade_off_is_symmetric_and_below_the_diagonal(mu, alpha):
    beta = gaussian.trade_off(mu, alpha)
    assert 0.0 <= beta <= 1.0 - alpha
    if 1e-9 < beta < 1 - 1e-9:
        assert gaussian.trade_off(mu, beta) == pytest.approx(alpha, rel=1e-6, abs=1e-12)


@given(st.floats(0.05, 5.0), st.floats(0.0, 5.0))
def test_duality_of_profile_and_trade_off(mu, epsilon):
    """δ(ε) = max over α of 1 − β(α) − e^ε·α, attained at the likelihood-ratio threshold."""
    threshold = epsilon / mu + mu / 2
    alpha = float(stats.norm.sf(threshold))
    attained = 1 - gaussian.trade_off(mu, alpha) - math.exp(epsilon) * alpha
    assert attained == pytest.approx(gaussian.delta(mu, epsilon), rel=1e-6, abs=1e-12)
    for other in (alpha / 2, min(0.999, alpha * 2)):
        assert 1 - gaussian.trade_off(mu, other) - math.exp(epsilon) * other <= attained + 1e-12


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: gaussian.delta(0.0, 1.0), "mu"),
        (lambda: gaussian.delta(1.0, -1.0), "epsilon"),
        (lambda: gaussian.delta(math.nan, 1.0), "mu"),
        (lambda: gaussian.epsilon(1.0, 0.0), "delta"),
        (lambda: gaussian.epsilon_bounds(1.0, 1.0), "delta"),
        (lambda: gaussian.epsilon_bounds(-1.0, 0.1), "mu"),
        (lambda: gaussian.trade_off(1.0, 1.5), "alpha"),
    ],
)
def test_bad_arguments_are_named(call, name):
    with pytest.raises(ValueError, match=f"`{name}` must be"):
        call()


def test_a_delta_above_the_total_variation_costs_no_epsilon():
    assert gaussian.epsilon_bounds(1e-6, 1e-3) == (0.0, 0.0)
