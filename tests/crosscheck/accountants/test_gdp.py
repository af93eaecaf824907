"""μ of Gaussian DP and true positive rates, against closed forms, mpmath and riskcal."""

import math

import dp_accounting as dpa
import mpmath
import numpy as np
import pytest
from dp_accounting import NeighboringRelation
from dp_accounting.dp_event import DiscreteLaplaceDpEvent, MixtureOfGaussiansDpEvent
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from accountants import (
    BallsInBinsDpEvent,
    EpsilonDeltaDpEvent,
    FourierAccountant,
    RenyiAccountant,
    ShuffledDpEvent,
    UserDpEvent,
    calibrate_noise_to_risk,
    gaussian,
    gdp_bounds,
    true_positive_rate,
)

REPLACE = NeighboringRelation.REPLACE_ONE


def composed(event, count=1, relation=NeighboringRelation.ADD_OR_REMOVE_ONE):
    return FourierAccountant(relation).compose(event, count)


def sampled(rate=0.01, sigma=1.0):
    return dpa.PoissonSampledDpEvent(rate, dpa.GaussianDpEvent(sigma))


def quantile(probability):
    """Φ⁻¹ at 40 digits; for small p by way of its logarithm."""
    with mpmath.workdps(40):
        p = mpmath.mpf(probability)
        if p > 0.5:
            return -quantile(1 - p)
        guess = -mpmath.sqrt(-2 * mpmath.log(2 * p)) if p < 0.49 else (p - 0.5) * 2.5
        log_p = mpmath.log(p)
        return mpmath.findroot(
            lambda z: mpmath.log(mpmath.erfc(-z / mpmath.sqrt(2)) / 2) - log_p, guess
        )


def assert_is(bounds, truth, width=1e-6):
    assert bounds.lower <= truth <= bounds.upper
    assert bounds.gap <= width * float(truth)


@settings(max_examples=30)
@given(st.floats(0.01, 100.0), st.integers(1, 10**6), st.sampled_from(list(NeighboringRelation)))
def test_gaussians(sigma, count, relation):
    factor = 2 if relation is REPLACE else 1
    truth = factor * mpmath.sqrt(count) / mpmath.mpf(sigma)
    found = gdp_bounds(composed(dpa.GaussianDpEvent(sigma), count, relation))
    assert_is(found, truth, 1e-13)


@pytest.mark.parametrize("scale", [0.05, 0.3, 1.0, 10.0, 1e3])
def test_laplace(scale):
    """Dong, Roth, Su 2022, section 2.2: f(α) = e^{−1/b}/(4α) in the middle, so that the curve's
    fixed point is α = e^{−1/(2b)}/2, and there μ = −2Φ⁻¹(α) is needed.
    """
    truth = -2 * quantile(mpmath.exp(-mpmath.mpf(1) / (2 * mpmath.mpf(scale))) / 2)
    assert_is(gdp_bounds(composed(dpa.LaplaceDpEvent(scale))), truth)


@pytest.mark.parametrize("noise", [0.01, 0.5, 0.9, 0.999])
def test_randomised_response(noise):
    """The curve max(1 − e^ε·α, e^{−ε}(1 − α)) has its corner at 1/(1 + e^ε)."""
    p = mpmath.mpf(noise)
    truth = -2 * quantile(p / 2)  # P(the other bucket) = 1/(1 + e^ε)
    found = gdp_bounds(composed(dpa.RandomizedResponseDpEvent(noise, 2), relation=REPLACE))
    assert_is(found, truth, 1e-5)


@pytest.mark.parametrize(
    ("event", "relation", "mu"),
    [
        (sampled(1e-6, 2.0), NeighboringRelation.ADD_OR_REMOVE_ONE, 0.5),
        (
            dpa.SampledWithoutReplacementDpEvent(1000, 1, dpa.GaussianDpEvent(2.0)),
            REPLACE,
            1.0,
        ),
        (
            BallsInBinsDpEvent(50, dpa.GaussianDpEvent(2.0)),
            NeighboringRelation.ADD_OR_REMOVE_ONE,
            0.5,
        ),
        (
            MixtureOfGaussiansDpEvent(2.0, [0.0, 1.0, 3.0, 5.0], [0.9, 0.05, 0.05, 0.0]),
            NeighboringRelation.ADD_OR_REMOVE_ONE,
            1.5,
        ),
    ],
)
def test_without_slack_sampling_is_no_help(event, relation, mu):
    assert_is(gdp_bounds(composed(event, 9, relation)), 3.0 * mu, 1e-12)


