"""Few steps: the split contour, and its products of matrices, against ball arithmetic.

The truth for one and two steps is a closed form, or one integral over it, enclosed by Arb; nothing
of it is shared with the accountants.
"""

import itertools
import math
import random

import numpy as np
import pytest
from flint import acb, arb, ctx

from accountants.fourier.contour import few_steps
from accountants.fourier.contour.oscillation import oscillations
from accountants.fourier.contour.quadrature import ContourError
from accountants.releases import PoissonGaussian

UNIT = 2.0**-53


@pytest.mark.parametrize("seed", range(4))
def test_sums_of_oscillations_are_within_their_stated_error(seed):
    draw = np.random.default_rng(seed)
    losses = draw.lognormal(-6.0, 2.0, 700) * draw.choice([-1.0, 1.0], 700)
    weights = draw.dirichlet(np.full(700, 0.3))
    t = draw.uniform(1.0, 30.0) * np.arange(3001)
    found, roundings = oscillations(weights, losses, t)
    few, few_roundings = oscillations(weights, losses, t[:3])
    assert few_roundings < roundings < 1000.0
    size = float(weights @ np.abs(losses))
    with ctx.workprec(120):
        for k in [1, 2, 3, 64, *draw.integers(0, t.size, 12).tolist(), t.size - 1]:
            phases = [arb(float(t[1])) * k * arb(float(x)) for x in losses]
            moved = [acb(0, phase).exp() - 1 for phase in phases]
            terms = [arb(p) * x for p, x in zip(weights.tolist(), moved, strict=True)]
            error = abs(sum(terms, acb(0)) - acb(complex(found[k])))
            assert float(error.upper()) <= roundings * UNIT * t[1] * k * size
    assert np.allclose(few, found[:3], rtol=0.0, atol=few_roundings * UNIT * t[3] * size)


def one_step(q, s, x):
    """P(L > x) − e^x·Q(L > x) of one step to remove, for x above log(1 − q)."""
    place = s * s * ((x.exp() - (1 - q)) / q).log() + acb(0.5)
    root = s * acb(2).sqrt()
    zero, one = (place / root).erfc() / 2, ((place - 1) / root).erfc() / 2
    return (1 - q) * zero + q * one - x.exp() * zero


def truth(rate, sigma, steps, epsilon):
    """A ball with δ(ε) of one or two steps to remove."""
    with ctx.workprec(200):
        q, s, e = arb(rate), arb(sigma), arb(epsilon)
        if steps == 1:
            return one_step(q, s, acb(e)).real
        # From y₂ on the second step need not lose anything: x = ε − log w is below log(1 − q).
        far = float(s * ((e.exp() / (1 - q) - (1 - q)) / q).log() + 1 / (2 * s))

        def density(y):
            w = 1 - q + q * (y / s - 1 / (2 * s * s)).exp()
            return w, (-y * y / 2).exp() / (2 * arb.pi()).sqrt()

        def below(y, analytic):
            w, phi = density(y)
            return w * phi * one_step(q, s, acb(e) - w.log(analytic=analytic))

        def above(y, _):
            w, phi = density(y)
            return phi * (w - acb(e).exp())

        near = far - 1e-12
        ends = [-16.0, 0.0, 2.0, 4.0, 6.0, 8.0]
        cuts = sorted({x for x in ends if x < near - 0.1} | {near})
        total = acb(0)
        for left, right in itertools.pairwise(cuts):
            total += acb.integral(below, left, right, rel_tol=arb(2) ** -60, abs_tol=arb(2) ** -150)
        high = max(far, 1.0 / sigma) + 18.0
        for left, right in ((far, far + 2.0), (far + 2.0, high)):
            total += acb.integral(above, left, right, rel_tol=arb(2) ** -60, abs_tol=arb(2) ** -150)
        # Between `near` and `far` the integrand is at most twice what it is at `far`.
        gap = float(density(acb(far))[1].real * density(acb(far))[0].real) * 2e-12
        return total.real + arb(0, gap + 1e-50)


# (q, σ, n, ε): from where one step decides to where several do, small and large noise.
CASES = [
    (1e-4, 0.5, 1, 0.04),
    (1e-3, 1.0, 1, 0.02),
    (1e-4, 1.0, 2, 0.01),
    (1e-3, 2.0, 2, 0.01),
    (4e-3, 0.5, 2, 4.0),
    (0.03, 0.5, 2, 6.0),
    (1e-4, 4.0, 2, 2e-4),
    (0.01, 1.0, 2, 0.5),
]


@pytest.mark.parametrize("case", CASES)
def test_one_and_two_steps_are_enclosed(case):
    rate, sigma, steps, epsilon = case
    exact = truth(rate, sigma, steps, epsilon)
    bounds = few_steps.delta_bounds(PoissonGaussian(rate, sigma), steps, epsilon, 1e-5)
    assert bounds.lower <= float(exact.upper())
    assert float(exact.lower()) <= bounds.upper
    assert bounds.gap <= 1e-5 * bounds.upper
    assert float(exact.rad()) <= 1e-6 * bounds.upper


@pytest.mark.parametrize("seed", range(12))
def test_random_single_steps_are_enclosed(seed):
    draw = random.Random(seed)
    while True:
        rate, sigma = 10.0 ** draw.uniform(-6, -0.7), 10.0 ** draw.uniform(-0.6, 1.0)
        epsilon, tolerance = rate * 10.0 ** draw.uniform(0.0, 3.0), draw.choice([1e-3, 1e-8])
        try:
            bounds = few_steps.delta_bounds(PoissonGaussian(rate, sigma), 1, epsilon, tolerance)
            break
        except ContourError:
            continue
    exact = truth(rate, sigma, 1, epsilon)
    assert bounds.lower <= float(exact.upper())
    assert float(exact.lower()) <= bounds.upper


def test_what_has_no_band_is_refused():
    with pytest.raises(ContourError):
        few_steps.epsilon_bounds(PoissonGaussian(0.01, 1.0), 10, 0.5, 1e-6)
    assert not few_steps.suits(PoissonGaussian(0.01, 0.01), 10)
    assert not few_steps.suits(PoissonGaussian(0.01, 1.0), math.inf)
