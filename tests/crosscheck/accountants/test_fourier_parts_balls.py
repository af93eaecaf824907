"""Each stated local error of the contour engine against ball arithmetic.

At the default tolerance the slack would hide such errors, so each is compared by itself: log w and
the gap of `likelihood_ratio`, φ, log M, the tilted log M, the decay bound. Parameters are random,
with fixed seeds, and corners that once failed.
"""

import math
import random

import dp_accounting as dpa
import numpy as np
import pytest
from crosscheck.accountants import balls
from flint import acb, arb, ctx

from accountants import FourierAccountant
from accountants.fourier.contour.quadrature import ADD, REMOVE, REPLACE, ContourError, Line
from accountants.fourier.contour.saddle import decay
from accountants.likelihood_ratio import log_gap, ratio


def distance(ball, value):
    """An upper bound of |ball − value|."""
    return float(abs(ball - arb(float(value))).upper())


def random_step(draw):
    """(q, σ, direction, θ) over the ranges in which contours are built."""
    rate = (
        10.0 ** draw.uniform(-8, -0.02) if draw.random() < 0.7 else 1 - 10 ** draw.uniform(-6, -1)
    )
    sigma = 10.0 ** draw.uniform(-0.8, 2)
    theta = 10.0 ** draw.uniform(-1.5, 1.3) * min(10.0, max(1.0, sigma))
    return rate, sigma, draw.choice([REMOVE, ADD]), theta


@pytest.mark.parametrize("seed", range(120))
def test_log_w_and_the_gap_are_within_their_stated_errors(seed):
    draw = random.Random(seed)
    rate = 10.0 ** draw.uniform(-300, -1e-6)
    if draw.random() < 0.5:
        rate = draw.choice([10.0 ** draw.uniform(-8, 0), 1.0 - 10.0 ** draw.uniform(-15, -0.1)])
    sigma = 10.0 ** draw.choice([draw.uniform(-1.5, 4), draw.uniform(-1, 1)])
    y = draw.gauss(0, 4) + draw.choice([0.0, 0.5, 1.0, draw.uniform(0, 30)]) / sigma
    if draw.random() < 0.1:  # Beside the zero of log w.
        y = 0.5 / sigma * (1.0 + 1e-15 * draw.gauss(0, 1))
    power = draw.choice([1 + 10 ** draw.uniform(-6, 6), -(10 ** draw.uniform(-6, 6)), 2.0, -1.0])
    at = ratio(rate, sigma, np.array([y]))
    gap, gap_error = log_gap(at, power)
    exponent = abs(y / sigma) + 0.5 / sigma**2
    exponents = exponent + abs(power * float(at.log_w[0]))
    with ctx.workprec(4500 + int(3 * min(exponents, 3e3))):
        q, s = arb(rate), arb(sigma)
        w = 1 + q * ((arb(y) / s - 1 / (2 * s * s)).exp() - 1)
        assert distance(w.log(), at.log_w[0]) <= at.error[0] + 1e-320
        if exponents < 3e3 and abs(at.log_w[0]) > 10.0 * at.error[0]:
            truth = ((w.log() * arb(power)).exp() - 1 - arb(power) * (w - 1)).log()
            assert distance(truth, gap[0]) <= gap_error[0]
        # An error that is stated too large would be of no use.
        assert at.error[0] <= 1e-14 * (abs(at.log_w[0]) + at.posterior[0] * exponent)


# (q, σ, direction, θ, t, E): |φ| of 1e-6 and of 1e-3, where log1p cancelled; large tilts and the
# add direction, where refined lines had lost the mass of w; much and little noise.
CORNERS = [
    (0.5, 1.37, REMOVE, 3.0, 45.0, 60.0),
    (0.5, 1.37, ADD, 3.0, 30.0, 60.0),
    (0.0733, 0.69657, ADD, 22.772, 50.0, 60.0),
    (0.01, 1.0, REMOVE, 6.0, 40.0, 40.0),
    (1e-4, 1.0, REMOVE, 11.0, 60.0, 45.0),
    (0.9, 0.3, ADD, 2.0, 3.0, 40.0),
    (0.999, 20.0, REMOVE, 5.0, 150.0, 40.0),
]


