"""Batches of fixed size along a contour: each local error against balls, the whole against a grid.

The integral over half of the noise is enclosed by Arb, from the pair's definition.
"""

import itertools
import math
import random

import numpy as np
import pytest
from flint import acb, arb, ctx

from accountants import releases
from accountants.fourier.contour import engine as contour
from accountants.fourier.contour.quadrature import ContourError
from accountants.fourier.contour.saddle import decay
from accountants.fourier.contour.symmetrised import (
    RULE_ROUNDING,
    SymmetrisedLine,
    gauss_legendre,
)
from accountants.fourier.grid import engine as grid
from accountants.fourier.pairs import pair_laws


@pytest.mark.parametrize("size", range(4, 33, 4))
def test_rules_are_within_their_stated_rounding(size):
    nodes, weights = gauss_legendre(size)
    with ctx.workprec(150):
        for index, (node, weight) in enumerate(zip(nodes.tolist(), weights.tolist(), strict=True)):
            root, exact = arb.legendre_p_root(size, size - 1 - index, weight=True)
            assert float(abs(arb(node) - root).upper()) <= 2.0**-53
            assert float(abs(arb(weight) / exact - 1).upper()) <= RULE_ROUNDING


def moment(rate, sigma, theta, t, bits=140):
    """A ball with M(θ + it): the atom, and both sides of 0, y ~ N(0, 1) from 1/(2σ) on."""
    with ctx.workprec(bits):
        q, s, z = arb(rate), arb(sigma), acb(arb(theta), arb(t))
        start = 1 / (2 * s)

        def integrand(y, analytic):
            w = (1 - q + q * (y / s - start / s).exp()).log(analytic=analytic)
            both = ((z + 1) * w - y * y / 2).exp() + (-z * w - y * y / 2).exp()
            return both / (2 * arb.pi()).sqrt()

        reach = 14.0 + math.sqrt(bits)
        end = arb((theta + 1.0) / sigma + reach)
        cuts = [start + (end - start) * k / 8 for k in range(9)]
        total = acb((1 - q) * (start / arb(2).sqrt()).erf())
        for left, right in itertools.pairwise(cuts):
            total += acb.integral(
                integrand, left, right, rel_tol=arb(2) ** (10 - bits), abs_tol=arb(2) ** -250
            )
        # As in `balls.step_integral`, and φ beyond the end.
        grown = (theta + 1.0) * math.log(2.0) + theta * (theta + 1.0) / (2.0 * sigma**2)
        tail = (arb(grown + 2.0) - arb(reach) ** 2 / 2).exp().upper()
        return total + acb(arb(0, tail), arb(0, tail))


def check_line(rate, sigma, theta, t, exponent):
    coarse = SymmetrisedLine(rate, sigma, 1.9 * theta, 0.0, max(exponent, 14.0))
    line = SymmetrisedLine(rate, sigma, theta, t, exponent, refine=True)
    log_phi, error = line.characteristic(theta, np.array([t]))
    value, value_error = SymmetrisedLine(rate, sigma, theta, 0.0, exponent).log_moment(theta)
    tilted, tilted_error = coarse.tilted(theta)[1], coarse.tilted_error
    bound = decay(coarse, theta).log(np.array([t]))[0]
    truth, phi = moment(rate, sigma, theta, 0.0).real, moment(rate, sigma, theta, t)
    with ctx.workprec(140):
        phi, log_truth = phi / truth, truth.log()
        assert float(log_truth.rad()) <= 1e-3 * value_error
        assert float(abs(log_truth - arb(value)).upper()) <= value_error
        assert float(abs(log_truth - arb(tilted)).upper()) <= tilted_error
        if exponent > 14.0:
            refined = arb(line.tilted(theta)[1])
            assert float(abs(log_truth - refined).upper()) <= line.tilted_error
        assert float(abs(phi).rad()) <= 1e-2 * error[0]
        ours = acb(float(log_phi[0].real), float(log_phi[0].imag)).exp()
        assert float(abs(ours - phi).upper()) <= error[0]
        assert float(abs(phi).lower()) <= math.exp(bound) <= 1.0
        atom, atom_error = line.atom
        exact = (1 - arb(rate)) * (arb(1) / (2 * arb(sigma)) / arb(2).sqrt()).erf()
        assert float(abs(arb(atom) / exact - 1).upper()) <= atom_error