def test_the_tail_that_proves_it():
    """q^T·Φ(−t + √T/σ) against Φ(−t + μ): for μ a percent smaller, far out the former wins."""
    rate, steps, mu = 0.01, 10, math.sqrt(10)
    t = mpmath.mpf(3000)
    power = mpmath.mpf(rate) ** steps * mpmath.ncdf(-t + mu)
    assert power > mpmath.ncdf(-t + 0.99 * mu)
    assert gdp_bounds(composed(sampled(), 10)).lower > 0.99 * mu


def below_everywhere(accountant, mu, slack, top):
    """The largest δ_lower − δ_μ − slack on a grid: positive would refute the upper end."""
    curve = accountant.profile()(np.linspace(0.0, top, 3001))
    exact = [gaussian.delta(mu, float(epsilon)) for epsilon in curve.epsilons]
    return float(np.max(curve.lower - exact)) - slack


CASES = {
    "sampled": lambda: composed(sampled(), 1000),
    "one sampled": lambda: composed(sampled(0.3, 0.7)),
    "replaced": lambda: composed(sampled(0.1), 10, REPLACE),
    "mixed": lambda: composed(sampled(0.1), 10).compose(dpa.LaplaceDpEvent(1.0)),
    "discrete": lambda: composed(DiscreteLaplaceDpEvent(0.5, 2), 5),
}


@pytest.mark.slow
@pytest.mark.parametrize("slack", [1e-9, 1e-6, 1e-2])
@pytest.mark.parametrize("name", ["sampled", "one sampled", "replaced", "mixed", "discrete"])
def test_both_ends_with_slack(name, slack):
    """Up to the upper end the profile is below the Gaussian's; a little below it, it is not."""
    accountant = CASES[name]()
    found = gdp_bounds(accountant, slack)
    assert found.gap <= 2e-6 * found.upper
    assert below_everywhere(accountant, found.upper, slack, 12.0) <= 1e-14
    assert below_everywhere(accountant, found.upper * 0.99, slack, 12.0) > 0.0


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(st.floats(1e-3, 0.5), st.floats(0.6, 5.0), st.integers(1, 1000), st.floats(1e-10, 0.1))
def test_laws(rate, sigma, steps, slack):
    """More slack, more noise never cost; no slack is the largest; the Gaussian bounds the TPR."""
    accountant = composed(sampled(rate, sigma), steps)
    found = gdp_bounds(accountant, slack)
    assert gdp_bounds(accountant, 2.0 * slack).lower <= found.upper
    assert found.lower <= math.sqrt(steps) / sigma
    quieter = gdp_bounds(composed(sampled(rate, 1.1 * sigma), steps), slack)
    assert quieter.lower <= found.upper
    for alpha in (1e-3, 0.1):
        attained = true_positive_rate(accountant, alpha).lower
        allowed = special.ndtr(special.ndtri(alpha) + found.upper) + slack
        assert attained <= allowed + 1e-9


def test_mixtures_of_pure_and_gaussian_releases_without_slack():
    """At least each alone; at most what Gaussian DP composes to (Dong, Roth, Su, Corollary 3.3)."""
    laplace = gdp_bounds(composed(dpa.LaplaceDpEvent(2.0)))
    both = gdp_bounds(composed(dpa.LaplaceDpEvent(2.0)).compose(dpa.GaussianDpEvent(2.0)))
    assert max(laplace.lower, 0.5) <= both.upper
    assert both.lower <= math.hypot(laplace.upper, 0.5)
    assert both.gap <= 1e-4 * both.upper


def test_hundred_laplaces_are_nearly_gaussian():
    """Dong, Roth, Su 2022, Theorem 3.4: near √(n·E[L²]), L the loss, of variance ≈ 1/b² at 1/b =
    0.1; the exact moments, 1/b² − …, are within a few percent of it.
    """
    found = gdp_bounds(composed(dpa.LaplaceDpEvent(10.0), 100))
    assert 0.95 < found.lower <= found.upper < 1.0
    assert found.gap < 1e-5


@pytest.mark.slow
def test_accountants_without_a_lower_end():
    fourier = gdp_bounds(composed(sampled(0.1), 10), 1e-3)
    renyi = gdp_bounds(RenyiAccountant().compose(sampled(0.1), 10), 1e-3)
    assert renyi.lower == 0.0
    assert fourier.upper < renyi.upper < 3.0 * fourier.upper
    concentrated = RenyiAccountant().compose(dpa.ZCDpEvent(0.1))
    assert gdp_bounds(concentrated).upper == math.inf
    assert gdp_bounds(concentrated, 1e-6).upper < 2.0


def test_corners():
    assert gdp_bounds(FourierAccountant()) == (0.0, 0.0)
    for slack in (0.0, 0.5):
        assert gdp_bounds(composed(dpa.NonPrivateDpEvent()), slack) == (math.inf, math.inf)
        mixed = composed(dpa.NonPrivateDpEvent()).compose(dpa.GaussianDpEvent(1.0))
        assert gdp_bounds(mixed, slack) == (math.inf, math.inf)
    assert gdp_bounds(composed(sampled()), 0.5) == (0.0, 0.0)
    assert gdp_bounds(composed(dpa.GaussianDpEvent(1e-3))).upper == pytest.approx(1e3)


