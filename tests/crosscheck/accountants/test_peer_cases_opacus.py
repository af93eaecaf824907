"""The cases of Opacus' own tests, put through our accountants.

Settings and numbers are those of `opacus/tests/accountants_test.py` (at commit 030b723; an older
number at 2f4b546) and `opacus/tests/prv_accountant.py` (at 334b5a8) of github.com/pytorch/opacus.

The latter's table holds upper bounds by microsoft/prv_accountant at δ = 1e-6, by (noise multiplier,
sampling rate, steps). Such a bound spends `eps_error` = 0.01 in ε and twice `delta_error` = δ/1000
in δ, and is read off a mesh of step eps_error/√(k·log(12/delta_error)/2) for k steps.
"""

import itertools
import math

import dp_accounting as dpa
import pytest

from accountants import FourierAccountant, RenyiAccountant, calibrate_noise

EPS_ERROR, DELTA_ERROR = 0.01, 1e-3
OPACUS = {
    (0.8, 0.001, 100): 0.270403364058,
    (1.5, 0.001, 100): 0.039369419309,
    (2.0, 0.001, 100): 0.029104536948,
    (3.0, 0.001, 100): 0.021520093439,
    (0.8, 0.05, 100): 6.741051939414,
    (1.5, 0.05, 100): 1.953853135684,
    (2.0, 0.05, 100): 1.283637379624,
    (3.0, 0.05, 100): 0.767933789666,
    (0.8, 0.2, 100): 24.333664177922,
    (1.5, 0.2, 100): 8.498977859121,
    (2.0, 0.2, 100): 5.672055608823,
    (3.0, 0.2, 100): 3.381220510221,
    (0.8, 0.001, 1000): 0.477771266184,
    (1.5, 0.001, 1000): 0.099820660230,
    (2.0, 0.001, 1000): 0.071218782538,
    (3.0, 0.001, 1000): 0.047615930871,
    (0.8, 0.05, 1000): 19.525842805383,
    (1.5, 0.05, 1000): 6.209969246577,
    (2.0, 0.05, 1000): 4.172799866689,
    (3.0, 0.05, 1000): 2.527574326059,
    (0.8, 0.001, 20000): 1.296009257570,
    (1.5, 0.001, 20000): 0.437005108654,
    (2.0, 0.001, 20000): 0.305837939762,
    (3.0, 0.001, 20000): 0.194031030686,
    (0.8, 0.05, 20000): 140.655209760074,
    (1.5, 0.05, 20000): 38.306617914087,
    (2.0, 0.05, 20000): 24.421718570322,
    (3.0, 0.05, 20000): 13.961114699236,
    (0.8, 0.001, 50000): 2.034514807715,
    (1.5, 0.001, 50000): 0.704218384555,
    (2.0, 0.001, 50000): 0.491354910211,
    (3.0, 0.001, 50000): 0.309694161156,
    (0.8, 0.05, 50000): 291.384325452396,
    (1.5, 0.05, 50000): 73.190176723832,
    (2.0, 0.05, 50000): 45.236995861330,
    (3.0, 0.05, 50000): 24.942005643144,
    (0.8, 0.001, 100000): 2.924622119350,
    (1.5, 0.001, 100000): 1.015288075027,
    (2.0, 0.001, 100000): 0.706719901081,
    (3.0, 0.001, 100000): 0.443671720880,
}


def sampled(noise_multiplier, rate):
    return dpa.PoissonSampledDpEvent(rate, dpa.GaussianDpEvent(noise_multiplier))


def steps(noise_multiplier, rate, count):
    return FourierAccountant().compose(sampled(noise_multiplier, rate), count)


@pytest.mark.parametrize(("setting", "expected"), OPACUS.items(), ids=str)
def test_table_of_opacus(setting, expected):
    accountant = steps(*setting)
    lower, upper = accountant.get_epsilon_bounds(1e-6)
    assert lower <= expected
    mesh = EPS_ERROR / math.sqrt(0.5 * setting[2] * math.log(12.0 / (1e-6 * DELTA_ERROR)))
    above = accountant.get_epsilon(1e-6 * (1.0 - 2.0 * DELTA_ERROR))
    assert expected <= above + EPS_ERROR + 2.0 * mesh
    assert upper - lower <= 1e-5 * upper


def test_renyi_numbers_of_opacus_are_above_ours():
    """`accountants_test.py`: σ = 1.5, rate .04, 2250 steps, δ = 1e-5; Rényi says 7.32911117143.

    Rényi orders on their grid cannot be below ours, which are real; the central limit's 6.59 to 6.6
    is a claim about the same ε, and false: the proved lower end is above it.
    """
    ours = RenyiAccountant().compose(sampled(1.5, 0.04), 2250).get_epsilon(1e-5)
    assert ours <= 7.32911117143
    assert ours == pytest.approx(7.32911117143, rel=2e-3)
    lower, upper = steps(1.5, 0.04, 2250).get_epsilon_bounds(1e-5)
    assert upper < ours
    assert lower > 6.6


@pytest.mark.parametrize(("count", "noise"), [(2250, 1.416), (2000, 1.3562)])
def test_renyi_noise_of_opacus(count, noise):
    """Their smallest noise for ε = 8 at δ = 1e-5, rate .04, found to 0.01 in ε."""
    ours = RenyiAccountant().compose(sampled(noise, 0.04), count).get_epsilon(1e-5)
    assert 8.0 - 0.05 <= ours <= 8.0


def test_noise_of_an_older_opacus_is_enough():
    """1.425307617 for the same ε = 8, rate .04 and 2250 steps, by an older conversion."""
    ours = RenyiAccountant().compose(sampled(1.425307617, 0.04), 2250).get_epsilon(1e-5)
    assert ours < 8.0


def test_noise_by_the_central_limit_is_too_little():
    """1.3232421875 for ε = 8 at δ = 1e-5, rate .04 and 90 epochs: proved to cost more than 8.

    The smallest noise lies between theirs by the central limit and theirs by Rényi orders.
    """
    assert steps(1.3232421875, 0.04, 2250).get_epsilon_bounds(1e-5).lower > 8.0
    ours = calibrate_noise(target_epsilon=8.0, delta=1e-5, sampling_rate=0.04, steps=2250)
    assert 1.3232421875 < ours < 1.416


# Theirs are drawn by hypothesis: ε from 1 to 10, 10 to 100 epochs, these rates and δ.
OVERSHOOT = list(
    itertools.product(
        [1.0, 2.7, 10.0], [10, 100], [1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 1e-1]
    )
)


@pytest.mark.parametrize(("epsilon", "epochs", "rate"), OVERSHOOT[::7])
def test_calibrated_noise_does_not_overshoot(epsilon, epochs, rate):
    """Their `test_get_noise_multiplier_overshoot`; and hardly less noise is too little."""
    count = int(epochs / rate)
    for delta in (1e-4, 1e-5, 1e-6):
        noise = calibrate_noise(
            target_epsilon=epsilon, delta=delta, sampling_rate=rate, steps=count
        )
        assert steps(noise, rate, count).get_epsilon(delta) <= epsilon
        assert steps(noise * (1.0 - 1e-5), rate, count).get_epsilon_bounds(delta).lower > epsilon
