"""The grid engine against mpmath, by formulas that share no code and no method with ours."""

import math

import mpmath as mp
import numpy as np
import pytest

from accountants import releases
from accountants.fourier.grid import engine as grid
from accountants.fourier.pairs import pair_laws

mp.mp.dps = 25


def gaussian_delta(mu, epsilon):
    """δ(ε) of N(μ, 1) against N(0, 1) for any real ε."""
    return mp.ncdf(-epsilon / mu + mu / 2) - mp.exp(epsilon) * mp.ncdf(-epsilon / mu - mu / 2)


def remove_delta(rate, mu, epsilon):
    """δ of (1−q)·N(0) + q·N(μ) against N(0) for any real ε."""
    scaled = mp.expm1(epsilon) / rate
    if scaled <= -1:
        return -mp.expm1(epsilon)
    return rate * gaussian_delta(mu, mp.log1p(scaled))


def add_delta(rate, mu, epsilon):
    """δ of N(0) against (1−q)·N(0) + q·N(μ) for any real ε: H_α(P‖Q) = 1 − α + α·H_{1/α}(Q‖P)."""
    return -mp.expm1(epsilon) + mp.exp(epsilon) * remove_delta(rate, mu, -epsilon)


def two_step_delta(rate, sigma, epsilon, remove):
    """δ of two steps: the mean of the one-step δ(ε − L) over the other step's loss L."""
    q, mu = mp.mpf(rate), 1 / mp.mpf(sigma)

    def log_ratio(y):
        return mp.log1p(q * mp.expm1(mu * y - mu * mu / 2))

    def integrand(y):
        if remove:
            density = (1 - q) * mp.npdf(y) + q * mp.npdf(y - mu)
            return density * remove_delta(q, mu, epsilon - log_ratio(y))
        return mp.npdf(y) * add_delta(q, mu, epsilon + log_ratio(y))

    # The one-step δ turns into 1 − e^ε at a finite y, with all derivatives but not analytically:
    # tanh-sinh, which does not mind such ends, with a break there.
    turn = (epsilon if remove else -epsilon) - mp.log1p(-q)
    ends = {mp.mpf(k) for k in range(-14, int(16 + mu))}
    inner = mp.expm1(turn) / q
    if inner > -1:
        place = (mp.log1p(inner) + mu * mu / 2) / mu
        ends |= {place + x for x in (-1, -0.3, -0.1, 0, 0.1, 0.3, 1)}
    return mp.quad(integrand, sorted(ends), maxdegree=6)


@pytest.mark.parametrize("remove", [True, False])
@pytest.mark.parametrize(
    ("rate", "sigma", "epsilon"),
    [
        (0.3, 1.0, 0.5),
        (0.01, 0.7, 0.3),
        (0.01, 0.7, 0.003),
        (1e-5, 0.5, 0.5),
        (1e-4, 1.0, 1.5e-4),
        (0.9, 3.0, 0.9),
    ],
)
def test_two_steps(rate, sigma, epsilon, remove):
    law = pair_laws(releases.PoissonGaussian(rate, sigma))[0 if remove else 1]
    truth = two_step_delta(rate, sigma, mp.mpf(epsilon), remove)
    if not remove and epsilon >= -2 * math.log1p(-rate):
        truth = mp.mpf(0)  # The loss is bounded: what mpmath finds is its error.
    bounds = grid.delta_bounds([(law, 2)], epsilon)
    assert bounds.lower <= truth * (1 + mp.mpf("1e-12")) + mp.mpf("1e-300")
    assert truth * (1 - mp.mpf("1e-12")) <= bounds.upper
    if truth > 0:
        assert bounds.gap <= 1e-4 * truth
        inverse = grid.epsilon_bounds([(law, 2)], float(truth))
        assert inverse.lower <= epsilon * (1 + 1e-12)
        assert epsilon * (1 - 1e-12) <= inverse.upper
        assert inverse.gap <= 1e-4 * epsilon


def characteristic_delta(rate, sigma, steps, epsilon, tilt):
    """δ(ε) of the remove direction by the Fourier integral of DESIGN 4.3, in plain mpmath."""
    q, mu = mp.mpf(rate), 1 / mp.mpf(sigma)
    places = [mp.mpf(k) / 8 for k in range(-120, 8 * int(15 + (tilt + 1) * mu) + 1)]
    log_ratios = [mp.log1p(q * mp.expm1(mu * y - mu * mu / 2)) for y in places]
    weights = [mp.npdf(y) / 8 for y in places]

    def integrand(t):
        z = mp.mpc(tilt, t)
        moment = mp.fsum(w * mp.exp((z + 1) * x) for w, x in zip(weights, log_ratios, strict=True))
        return mp.re(moment**steps * mp.exp(-z * epsilon) / (z * (z + 1)))

    return mp.quad(integrand, [0, 2, 5, 10, 20, 40, 80, 160], maxdegree=5) / mp.pi


def test_many_steps_by_the_fourier_integral():
    truth = characteristic_delta(0.2, 2.0, 200, mp.mpf(6), 2)
    law = pair_laws(releases.PoissonGaussian(0.2, 2.0))[0]
    bounds = grid.delta_bounds([(law, 200)], 6.0)
    assert bounds.lower <= truth <= bounds.upper
    assert bounds.gap <= 2e-6 * truth


@pytest.mark.parametrize("edges", [(-0.002, -0.001), (0.0, 1e-5), (0.5, 0.5001), (3.0, 4.0)])
def test_cell_masses_have_relative_accuracy(edges):
    """P-mass and E[1 − e^{−(L−l)}] of a cell, for a small rate and far into the tail."""
    mu = mp.mpf("1.25")
    law = pair_laws(releases.PoissonGaussian(0.003, 0.8))[0]
    points = law.points(np.array(edges))

    def place(loss):
        return (mp.log1p(mp.expm1(mp.mpf(loss)) / mp.mpf(0.003)) + mu * mu / 2) / mu

    def density(y):
        return (1 - mp.mpf(0.003)) * mp.npdf(y) + mp.mpf(0.003) * mp.npdf(y - mu)

    def loss(y):
        return mp.log1p(mp.mpf(0.003) * mp.expm1(mu * y - mu * mu / 2))

    low, high = place(edges[0]), place(edges[1])
    mass = mp.quad(density, mp.linspace(low, high, 9))
    gain = mp.quad(lambda y: density(y) * -mp.expm1(edges[0] - loss(y)), mp.linspace(low, high, 9))
    assert math.fsum(points.mass) == pytest.approx(float(mass), rel=1e-12)
    ours = math.fsum(points.mass * -np.expm1(edges[0] - points.loss))
    assert ours == pytest.approx(float(gain), rel=1e-10)
