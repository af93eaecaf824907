"""Trade-off curves against closed forms, exact fractions and a peer's profile."""

import math
from fractions import Fraction

import dp_accounting as dpa
import mpmath
import numpy as np
import pytest
from dp_accounting import NeighboringRelation
from dp_accounting.pld import privacy_loss_distribution

from accountants import FourierAccountant, releases, trade_off
from accountants.fourier.contour.engine import Composition
from accountants.fourier.grid import engine as grid
from accountants.fourier.pairs import pair_laws
from accountants.fourier.profile import along_contours, on_grid

REPLACE = NeighboringRelation.REPLACE_ONE
ALPHAS = [0.0, 5e-324, 1e-300, 1e-12, 1e-6, 1e-3, 0.01, 0.05, 0.25, 0.5, 0.9, 0.999999, 1.0]


def sampled(sigma, rate, steps):
    event = dpa.PoissonSampledDpEvent(rate, dpa.GaussianDpEvent(sigma))
    return dpa.SelfComposedDpEvent(event, steps)


def fixed_size(sigma, batch, size, steps):
    event = dpa.SampledWithoutReplacementDpEvent(size, batch, dpa.GaussianDpEvent(sigma))
    return dpa.SelfComposedDpEvent(event, steps)


def assert_contains(curve, truth, widest):
    assert not np.isnan(curve.lower).any()
    assert not np.isnan(curve.upper).any()
    for alpha, lower, upper, value in zip(*curve, truth, strict=True):
        assert lower <= value <= upper, alpha
        assert upper - lower <= widest, alpha


def gaussian_curve(mu, alpha):
    """Φ(Φ⁻¹(1 − α) − μ) at 50 digits; Dong, Roth, Su 2022, equation (5)."""
    if alpha in (0.0, 1.0):
        return mpmath.mpf(1.0 - alpha)
    guess = math.sqrt(-2.0 * math.log(alpha)) if alpha < 0.1 else 0.0
    with mpmath.workdps(50):
        log_alpha = mpmath.log(mpmath.mpf(alpha))
        z = mpmath.findroot(
            lambda z: mpmath.log(mpmath.erfc(z / mpmath.sqrt(2)) / 2) - log_alpha, guess
        )
        return mpmath.ncdf(z - mu)


@pytest.mark.parametrize("sigma", [1e-3, 0.03, 0.3, 1.0, 50.0, 1e4])
def test_gaussians(sigma):
    curve = trade_off(dpa.GaussianDpEvent(sigma), ALPHAS)
    mu = 1 / mpmath.mpf(sigma)
    assert_contains(curve, [gaussian_curve(mu, alpha) for alpha in ALPHAS], 1e-8)


def test_tiny_errors_are_known_relative_to_themselves():
    """Type II errors of 1e-220, far below any absolute error."""
    alphas = [1e-3, 0.05, 0.5]
    curve = trade_off(dpa.GaussianDpEvent(0.03), alphas)
    truth = [gaussian_curve(1 / mpmath.mpf(0.03), alpha) for alpha in alphas]
    assert_contains(curve, truth, 1e-200)
    assert np.all(curve.upper - curve.lower <= 1e-4 * curve.upper)


@pytest.mark.parametrize("scale", [1e-3, 0.1, 1.0, 30.0])
def test_laplace(scale):
    """Dong, Roth, Su 2022, section 2.2: the shifted Laplace law's curve, in three pieces."""
    curve = trade_off(dpa.LaplaceDpEvent(scale), ALPHAS)
    truth = []
    with mpmath.workdps(50):
        mu = 1 / mpmath.mpf(scale)
        for alpha in map(mpmath.mpf, ALPHAS):
            if alpha < mpmath.exp(-mu) / 2:
                truth.append(1 - mpmath.exp(mu) * alpha)
            elif alpha <= mpmath.mpf("0.5"):
                truth.append(mpmath.exp(-mu) / (4 * alpha))
            else:
                truth.append(mpmath.exp(-mu) * (1 - alpha))
    assert_contains(curve, truth, 1e-6)


@pytest.mark.parametrize("times", [1, 2, 7])
def test_repeated_randomised_response_in_fractions(times):
    """The Neyman–Pearson lemma on the 2^n responses, summed in exact arithmetic."""
    noise = Fraction(1, 4)
    same, other = 1 - noise / 2, noise / 2
    event = dpa.SelfComposedDpEvent(dpa.RandomizedResponseDpEvent(float(noise), 2), times)
    curve = trade_off(event, ALPHAS, REPLACE)
    # k of n responses differ: P- and Q-mass, most likely under P first.
    classes = [
        (
            math.comb(times, k) * same ** (times - k) * other**k,
            math.comb(times, k) * other ** (times - k) * same**k,
        )
        for k in range(times + 1)
    ]
    truth = []
    for alpha in map(Fraction, ALPHAS):
        left, missed = alpha, Fraction(1)
        for p, q in classes:
            share = min(Fraction(1), left / q)
            left, missed = left - share * q, missed - share * p
        truth.append(missed)
    assert_contains(curve, truth, 1e-6)


