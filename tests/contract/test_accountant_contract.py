"""The contract of every accountant, present and future."""

import itertools
import math

import dp_accounting as dpa
import pytest
from contract.accountants_under_test import ACCOUNTANTS
from dp_accounting import NeighboringRelation
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from accountants import Bounds, Certificate, event_from_json, event_to_json
from accountants.support import EXAMPLES

ADD = NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = NeighboringRelation.REPLACE_ONE
SPECIAL = NeighboringRelation.REPLACE_SPECIAL
BOTH_SAMPLED_RELATIONS = (ADD, SPECIAL)
# Searches over orders or thresholds stop at a tolerance; monotonicity holds up to it.
SLACK = 1e-6

pytestmark = pytest.mark.parametrize("accountant", ACCOUNTANTS)


def log_uniform(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(math.log(low), math.log(high)).map(math.exp)


noise_multipliers = log_uniform(0.4, 20.0)
sampling_rates = log_uniform(1e-4, 1.0).map(lambda q: min(q, 1.0))
steps_counts = log_uniform(1, 1e5).map(round)
deltas = log_uniform(1e-12, 1e-2)


def sampled(noise_multiplier: float, sampling_rate: float) -> dpa.DpEvent:
    return dpa.PoissonSampledDpEvent(sampling_rate, dpa.GaussianDpEvent(noise_multiplier))


def fresh(accountant, relation, event=None, count=1):
    result = accountant(neighboring_relation=relation)
    return result if event is None else result.compose(event, count)


@pytest.mark.parametrize("relation", NeighboringRelation)
def test_no_event_costs_nothing(accountant, relation):
    empty = fresh(accountant, relation)
    assert empty.get_epsilon_bounds(1e-5) == Bounds(0.0, 0.0)
    assert empty.get_delta_bounds(0.0) == Bounds(0.0, 0.0)
    assert empty.compose(dpa.NoOpDpEvent()).get_epsilon(1e-5) == 0.0
    unsampled = sampled(1.0, 0.0) if relation is not REPLACE else dpa.NoOpDpEvent()
    assert empty.compose(unsampled).get_epsilon(1e-5) == 0.0


@pytest.mark.parametrize("relation", NeighboringRelation)
@pytest.mark.parametrize("event", [dpa.NonPrivateDpEvent(), dpa.GaussianDpEvent(0.0)])
def test_a_release_without_noise_is_not_private(accountant, relation, event):
    exposed = fresh(accountant, relation, event)
    assert exposed.get_epsilon_bounds(1e-5) == Bounds(math.inf, math.inf)
    assert exposed.get_delta_bounds(10.0) == Bounds(1.0, 1.0)


@settings(max_examples=15)
@given(
    settings_list=st.lists(
        st.tuples(noise_multipliers, sampling_rates, st.integers(1, 50)), min_size=2, max_size=4
    ),
    delta=deltas,
)
def test_order_does_not_matter(accountant, settings_list, delta):
    events = [dpa.SelfComposedDpEvent(sampled(s, q), t) for s, q, t in settings_list]
    answers = set()
    for order in itertools.islice(itertools.permutations(events), 3):
        one_by_one = fresh(accountant, ADD)
        for event in order:
            one_by_one.compose(event)
        answers.add(one_by_one.get_epsilon_bounds(delta))
        answers.add(
            fresh(accountant, ADD, dpa.ComposedDpEvent(list(order))).get_epsilon_bounds(delta)
        )
    lowers, uppers = [a.lower for a in answers], [a.upper for a in answers]
    assert max(lowers) == pytest.approx(min(lowers), rel=1e-9)
    assert max(uppers) == pytest.approx(min(uppers), rel=1e-9)


@settings(max_examples=15)
@given(s=noise_multipliers, q=sampling_rates, n=st.integers(2, 6), delta=deltas)
def test_composing_n_times_is_n_compositions(accountant, s, q, n, delta):
    event = sampled(s, q)
    at_once = fresh(accountant, ADD, event, n)
    one_by_one = fresh(accountant, ADD)
    for _ in range(n):
        one_by_one.compose(event)
    nested = fresh(accountant, ADD, dpa.SelfComposedDpEvent(event, n))
    assert at_once.get_epsilon_bounds(delta) == one_by_one.get_epsilon_bounds(delta)
    assert at_once.get_epsilon_bounds(delta) == nested.get_epsilon_bounds(delta)


def assert_no_less(more: Bounds, less: Bounds) -> None:
    assert more.upper >= less.upper * (1 - SLACK) - 1e-12
    assert (
        more.upper >= less.lower - 1e-12
    )  # The truths are ordered, whatever the intervals' width.


@settings(max_examples=25)
@given(
    s=noise_multipliers,
    q=sampling_rates,
    t=steps_counts,
    delta=deltas,
    factor=st.floats(1.0, 3.0),
    relation=st.sampled_from(BOTH_SAMPLED_RELATIONS),
)
def test_monotone_in_every_argument(accountant, s, q, t, delta, factor, relation):
    def bounds(s, q, t, delta):
        return fresh(accountant, relation, sampled(s, q), t).get_epsilon_bounds(delta)

    base = bounds(s, q, t, delta)
    assert 0.0 <= base.lower <= base.upper < math.inf
    assert_no_less(base, bounds(s * factor, q, t, delta))
    assert_no_less(base, bounds(s, q / factor, t, delta))
    assert_no_less(bounds(s, q, math.ceil(t * factor), delta), base)
    assert_no_less(base, bounds(s, q, t, min(0.5, delta * factor)))


@settings(max_examples=12)
@given(s=noise_multipliers, q=sampling_rates, t=steps_counts, delta=deltas)
def test_delta_at_the_reported_epsilon_is_within_delta(accountant, s, q, t, delta):
    composed = fresh(accountant, ADD, sampled(s, q), t)
    bounds = composed.get_epsilon_bounds(delta)
    assert composed.get_epsilon(delta) == bounds.upper
    assert composed.get_delta_bounds(bounds.upper).lower <= delta
    assert composed.get_delta(bounds.upper) == composed.get_delta_bounds(bounds.upper).upper
    # The upper curve is its own inverse up to the search's tolerance.
    assert composed.get_delta(bounds.upper + 1e-6 * (1 + bounds.upper)) <= delta * (1 + 1e-4)


@settings(max_examples=40)
@given(
    s=noise_multipliers, t=steps_counts, delta=deltas, relation=st.sampled_from(NeighboringRelation)
)
def test_never_below_the_exact_gaussian(accountant, s, t, delta, relation):
    composed = accountant(neighboring_relation=relation)
    assume(composed.supports(dpa.GaussianDpEvent(s)))
    bounds = composed.compose(dpa.GaussianDpEvent(s), t).get_epsilon_bounds(delta)
    sensitivity = 2.0 if relation is REPLACE else 1.0
    exact = dpa.get_epsilon_gaussian(s / (sensitivity * math.sqrt(t)), delta)
    assert bounds.upper >= exact * (1 - 1e-9) - 1e-9
    assert bounds.lower <= exact * (1 + 1e-9) + 1e-9


@pytest.mark.parametrize(
    ("s", "q", "t", "delta"),
    [(1.0, 0.01, 100, 1e-5), (2.0, 0.1, 50, 1e-6), (0.7, 0.5, 10, 1e-4), (5.0, 0.02, 1000, 1e-3)],
)
def test_agrees_with_dp_accounting(accountant, s, q, t, delta):
    """dp-accounting's two roundings of the privacy loss bracket the truth."""
    brackets = [
        pld.from_gaussian_mechanism(s, sampling_prob=q, pessimistic_estimate=pessimistic)
        .self_compose(t)
        .get_epsilon_for_delta(delta)
        for pessimistic in (False, True)
    ]
    bounds = fresh(accountant, ADD, sampled(s, q), t).get_epsilon_bounds(delta)
    assert bounds.upper >= brackets[0] - 1e-6
    assert bounds.lower <= brackets[1] + 1e-6
    assert fresh(accountant, SPECIAL, sampled(s, q), t).get_epsilon_bounds(delta) == bounds


@pytest.mark.parametrize(
    "event",
    [
        dpa.UnsupportedDpEvent(),
        dpa.SampledWithReplacementDpEvent(100, 10, dpa.GaussianDpEvent(1.0)),
        dpa.SampledWithoutReplacementDpEvent(100, 10, dpa.GaussianDpEvent(1.0)),
        dpa.RandomizedResponseDpEvent(0.5, 2),
        dpa.PoissonSampledDpEvent(0.1, dpa.PoissonSampledDpEvent(0.1, dpa.UnsupportedDpEvent())),
        dpa.ComposedDpEvent([dpa.GaussianDpEvent(1.0), dpa.UnsupportedDpEvent()]),
    ],
)
def test_unsupported_events_are_refused_with_a_reason(accountant, event):
    composed = fresh(accountant, ADD, dpa.GaussianDpEvent(1.0))
    before = composed.get_epsilon_bounds(1e-5)
    assert not composed.supports(event)
    with pytest.raises(dpa.UnsupportedEventError, match=r"Error: \[.{20,}\]"):
        composed.compose(event)
    assert composed.get_epsilon_bounds(1e-5) == before, "a refused event must leave no trace"


@pytest.mark.parametrize(
    ("event", "name"),
    [
        (dpa.GaussianDpEvent(-1.0), "noise_multiplier"),
        (dpa.GaussianDpEvent(math.nan), "noise_multiplier"),
        (dpa.GaussianDpEvent(math.inf), "noise_multiplier"),
        (dpa.GaussianDpEvent("1.0"), "noise_multiplier"),
        (dpa.PoissonSampledDpEvent(1.5, dpa.GaussianDpEvent(1.0)), "sampling_probability"),
        (dpa.PoissonSampledDpEvent(-0.1, dpa.GaussianDpEvent(1.0)), "sampling_probability"),
        (dpa.PoissonSampledDpEvent(math.nan, dpa.GaussianDpEvent(1.0)), "sampling_probability"),
        (dpa.PoissonSampledDpEvent("0.1", dpa.GaussianDpEvent(1.0)), "sampling_probability"),
        (dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(1.0), -1), "count"),
        (dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(1.0), 1.5), "count"),
        (dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(1.0), "3"), "count"),
        (dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(1.0), math.nan), "count"),
    ],
)
def test_impossible_event_parameters_are_named(accountant, event, name):
    with pytest.raises((ValueError, TypeError), match=f"`{name}` must be"):
        fresh(accountant, ADD, event)


