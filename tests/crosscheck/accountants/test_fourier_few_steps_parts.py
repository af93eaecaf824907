"""Each stated local error of the split contour against ball arithmetic.

The truth is an integral of w^{z+1} and normal distribution functions below the cut, enclosed by
Arb. Few nodes are asked for in places, so that it is the rules' errors that are seen.
"""

import itertools
import math
import random

import numpy as np
import pytest
from flint import acb, arb, ctx
from scipy.special import log_ndtr

from accountants.fourier.contour.band import BandSum, Top, _difference_of_powers
from accountants.fourier.contour.oscillation import oscillations
from accountants.fourier.contour.quadrature import ADD, Line
from accountants.fourier.contour.split import Guide, Split
from accountants.releases import PoissonGaussian

UNIT = 2.0**-53


def moment(split, theta, t, part, bits=100):
    """A ball with E[w^{θ+1+it}·η·(1, ρ or 1 − ρ)], y ~ N(0, 1) below the cut."""
    with ctx.workprec(bits):
        q, s, z = arb(split.step.sampling_rate), arb(split.step.noise_multiplier), acb(theta, t)

        def below(y, end, width):
            return ((y - arb(end)) / arb(width) / arb(2).sqrt()).erfc() / 2

        def integrand(y, analytic):
            w = (1 - q + q * (y / s - 1 / (2 * s * s)).exp()).log(analytic=analytic)
            value = ((z + 1) * w - y * y / 2).exp() * below(y, split.end, split.end_width)
            if part != "whole":
                bulk = below(y, split.start, split.start_width)
                value *= bulk if part == "bulk" else 1 - bulk
            return value / (2 * arb.pi()).sqrt()

        places = (split.start, split.end)
        cuts = sorted({-12.0, -4.0, 0.0, *(p for p in places if p < split.cut), split.cut})
        total = acb(0)
        for left, right in itertools.pairwise(cuts):
            total += acb.integral(
                integrand, left, right, rel_tol=arb(2) ** (10 - bits), abs_tol=arb(2) ** -160
            )
        return total + acb(arb(0, 1e-32), arb(0, 1e-32))  # Φ(−12), where w ≤ 1.


def random_split(draw):
    """A split as `few_steps` makes them, and coarser and finer ones."""
    rate, sigma = 10.0 ** draw.uniform(-6, -0.7), 10.0 ** draw.uniform(-0.7, 1.0)
    loss = rate * 10.0 ** draw.uniform(0.0, 2.0)
    end = sigma * math.log1p(math.expm1(loss) / rate) + 0.5 / sigma
    start = end * draw.uniform(0.3, 0.9)
    step = PoissonGaussian(rate, sigma)
    width = min(end - start, sigma)
    return Split(
        step=step,
        count=draw.choice([1, 2, 7, 40]),
        start=start,
        start_width=width * 10.0 ** draw.uniform(-1.3, 0.2),
        end=end,
        end_width=width * 10.0 ** draw.uniform(-1.3, 0.2),
        cut=end + width * draw.uniform(0.3, 4.0),
    )


def distance(ball, value):
    return float(abs(ball - acb(complex(value))).upper())


@pytest.mark.parametrize("seed", range(8))
def test_moments_on_the_guide_are_upper_bounds(seed):
    draw = random.Random(seed)
    split = random_split(draw)
    guide = Guide(split, draw.choice([20.0, 40.0]))
    tilts = np.array([0.0, 0.5, 3.0, 20.0]) / split.step.sampling_rate**0.2
    for part in ("whole", "bulk", "band"):
        bounds = guide.log_moments(tilts, bulk=part == "bulk", band=part == "band")
        for tilt, bound in zip(tilts.tolist(), bounds.tolist(), strict=True):
            assert float(moment(split, tilt, 0.0, part).real.log().lower()) <= bound


@pytest.mark.parametrize("seed", range(8))
def test_the_band_decays_as_stated(seed):
    draw = random.Random(seed)
    split = random_split(draw)
    guide, tilt = Guide(split, 30.0), 10.0 ** draw.uniform(-0.5, 1.0)
    whole = moment(split, tilt, 0.0, "whole").real
    frequencies = [10.0 ** draw.uniform(-1, 3) for _ in range(4)]
    bounds = guide.log_decay(tilt, np.array(frequencies))
    for bound, t in zip(bounds.tolist(), frequencies, strict=True):
        for factor in (1.0, 1.7):
            at = abs(moment(split, tilt, factor * t, "band")) / whole
            assert float(at.lower()) <= math.exp(bound)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("exponent", [16.0, 30.0])