# Few nodes, so that their error is that of the rules; tiny and large rates, little and much noise.
CORNERS = [
    (0.01, 0.5, 6.0, 20.0, 8.0),
    (0.3, 1.0, 3.0, 5.0, 12.0),
    (0.9999, 2.0, 3.0, 5.0, 40.0),
    (1e-6, 0.5, 5.0, 300.0, 40.0),
    (0.05, 4.0, 20.0, 90.0, 5.0),
    (0.6, 0.2, 1.0, 2.0, 40.0),
    (1e-4, 0.25, 1.5, 8.0, 60.0),
]


@pytest.mark.parametrize("corner", CORNERS)
def test_corners_of_one_line(corner):
    check_line(*corner)


@pytest.mark.parametrize("seed", range(10))
def test_random_lines(seed):
    draw = random.Random(seed)
    while True:
        rate = 10.0 ** draw.uniform(-6, -0.02)
        sigma = 10.0 ** draw.uniform(-0.7, 1.3)
        theta = 10.0 ** draw.uniform(-1.5, 1.3) * min(5.0, max(1.0, sigma))
        exponent = draw.choice([4.0, 8.0, 16.0, 32.0, 60.0])
        try:
            coarse = SymmetrisedLine(rate, sigma, 1.9 * theta, 0.0, exponent)
            t = 10.0 ** draw.uniform(-1, 1.2) / math.sqrt(max(coarse.cumulants(theta)[2], 1e-30))
            if t < 3000.0 and SymmetrisedLine(rate, sigma, theta, t, exponent, True).size > 0:
                break
        except ContourError:
            continue
    check_line(rate, sigma, theta, t, exponent)


def both_engines(sigma, rate, steps, delta):
    """Intervals for ε of the symmetrised pair."""
    release = releases.FixedSizeGaussian(rate, sigma)
    half = releases.PoissonGaussian(rate, 0.5 * sigma)
    composition = contour.Composition([half], np.array([float(steps)]), is_symmetrised=True)
    law = pair_laws(release)[0]
    on_grid = grid.epsilon_bounds([(law, steps)], delta, tolerance=1e-4)
    return contour.epsilon_bounds(composition, delta, 1e-6), on_grid


# From where nearly all is the atom to where there is none.
SETTINGS = [
    (4.0, 0.1, 10, 1e-5),
    (1.0, 0.01, 100, 1e-5),
    (1.0, 0.01, 1000, 1e-12),
    (2.0, 0.5, 30, 1e-3),
    (0.7, 1e-3, 3000, 1e-6),
]


@pytest.mark.parametrize("setting", SETTINGS)
def test_contour_and_grid_overlap(setting):
    along, on_grid = both_engines(*setting)
    assert along.gap <= 1e-6 * along.upper
    assert on_grid.gap <= 1e-3 * on_grid.upper
    assert max(along.lower, on_grid.lower) <= min(along.upper, on_grid.upper)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_random_contours_and_grids_overlap(seed):
    draw = random.Random(seed)
    while True:
        sigma, rate = 10.0 ** draw.uniform(-0.4, 1.3), 10.0 ** draw.uniform(-5, -0.05)
        steps, delta = round(10.0 ** draw.uniform(1, 6)), 10.0 ** draw.uniform(-14, -2)
        try:
            along, on_grid = both_engines(sigma, rate, steps, delta)
            break
        except ContourError:
            continue
    assert max(along.lower, on_grid.lower) <= min(along.upper, on_grid.upper)


def test_a_plain_gaussian_beside_it_leaves_no_atom():
    release = releases.FixedSizeGaussian(0.02, 2.0)
    half = releases.PoissonGaussian(0.02, 1.0)
    composition = contour.Composition([half], np.array([40.0]), 0.25, is_symmetrised=True)
    along = contour.delta_bounds(composition, 1.5, 1e-6)
    laws = [(pair_laws(release)[0], 40), (pair_laws(releases.Gaussian(0.5))[0], 1)]
    on_grid = grid.delta_bounds(laws, 1.5, tolerance=1e-4)
    assert along.gap <= 1e-6 * along.upper
    assert max(along.lower, on_grid.lower) <= min(along.upper, on_grid.upper)
    assert on_grid.gap <= 1e-3 * on_grid.upper
