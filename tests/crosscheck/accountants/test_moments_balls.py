"""Moments of the sampled Gaussian's likelihood ratio at their corners, against ball arithmetic."""

import math

import dp_accounting as dpa
import pytest
from crosscheck.accountants import balls
from dp_accounting import NeighboringRelation
from flint import arb, ctx, fmpz

from accountants import MomentsAccountant, RenyiAccountant
from accountants.releases import RandomizedResponse
from accountants.renyi_divergence import _log_even_central_moment, divergence
from accountants.subsampled_gaussian import log_moment, log_moment_bounds

REPLACE = NeighboringRelation.REPLACE_ONE


def binomial(rate, sigma, order):
    """log E[w^order] at an integer order, a ball (Mironov, Talwar, Zhang 2019, section 3.3)."""
    with ctx.workprec(4000):
        q, s, total = arb(rate), arb(sigma), arb(0)
        for k in range(order + 1):
            exponent = arb(k * (k - 1)) / (2 * s * s)
            total += arb(fmpz.bin_uiui(order, k)) * (1 - q) ** (order - k) * q**k * exponent.exp()
        return total.log()


def contains(bounds, ball):
    with ctx.workprec(4000):
        return bool(arb(bounds.lower) <= ball) and bool(ball <= arb(bounds.upper))


@pytest.mark.parametrize("rate", [1e-300, 1e-160, 1e-12, 0.01, 0.5, 1 - 1e-9])
@pytest.mark.parametrize("sigma", [0.001, 0.01, 0.1, 1.0, 30.0, 1e4])
def test_integer_orders_are_contained_at_all_corners(rate, sigma):
    for order in (2, 3, 17, 300):
        bounds, truth = log_moment_bounds(rate, sigma, float(order)), binomial(rate, sigma, order)
        assert contains(bounds, truth), order
        assert float(log_moment(rate, sigma, float(order))) == bounds.upper
        if sigma >= 0.1 and (rate > 1e-200 or sigma > 0.3):
            assert bounds.gap <= 3e-12 * bounds.upper + 1e-320


@pytest.mark.parametrize(
    ("rate", "sigma", "power"),
    [
        (1e-7, 0.1, 1.001),  # 3.35e-9; a capped exponential once gave 5.7e-8.
        (0.01, 0.1, -2.0),  # 0.02010; once 0.01791, too small.
        (0.01, 1.0, 1.0 + 1e-6),
        (0.3, 1e4, 1.0 + 1e-6),
        (0.999, 0.5, 1.5),
        (1e-6, 2.0, -1e-6),
        (0.02, 0.7, -40.5),
        (0.9, 10.0, 40.5),
        (0.9, 10.0, -40.5),
        (1e-3, 0.3, 2.75),
    ],
)
def test_real_orders_are_contained(rate, sigma, power):
    bounds, truth = log_moment_bounds(rate, sigma, power), balls.log_moment(rate, sigma, power, 300)
    assert contains(bounds, truth)
    assert bounds.gap <= 3e-12 * bounds.upper


@pytest.mark.parametrize("rate", [5e-324, 1e-300, 1e-9, 0.3, 1 - 2**-53, 1.0])
@pytest.mark.parametrize("sigma", [1e-100, 1e-3, 0.05, 1.0, 1e4, 1e100])
def test_no_corner_gives_a_nan_or_an_error(rate, sigma):
    for power in (1.0 + 1e-6, 2.0, 64.0, 1e6, -1e-6, -1.0, -64.0, -1e6):
        bounds = log_moment_bounds(rate, sigma, power)
        assert 0.0 <= bounds.lower <= bounds.upper
        assert bounds.upper < math.inf or sigma == 1e-100


@pytest.mark.parametrize("rate", [1e-300, 1e-200])
def test_rates_below_all_use_are_refused_by_name(rate):
    event = dpa.PoissonSampledDpEvent(rate, dpa.GaussianDpEvent(1.0))
    with pytest.raises(dpa.UnsupportedEventError, match="a rate below 1e-100"):
        MomentsAccountant().compose(event)


def test_the_moments_accountant_answers_for_the_tiniest_rate():
    event = dpa.PoissonSampledDpEvent(1e-100, dpa.GaussianDpEvent(1.0))
    # All moments are nothing beside log(1/δ): ε = log(1/δ)/64 (Abadi et al. 2016, Theorem 2).
    found = MomentsAccountant().compose(event).get_epsilon(1e-5)
    assert found == pytest.approx(math.log(1e5) / 64, rel=1e-12)


@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize(
    ("noise", "buckets"), [(1e-270, 10**30), (1e-300, 2), (0.3, 7), (1 - 1e-12, 3)]
)
def test_randomised_response_has_the_divergence_of_its_definition(noise, buckets, special):
    for order in (1.001, 2.0, 33.3, 1e4):
        ours = divergence(RandomizedResponse(noise, buckets, special), order)
        with ctx.workprec(3000):
            p, k, a = arb(noise), arb(buckets), arb(order)
            truth, other = 1 - p + p / k, p / k
            laws = [(truth, other, 1), (other, truth, 1), (other, other, buckets - 2)]
            if special:
                laws = [(truth, 1 / k, 1), (other, 1 / k, buckets - 1)]
            sums = [
                sum((n * f**a * s ** (1 - a) for f, s, n in laws), arb(0)),
                sum((n * s**a * f ** (1 - a) for f, s, n in laws), arb(0)),
            ]
            exact = max(float((total.log() / (a - 1)).upper()) for total in sums)
        assert exact <= ours * (1.0 + 1e-15) <= exact * (1.0 + 1e-9)


def test_a_response_that_is_nearly_the_truth_costs_what_it_costs():
    """ε of RR(1e-300, 10) is log(1 + 10(1−p)/p) ≥ 693; where p/k underflows, it is refused."""
    spent = RenyiAccountant(REPLACE).compose(dpa.RandomizedResponseDpEvent(1e-300, 10))
    assert spent.get_epsilon(1e-5) >= math.log(10) + 300 * math.log(10) - 1e-4
    for noise, buckets in ((2e-323, 10), (5e-324, 3), (1e-300, 10**30)):
        with pytest.raises(ValueError, match=r"`(noise_parameter|num_buckets)` must be"):
            RenyiAccountant(REPLACE).compose(dpa.RandomizedResponseDpEvent(noise, buckets))


@pytest.mark.parametrize("mu", [2e-4, 0.02, 0.3, 1.0, 2.0])
@pytest.mark.parametrize("power", [2, 4, 16, 100, 512])
def test_central_moments_of_fixed_size_sampling(mu, power):
    """E[(e^u − 1)^j] = Σ (−1)^{j−k}·C(j,k)·e^{k(k−1)μ²/2}, which cancels, at 20,000 bits."""
    with ctx.workprec(20_000):
        total = arb(0)
        for k in range(power + 1):
            term = arb(fmpz.bin_uiui(power, k)) * (arb(mu) ** 2 * (k * (k - 1)) / 2).exp()
            total += -term if (power - k) % 2 else term
        excess = float((arb(_log_even_central_moment(mu, power)) - total.log()).mid())
    # The surcharge of 1e-10 is ten times the error.
    assert 0.8e-10 <= excess <= 1.3e-10
