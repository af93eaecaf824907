"""The cases of prv-accountant's own tests, put through our accountants: `test_accountant.py`."""

import math

import dp_accounting as dpa
import pytest

from accountants import FourierAccountant


def steps(noise_multiplier, rate, count):
    event = dpa.PoissonSampledDpEvent(rate, dpa.GaussianDpEvent(noise_multiplier))
    return FourierAccountant().compose(event, count)


def gaussian_delta(epsilon, mu):
    def below(x):
        return 0.5 * math.erfc(-x / math.sqrt(2.0))

    return below(mu / 2 - epsilon / mu) - math.exp(epsilon) * below(-mu / 2 - epsilon / mu)


@pytest.mark.parametrize("count", [10_000, 10_001, 10_002])
def test_gaussians_of_prv_accountant(count):
    lower, upper = steps(100.0, 1.0, count).get_delta_bounds(4.0)
    exact = gaussian_delta(4.0, math.sqrt(count) / 100.0)
    assert lower * (1.0 - 1e-10) <= exact <= upper * (1.0 + 1e-10)


def test_two_gaussians_of_prv_accountant():
    accountant = steps(10.0, 1.0, 50).compose(dpa.GaussianDpEvent(5.0), 50)
    lower, upper = accountant.get_delta_bounds(4.0)
    exact = gaussian_delta(4.0, math.sqrt(50 / 100 + 50 / 25))
    assert lower * (1.0 - 1e-12) <= exact <= upper * (1.0 + 1e-12)


def test_what_prv_accountant_refuses_is_answered():
    """δ = 1.13e-18 is below what their floating point allows."""
    lower, upper = steps(4.0, 0.00038, 1000).get_epsilon_bounds(1.13e-18)
    assert 0.0 < lower <= upper <= lower * (1.0 + 1e-5)


def test_smallest_noise_of_prv_accountant_is_in_their_range():
    """ε = 4 at δ = 1e-7, rate 2e-3, 10,000 steps: a noise multiplier between 0 and 2."""
    assert steps(2.0, 2e-3, 10_000).get_epsilon(1e-7) < 4.0
