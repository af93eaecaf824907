import math

import numpy as np
import pytest
from dp_accounting import NeighboringRelation
from hypothesis import given, settings
from hypothesis import strategies as st

from accountants import epsilon_bounds, gaussian, shuffled_epsilon_bounds

ZERO, REPLACE = NeighboringRelation.REPLACE_SPECIAL, NeighboringRelation.REPLACE_ONE


@pytest.mark.parametrize(("relation", "shifts"), [(ZERO, (2.0, 1.0)), (REPLACE, (2.0, 0.0))])
def test_the_lower_bound_is_what_simulation_of_the_pair_shows(relation, shifts):
    """The event's two probabilities, simulated. A false alarm needs 6 standard errors: 1e-8."""
    sigma, batches, trials = 1.0, 5, 200_000
    rng = np.random.default_rng(0)
    threshold = 2.0
    rates = []
    for shift in shifts:
        noise = rng.normal(size=(trials, batches)) * sigma
        noise[np.arange(trials), rng.integers(batches, size=trials)] += shift
        rates.append(float(np.mean(noise.max(axis=1) > threshold * sigma)))
    exact = [
        1
        - 0.5 ** (batches)
        * (math.erfc(-threshold / math.sqrt(2))) ** (batches - 1)
        * math.erfc(-(threshold - shift / sigma) / math.sqrt(2))
        for shift in shifts
    ]
    for rate, truth in zip(rates, exact, strict=True):
        assert abs(rate - truth) < 6 * math.sqrt(truth * (1 - truth) / trials)
    implied = math.log((exact[0] - 1e-3) / exact[1])
    bounds = shuffled_epsilon_bounds(
        noise_multiplier=sigma, batches=batches, delta=1e-3, relation=relation
    )
    assert bounds.lower >= implied - 1e-6


def test_shuffling_is_not_poisson_sampling():
    """Chua et al. 2024: at little noise a shuffled epoch costs far more than Poisson sampling."""
    shuffled = shuffled_epsilon_bounds(noise_multiplier=0.4, batches=1000, delta=1e-6)
    poisson = epsilon_bounds(
        noise_multiplier=0.4,
        sampling_rate=1e-3,
        steps=1000,
        delta=1e-6,
        tolerance=1e-3,
        relation=ZERO,
    )
    assert shuffled.lower > poisson.upper


@settings(max_examples=40)
@given(st.floats(0.2, 10.0), st.integers(1, 10_000), st.sampled_from([ZERO, REPLACE]))
def test_bounds_are_ordered_and_one_batch_is_the_gaussian(sigma, batches, relation):
    bounds = shuffled_epsilon_bounds(
        noise_multiplier=sigma, batches=batches, delta=1e-5, relation=relation
    )
    assert 0.0 <= bounds.lower <= bounds.upper
    sensitivity = 2 if relation is REPLACE else 1
    assert bounds.upper == pytest.approx(gaussian.epsilon(sensitivity / sigma, 1e-5), rel=1e-9)
    more = shuffled_epsilon_bounds(
        noise_multiplier=sigma, batches=batches, delta=1e-5, relation=relation, epochs=4
    )
    assert more.upper >= bounds.upper


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"noise_multiplier": 0.0}, "noise_multiplier"),
        ({"batches": 0}, "batches"),
        ({"epochs": 0}, "epochs"),
        ({"delta": 0.0}, "delta"),
        ({"relation": NeighboringRelation.ADD_OR_REMOVE_ONE}, "relation"),
    ],
)
def test_bad_arguments_are_named(changes, name):
    setting = {"noise_multiplier": 1.0, "batches": 10, "delta": 1e-5}
    with pytest.raises(ValueError, match=f"`{name}` must be"):
        shuffled_epsilon_bounds(**(setting | changes))


def test_shuffled_batches_are_refused_as_a_sampling_and_the_refusal_teaches():
    with pytest.raises(ValueError, match=r"Poisson sampling would give .* shuffled_epsilon_bounds"):
        epsilon_bounds(
            noise_multiplier=1.0, sampling_rate=0.01, steps=100, delta=1e-5, sampling="shuffled"
        )
