import math

import dp_accounting as dpa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accountants import classical

epsilons = st.floats(0.01, 0.99)
deltas = st.floats(1e-12, 1e-2)


@given(epsilons, deltas)
def test_the_classical_noise_suffices_but_is_not_tight(epsilon, delta):
    sigma = classical.gaussian_noise_multiplier(epsilon, delta)
    assert dpa.get_epsilon_gaussian(sigma, delta) < epsilon
    assert classical.gaussian_epsilon(sigma, delta) == pytest.approx(epsilon, rel=1e-12)


@pytest.mark.parametrize("epsilon", [1.0, 1.5, 10.0])
def test_the_classical_theorem_is_refused_where_it_is_not_proved(epsilon):
    with pytest.raises(ValueError, match="`epsilon` must be below 1"):
        classical.gaussian_noise_multiplier(epsilon, 1e-5)
    with pytest.raises(ValueError, match="`noise_multiplier` must exceed"):
        classical.gaussian_epsilon(math.sqrt(2 * math.log(1.25 / 1e-5)) / epsilon, 1e-5)


def test_the_refusal_has_a_reason():
    """Far above 1 the formula's noise is really too small: the exact ε exceeds the claimed one."""
    epsilon, delta = 100.0, 0.5
    sigma = math.sqrt(2 * math.log(1.25 / delta)) / epsilon
    assert dpa.get_epsilon_gaussian(sigma, delta) > epsilon


def test_composition_by_hand():
    assert classical.basic_composition(0.5, 1e-3, 4) == (2.0, 4e-3)
    epsilon, delta = classical.advanced_composition(0.1, 1e-6, 100, 1e-5)
    # √(2·100·ln 1e5)·0.1 = √(2302.585…)·0.1 and 100·0.1·(e^0.1 − 1) = 1.0517…
    assert epsilon == pytest.approx(
        0.1 * math.sqrt(2302.585092994046) + 1.0517091807564771, rel=1e-12
    )
    assert delta == pytest.approx(1.1e-4, rel=1e-12)


@given(st.floats(0.001, 0.2), st.integers(1, 1000))
def test_advanced_composition_is_sound_for_gaussians(epsilon, count):
    """The claim of the theorem is never below the exact curve of the composed Gaussians."""
    delta, slack = 1e-7, 1e-5
    sigma = classical.gaussian_noise_multiplier(epsilon, delta)
    claimed, total_delta = classical.advanced_composition(epsilon, delta, count, slack)
    assert claimed >= dpa.get_epsilon_gaussian(sigma / math.sqrt(count), total_delta)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: classical.gaussian_noise_multiplier(0.0, 1e-5), "epsilon"),
        (lambda: classical.gaussian_noise_multiplier(0.5, 0.0), "delta"),
        (lambda: classical.gaussian_epsilon(-1.0, 1e-5), "noise_multiplier"),
        (lambda: classical.basic_composition(-0.1, 0.0, 1), "epsilon"),
        (lambda: classical.basic_composition(0.1, 2.0, 1), "delta"),
        (lambda: classical.advanced_composition(0.1, 0.0, 0, 1e-5), "count"),
        (lambda: classical.advanced_composition(0.1, 0.0, 1, 0.0), "slack"),
        (lambda: classical.advanced_composition(math.nan, 0.0, 1, 1e-5), "epsilon"),
    ],
)
def test_bad_arguments_are_named(call, name):
    with pytest.raises(ValueError, match=f"`{name}` must"):
        call()