@pytest.mark.parametrize("slack", [-1e-9, 1.0, math.nan, "none"])
def test_an_impossible_slack_is_named(slack):
    with pytest.raises((ValueError, TypeError), match="`slack` must be"):
        gdp_bounds(FourierAccountant(), slack)


@pytest.mark.parametrize("rate", [-0.1, 1.5, math.nan, "half"])
def test_an_impossible_rate_is_named(rate):
    with pytest.raises((ValueError, TypeError), match="`false_positive_rate` must be"):
        true_positive_rate(FourierAccountant(), rate)


@pytest.mark.parametrize("alpha", [0.0, 1e-6, 0.01, 0.5, 0.99, 1.0])
@pytest.mark.parametrize("sigma", [0.3, 1.0, 20.0])
def test_true_positives_of_gaussians(sigma, alpha):
    found = true_positive_rate(composed(dpa.GaussianDpEvent(sigma)), alpha)
    truth = alpha
    if 0.0 < alpha < 1.0:
        truth = mpmath.ncdf(quantile(alpha) + 1 / mpmath.mpf(sigma))
    assert found.lower <= truth <= found.upper
    assert found.gap <= 1e-8


@pytest.mark.parametrize("alpha", [0.0, 0.001, 0.2, 0.25, 0.5, 0.9, 1.0])
def test_true_positives_of_randomised_response(alpha):
    """Two buckets, p = 1/2: 1/(1 + e^ε) = 1/4, e^ε = 3; the rate is min(3α, 1 − (1 − α)/3)."""
    accountant = composed(dpa.RandomizedResponseDpEvent(0.5, 2), relation=REPLACE)
    found = true_positive_rate(accountant, alpha)
    assert found.lower - 1e-15 <= min(3.0 * alpha, 1.0 - (1.0 - alpha) / 3.0) <= found.upper + 1e-15
    assert found.gap <= 1e-6


# By riskcal 1.5.1 (PyPI; dp-accounting 0.6.0), grid step 1e-5, whose curves are pessimistic by
# about that times the root of the number of releases: advantages of DP-SGD at (σ, q, T),
# `calibration.dpsgd.get_advantage_for_dpsgd`, and type II errors of 10 Laplace mechanisms,
# `analysis.conversions.get_beta_from_pld`. Its type II errors of DP-SGD are not used: it takes the
# larger of the two directions at each α (0.9999996 at α = 0.001, above 1 − α).
RISKCAL_ADVANTAGES = [
    (1.0, 0.01, 1000, 0.16101799601144742),
    (0.8, 0.05, 300, 0.5297564462121738),
    (2.0, 0.1, 500, 0.440680348817699),
]
RISKCAL_LAPLACE = {
    1.0: [0.6483935726936294, 0.3347518367056032, 0.06829537164713666, 0.0031586576068708375],
    3.0: [0.9839512092749432, 0.9107355880736328, 0.6100384912736374, 0.15712192217216583],
}


@pytest.mark.parametrize(("sigma", "rate", "steps", "theirs"), RISKCAL_ADVANTAGES)
def test_advantages_are_riskcals(sigma, rate, steps, theirs):
    found = composed(sampled(rate, sigma), steps).get_delta_bounds(0.0)
    assert found.lower <= theirs
    assert theirs - found.upper <= 1e-4


@pytest.mark.parametrize("scale", RISKCAL_LAPLACE)
def test_true_positives_are_riskcals(scale):
    accountant = composed(dpa.LaplaceDpEvent(scale), 10)
    for alpha, theirs in zip([1e-3, 0.01, 0.1, 0.5], RISKCAL_LAPLACE[scale], strict=True):
        assert true_positive_rate(accountant, alpha).upper == pytest.approx(1 - theirs, abs=1e-5)


@pytest.mark.parametrize("exponent", [1e-3, 0.7, 3.0, 40.0, 700.0, 3e4, 1e6])
def test_the_quantiles_rounding(exponent):
    """What `gdp` adds for Φ⁻¹, 4e-15 of 1 + its value and 5e-12 far out, is ten times as much."""
    with mpmath.workdps(40):
        p = mpmath.exp(-mpmath.mpf(exponent))
    relative = 4e-16 if exponent < 900.0 else 5e-13
    assert abs(special.ndtri_exp(-exponent) - quantile(p)) <= relative * (2 + abs(quantile(p)))
    if exponent < 700.0:
        value = float(p)
        assert abs(special.ndtri(value) - quantile(value)) <= 4e-16 * (2 + abs(quantile(value)))


