"""Noise: the exact discrete Gaussian, its distance from the rounded one, and the defaults."""

import math
import random
from collections import Counter
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from mechanism_tools import gaussian_epsilon
from scipy import special, stats

from mechanisms import (
    Layout,
    NoNoise,
    ParameterPerturbation,
    ReleaseNoise,
    Scope,
    Setting,
    SimulationNoise,
    UnsupportedEventError,
    delta_slack,
    epsilon_bounds,
    sample_discrete_gaussian,
    total_variation,
)
from mechanisms.primitives.discrete_gaussian import bernoulli_exp, sample_discrete_laplace
from pvi import ExactSolver, LinearRegression, MeanFieldGaussian, Shard

# Pearson's χ² with the tail merged into one cell; threshold at 1e-9, so a false alarm is rarer
# than 1e-8 per test even where the χ² approximation of the statistic is off by a factor of 10.
TAIL = 1e-9


def chi_square(counts, probabilities, draws):
    """The p-value of Pearson's test; expected counts are at least 50 in every cell."""
    expected = np.array([draws * p for p in probabilities])
    assert expected.min() >= 50
    observed = np.array(counts)
    statistic = ((observed - expected) ** 2 / expected).sum()
    return stats.chi2.sf(statistic, len(expected) - 1)


def seeded():
    return random.Random(7).randrange


def cells(sample, mass, width):
    """Counts and masses of −width … width, and of all beyond."""
    counter = Counter(sample)
    counts = [counter[n] for n in range(-width, width + 1)]
    masses = [mass(n) for n in range(-width, width + 1)]
    return [*counts, len(sample) - sum(counts)], [*masses, 1 - sum(masses)]


@pytest.mark.parametrize("variance", [Fraction(1, 4), Fraction(1), Fraction(7, 3), Fraction(30)])
def test_the_sampler_draws_the_law(variance):
    draws = 20_000
    randbelow = seeded()
    sample = [sample_discrete_gaussian(variance, randbelow) for _ in range(draws)]
    norm = sum(math.exp(-n * n / (2 * float(variance))) for n in range(-200, 201))
    width = {Fraction(1, 4): 1, Fraction(1): 2, Fraction(7, 3): 4, Fraction(30): 12}[variance]
    counts, masses = cells(sample, lambda n: math.exp(-n * n / (2 * float(variance))) / norm, width)
    if masses[-1] * draws < 50:
        counts, masses = counts[:-1], [m / sum(masses[:-1]) for m in masses[:-1]]
        draws = sum(counts)
    assert chi_square(counts, masses, draws) > TAIL
    # the test can tell: the same counts are not those of a law 10% wider
    wrong = [math.exp(-n * n / (2.42 * float(variance))) for n in range(-width, width + 1)]
    if variance > 1:
        inner = counts[: 2 * width + 1]
        wrong = [w / sum(wrong) for w in wrong]
        assert chi_square(inner, wrong, sum(inner)) < TAIL


def test_the_building_blocks_draw_their_laws():
    randbelow, draws = seeded(), 20_000
    for numerator, denominator in ((0, 1), (1, 3), (1, 1), (5, 2)):
        hits = sum(bernoulli_exp(numerator, denominator, randbelow) for _ in range(draws))
        probability = math.exp(-numerator / denominator)
        low, high = stats.binom.ppf([TAIL / 2, 1 - TAIL / 2], draws, probability)
        assert low <= hits <= high
    sample = [sample_discrete_laplace(3, randbelow) for _ in range(draws)]
    counts, masses = cells(sample, lambda n: math.tanh(1 / 6) * math.exp(-abs(n) / 3), 10)
    assert chi_square(counts, masses, draws) > TAIL


@pytest.mark.parametrize("bad", [0, -1, 2.5])
def test_impossible_variances_are_refused(bad):
    with pytest.raises(ValueError, match="`variance` must be a positive Fraction or int"):
        sample_discrete_gaussian(bad)


@pytest.mark.parametrize("sigma", [1.0, 1.7, 4.0, 20.0, 300.0])
def test_the_distance_from_the_rounded_gaussian_is_bounded(sigma):
    """Both laws summed cell by cell with mpmath; the bound is at most 10 times the truth."""
    with mpmath.workdps(40):
        s = mpmath.mpf(sigma)
        reach = int(14 * sigma) + 10
        mass = [mpmath.exp(-(mpmath.mpf(n) ** 2) / (2 * s**2)) for n in range(reach)]
        norm = 2 * mpmath.fsum(mass) - mass[0]
        distance = mpmath.mpf(0)
        for n in range(reach):
            cell = mpmath.ncdf((n + 0.5) / s) - mpmath.ncdf((n - mpmath.mpf(0.5)) / s)
            distance += (1 if n == 0 else 2) * abs(mass[n] / norm - cell)
        distance /= 2
    bound = total_variation(sigma, 1)
    assert distance <= bound <= 10 * distance