@pytest.mark.parametrize(
    ("sigma", "rate", "steps", "widest"),
    [(1.0, 0.01, 5, 1e-6), (1.0, 0.01, 1000, 1e-8), (0.5, 0.1, 100, 1e-7)],
)
def test_a_peers_profile_gives_a_curve_below(sigma, rate, steps, widest):
    """dp-accounting's δ is an upper bound: its lines lie below f, and close to it."""
    alphas = np.array([1e-6, 1e-3, 0.05, 0.3, 0.7, 0.99])
    curve = trade_off(sampled(sigma, rate, steps), alphas)
    assert np.all(curve.lower <= curve.upper)
    assert np.max(curve.upper - curve.lower) <= widest
    peer = privacy_loss_distribution.from_gaussian_mechanism(
        sigma, sampling_prob=rate, value_discretization_interval=1e-3
    ).self_compose(steps)
    epsilons = np.linspace(0.0, 12.0, 241)
    gain = 1.0 - np.array(peer.get_delta_for_epsilon(epsilons))
    x = np.exp(epsilons)
    lines = np.maximum(gain - alphas[:, None] * x, (gain - alphas[:, None]) / x)
    best = np.max(lines, axis=1)
    assert np.all(best <= curve.upper + 1e-12)
    assert np.all(curve.lower <= best + 1e-3)


def test_batches_of_fixed_size_lie_between_their_pairs():
    """All others at −C is the Poisson pair at half the noise: a curve that f cannot exceed."""
    alphas = [0.0, 1e-4, 0.05, 0.5, 1.0]
    curve = trade_off(fixed_size(1.0, 10, 1000, 100), alphas, REPLACE)
    explicit = trade_off(sampled(0.5, 0.01, 100), alphas)
    assert np.all(curve.upper >= explicit.lower)
    assert np.all(curve.upper <= explicit.upper + 1e-12)
    assert np.all(curve.lower <= explicit.upper)
    assert np.all(curve.lower >= 0.9 * explicit.upper - 0.03)


def test_nothing_and_everything():
    nothing = trade_off(dpa.NoOpDpEvent(), ALPHAS)
    assert_contains(nothing, [1 - Fraction(alpha) for alpha in ALPHAS], 1e-14)
    everything = trade_off(dpa.NonPrivateDpEvent(), ALPHAS)
    assert not everything.lower.any()
    assert not everything.upper.any()


@pytest.mark.parametrize("alpha", [-1e-9, 1.1, math.nan, math.inf])
def test_impossible_errors_are_refused(alpha):
    with pytest.raises(ValueError, match="`alphas` must be"):
        trade_off(dpa.GaussianDpEvent(1.0), [0.5, alpha])


class TestProfile:
    """Many ε at once against one at a time, which is another computation."""

    epsilons = np.array([0.0, 1e-3, 0.05, 0.3, 1.0, 2.5, 8.0])

    @pytest.mark.parametrize(("sigma", "rate", "steps"), [(1.0, 0.01, 300), (0.5, 0.1, 200)])
    def test_contours_and_grid_and_single_answers_overlap(self, sigma, rate, steps):
        release = releases.PoissonGaussian(rate, sigma)
        composition = Composition([release], np.array([float(steps)]))
        remove, add = pair_laws(release)
        profiles = [
            along_contours(composition)(self.epsilons),
            on_grid([[(remove, steps)], [(add, steps)]], 1e-5)(self.epsilons),
        ]
        accountant = FourierAccountant().compose(sampled(sigma, rate, steps))
        single = [accountant.get_delta_bounds(epsilon) for epsilon in self.epsilons]
        for curve, widest in zip(profiles, (1e-8, 1e-5), strict=True):
            assert np.max(curve.upper - curve.lower) <= widest
            for lower, upper, bounds in zip(curve.lower, curve.upper, single, strict=True):
                assert lower <= bounds.upper
                assert bounds.lower <= upper

    @pytest.mark.parametrize("scale", [0.002, 0.05, 1.0, 20.0])
    def test_one_laplace_in_closed_form(self, scale):
        """δ(ε) = 1 − e^{(ε − 1/b)/2} for ε ≤ 1/b; also where the window begins above 0."""
        law = pair_laws(releases.Laplace(scale))[0]
        passes = grid.profile([(law, 1)], tolerance=1e-5)
        for epsilon in [*np.linspace(0.0, 1.2 / scale, 25), 0.999 / scale]:
            with mpmath.workdps(40):
                gap = mpmath.mpf(epsilon) - 1 / mpmath.mpf(scale)
                truth = -mpmath.expm1(gap / 2) if gap < 0 else mpmath.mpf(0)
            at = np.array([epsilon])
            ends = [(float(lower(at)[0]), float(upper(at)[0])) for lower, upper in passes]
            assert all(low <= truth <= high for low, high in ends)
            assert min(high for _, high in ends) - max(low for low, _ in ends) <= 1e-3