def check_line(rate, sigma, direction, theta, t, exponent):
    """Compares φ(t), log M, the tilted log M and the decay bound of one line with balls."""
    coarse = Line(rate, sigma, direction, 1.9 * theta, 0.0, exponent)
    line = Line(rate, sigma, direction, theta, t, exponent, refine=True)
    log_phi, error = line.characteristic(theta, np.array([t]))
    truth = balls.log_moment(rate, sigma, balls.power_of(direction, theta), 260)
    value, value_error = Line(rate, sigma, direction, theta, 0.0, exponent).log_moment(theta)
    assert float(truth.rad()) <= 1e-3 * value_error
    assert distance(truth, value) <= value_error
    assert distance(truth, coarse.tilted(theta)[1]) <= coarse.tilted_error
    assert distance(truth, line.tilted(theta)[1]) <= line.tilted_error
    phi = balls.characteristic(rate, sigma, direction, theta, t, 200)
    with ctx.workprec(200):
        assert float(abs(phi).rad()) <= 1e-2 * error[0]
        ours = acb(float(log_phi[0].real), float(log_phi[0].imag)).exp()
        assert float(abs(ours - phi).upper()) <= error[0]
        bound = decay(coarse, theta).log(np.array([t]))[0]
        assert float(abs(phi).log().lower()) <= bound <= 0.0
    return error[0]


@pytest.mark.parametrize("corner", CORNERS)
def test_corners_of_one_line(corner):
    assert check_line(*corner) < 1e-10


@pytest.mark.parametrize("seed", range(8))
def test_random_lines(seed):
    draw = random.Random(seed)
    while True:
        rate, sigma, direction, theta = random_step(draw)
        exponent = draw.choice([32.0, 40.0, 60.0])
        try:
            coarse = Line(rate, sigma, direction, 1.9 * theta, 0.0, exponent)
            deviation = math.sqrt(max(coarse.cumulants(theta)[2], 1e-30))
        except ContourError:
            continue
        t = 10.0 ** draw.uniform(-1, 0.7) / deviation
        if t < 100.0 and Line(rate, sigma, direction, theta, t, exponent).size < 5000:
            break
    check_line(rate, sigma, direction, theta, t, exponent)


def test_a_tight_tolerance_does_not_lose_the_truth():
    """One sampled and one plain Gaussian: δ(4.03) = 1.85210281937471…e-9, by ball arithmetic.

    The remove direction is the larger one: the mean over the plain Gaussian's loss of the sampled
    step's δ at what is left of ε, which has a closed form.
    """
    event = dpa.ComposedDpEvent(
        [dpa.PoissonSampledDpEvent(0.5, dpa.GaussianDpEvent(1.37)), dpa.GaussianDpEvent(2.9)]
    )
    bounds = FourierAccountant(tolerance=1e-11).compose(event).get_delta_bounds(4.03)
    with ctx.workprec(200):
        q, s, mu, epsilon = arb(0.5), arb(1.37), 1 / arb(2.9), arb(4.03)

        def mixture_tail(z, _):
            # P(L₁ > x) − e^x Q(L₁ > x) at x = ε − (loss of the plain Gaussian at z).
            x = epsilon - mu * z - mu * mu / 2
            place = s * s * ((x.exp() - (1 - q)) / q).log() + acb(0.5)
            root = s * acb(2).sqrt()
            zero, one = (place / root).erfc() / 2, ((place - 1) / root).erfc() / 2
            value = (1 - q) * zero + q * one - x.exp() * zero
            return value * (-z * z / 2).exp() / (2 * arb.pi()).sqrt()

        # Above x = log(1−q) the place is real; z beyond 12 weighs less than e^-70.
        top = (epsilon - (1 - q).log() - mu * mu / 2) / mu
        assert float(top.lower()) > 12.5
        truth = acb.integral(mixture_tail, -14, 12).real + arb(0, (arb(-72)).exp().upper())
        assert float(truth.rad()) < 1e-22
        assert arb(bounds.lower) <= truth
        assert truth <= arb(bounds.upper)
    assert bounds.gap <= 1e-10 * bounds.upper