def test_a_sum_is_within_its_stated_error(seed, exponent):
    """Each term is (φ^n − β^n)·weight/(z(z+1)); all differences together, and the scale's."""
    draw = random.Random(seed)
    split = random_split(draw)
    tilt = draw.uniform(0.5, 8.0)
    t_max = 10.0 ** draw.uniform(0.0, 2.0)
    period = 2.0 * math.pi * 12.0 / t_max
    tilts = np.array([2.0, 50.0]) * tilt
    line = Line(split.step.sampling_rate, split.step.noise_multiplier, ADD, 4.0, 0.0, 40.0)
    others = np.array([line.tilted(3.0)[1] + line.tilted_error])
    total = BandSum(
        Guide(split, max(exponent, 12.0)),
        tilt=tilt,
        period=period,
        t_max=t_max,
        exponent=exponent,
        tilts=tilts,
        top=Top(split, np.array([3.0]), others),
    )
    whole = moment(split, tilt, 0.0, "whole").real
    error = arb(0)
    with ctx.workprec(100):
        log_moment = whole.log() * split.count
        slack = total._moment_error
        assert float(abs(log_moment - arb(split.count) * arb(total._log_moment)).upper()) <= slack
        for k, (t, term) in enumerate(zip(total._t.tolist(), total._terms.tolist(), strict=True)):
            phi = moment(split, tilt, t, "whole") / whole
            bulk = moment(split, tilt, t, "bulk") / whole
            z = acb(tilt, t)
            weight = (1 if k == 0 else 2) / (arb(period) * z * (z + 1))
            error += abs((phi**split.count - bulk**split.count) * weight - acb(complex(term)))
    assert float(error.upper()) <= total._error


@pytest.mark.parametrize("seed", range(60))
def test_differences_of_powers_are_within_their_stated_rounding(seed):
    draw = random.Random(seed)
    n = draw.choice([1, 2, 3, 10, 1000, 100_000])
    modulus = 1.0 - 10.0 ** draw.uniform(-12, -0.1) if draw.random() < 0.7 else draw.random()
    turn = draw.uniform(-math.pi, math.pi) * 10.0 ** draw.uniform(-6, 0)
    phi = modulus * complex(math.cos(turn), math.sin(turn))
    size = 10.0 ** draw.uniform(-14, 0) * abs(phi)
    part = size * complex(draw.gauss(0, 1), draw.gauss(0, 1))
    if abs(phi - part) > 1.0:
        part = -part
    if abs(phi - part) > 1.0:
        part = phi * (1.0 - draw.random())
    values, rounding, _ = _difference_of_powers(np.array([phi]), np.array([part]), n)
    with ctx.workprec(400):
        truth = acb(phi) ** n - (acb(phi) - acb(part)) ** n
        assert distance(truth, values[0]) <= rounding[0] + 1e-300


@pytest.mark.parametrize("seed", range(12))
def test_oscillations_in_corners(seed):
    """Losses from 1e-12 to 1e3, of one sign or both, frequencies up to a million phases."""
    draw = np.random.default_rng(seed)
    size = int(draw.choice([129, 900]))
    losses = 10.0 ** draw.uniform(-12, draw.choice([-3, 0, 3]), size)
    losses *= draw.choice([-1.0, 1.0], size) if seed % 2 else 1.0
    weights = draw.dirichlet(np.full(size, 0.05)) * 10.0 ** draw.uniform(-3, 0)
    t = 10.0 ** draw.uniform(-2, 2) * np.arange(int(draw.choice([900, 1024, 1025, 3000])))
    found, roundings = oscillations(weights, losses, t)
    scale = float(weights @ np.abs(losses))
    with ctx.workprec(120):
        for k in [1, int(draw.integers(2, t.size)), t.size - 1]:
            truth = acb(0)
            for p, x in zip(weights.tolist(), losses.tolist(), strict=True):
                truth += arb(p) * (acb(0, arb(float(t[1])) * k * arb(x)).exp() - 1)
            assert distance(truth, found[k]) <= roundings * UNIT * float(t[1]) * k * scale


@pytest.mark.parametrize("seed", range(6))
def test_the_leak_at_the_top_is_bounded(seed):
    """E_P[(1−Φ((y₁−y)/τ₁))·e^{−λL}]·E_P[e^{−λL}]^{n−1}·n·e^{λε}, by one integral each."""
    draw = random.Random(seed)
    split = random_split(draw)
    rate, sigma = split.step.sampling_rate, split.step.noise_multiplier
    power, epsilon = 10.0 ** draw.uniform(-0.5, 1.0), draw.uniform(0.0, 0.1)
    line = Line(rate, sigma, ADD, power, 0.0, 40.0)
    others = line.tilted(power)[1] + line.tilted_error
    found = Top(split, np.array([power]), np.array([others])).leak(epsilon)
    y = np.linspace(-12.0, max(split.end, 0.0) + 12.0, 200_001)
    log_w = np.log1p(rate * np.expm1(y / sigma - 0.5 / sigma**2))
    base = -0.5 * y * y - 0.5 * math.log(2.0 * math.pi) - power * log_w
    alone = np.exp(base + log_ndtr((y - split.end) / split.end_width)).sum() * (y[1] - y[0])
    other = np.exp(base).sum() * (y[1] - y[0])
    truth = split.count * alone * other ** (split.count - 1) * math.exp((power + 1.0) * epsilon)
    assert truth <= found <= 10.0 * truth
