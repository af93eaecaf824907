import math

import dp_accounting as dpa
import pytest
from dp_accounting import NeighboringRelation
from hypothesis import given, settings
from hypothesis import strategies as st

from accountants import RenyiFilter
from accountants.filters import default_order

sigmas = st.floats(1.0, 100.0)


@settings(max_examples=50)
@given(st.lists(st.tuples(sigmas, st.floats(0.01, 1.0)), max_size=20), st.floats(0.1, 5.0))
def test_no_sequence_exceeds_the_budget(steps, target):
    """Checked at the fixed order with dp-accounting's own divergences and conversion."""
    budget = RenyiFilter(target_epsilon=target, delta=1e-5, order=8.0)
    peer = dpa.rdp.RdpAccountant([8.0])
    for sigma, rate in steps:
        event = dpa.PoissonSampledDpEvent(rate, dpa.GaussianDpEvent(sigma))
        if budget.admits(event):
            budget.spend(event)
            peer.compose(event)
        else:
            with pytest.raises(ValueError, match="`event` must fit the budget"):
                budget.spend(event)
    assert budget.epsilon_upper <= target
    assert peer.get_epsilon(1e-5) <= target * (1 + 1e-9)
    assert budget.epsilon_upper == pytest.approx(peer.get_epsilon(1e-5), rel=1e-8, abs=1e-12)


def test_the_budget_is_used_up():
    budget = RenyiFilter(target_epsilon=1.0, delta=1e-5)
    step = dpa.GaussianDpEvent(20.0)
    while budget.admits(step):
        budget.spend(step)
    assert 0.95 < budget.epsilon_upper <= 1.0
    assert not budget.admits(dpa.NonPrivateDpEvent())
    assert budget.admits(dpa.NoOpDpEvent())


def test_an_empty_filter_has_spent_nothing():
    budget = RenyiFilter(target_epsilon=1.0, delta=1e-5)
    assert budget.epsilon_upper == 0.0
    assert budget.ledger == dpa.NoOpDpEvent()


def test_replace_one_costs_twice_the_shift():
    spent = {}
    for relation in NeighboringRelation:
        budget = RenyiFilter(
            target_epsilon=10.0, delta=1e-5, order=4.0, neighboring_relation=relation
        )
        budget.spend(dpa.GaussianDpEvent(2.0))
        spent[relation] = budget.epsilon_upper
    # D_α = α·μ²/2 with μ = 1/2 and 2/2.
    extra = 4.0 * (1.0**2 - 0.5**2) / 2
    difference = (
        spent[NeighboringRelation.REPLACE_ONE] - spent[NeighboringRelation.ADD_OR_REMOVE_ONE]
    )
    assert difference == pytest.approx(extra, rel=1e-9)


def test_the_default_order_admits_the_most_gaussians():
    epsilon, delta = 2.0, 1e-6

    def admitted_rho(order):
        # Canonne, Kamath, Steinke 2020, Proposition 12, solved for the divergence.
        spent = math.log1p(-1 / order) - math.log(delta * order) / (order - 1)
        return (epsilon - spent) / order

    best = default_order(epsilon, delta)
    assert all(admitted_rho(best) >= admitted_rho(best * f) for f in (0.8, 0.96, 1.04, 1.25))


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"target_epsilon": 0.0, "delta": 1e-5}, "target_epsilon"),
        ({"target_epsilon": 1.0, "delta": 0.0}, "delta"),
        ({"target_epsilon": 1.0, "delta": 1e-5, "order": 1.0}, "order"),
        ({"target_epsilon": 1.0, "delta": 1e-5, "order": math.nan}, "order"),
    ],
)
def test_bad_arguments_are_named(options, name):
    with pytest.raises(ValueError, match=f"`{name}` must be"):
        RenyiFilter(**options)