@pytest.mark.parametrize("advantage", [1e-3, 0.1, 0.9, 0.9999])
def test_calibration_to_an_advantage_without_sampling(advantage):
    """δ(0) = 2Φ(μ/2) − 1, μ = √T/σ; δ is known to 2e-13, which counts by its slope in μ."""
    found = calibrate_noise_to_risk(advantage=advantage, steps=25)
    truth = -5 / (2 * quantile((1 - mpmath.mpf(advantage)) / 2))
    assert truth <= found <= truth * (1 + 2e-12 / (1 - advantage))


def test_calibration_to_true_positives_without_sampling():
    """Φ(Φ⁻¹(α) + 2/σ) under REPLACE_ONE; the curve is known to about 1e-9."""
    found = calibrate_noise_to_risk(
        true_positive_rate=0.05, false_positive_rate=0.01, relation=REPLACE
    )
    truth = 2 / (quantile(0.05) - quantile(0.01))
    assert truth * (1 - 1e-12) <= found <= truth * (1 + 1e-5)


def test_calibration_to_mu():
    assert calibrate_noise_to_risk(mu=2.0, steps=100, sampling_rate=0.01) == pytest.approx(5.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "reading"),
    [
        ({"advantage": 0.1}, lambda accountant: accountant.get_delta_bounds(0.0)),
        (
            {"true_positive_rate": 0.05, "false_positive_rate": 0.01},
            lambda accountant: true_positive_rate(accountant, 0.01),
        ),
        ({"mu": 0.5, "slack": 1e-6}, lambda accountant: gdp_bounds(accountant, 1e-6)),
    ],
)
def test_calibrated_noise_is_enough_and_a_little_less_is_not(target, reading):
    sigma = calibrate_noise_to_risk(**target, sampling_rate=0.01, steps=500)
    most = next(iter(target.values()))
    assert reading(composed(sampled(0.01, sigma), 500)).upper <= most
    assert reading(composed(sampled(0.01, sigma * (1 - 1e-4)), 500)).lower > most


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({}, "advantage"),
        ({"advantage": 0.1, "mu": 1.0}, "advantage"),
        ({"advantage": 1.0}, "advantage"),
        ({"advantage": math.nan}, "advantage"),
        ({"mu": 0.0}, "mu"),
        ({"mu": 1.0, "slack": 1.0}, "slack"),
        ({"advantage": 0.1, "slack": 0.1}, "slack"),
        ({"true_positive_rate": 0.1}, "false_positive_rate"),
        ({"mu": 0.1, "false_positive_rate": 0.1}, "false_positive_rate"),
        ({"true_positive_rate": 0.1, "false_positive_rate": 0.1}, "true_positive_rate"),
        ({"advantage": 0.5, "sampling_rate": 1e-3, "steps": 3}, "sampling_rate"),
    ],
)
def test_impossible_targets_are_named(given, named):
    with pytest.raises(ValueError, match=f"`{named}`"):
        calibrate_noise_to_risk(**given)


@pytest.mark.parametrize("chance", [1e-6, 0.05])
def test_what_may_be_revealed_counts_in_the_curve_too(chance):
    """With probability d all is told, else N(0, 1) or N(1, 1): f(α) = (1 − d)·G(α/(1 − d))."""
    accountant = composed(dpa.GaussianDpEvent(1.0)).compose(EpsilonDeltaDpEvent(0.0, chance))
    for alpha in (1e-4, 0.01, 0.5):
        hidden = 1.0 - chance
        truth = 1.0 - hidden * special.ndtr(-special.ndtri(alpha / hidden) - 1.0)
        found = true_positive_rate(accountant, alpha)
        assert found.lower - 1e-9 <= truth <= found.upper + 1e-9
        assert found.gap < 1e-6
    assert gdp_bounds(accountant).upper == math.inf
    assert gdp_bounds(accountant, 0.5 * chance).upper == math.inf
    assert 0.9 < gdp_bounds(accountant, 1.01 * chance).upper < 2.0


def test_users_and_shuffles_without_slack():
    """A user of k records is in with all of them with probability q^k: k/σ, T times."""
    users = composed(UserDpEvent(3, sampled(0.1, 2.0)), 4)
    assert_is(gdp_bounds(users), 3.0, 1e-12)
    replaced = gdp_bounds(composed(UserDpEvent(3, sampled(0.1, 2.0)), 4, REPLACE))
    assert replaced.upper == pytest.approx(6.0)
    special_record = NeighboringRelation.REPLACE_SPECIAL
    shuffled = composed(ShuffledDpEvent(10, dpa.GaussianDpEvent(2.0)), 4, special_record)
    assert gdp_bounds(shuffled).upper == pytest.approx(1.0)
