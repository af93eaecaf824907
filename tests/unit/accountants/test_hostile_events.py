"""Events that no training makes, but a caller may pass: a right answer, or a refusal by name."""

import math

import dp_accounting as dpa
import pytest
from dp_accounting import NeighboringRelation
from dp_accounting.dp_event import MixtureOfGaussiansDpEvent

from accountants import (
    FourierAccountant,
    MomentsAccountant,
    RenyiAccountant,
    RenyiFilter,
    event_from_opacus_history,
    gaussian,
)
from accountants.elementary import Gaussian, MixtureOfGaussians, PoissonGaussian, resolve

ACCOUNTANTS = [MomentsAccountant, RenyiAccountant, FourierAccountant]
ADD = NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = NeighboringRelation.REPLACE_ONE


def sampled(rate, sigma):
    return dpa.PoissonSampledDpEvent(rate, dpa.GaussianDpEvent(sigma))


@pytest.mark.parametrize("accountant", ACCOUNTANTS)
@pytest.mark.parametrize("sigma", [1e-200, 1e200])
@pytest.mark.parametrize("make", [dpa.GaussianDpEvent, lambda s: sampled(0.5, s)])
def test_noise_whose_square_is_no_double_is_refused_by_name(accountant, sigma, make):
    with pytest.raises(ValueError, match="`noise_multiplier` must be 0 or in"):
        accountant().compose(make(sigma))


@pytest.mark.parametrize("accountant", ACCOUNTANTS)
@pytest.mark.parametrize("event", [dpa.GaussianDpEvent(1.0), sampled(0.1, 1.0)])
@pytest.mark.parametrize("steps", [1, 100])
def test_delta_at_an_epsilon_beyond_all_losses_is_next_to_nothing(accountant, event, steps):
    bounds = accountant().compose(event, steps).get_delta_bounds(1e300)
    assert 0.0 == bounds.lower < bounds.upper <= 1e-300


@pytest.mark.parametrize("accountant", ACCOUNTANTS)
def test_events_may_be_nested_deeper_than_the_stack(accountant):
    event = dpa.GaussianDpEvent(1.0)
    for depth in range(3000):
        event = dpa.ComposedDpEvent([event]) if depth % 2 else dpa.SelfComposedDpEvent(event, 1)
    found = accountant().compose(event)
    assert dict(found.composition) == {Gaussian(1.0): 1}
    deep = dpa.PoissonSampledDpEvent(0.1, event)
    assert dict(accountant().compose(deep).composition) == {PoissonGaussian(0.1, 1.0): 1}


def test_the_order_of_a_composition_and_its_counts_survive_the_walk():
    event = dpa.ComposedDpEvent(
        [
            dpa.SelfComposedDpEvent(
                dpa.ComposedDpEvent([sampled(0.1, 2.0), dpa.GaussianDpEvent(3.0)]), 4
            ),
            dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(3.0), 0),
            sampled(0.1, 2.0),
        ]
    )
    found = RenyiAccountant().compose(event, 2).composition
    assert list(found.items()) == [(PoissonGaussian(0.1, 2.0), 10), (Gaussian(1.0 / 3.0), 8)]


@pytest.mark.parametrize("steps", [10**12, 10**18])
def test_steps_beyond_counting_are_answered(steps):
    """From a Gaussian limit: mean and deviation of the loss, here to first and second order."""
    event = sampled(0.01, 1.0)
    upper = RenyiAccountant().compose(event, steps).get_epsilon(1e-5)
    bounds = FourierAccountant().compose(event, steps).get_epsilon_bounds(1e-5)
    assert 0.0 < bounds.lower <= bounds.upper <= upper
    assert bounds.gap <= 1e-6 * bounds.upper


def test_a_mixture_of_two_with_one_at_zero_is_a_sampled_gaussian():
    event = MixtureOfGaussiansDpEvent(3.0, [0.0, 2.0], [0.9, 0.1])
    assert resolve(event, ADD) == PoissonGaussian(0.1, 1.5)
    split = MixtureOfGaussiansDpEvent(3.0, [0.0, 2.0, 2.0, 5.0], [0.75, 0.125, 0.125, 0.0])
    assert resolve(split, ADD) == PoissonGaussian(0.25, 1.5)
    assert resolve(MixtureOfGaussiansDpEvent(3.0, [2.0], [1.0]), ADD) == Gaussian(1.0 / 1.5)
    three = MixtureOfGaussiansDpEvent(3.0, [0.0, 1.0, 2.0], [0.5, 0.25, 0.25])
    assert isinstance(resolve(three, ADD), MixtureOfGaussians)


def test_a_small_budget_still_admits_batches_of_fixed_size():
    """The default order was above all orders that fixed-size events had a bound for."""
    event = dpa.SampledWithoutReplacementDpEvent(100_000, 1, dpa.GaussianDpEvent(100.0))
    budget = RenyiFilter(target_epsilon=0.01, delta=1e-5, neighboring_relation=REPLACE)
    assert budget.admits(event, 10)
    assert not RenyiFilter(target_epsilon=0.01, delta=1e-5).admits(dpa.GaussianDpEvent(300.0))


@pytest.mark.parametrize("order", [2.0, 17.5, 512.0, 513.0, 1e5])
def test_fixed_size_divergence_is_never_above_that_of_the_whole_data(order):
    event = dpa.SampledWithoutReplacementDpEvent(100, 40, dpa.GaussianDpEvent(3.0))
    ours = RenyiAccountant(REPLACE).compose(event).divergence(order)
    assert 0.0 < ours <= 0.5 * order * (2.0 / 3.0) ** 2 * (1.0 + 1e-10)


def test_a_batch_of_no_records_is_no_history():
    with pytest.raises(ValueError, match="`sample_rate` must be a whole batch"):
        event_from_opacus_history([(0.1, 1e-10, 10)], sampling="fixed_size", dataset_size=1000)


def test_gaussian_bounds_at_the_ends_of_the_range():
    assert gaussian.delta_bounds(1e-90, 1.0).upper == 5e-324
    assert gaussian.delta_bounds(1e90, 1.0).lower == pytest.approx(1.0)
    assert math.isfinite(gaussian.epsilon_bounds(1e90, 1e-5).upper)
