"""Events that no training makes, but a caller may pass: a right answer, or a refusal by name."""

import math

import dp_accounting as dpa
import pytest
from dp_accounting import NeighboringRelation
from dp_accounting.dp_event import (
    DiscreteLaplaceDpEvent,
    MixtureOfGaussiansDpEvent,
    RepeatAndSelectDpEvent,
    TruncatedSubsampledGaussianDpEvent,
)

from accountants import (
    DiscreteGaussianDpEvent,
    EpsilonDeltaDpEvent,
    ExponentialMechanismDpEvent,
    FourierAccountant,
    MomentsAccountant,
    PermuteAndFlipDpEvent,
    RenyiAccountant,
    RenyiFilter,
    event_from_opacus_history,
    gaussian,
)
from accountants.elementary import resolve
from accountants.releases import (
    Gaussian,
    MixtureOfGaussians,
    PoissonGaussian,
    PureResponse,
    Revealed,
)

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


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf, "1", None])
@pytest.mark.parametrize(
    ("make", "name"),
    [
        (EpsilonDeltaDpEvent, "epsilon"),
        (lambda x: EpsilonDeltaDpEvent(1.0, x), "delta"),
        (ExponentialMechanismDpEvent, "epsilon"),
        (PermuteAndFlipDpEvent, "epsilon"),
        (DiscreteGaussianDpEvent, "standard_deviation"),
        (lambda x: DiscreteGaussianDpEvent(1.0, x), "sensitivity"),
    ],
)
def test_our_events_refuse_what_cannot_be(make, name, value):
    with pytest.raises((ValueError, TypeError), match=f"`{name}` must be"):
        make(value)


@pytest.mark.parametrize(
    ("event", "name"),
    [
        (dpa.SampledWithReplacementDpEvent(0, 1, dpa.GaussianDpEvent(1.0)), "source_dataset_size"),
        (dpa.SampledWithReplacementDpEvent(9, -1, dpa.GaussianDpEvent(1.0)), "sample_size"),
        (TruncatedSubsampledGaussianDpEvent(-1, 0.1, 3, 1.0), "dataset_size"),
        (TruncatedSubsampledGaussianDpEvent(9, 1.1, 3, 1.0), "sampling_probability"),
        (TruncatedSubsampledGaussianDpEvent(9, 0.1, 2.5, 1.0), "truncated_batch_size"),
        (TruncatedSubsampledGaussianDpEvent(9, 0.1, 3, math.nan), "noise_multiplier"),
        (dpa.SingleEpochTreeAggregationDpEvent(-1.0, 7), "noise_multiplier"),
        (dpa.SingleEpochTreeAggregationDpEvent(1.0, -7), "step_counts"),
        (RepeatAndSelectDpEvent(dpa.GaussianDpEvent(1.0), 0.5, 1.0), "mean"),
        (RepeatAndSelectDpEvent(dpa.GaussianDpEvent(1.0), math.inf, 1.0), "mean"),
        (RepeatAndSelectDpEvent(dpa.GaussianDpEvent(1.0), 2.0, -0.5), "shape"),
        (RepeatAndSelectDpEvent(dpa.GaussianDpEvent(1.0), 2.0, math.nan), "shape"),
        (dpa.PoissonSampledDpEvent(math.nan, dpa.LaplaceDpEvent(1.0)), "sampling_probability"),
        (dpa.PoissonSampledDpEvent(0.1, dpa.LaplaceDpEvent(-1.0)), "noise_multiplier"),
    ],
)
def test_impossible_parameters_of_peers_events_are_named(event, name):
    with pytest.raises((ValueError, TypeError), match=f"`{name}` must be"):
        RenyiAccountant(REPLACE).compose(event)


@pytest.mark.parametrize("accountant", [RenyiAccountant, FourierAccountant])
@pytest.mark.parametrize(
    ("event", "relation", "reason"),
    [
        (dpa.PoissonSampledDpEvent(0.1, dpa.LaplaceDpEvent(1.0)), REPLACE, "no dominating pair"),
        (dpa.PoissonSampledDpEvent(0.1, EpsilonDeltaDpEvent(1.0, 0.1)), ADD, "at delta = 0"),
        (dpa.PoissonSampledDpEvent(1.0, EpsilonDeltaDpEvent(1.0, 0.1)), ADD, "at delta = 0"),
        (dpa.PoissonSampledDpEvent(0.1, dpa.RandomizedResponseDpEvent(0.5, 3)), ADD, "Gaussians"),
        (
            dpa.SampledWithReplacementDpEvent(9, 3, dpa.GaussianDpEvent(1.0)),
            ADD,
            "changes the chances of all others",
        ),
        (
            dpa.SampledWithReplacementDpEvent(9, 10**6, dpa.GaussianDpEvent(1.0)),
            REPLACE,
            "draws with replacement",
        ),
        (dpa.SingleEpochTreeAggregationDpEvent(1.0, 7), ADD, "may move all others"),
        (DiscreteGaussianDpEvent(1e-3), ADD, "less noise than a hundredth"),
        (dpa.PoissonSampledDpEvent(0.5, dpa.LaplaceDpEvent(1e-90)), ADD, "pure epsilon above"),
        (TruncatedSubsampledGaussianDpEvent(9, 1e-100, 1, 1.0), ADD, "rate"),
        (RepeatAndSelectDpEvent(dpa.UnsupportedDpEvent(), 2.0, 1.0), ADD, "no dominating pair"),
    ],
)
def test_what_is_not_proved_is_refused_with_the_reason(accountant, event, relation, reason):
    with pytest.raises(dpa.UnsupportedEventError, match=reason):
        accountant(relation).compose(event)


