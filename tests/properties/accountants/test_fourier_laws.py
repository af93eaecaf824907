"""Laws of the Fourier accountant."""

import math

import dp_accounting as dpa
import numpy as np
import pytest
from dp_accounting import NeighboringRelation
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from accountants import (
    FourierAccountant,
    MomentsAccountant,
    RenyiAccountant,
    calibrate_noise,
    delta_bounds,
    epsilon_bounds,
    epsilon_curve,
    gaussian,
    trade_off,
)

REPLACE = NeighboringRelation.REPLACE_ONE


def log_uniform(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(math.log(low), math.log(high)).map(math.exp)


# The contour engine's home, T·q² ≥ 0.05 and T ≥ 200: hypothesis runs hundreds of these in seconds.
sigmas = log_uniform(0.5, 20.0)
rates = log_uniform(0.016, 0.9)
many_steps = log_uniform(200, 1e6).map(round)
deltas = log_uniform(1e-14, 1e-2)


def sampled(sigma: float, rate: float) -> dpa.DpEvent:
    return dpa.PoissonSampledDpEvent(rate, dpa.GaussianDpEvent(sigma))


def composed(sigma, rate, steps, tolerance=1e-6):
    return FourierAccountant(tolerance=tolerance).compose(sampled(sigma, rate), steps)


@given(sigmas, rates, many_steps, deltas)
def test_a_smaller_tolerance_gives_an_interval_that_overlaps_and_is_narrower(s, q, t, delta):
    coarse, fine = (composed(s, q, t, tol).get_epsilon_bounds(delta) for tol in (1e-3, 1e-9))
    assert coarse.lower <= fine.upper
    assert fine.lower <= coarse.upper
    assert fine.gap <= max(coarse.gap, 1e-9 * fine.upper)


@given(sigmas, rates, many_steps, deltas)
def test_the_order_of_the_accountants(s, q, t, delta):
    """ε_lower ≤ ε_upper ≤ Rényi ≤ moments."""
    event = dpa.SelfComposedDpEvent(sampled(s, q), t)
    fourier = FourierAccountant().compose(event).get_epsilon_bounds(delta)
    renyi = RenyiAccountant().compose(event).get_epsilon(delta)
    moments = MomentsAccountant().compose(event).get_epsilon(delta)
    assert 0.0 <= fourier.lower <= fourier.upper
    assert fourier.lower <= renyi * (1 + 1e-9)
    assert fourier.upper <= renyi * (1 + 2e-6)
    assert renyi <= moments * (1 + 1e-6)


@settings(max_examples=30)
@given(sigmas, rates, many_steps, sigmas, rates, many_steps, deltas)
def test_two_compositions_are_the_composition_of_the_union(s1, q1, t1, s2, q2, t2, delta):
    events = [dpa.SelfComposedDpEvent(sampled(s, q), t) for s, q, t in ((s1, q1, t1), (s2, q2, t2))]
    union = FourierAccountant().compose(dpa.ComposedDpEvent(events)).get_epsilon_bounds(delta)
    parts = [FourierAccountant().compose(event) for event in events]
    both = parts[0].compose(parts[1].ledger).get_epsilon_bounds(delta)
    assert union.lower == pytest.approx(both.lower, rel=1e-9)
    assert union.upper == pytest.approx(both.upper, rel=1e-9)
    # More is released than by either alone.
    assert union.upper >= parts[1].get_epsilon_bounds(delta).lower


@given(sigmas, rates, many_steps, deltas)
def test_delta_of_epsilon_brackets_delta(s, q, t, delta):
    accountant = composed(s, q, t)
    bounds = accountant.get_epsilon_bounds(delta)
    assert accountant.get_delta_bounds(bounds.upper).lower <= delta
    if bounds.lower > 0.0:
        assert accountant.get_delta_bounds(bounds.lower).upper >= delta


@settings(max_examples=40)
@given(sigmas, rates, many_steps, deltas, st.sampled_from(["s", "q", "t", "delta"]))
def test_continuity_in_every_argument(s, q, t, delta, which):
    """A relative change of 1e-7 moves ε by a relative 1e-4 at most, gaps included."""
    base = composed(s, q, t).get_epsilon_bounds(delta)
    nudge = 1 + 1e-7
    if which == "s":
        moved = composed(s * nudge, q, t).get_epsilon_bounds(delta)
    elif which == "q":
        moved = composed(s, q / nudge, t).get_epsilon_bounds(delta)
    elif which == "t":
        assume(t >= 100_000)  # One step more must be a small change.
        moved = composed(s, q, t + 1).get_epsilon_bounds(delta)
    else:
        moved = composed(s, q, t).get_epsilon_bounds(delta * nudge)
    assert moved.upper == pytest.approx(base.upper, rel=1e-4, abs=1e-6)
    assert moved.lower == pytest.approx(base.lower, rel=1e-4, abs=1e-6)


@settings(max_examples=20)
@given(sigmas, st.integers(1, 10**6), deltas, st.sampled_from(list(NeighboringRelation)))
def test_without_sampling_it_is_the_exact_gaussian(s, t, delta, relation):
    event = dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(s), t)
    bounds = FourierAccountant(relation).compose(event).get_epsilon_bounds(delta)
    mu = (2 if relation is REPLACE else 1) * math.sqrt(t) / s
    assert bounds.lower <= gaussian.epsilon(mu, delta) * (1 + 1e-12)
    assert bounds.upper >= gaussian.epsilon(mu, delta) * (1 - 1e-12)
    assert bounds.gap <= 1e-9 * bounds.upper