@pytest.mark.parametrize("delta", [-1e-5, 1.0, 2.0, math.nan, math.inf, "1e-5", None, True])
def test_impossible_delta_is_named(accountant, delta):
    composed = fresh(accountant, ADD, dpa.GaussianDpEvent(1.0))
    for ask in (composed.get_epsilon_bounds, composed.get_epsilon):
        with pytest.raises((ValueError, TypeError), match="delta` must be"):
            ask(delta)


@pytest.mark.parametrize("epsilon", [-1.0, math.nan, math.inf, "1", None])
def test_impossible_epsilon_is_named(accountant, epsilon):
    composed = fresh(accountant, ADD, dpa.GaussianDpEvent(1.0))
    for ask in (composed.get_delta_bounds, composed.get_delta):
        with pytest.raises((ValueError, TypeError), match="epsilon` must be"):
            ask(epsilon)


@pytest.mark.parametrize("count", [0, -1, 1.5, math.nan, "2", None])
def test_impossible_count_is_named(accountant, count):
    with pytest.raises((ValueError, TypeError), match="`count` must be"):
        fresh(accountant, ADD).compose(dpa.GaussianDpEvent(1.0), count)


def test_impossible_relation_is_named(accountant):
    with pytest.raises(TypeError, match="`neighboring_relation` must be"):
        accountant(neighboring_relation="add")


