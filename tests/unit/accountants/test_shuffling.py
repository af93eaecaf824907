"""Shuffled batches: a Gaussian above, pairs of data sets below, and nothing claimed in between."""

import math

import dp_accounting as dpa
import numpy as np
import pytest
from dp_accounting import NeighboringRelation
from scipy import integrate, special

from accountants import (
    FourierAccountant,
    ShuffledDpEvent,
    calibrate_noise,
    calibrate_steps,
    delta_bounds,
    epsilon_bounds,
    epsilon_curve,
    event_from_json,
    event_to_json,
    gaussian,
    trade_off,
)
from accountants.dp_sgd import repeated_event
from accountants.fourier.shuffling import largest_laws

ADD, REPLACE, ZERO = NeighboringRelation


def shuffled(relation, noise, batches, share=1.0, epochs=1):
    event = ShuffledDpEvent(batches, dpa.GaussianDpEvent(noise), share)
    return FourierAccountant(relation).compose(event, epochs)


def of_two_batches(noise, epsilon, share):
    """δ_remove of share·(X₁ + X₂)/2 + 1 − share: over X₂ by Black and Scholes, over X₁ by scipy."""
    shift = 2.0 / noise

    def given_first(y):
        strike = (math.exp(epsilon) - 1.0 + share) * 2.0 / share
        strike -= math.exp(shift * y - 0.5 * shift**2)
        if strike <= 0.0:
            inner = 1.0 - strike
        else:
            place = (-math.log(strike) + 0.5 * shift**2) / shift
            inner = special.ndtr(place) - strike * special.ndtr(place - shift)
        return 0.5 * share * inner * math.exp(-0.5 * y * y) / math.sqrt(2.0 * math.pi)

    # The strike's kink.
    kink = math.log((math.exp(epsilon) - 1.0 + share) * 2.0 / share) / shift + 0.5 * shift
    return integrate.quad(given_first, -12.0, 12.0 + shift, points=[kink], epsabs=1e-12)[0]


@pytest.mark.parametrize("share", [1.0, 0.9])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_a_replaced_record_costs_at_least_this(share, epsilon):
    """Others at −C: (N(2e₁) + N(2e₂))/2 against N(0). 1e-2 is the coarse lattice's."""
    truth = of_two_batches(3.0, epsilon, share)
    lower = shuffled(REPLACE, 3.0, 2, share).get_delta_bounds(epsilon).lower
    assert truth * 0.99 < lower <= truth * (1.0 + 1e-9)


@pytest.mark.parametrize("batches", [1, 2, 100])
@pytest.mark.parametrize(("noise", "epsilon"), [(0.5, 3.0), (2.0, 0.3)])
def test_the_largest_sum_of_a_zeroed_record(batches, noise, epsilon):
    """The densities of the largest coordinate, integrated by scipy."""

    def density(c, shift):
        below, beside = special.ndtr(c), special.ndtr(c - shift)
        normal = [np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi) for x in (c, c - shift)]
        found = below ** (batches - 1) * normal[1]
        if batches > 1:
            found += (batches - 1) * below ** (batches - 2) * normal[0] * beside
        return found

    def excess(c, sign):
        with_record, without = density(c, 2.0 / noise), density(c, 1.0 / noise)
        first, second = (with_record, without) if sign > 0 else (without, with_record)
        return np.maximum(first - math.exp(epsilon) * second, 0.0)

    places = np.linspace(-12.0, 16.0 + 2.0 / noise, 40_001)
    for law, sign in zip(largest_laws(batches, noise, 1.0), (1, -1), strict=True):
        truth = integrate.trapezoid(excess(places, sign), places)
        found = float(np.sum(law.masses * np.maximum(-np.expm1(epsilon - law.losses), 0.0)))
        assert truth * 0.998 - 1e-13 <= found <= truth * (1.0 + 1e-5) + 1e-13


def test_the_lower_end_grows_with_epochs_and_the_upper_is_that_of_gaussians():
    """Once it was that of one epoch: [2.98, 20.56] for this training."""
    lowers = []
    for epochs in (1, 4, 15):
        lower, upper = shuffled(ZERO, 1.1, 235, epochs=epochs).get_epsilon_bounds(1e-5)
        assert upper == pytest.approx(gaussian.epsilon(math.sqrt(epochs) / 1.1, 1e-5), rel=1e-9)
        lowers.append(lower)
    assert lowers[0] > 2.97
    assert lowers[2] > 5.98
    assert lowers == sorted(lowers)


def test_shuffling_is_not_poisson_sampling():
    """Chua et al. 2024: at little noise a shuffled epoch costs far more than Poisson sampling."""
    setting = {"noise_multiplier": 0.4, "sampling_rate": 1e-3, "steps": 1000, "delta": 1e-6}
    proved = epsilon_bounds(**setting, sampling="shuffled", relation=ZERO)
    poisson = epsilon_bounds(**setting, relation=ZERO, tolerance=1e-3)
    assert proved.lower > poisson.upper