@settings(max_examples=10)
@given(sigmas, rates, st.floats(0.05, 5.0))
def test_plain_and_sampled_gaussians_compose(s, q, mu):
    """Adding a plain Gaussian costs, and no more than basic composition of the two."""
    delta = 1e-6
    both = FourierAccountant().compose(sampled(s, q), 500).compose(dpa.GaussianDpEvent(1 / mu))
    alone = composed(s, q, 500).get_epsilon_bounds(delta / 2)
    plain = gaussian.epsilon_bounds(mu, delta / 2)
    bounds = both.get_epsilon_bounds(delta)
    assert bounds.lower <= alone.upper + plain.upper
    assert bounds.upper >= gaussian.epsilon(mu, delta) * (1 - 1e-9)


class TestTradeOff:
    alphas = np.linspace(0.0, 1.0, 41)

    @pytest.mark.parametrize("mu", [0.3, 1.0, 3.0])
    def test_it_contains_the_exact_gaussian_curve(self, mu):
        curve = trade_off(dpa.GaussianDpEvent(1 / mu), self.alphas)
        exact = np.array([gaussian.trade_off(mu, alpha) for alpha in self.alphas])
        assert np.all(curve.lower <= exact + 1e-12)
        assert np.all(curve.upper >= exact - 1e-12)
        assert np.max(curve.upper - curve.lower) < 1e-3

    def test_it_is_convex_decreasing_and_symmetric(self):
        curve = trade_off(dpa.SelfComposedDpEvent(sampled(1.0, 0.01), 1000), self.alphas)
        middle = 0.5 * (curve.lower + curve.upper)
        gap = float(np.max(curve.upper - curve.lower))
        assert gap < 1e-3
        assert np.all(np.diff(middle) <= gap)
        assert np.all(np.diff(middle, 2) >= -2 * gap)
        # f is its own inverse: (α, f(α)) and (f(α), α) both lie on the curve.
        mirrored = trade_off(dpa.SelfComposedDpEvent(sampled(1.0, 0.01), 1000), middle)
        steepest = 50.0
        assert np.all(
            np.abs(0.5 * (mirrored.lower + mirrored.upper) - self.alphas) <= steepest * gap
        )

    def test_duality_with_the_profile(self):
        """1 − f(α) − e^ε·α ≤ δ(ε) for every α and ε."""
        event = dpa.SelfComposedDpEvent(sampled(1.0, 0.01), 1000)
        curve = trade_off(event, self.alphas)
        for epsilon in (0.0, 0.5, 1.5):
            delta = FourierAccountant().compose(event).get_delta_bounds(epsilon)
            assert np.max(1 - curve.upper - math.exp(epsilon) * self.alphas) <= delta.upper + 1e-12

    def test_no_noise_no_privacy(self):
        curve = trade_off(dpa.NonPrivateDpEvent(), [0.1])
        assert (curve.lower[0], curve.upper[0]) == (0.0, 0.0)