def replace_integral(rate, sigma, theta, t, bits):
    """A ball with E[w(y)^{θ+1+it}·w(−y)^{−θ−it}], y ~ N(0, 1)."""
    with ctx.workprec(bits):
        q, s, z = arb(rate), arb(sigma), acb(arb(theta), arb(t))

        def integrand(y, analytic):
            up, down = (
                (1 - q + q * (side * y / s - 1 / (2 * s * s)).exp()).log(analytic=analytic)
                for side in (1, -1)
            )
            return ((z + 1) * up - z * down - y * y / 2).exp() / (2 * arb.pi()).sqrt()

        # (w(y)/w(−y))^θ ≤ (1−q)^{−θ}·w(y)^θ, and beyond the means all falls by e^{−R²/2}.
        reach = 14.0 + math.sqrt(bits)
        high = (2 * theta + 1) / sigma + reach
        total = acb(0)
        for left, right in (
            (-reach - 1 / sigma, 0.0),
            (0.0, theta / sigma + 1),
            (theta / sigma + 1, high),
        ):
            total += acb.integral(
                integrand, left, right, rel_tol=arb(2) ** (10 - bits), abs_tol=arb(2) ** -300
            )
        size = (theta + 1) * math.log(2) + theta * (theta + 1) / (2 * sigma**2)
        tail = (arb(size) - theta * (1 - q).log() - arb(reach) ** 2 / 2).exp()
        return total + acb(arb(0, tail.upper()), arb(0, tail.upper()))


@pytest.mark.parametrize(
    ("rate", "sigma", "theta", "t"),
    [
        (0.01, 1.0, 6.0, 20.0),
        (0.3, 2.0, 3.0, 5.0),
        (0.6, 0.8, 2.0, 3.0),
        (1e-4, 1.0, 11.0, 60.0),
        (0.05, 4.0, 20.0, 90.0),
        (0.9, 1.5, 1.0, 4.0),
    ],
)
def test_lines_to_replace(rate, sigma, theta, t):
    """φ(t), log M, the tilted log M and the decay bound, as `check_line` does for the others."""
    coarse = Line(rate, sigma, REPLACE, 1.9 * theta, 0.0, 40.0)
    line = Line(rate, sigma, REPLACE, theta, t, 40.0, refine=True)
    log_phi, error = line.characteristic(theta, np.array([t]))
    with ctx.workprec(200):
        moment = replace_integral(rate, sigma, theta, 0.0, 200).real
        phi = replace_integral(rate, sigma, theta, t, 200) / moment
        value, value_error = Line(rate, sigma, REPLACE, theta, 0.0, 40.0).log_moment(theta)
        assert float(moment.log().rad()) <= 1e-2 * value_error < 1e-12
        assert distance(moment.log(), value) <= value_error
        assert distance(moment.log(), coarse.tilted(theta)[1]) <= coarse.tilted_error
        assert distance(moment.log(), line.tilted(theta)[1]) <= line.tilted_error
        ours = acb(float(log_phi[0].real), float(log_phi[0].imag)).exp()
        assert float(abs(phi).rad()) <= 1e-2 * error[0] < 1e-11
        assert float(abs(ours - phi).upper()) <= error[0]
        for frequency in (t, 3.0 * t, 10.0 * t):
            at = replace_integral(rate, sigma, theta, frequency, 120) / moment
            bound = decay(coarse, theta).log(np.array([frequency]))[0]
            assert float(abs(at).lower()) <= math.exp(bound) <= 1.0
