"""Calibrated noise and steps against closed forms and a peer's calibration."""

import math

import dp_accounting as dpa
import mpmath
import pytest
from dp_accounting import NeighboringRelation

from accountants import FourierAccountant, calibrate_noise, calibrate_steps, counting
from accountants.dp_sgd import step_event

REPLACE = NeighboringRelation.REPLACE_ONE


def gaussian_delta(mu, epsilon):
    """Balle & Wang 2018, Theorem 8, at enough digits for any cancellation."""
    with mpmath.workdps(80):
        mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)
        a = epsilon / mu - mu / 2
        return mpmath.ncdf(-a) - mpmath.exp(epsilon) * mpmath.ncdf(-a - mu)


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [(1e-9, 1e-5), (1e-3, 0.3), (1.0, 1e-5), (1.0, 1e-30), (50.0, 1e-8), (1000.0, 0.9)],
)
@pytest.mark.parametrize("relation", [NeighboringRelation.ADD_OR_REMOVE_ONE, REPLACE])
def test_plain_gaussians_in_closed_form(epsilon, delta, relation):
    sigma = calibrate_noise(target_epsilon=epsilon, delta=delta, steps=7, relation=relation)
    shift = (2 if relation is REPLACE else 1) * mpmath.sqrt(7)
    assert gaussian_delta(shift / mpmath.mpf(sigma), epsilon) <= delta
    assert gaussian_delta(shift / mpmath.mpf(sigma * (1 - 1e-6)), epsilon) > delta


def test_a_huge_target_is_met():
    """For ε → ∞ it is μ²/2 = ε that counts: σ = 1/√(2ε), but for √ε of 1e10."""
    sigma = calibrate_noise(target_epsilon=1e20, delta=1e-5)
    assert sigma == pytest.approx(1 / math.sqrt(2e20), rel=1e-8)


@pytest.mark.parametrize(
    ("epsilon", "delta", "rate", "steps"),
    [(1.0, 1e-5, 0.01, 5), (8.0, 1e-6, 0.1, 10), (1.0, 1e-5, 0.01, 2000)],
)
def test_a_peer_finds_the_noise_just_enough(epsilon, delta, rate, steps):
    """dp-accounting's ε is an upper bound within 0.5%: at our σ about the target, then below."""
    ours = calibrate_noise(target_epsilon=epsilon, delta=delta, sampling_rate=rate, steps=steps)

    def peer(sigma):
        step = dpa.PoissonSampledDpEvent(rate, dpa.GaussianDpEvent(sigma))
        accountant = dpa.pld.PLDAccountant(value_discretization_interval=1e-3)
        return accountant.compose(step, steps).get_epsilon(delta)

    assert peer(ours) >= epsilon * (1 - 1e-3)
    assert peer(1.005 * ours) <= epsilon


@pytest.mark.parametrize(
    ("relation", "sampling", "epsilon", "steps"),
    [
        (NeighboringRelation.ADD_OR_REMOVE_ONE, "poisson", 4.0, 6),
        (NeighboringRelation.ADD_OR_REMOVE_ONE, "poisson", 2.0, 500),
        (REPLACE, "poisson", 2.0, 500),
        (REPLACE, "fixed_size", 2.0, 500),
        pytest.param(REPLACE, "poisson", 4.0, 6, marks=pytest.mark.slow),
        pytest.param(REPLACE, "fixed_size", 4.0, 6, marks=pytest.mark.slow),
    ],
)
def test_it_is_sufficient_and_nearly_necessary(relation, sampling, epsilon, steps):
    setting = {"sampling_rate": 0.02, "sampling": sampling, "relation": relation}
    sigma = calibrate_noise(target_epsilon=epsilon, delta=1e-6, steps=steps, **setting)

    def bounds(multiplier):
        event = step_event(multiplier, **setting)
        return FourierAccountant(relation).compose(event, steps).get_epsilon_bounds(1e-6)

    assert bounds(sigma).upper <= epsilon
    less = bounds(sigma * (1 - 1e-4))
    # The dominating pair of fixed-size batches is no pair of data sets: no lower bound comes near.
    assert (less.upper if sampling == "fixed_size" else less.lower) > epsilon


@pytest.mark.parametrize(
    ("epsilon", "delta", "rate", "steps"),
    [(1000.0, 0.9, 0.05, 100), (300.0, 1e-6, 0.3, 12), (1e4, 1e-3, 0.5, 1)],
)
def test_counting_steps_in_the_mixture_of_gaussians(epsilon, delta, rate, steps):
    """E[δ_G(ε; √K/σ)] over the binomial K, summed at 80 digits, is at most δ; for half σ not."""

    def mixture(sigma):
        with mpmath.workdps(80):
            return mpmath.fsum(
                mpmath.binomial(steps, k)
                * mpmath.mpf(rate) ** k
                * (1 - mpmath.mpf(rate)) ** (steps - k)
                * gaussian_delta(mpmath.sqrt(k) / mpmath.mpf(sigma), epsilon)
                for k in range(1, steps + 1)
            )

    sigma = counting.sufficient_noise(epsilon, delta, rate, steps, 1.0)
    assert mixture(sigma) <= delta < mixture(0.5 * sigma)
    found = calibrate_noise(target_epsilon=epsilon, delta=delta, sampling_rate=rate, steps=steps)
    assert found == sigma


def test_counting_is_an_upper_bound_of_the_accountants_epsilon():
    for rate, steps in ((0.1, 20), (0.01, 3000)):
        sigma = counting.sufficient_noise(3.0, 1e-5, rate, steps, 1.0)
        event = dpa.PoissonSampledDpEvent(rate, dpa.GaussianDpEvent(sigma))
        assert FourierAccountant().compose(event, steps).get_epsilon(1e-5) <= 3.0


def test_a_number_of_steps_beyond_all_reason_is_answered():
    sigma = calibrate_noise(target_epsilon=1.0, delta=1e-5, sampling_rate=0.01, steps=10**18)
    # More than q√T/σ = μ(ε = 1, δ = 1e-5) asks for, less than without any sampling.
    least = 0.01 * 1e9 * dpa.get_sigma_gaussian(1.0, 1e-5)
    assert least < sigma < 100 * least


def test_where_any_noise_is_enough_none_is_named():
    with pytest.raises(ValueError, match="`delta` must be below the probability"):
        calibrate_noise(target_epsilon=1.0, delta=0.5, sampling_rate=0.01, steps=10)


@pytest.mark.parametrize(("sigma", "epsilon", "delta"), [(100.0, 2.0, 1e-5), (3.0, 5.0, 1e-3)])
def test_steps_of_plain_gaussians(sigma, epsilon, delta):
    steps = calibrate_steps(target_epsilon=epsilon, delta=delta, noise_multiplier=sigma)
    assert gaussian_delta(math.sqrt(steps) / sigma, epsilon) <= delta
    assert gaussian_delta(math.sqrt(steps + 1) / sigma, epsilon) > delta


@pytest.mark.parametrize(("sigma", "rate"), [(0.7, 0.01), (4.0, 0.01), (1.5, 0.3)])
def test_one_step_more_is_too_much(sigma, rate):
    steps = calibrate_steps(
        target_epsilon=2.0, delta=1e-5, noise_multiplier=sigma, sampling_rate=rate
    )
    step = dpa.PoissonSampledDpEvent(rate, dpa.GaussianDpEvent(sigma))
    assert FourierAccountant().compose(step, steps).get_epsilon_bounds(1e-5).upper <= 2.0
    assert FourierAccountant().compose(step, steps + 1).get_epsilon_bounds(1e-5).upper > 2.0
