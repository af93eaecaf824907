import math

import dp_accounting as dpa
import numpy as np
import pytest
from dp_accounting import NeighboringRelation
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special

from accountants import CombinedFilter, EpsilonDeltaDpEvent, GaussianFilter, RenyiFilter
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


def gaussian_delta(mu, epsilon):
    """E[(1 − e^{ε−L})₊] of N(0, 1) against N(μ, 1), for ε of either sign, an array."""
    a = epsilon / mu - mu / 2
    return special.ndtr(-a) - np.exp(epsilon + special.log_ndtr(-a - mu))


def largest(admits, top):
    """The largest parameter in (0, top) that is admitted, by bisection from below."""
    low, high = 0.0, top
    for _ in range(50):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if admits(middle) else (low, middle)
    return low


def gaussian_event(mu):
    return dpa.GaussianDpEvent(1.0 / mu)


def response_event(pure):
    return dpa.RandomizedResponseDpEvent(2.0 / (1.0 + math.exp(pure)), 2)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.floats(0.3, 4.0), st.floats(1e-6, 1e-2), st.floats(0.05, 0.99), st.booleans())
def test_an_adversary_who_switches_by_what_was_seen(target, delta, share, gaussians_only):
    """Its δ(ε), by quadrature over the first release's loss N(μ²/2, μ²), choosing at each loss the
    worse of all that the filter then admits: the largest Gaussian, the largest response.
    """
    options = {
        "target_epsilon": target,
        "delta": delta,
        "neighboring_relation": NeighboringRelation.REPLACE_SPECIAL,
    }
    kind = GaussianFilter if gaussians_only else CombinedFilter
    whole = largest(lambda mu: kind(**options).admits(gaussian_event(mu)), 20.0)
    first = share * whole
    budget = kind(**options)
    budget.spend(gaussian_event(first))
    rest = largest(lambda mu: budget.admits(gaussian_event(mu)), 20.0)
    pure = 0.0 if gaussians_only else largest(lambda e: budget.admits(response_event(e)), 20.0)
    losses = np.linspace(first**2 / 2 - 12 * first, first**2 / 2 + 12 * first, 40_001)
    density = np.exp(-0.5 * ((losses - first**2 / 2) / first) ** 2) / (first * math.sqrt(2 * np.pi))
    left = target - losses
    worst = np.maximum(0.0, -np.expm1(left))
    if rest > 0.0:
        worst = np.maximum(worst, gaussian_delta(rest, left))
    if pure > 0.0:
        worst = np.maximum(worst, special_response_delta(pure, left))
    assert integrate.simpson(density * worst, x=losses) <= delta * (1 + 1e-7)


def special_response_delta(pure, epsilon):
    """A response with P(truth) = e^a/(1+e^a), a = `pure`, against the uniform one."""
    truth = 1.0 / (1.0 + math.exp(-pure))
    return sum(
        p * np.maximum(0.0, -np.expm1(epsilon - math.log(2.0 * p))) for p in (truth, 1.0 - truth)
    )


def test_the_gaussian_filter_is_exact():
    """μ² = Σ 1/σ² with δ_μ(1) = 1e-5: the least σ for one release, Balle and Wang 2018."""
    budget = GaussianFilter(target_epsilon=1.0, delta=1e-5)
    mu = largest(lambda mu: budget.admits(gaussian_event(mu)), 20.0)
    assert float(gaussian_delta(mu, 1.0)) == pytest.approx(1e-5, rel=1e-9)
    for sigma in (9.0, 11.0, 17.0):
        budget.spend(dpa.GaussianDpEvent(sigma))
    spent = math.sqrt(sum(sigma**-2 for sigma in (9.0, 11.0, 17.0)))
    assert float(gaussian_delta(spent, budget.epsilon_upper)) == pytest.approx(1e-5, rel=1e-9)
    assert not budget.admits(dpa.PoissonSampledDpEvent(1e-9, dpa.GaussianDpEvent(1e3)))
    assert not budget.admits(dpa.NonPrivateDpEvent())


def test_each_filter_where_it_is_good():
    """How many releases each admits: the exact filter the most, the combined one lies between."""
    counts = {}
    for kind in (RenyiFilter, CombinedFilter, GaussianFilter):
        for event in (dpa.GaussianDpEvent(50.0), dpa.LaplaceDpEvent(100.0)):
            budget = kind(target_epsilon=1.0, delta=1e-5)
            counts[kind, type(event)] = int(
                largest(lambda n, b=budget, e=event: int(n) == 0 or b.admits(e, int(n)), 1e4)
            )
    plain = [counts[kind, dpa.GaussianDpEvent] for kind in (RenyiFilter, CombinedFilter)]
    assert 1.05 * plain[0] < plain[1] < counts[GaussianFilter, dpa.GaussianDpEvent]
    assert counts[GaussianFilter, dpa.LaplaceDpEvent] == 0
    assert (
        0.9
        < counts[CombinedFilter, dpa.LaplaceDpEvent] / counts[RenyiFilter, dpa.LaplaceDpEvent]
        <= 1.0
    )


def test_after_anything_else_the_renyi_filter_decides():
    budget = CombinedFilter(target_epsilon=1.0, delta=1e-5)
    budget.spend(dpa.GaussianDpEvent(50.0), 160)  # more than the Rényi filter would have admitted
    assert not budget.admits(dpa.LaplaceDpEvent(1e4))
    assert budget.admits(dpa.GaussianDpEvent(50.0))
    other = CombinedFilter(target_epsilon=1.0, delta=1e-5)
    other.spend(dpa.LaplaceDpEvent(1e4))
    assert not other.admits(dpa.GaussianDpEvent(50.0), 160)
    assert other.admits(dpa.GaussianDpEvent(50.0), 140)


@pytest.mark.parametrize("kind", [RenyiFilter, GaussianFilter, CombinedFilter])
def test_what_may_be_revealed_is_not_admitted(kind):
    """An (ε, δ) event is no Gaussian and has no Rényi divergence."""
    budget = kind(target_epsilon=1.0, delta=1e-5)
    for epsilon in (0.0, 1e-3):
        assert not budget.admits(EpsilonDeltaDpEvent(epsilon, 1e-9))