class TestConvenience:
    def test_the_curve_is_the_same_as_one_by_one(self):
        steps = [1, 40, 1000, 55, 3000]
        curve = epsilon_curve(noise_multiplier=1.0, sampling_rate=0.01, steps=steps, delta=1e-5)
        for index, count in enumerate(steps):
            single = epsilon_bounds(
                noise_multiplier=1.0, sampling_rate=0.01, steps=count, delta=1e-5
            )
            assert curve.lower[index] <= single.upper
            assert single.lower <= curve.upper[index]
            tolerance = 1e-6 if count > 30 else 1e-5
            assert curve.upper[index] - curve.lower[index] <= tolerance * curve.upper[index]

    def test_delta_bounds_invert_epsilon_bounds(self):
        setting = {"noise_multiplier": 2.0, "sampling_rate": 0.05, "steps": 2000}
        found = delta_bounds(epsilon=epsilon_bounds(delta=1e-7, **setting).upper, **setting)
        assert found.upper == pytest.approx(1e-7, rel=1e-4)

    @settings(max_examples=8)
    @given(log_uniform(0.2, 4.0), rates, log_uniform(2000, 1e6).map(round), deltas)
    def test_calibration_is_sufficient_and_nearly_necessary(self, target, q, t, delta):
        sigma = calibrate_noise(target_epsilon=target, delta=delta, sampling_rate=q, steps=t)
        setting = {"sampling_rate": q, "steps": t, "delta": delta, "tolerance": 1e-8}
        assert epsilon_bounds(noise_multiplier=sigma, **setting).upper <= target
        assert epsilon_bounds(noise_multiplier=sigma * (1 - 1e-6), **setting).lower > target

    def test_calibration_without_sampling(self):
        sigma = calibrate_noise(target_epsilon=1.0, delta=1e-5)
        assert sigma == pytest.approx(dpa.get_sigma_gaussian(1.0, 1e-5), rel=2e-6)

    @pytest.mark.parametrize(
        ("changes", "name"),
        [
            ({"noise_multiplier": 0.0}, "noise_multiplier"),
            ({"noise_multiplier": math.nan}, "noise_multiplier"),
            ({"noise_multiplier": "1"}, "noise_multiplier"),
            ({"sampling_rate": 0.0}, "sampling_rate"),
            ({"sampling_rate": 1.1}, "sampling_rate"),
            ({"steps": 0}, "steps"),
            ({"steps": 1.5}, "steps"),
            ({"delta": 0.0}, "delta"),
            ({"tolerance": 0.0}, "tolerance"),
            ({"relation": "replace"}, "relation"),
            ({"sampling": "shuffle"}, "sampling"),
            ({"sampling": "fixed_size"}, "relation"),
        ],
    )
    def test_bad_arguments_are_named(self, changes, name):
        setting = {"noise_multiplier": 1.0, "sampling_rate": 0.01, "steps": 10, "delta": 1e-5}
        with pytest.raises((ValueError, TypeError), match=f"`{name}` must be"):
            epsilon_bounds(**(setting | changes))

    @pytest.mark.parametrize(
        ("changes", "name"),
        [
            ({"target_epsilon": 0.0}, "target_epsilon"),
            ({"delta": 1.0}, "delta"),
            ({"sampling_rate": -1.0}, "sampling_rate"),
        ],
    )
    def test_bad_calibrations_are_named(self, changes, name):
        setting = {"target_epsilon": 1.0, "delta": 1e-5}
        with pytest.raises(ValueError, match=f"`{name}` must be"):
            calibrate_noise(**(setting | changes))