def test_the_slack_covers_the_exact_profile():
    """δ(ε) of N_Z(0, σ²) against its shift by Δ, summed directly; the Gaussian's + slack."""
    sigma, shift = 8.0, 8
    n = np.arange(-400, 401)
    log_mass = -(n**2) / (2 * sigma**2)
    log_mass -= special.logsumexp(log_mass)
    for epsilon in (0.1, 0.5, 1.0, 2.0, 4.0):
        log_other = -((n - shift) ** 2) / (2 * sigma**2)
        log_other -= special.logsumexp(-(np.arange(-400, 401) ** 2) / (2 * sigma**2))
        exact = np.maximum(np.exp(log_other) - np.exp(epsilon + log_mass), 0.0).sum()
        mu = shift / sigma
        continuous = special.ndtr(mu / 2 - epsilon / mu) - math.exp(
            epsilon + special.log_ndtr(-mu / 2 - epsilon / mu)
        )
        slack = delta_slack(epsilon, total_variation(sigma, 1))
        assert abs(exact - continuous) <= slack
        assert exact != pytest.approx(continuous, rel=1e-7)  # there is a difference to cover


def test_release_noise_is_on_its_grid_and_keeps_norms():
    noise = ReleaseNoise(bits=8)
    spacing = noise.grid(3.0)
    assert spacing == 2.0**-7  # 2⁸ ≤ 3/spacing < 2⁹
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(5, 4, 3))
    out = noise.noisy_sum(rows, 3.0, rng)
    assert out.shape == (5, 3)
    assert np.array_equal(out / spacing, np.round(out / spacing))
    truncated = np.trunc(rows / spacing) * spacing
    assert (np.abs(truncated) <= np.abs(rows)).all()


def test_release_noise_has_the_right_spread():
    """2000 draws: a χ² of a nearly Gaussian law, at 1e-9 on each side."""
    draws = ReleaseNoise().noisy_sum(np.zeros((1, 2000)), 5.0, np.random.default_rng(0)) / 5.0
    low, high = stats.chi2.ppf([TAIL, 1 - TAIL], 2000)
    assert low < (draws**2).sum() < high


def test_release_noise_ignores_the_seed():
    """The same generator state twice: 20 equal draws of 32 bits would be a miracle."""
    rows = np.zeros((1, 20))
    first, second = (
        ReleaseNoise().noisy_sum(rows, 1.0, np.random.default_rng(0)) for _ in range(2)
    )
    assert not np.array_equal(first, second)
    simulated = [SimulationNoise().noisy_sum(rows, 1.0, np.random.default_rng(0)) for _ in range(2)]
    assert np.array_equal(*simulated)


def test_the_default_says_that_it_is_a_simulation():
    assert isinstance(
        ParameterPerturbation(clip_norm=1.0, noise_multiplier=1.0).noise, SimulationNoise
    )
    assert "For simulation only" in SimulationNoise.__doc__


def test_release_noise_refuses_what_it_cannot_do():
    with pytest.raises(ValueError, match="`bits` must be"):
        ReleaseNoise(bits=60)
    with pytest.raises(ValueError, match="`std` must be one number"):
        ReleaseNoise().noisy_sum(np.zeros((2, 1, 1)), np.ones(2), np.random.default_rng(0))


def release_run(bits):
    run = ParameterPerturbation(
        clip_norm=1.0, noise_multiplier=4.0, noise=ReleaseNoise(bits=bits)
    ).build(
        Setting(
            model=LinearRegression(dimension=1, noise_std=1.0),
            prior=MeanFieldGaussian(natural_mean=[0.0], precision=[1e6]),
            solver=ExactSolver(),
        ),
        [Shard(inputs=[[1.0]], targets=[2.0])] * 2,
        np.random.default_rng(0),
    )
    run.run(3)
    return run.transcript


def test_the_slack_is_in_the_interval():
    """Three rounds of multiplier 2 under add/remove, μ = √3/2; the slack is far below δ."""
    truth = gaussian_epsilon(math.sqrt(3) / 2, 1e-5)
    bounds = epsilon_bounds(release_run(32), Scope(), 1e-5)
    assert bounds.lower < truth < bounds.upper
    assert bounds.gap < 1e-3 * truth


def test_a_coarse_grid_is_refused():
    with pytest.raises(UnsupportedEventError, match="use a finer grid"):
        epsilon_bounds(release_run(4), Scope(), 1e-5)


def test_silence_is_not_private():
    mechanism = ParameterPerturbation(clip_norm=1.0, noise_multiplier=1.0, noise=NoNoise())
    bounds = epsilon_bounds(mechanism.plan(Layout(clients=2), rounds=1), Scope(), 1e-5)
    assert bounds == (math.inf, math.inf)


@pytest.mark.parametrize("row", [1e30, -1e30, math.inf, math.nan])
def test_rows_beyond_64_bits_of_the_grid_are_refused(row):
    """Their cast would not wrap round as a sum's overflow does: no post-processing."""
    rows = np.array([[row], [0.5]])
    with pytest.raises(ValueError, match="`rows` must be below"):
        ReleaseNoise().noisy_sum(rows, 1.0, np.random.default_rng(0))


@pytest.mark.parametrize("std", [1e-300, 1e281])
def test_a_grid_that_floats_cannot_hold_is_refused(std):
    with pytest.raises(ValueError, match="`std` must be in "):
        ReleaseNoise().grid(std)


@pytest.mark.parametrize("wrong", [lambda below: below, lambda below: -1, lambda below: math.nan])
def test_numbers_that_are_not_below_are_refused(wrong):
    """Otherwise the exact samplers never end."""
    with pytest.raises(ValueError, match="`randbelow` must give"):
        sample_discrete_gaussian(Fraction(7, 3), wrong)