def test_a_wide_discrete_gaussian_is_for_the_renyi_accountant():
    event = DiscreteGaussianDpEvent(1e4)
    with pytest.raises(dpa.UnsupportedEventError, match="RenyiAccountant accounts for it"):
        FourierAccountant().compose(event)
    bounds = RenyiAccountant().compose(event).get_epsilon_bounds(1e-5)
    assert 0.0 < bounds.upper < 1e-3


@pytest.mark.parametrize("accountant", [RenyiAccountant, FourierAccountant])
@pytest.mark.parametrize(
    ("event", "relation"),
    [
        (dpa.PoissonSampledDpEvent(1e-90, dpa.LaplaceDpEvent(1.0)), ADD),
        (dpa.PoissonSampledDpEvent(0.5, dpa.LaplaceDpEvent(1e-3)), ADD),
        (dpa.PoissonSampledDpEvent(1.0 - 2.0**-53, dpa.LaplaceDpEvent(0.01)), ADD),
        (dpa.PoissonSampledDpEvent(0.5, DiscreteLaplaceDpEvent(1e-9, 10**12)), ADD),
        (dpa.PoissonSampledDpEvent(0.5, DiscreteGaussianDpEvent(0.05)), ADD),
        (EpsilonDeltaDpEvent(1e90, 1e-300), ADD),
        (EpsilonDeltaDpEvent(1e-90, 0.0), ADD),
        (ExponentialMechanismDpEvent(1e4), ADD),
        (ExponentialMechanismDpEvent(1e-9), ADD),
        (PermuteAndFlipDpEvent(1e3), ADD),
        (TruncatedSubsampledGaussianDpEvent(10, 1.0, 3, 1.0), REPLACE),
    ],
)
def test_extremes_are_answered_with_an_interval(accountant, event, relation):
    """An upper end that holds is above a lower end that does; `Bounds` would raise otherwise."""
    composed = accountant(relation).compose(event, 3)
    epsilon, delta = composed.get_epsilon_bounds(1e-5), composed.get_delta_bounds(0.3)
    assert not math.isnan(epsilon.upper)
    assert 0.0 <= delta.lower <= delta.upper <= 1.0
    if math.isfinite(epsilon.upper):
        assert composed.get_delta_bounds(epsilon.upper * (1.0 + 1e-5) + 1e-300).lower <= 1e-5


def test_a_guarantee_is_its_two_parts():
    both = RenyiAccountant().compose(EpsilonDeltaDpEvent(0.5, 1e-6), 2)
    assert dict(both.composition) == {PureResponse(0.5): 2, Revealed(1e-6): 2}
    assert both.divergence(2.0) == math.inf
    assert both.ledger == dpa.SelfComposedDpEvent(EpsilonDeltaDpEvent(0.5, 1e-6), 2)


def test_nothing_released_costs_nothing():
    for event in (
        EpsilonDeltaDpEvent(0.0, 0.0),
        ExponentialMechanismDpEvent(0.0),
        PermuteAndFlipDpEvent(0.0),
        dpa.PoissonSampledDpEvent(0.0, dpa.LaplaceDpEvent(1.0)),
        TruncatedSubsampledGaussianDpEvent(10, 0.0, 3, 1.0),
        TruncatedSubsampledGaussianDpEvent(10, 0.5, 0, 1.0),
        RepeatAndSelectDpEvent(dpa.NoOpDpEvent(), 2.0, 1.0),
    ):
        assert RenyiAccountant().compose(event).get_epsilon_bounds(0.0) == (0.0, 0.0)
    for event in (EpsilonDeltaDpEvent(1.0, 1.0), DiscreteGaussianDpEvent(0.0)):
        assert RenyiAccountant().compose(event).get_delta_bounds(9.0) == (1.0, 1.0)