@pytest.mark.parametrize(
    ("noise", "batches", "share", "epochs", "relation"),
    [
        (0.02, 3000, 0.01, 200, ZERO),
        (0.02, 2, 1.0, 1, REPLACE),
        (30.0, 5, 0.99, 300, ZERO),
        (30.0, 1, 0.5, 1, REPLACE),
        (0.7, 20, 1e-6, 3, ZERO),
    ],
)
def test_bounds_are_ordered(noise, batches, share, epochs, relation):
    lower, upper = shuffled(relation, noise, batches, share, epochs).get_epsilon_bounds(1e-5)
    sensitivity = 2.0 if relation is REPLACE else 1.0
    assert 0.0 <= lower <= upper
    assert upper == pytest.approx(
        gaussian.epsilon(sensitivity * math.sqrt(epochs) / noise, 1e-5), rel=1e-9
    )


def test_a_ragged_last_batch_is_kept_or_dropped_by_the_number_of_steps():
    noise = dpa.GaussianDpEvent(1.0)
    kept = repeated_event(1.0, 0.3, 8, "shuffled", ZERO)
    dropped = repeated_event(1.0, 0.3, 6, "shuffled", ZERO)
    assert kept == (ShuffledDpEvent(4, noise), 2)
    assert dropped == (ShuffledDpEvent(3, noise, 3 * 0.3), 2)
    assert repeated_event(1.0, 0.25, 12, "shuffled", ZERO) == (ShuffledDpEvent(4, noise), 3)
    for steps in (7, 12):  # of neither, of both
        with pytest.raises(ValueError, match=r"`steps` must be whole epochs of 4 .* or of 3"):
            repeated_event(1.0, 0.3, steps, "shuffled", ZERO)


def test_every_question_has_an_answer():
    setting = {"sampling_rate": 0.1, "relation": ZERO, "sampling": "shuffled"}
    single = epsilon_bounds(noise_multiplier=2.0, steps=20, delta=1e-5, **setting)
    curve = epsilon_curve(noise_multiplier=2.0, steps=[10, 20], delta=1e-5, **setting)
    assert (curve.lower[1], curve.upper[1]) == single
    assert curve.upper[0] == pytest.approx(gaussian.epsilon(0.5, 1e-5), rel=1e-9)
    found = delta_bounds(noise_multiplier=2.0, steps=20, epsilon=1.0, **setting)
    assert found.upper == pytest.approx(gaussian.delta(math.sqrt(2.0) / 2.0, 1.0), rel=1e-9)
    assert 0.0 < found.lower < found.upper
    noise = calibrate_noise(target_epsilon=2.0, delta=1e-5, steps=20, **setting)
    # dp-accounting 0.6.0: get_sigma_gaussian(2, 1e-5) = 1.993812…
    assert noise == pytest.approx(1.9938124 * math.sqrt(2.0), rel=1e-6)
    most = calibrate_steps(target_epsilon=2.0, delta=1e-5, noise_multiplier=noise, **setting)
    assert most == 20
    event = ShuffledDpEvent(10, dpa.GaussianDpEvent(2.0))
    both = trade_off(event, [0.05, 0.5], ZERO)
    assert np.all(both.lower < both.upper)
    assert both.lower == pytest.approx(special.ndtr(special.ndtri([0.95, 0.5]) - 0.5), abs=1e-6)


def test_one_batch_is_the_gaussian_and_the_event_survives_json():
    event = ShuffledDpEvent(1, dpa.GaussianDpEvent(2.0))
    bounds = FourierAccountant(REPLACE).compose(event).get_epsilon_bounds(1e-5)
    assert bounds == gaussian.epsilon_bounds(1.0, 1e-5)
    event = ShuffledDpEvent(7, dpa.GaussianDpEvent(2.0), 0.5)
    assert event_from_json(event_to_json(event)) == event


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"noise_multiplier": 0.0}, "noise_multiplier"),
        ({"sampling_rate": 0.0}, "sampling_rate"),
        ({"steps": 15}, "steps"),
        ({"delta": 0.0}, "delta"),
        ({"relation": ADD}, "relation"),
        ({"records_per_user": 2}, "records_per_user"),
    ],
)
def test_bad_arguments_are_named(changes, name):
    setting = {"noise_multiplier": 1.0, "sampling_rate": 0.1, "steps": 10, "delta": 1e-5}
    with pytest.raises(ValueError, match=f"`{name}` must be"):
        epsilon_bounds(**({"relation": ZERO} | setting | changes), sampling="shuffled")


def test_the_event_is_refused_where_nothing_is_proved():
    event = ShuffledDpEvent(7, dpa.GaussianDpEvent(2.0))
    with pytest.raises(dpa.UnsupportedEventError, match="moves the boundaries"):
        FourierAccountant(ADD).compose(event)
    for arguments in ((0, dpa.GaussianDpEvent(1.0)), (5, dpa.GaussianDpEvent(1.0), 1.5)):
        with pytest.raises(ValueError, match="must be"):
            ShuffledDpEvent(*arguments)
