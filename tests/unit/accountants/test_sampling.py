"""The vocabulary of sampling: one spelling, and refusals that say the right word."""

import dp_accounting as dpa
import pytest
from dp_accounting import NeighboringRelation

from accountants import (
    BallsInBinsDpEvent,
    FourierAccountant,
    calibrate_noise,
    calibrate_steps,
    delta_bounds,
    epsilon_bounds,
    epsilon_curve,
    event_from_json,
    event_from_opacus_history,
    event_to_json,
    sampling,
)
from accountants.dp_sgd import step_event
from mechanisms import AllRecords, FixedSize, Poisson, Shuffled

SETTING = {"noise_multiplier": 1.0, "sampling_rate": 0.01}
ASKED = [
    lambda kind: step_event(1.0, 0.01, kind),
    lambda kind: epsilon_bounds(**SETTING, delta=1e-5, steps=3, sampling=kind),
    lambda kind: delta_bounds(**SETTING, epsilon=1.0, steps=3, sampling=kind),
    lambda kind: epsilon_curve(**SETTING, delta=1e-5, steps=[3], sampling=kind),
    lambda kind: calibrate_steps(**SETTING, target_epsilon=1.0, delta=1e-5, sampling=kind),
    lambda kind: calibrate_noise(target_epsilon=1.0, delta=1e-5, sampling=kind),
    lambda kind: event_from_opacus_history([(1.0, 0.01, 1)], sampling=kind),
]


def test_the_vocabulary():
    assert sampling.KINDS == ("poisson", "fixed_size", "shuffled", "balls_in_bins", "all")
    assert [sampling.check("x", kind) for kind in sampling.KINDS] == list(sampling.KINDS)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("fixed-size", "fixed_size"),
        ("Fixed size", "fixed_size"),
        ("without_replacement", "fixed_size"),
        ("Poisson", "poisson"),
        ("poison", "poisson"),
        ("shuffle", "shuffled"),
        ("balls-in-bins", "balls_in_bins"),
        ("none", "all"),
    ],
)
def test_another_spelling_is_refused_with_the_right_word(written, meant):
    with pytest.raises(
        ValueError, match=f"`x` must be one of .*'fixed_size'.* Did you mean '{meant}'"
    ):
        sampling.check("x", written)


@pytest.mark.parametrize("value", ["", "laplace", None, 3])
def test_what_is_no_sampling_is_refused_with_what_is(value):
    with pytest.raises(ValueError, match=r"`x` must be one of \['poisson', .*'all'\], got"):
        sampling.check("x", value)


@pytest.mark.parametrize("ask", ASKED)
def test_another_spelling_is_refused_everywhere(ask):
    with pytest.raises(ValueError, match=r"`sampling` must be one of .*, got 'fixed-size"):
        ask("fixed-size")


@pytest.mark.parametrize("ask", ASKED[1:-1])
def test_shuffled_batches_are_asked_under_a_relation_that_keeps_them(ask):
    with pytest.raises(ValueError, match="`relation` must be REPLACE_ONE or REPLACE_SPECIAL"):
        ask("shuffled")


@pytest.mark.parametrize("ask", [ASKED[0], ASKED[-1]])
@pytest.mark.parametrize("kind", ["balls_in_bins", "shuffled"])
def test_steps_of_epochs_are_refused_on_their_own(ask, kind):
    with pytest.raises(ValueError, match=r"`sampling` must be one of .*whole epochs"):
        ask(kind)


def test_balls_in_bins_are_asked_by_the_epoch():
    setting = {"noise_multiplier": 1.0, "sampling": "balls_in_bins"}
    with pytest.raises(ValueError, match="`steps` must be whole epochs of 100 steps"):
        epsilon_bounds(**setting, sampling_rate=0.01, steps=150, delta=1e-5)
    with pytest.raises(ValueError, match="`sampling_rate` must be one over the number of steps"):
        epsilon_bounds(**setting, sampling_rate=0.3, steps=3, delta=1e-5)
    with pytest.raises(ValueError, match="`relation` must be ADD_OR_REMOVE_ONE or REPLACE_SPECIAL"):
        epsilon_bounds(
            **setting, sampling_rate=0.1, steps=10, delta=1e-5,
            relation=NeighboringRelation.REPLACE_ONE,
        )  # fmt: skip
    event = BallsInBinsDpEvent(10, dpa.GaussianDpEvent(1.0))
    asked = epsilon_bounds(**setting, sampling_rate=0.1, steps=30, delta=1e-5)
    assert asked == FourierAccountant().compose(event, 3).get_epsilon_bounds(1e-5)
    zeroed = FourierAccountant(NeighboringRelation.REPLACE_SPECIAL).compose(event, 3)
    assert asked == zeroed.get_epsilon_bounds(1e-5)
    curve = epsilon_curve(**setting, sampling_rate=0.1, steps=[30, 10], delta=1e-5)
    assert (curve.lower[0], curve.upper[0]) == asked
    assert curve.upper[1] < curve.lower[0]
    epsilon = 0.5 * (asked.lower + asked.upper)
    delta = delta_bounds(**setting, sampling_rate=0.1, steps=30, epsilon=epsilon)
    assert delta.lower < 1e-5 < delta.upper


def test_noise_for_balls_in_bins():
    asked = {"sampling_rate": 0.05, "steps": 40, "delta": 1e-6, "sampling": "balls_in_bins"}
    sigma = calibrate_noise(target_epsilon=1.0, **asked)
    assert epsilon_bounds(noise_multiplier=sigma, **asked).upper <= 1.0
    assert epsilon_bounds(noise_multiplier=0.999 * sigma, **asked).lower > 1.0


def test_balls_in_bins_through_json():
    event = BallsInBinsDpEvent(10, dpa.GaussianDpEvent(1.5))
    assert event_from_json(event_to_json(event)) == event


@pytest.mark.parametrize("relation", list(NeighboringRelation))
def test_all_records_are_the_plain_gaussian(relation):
    assert step_event(2.0, 1.0, "all", relation) == dpa.GaussianDpEvent(2.0)
    with pytest.raises(ValueError, match="`sampling_rate` must be 1 where all records are in"):
        step_event(2.0, 0.5, "all", relation)


def test_a_history_of_full_batches():
    event = event_from_opacus_history([(2.0, 1.0, 5)], sampling="all")
    assert event.events[0] == dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(2.0), 5)
    with pytest.raises(ValueError, match="`sample_rate` must be 1"):
        event_from_opacus_history([(2.0, 0.5, 5)], sampling="all")


def test_the_mechanisms_samplings_speak_it():
    schemes = (AllRecords(), Poisson(0.1), FixedSize(10, 100), Shuffled(10, 100))
    assert [scheme.kind for scheme in schemes] == ["all", "poisson", "fixed_size", "shuffled"]