def test_an_event_must_be_an_event(accountant):
    with pytest.raises(TypeError, match="must be `DpEvent`"):
        fresh(accountant, ADD).compose("gaussian")


def test_calibration_of_dp_accounting_works(accountant):
    def make(noise_multiplier):
        return dpa.SelfComposedDpEvent(sampled(noise_multiplier, 0.01), 1000)

    sigma = dpa.calibrate_dp_mechanism(accountant, make, 1.0, 1e-5, tol=1e-4)
    assert accountant().compose(make(sigma)).get_epsilon(1e-5) <= 1.0
    assert accountant().compose(make(sigma - 2e-4)).get_epsilon(1e-5) > 1.0


def test_certificate_round_trip(accountant):
    composed = fresh(accountant, ADD, sampled(1.0, 0.01), 100)
    certificate = composed.certify([1e-5, 1e-6])
    assert certificate.bounds(1e-6) == composed.get_epsilon_bounds(1e-6)
    assert certificate.method == accountant.method
    assert any("add" in text.lower() for text in certificate.assumptions)
    assert Certificate.from_json(certificate.to_json()) == certificate


def test_numbers_are_plain_floats(accountant):
    bounds = fresh(accountant, ADD, sampled(1.0, 0.01), 100).get_epsilon_bounds(1e-5)
    assert type(bounds.lower) is float
    assert type(bounds.upper) is float


@pytest.mark.parametrize(
    "label",
    [
        pytest.param(label, marks=[pytest.mark.slow] if "with replacement" in label else [])
        for label in EXAMPLES
    ],
)
def test_every_event_of_the_support_table(accountant, label):
    """Ends in order, δ and ε each other's inverse, JSON and back, and no less at a smaller δ."""
    event = event_from_json(event_to_json(EXAMPLES[label]))
    for relation in NeighboringRelation:
        composed = fresh(accountant, relation)
        if not composed.supports(event):
            continue
        composed.compose(event)
        pure, small, large = map(composed.get_epsilon_bounds, (0.0, 1e-8, 1e-3))
        assert small.upper <= pure.upper * (1 + SLACK)
        assert_no_less(small, large)
        if math.isfinite(large.upper):
            assert composed.get_delta_bounds(large.upper * (1 + SLACK) + 1e-12).lower <= 1e-3
        assert composed.get_delta_bounds(large.lower * (1 - SLACK)).upper >= 1e-3 * (1 - 1e-4) or (
            large.lower == 0.0
        )
