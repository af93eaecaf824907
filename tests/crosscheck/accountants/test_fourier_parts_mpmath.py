"""The contour engine's parts against mpmath: each stated error bound must hold.

The reference integrates on its own grid at 40 digits; it shares no code with the engine.
"""

import itertools
import math

import mpmath as mp
import numpy as np
import pytest

from accountants.fourier.contour.decay import sinc_envelope
from accountants.fourier.contour.one_step import delta_bounds as single_delta
from accountants.fourier.contour.one_step import epsilon_bounds as single_epsilon
from accountants.fourier.contour.quadrature import ADD, REMOVE, Line
from accountants.fourier.contour.saddle import SaddleSearch, decay
from accountants.releases import PoissonGaussian

# (q, σ, θ, largest t): common, tiny q with a large tilt, large q, little noise.
CASES = [
    (0.01, 1.0, 6.0, 40.0),
    (0.5, 10.0, 0.1, 2.0),
    (1e-4, 1.0, 11.0, 60.0),
    (0.2, 0.5, 1.5, 8.0),
    (2e-5, 6.0, 300.0, 4e3),
]
DIRECTIONS = [REMOVE, ADD]


class Reference:
    """M(z) of one step by a fine trapezoid rule at high precision."""

    def __init__(self, rate, sigma, direction, theta):
        q, s = mp.mpf(rate), mp.mpf(sigma)
        self.sign = direction.sign
        top = (mp.mpf(theta) + 1) / s if self.sign > 0 else mp.mpf(1) / s
        low = -14 if self.sign > 0 else -14 - mp.mpf(theta) * q / s
        step = min(mp.mpf("0.08"), s / 12)
        count = int((top + 14 - low) / step) + 1
        self.nodes = [low + step * k for k in range(count)]
        self.log_w = [mp.log(1 - q + q * mp.exp(y / s - 1 / (2 * s**2))) for y in self.nodes]
        self.weight = [step * mp.npdf(y) for y in self.nodes]

    def moment(self, z):
        power = z + 1 if self.sign > 0 else -z
        return mp.fsum(
            w * mp.exp(power * lw) for w, lw in zip(self.weight, self.log_w, strict=True)
        )


@pytest.fixture(autouse=True)
def _precision():
    with mp.workdps(40):
        yield


@pytest.mark.parametrize("direction", DIRECTIONS, ids=["remove", "add"])
@pytest.mark.parametrize(("rate", "sigma", "theta", "t_max"), CASES)
def test_characteristic_function_is_within_its_error_bound(rate, sigma, theta, t_max, direction):
    t = np.array([0.0, 0.01, 0.3, 1.0]) * t_max
    line = Line(rate, sigma, direction, theta, t_max, 45.0, refine=True)
    log_phi, error = line.characteristic(theta, t)
    # The reference's own step resolves frequencies up to about 12/σ·…: compare where it does.
    reference = Reference(rate, sigma, direction, theta)
    base = reference.moment(mp.mpf(theta))
    for index in range(len(t) if t_max < 100 else 3):
        truth = reference.moment(mp.mpc(theta, float(t[index]))) / base
        ours = mp.exp(mp.mpc(complex(log_phi[index])))
        assert abs(ours - truth) <= error[index] + mp.mpf("1e-17"), (
            index,
            mp.nstr(abs(ours - truth)),
        )
        assert error[index] < 1e-10


@pytest.mark.parametrize("direction", DIRECTIONS, ids=["remove", "add"])
@pytest.mark.parametrize(("rate", "sigma", "theta", "t_max"), CASES)
def test_log_moment_is_within_its_error_bound(rate, sigma, theta, t_max, direction):
    line = Line(rate, sigma, direction, theta, t_max, 70.0)
    value, error = line.log_moment(theta)
    truth = mp.log(Reference(rate, sigma, direction, theta).moment(mp.mpf(theta)))
    assert abs(mp.mpf(value) - truth) <= error
    assert error <= 1e-11 * abs(value) + 1e-25


@pytest.mark.parametrize("direction", DIRECTIONS, ids=["remove", "add"])
@pytest.mark.parametrize(("rate", "sigma", "theta", "t_max"), CASES[:4])
def test_the_decay_bound_lies_above_the_characteristic_function(
    rate, sigma, theta, t_max, direction
):
    coarse = Line(rate, sigma, direction, theta, 0.0, 40.0)
    bound = decay(coarse, theta)
    t = np.geomspace(0.01, 1.0, 12) * t_max
    line = Line(rate, sigma, direction, theta, t_max, 45.0)
    log_phi, error = line.characteristic(theta, t)
    modulus = np.exp(log_phi.real)
    assert np.all(np.exp(bound.log(t)) >= modulus - error)
    assert np.all(np.diff(bound.log(t)) <= 0.0)
    # … and it is of use: it falls by a fair part of what the function itself does.
    fall = 1.0 - modulus
    assert np.all(1.0 - np.exp(bound.log(t)) >= 0.05 * fall)


def test_the_envelope_is_a_decreasing_majorant_of_sinc():
    x = np.linspace(1e-6, 60.0, 400_001)
    envelope = sinc_envelope(x)
    sinc = np.abs(np.sin(x) / x)
    assert np.all(np.diff(envelope) <= 1e-15)
    # Decreasing and above at every point, hence above at every later point.
    assert np.all(envelope >= sinc - 1e-15)


def exact_single(rate, sigma, epsilon):
    """δ(ε) of one step, both directions, by the definition: an integral over the output."""
    q, s, e = mp.mpf(rate), mp.mpf(sigma), mp.exp(mp.mpf(epsilon))

    def phi(x):
        return mp.erfc(-x / mp.sqrt(2)) / 2

    def tail(shift, start):
        return phi((shift - start) / s)

    # Remove: outputs x with w(x) > e^ε are those above x₁.
    ratio = (e - (1 - q)) / q
    x1 = s**2 * mp.log(ratio) + mp.mpf(1) / 2
    remove = (1 - q) * tail(0, x1) + q * tail(1, x1) - e * tail(0, x1)
    # Add: outputs x with 1/w(x) > e^ε are those below x₂, if any.
    inverse = (1 / e - (1 - q)) / q
    if inverse <= 0:
        return remove, mp.mpf(0)
    x2 = s**2 * mp.log(inverse) + mp.mpf(1) / 2
    add = phi(x2 / s) - e * ((1 - q) * phi(x2 / s) + q * phi((x2 - 1) / s))
    return remove, add


@pytest.mark.parametrize(
    ("rate", "sigma"), list(itertools.product([1e-5, 0.003, 0.2, 0.9], [0.4, 1.0, 7.0]))
)
def test_one_step_contains_the_definition(rate, sigma):
    event = PoissonGaussian(rate, sigma)
    for epsilon in (0.0, 1e-6, 0.01, 0.3, 1.0, 4.0, 20.0):
        with mp.workdps(500):  # The definition's difference cancels almost completely.
            truth = max(exact_single(rate, sigma, epsilon))
        bounds = single_delta(event, epsilon)
        assert bounds.lower <= truth <= bounds.upper
        if truth > mp.mpf("1e-290"):
            assert bounds.gap <= 1e-9 * truth
            delta = float(truth)
            if 0.0 < delta < 1.0 and epsilon > 0.0:
                found = single_epsilon(event, delta)
                slack = 1e-9 * (epsilon + float(rate))
                assert found.lower - slack <= epsilon <= found.upper + slack
                assert found.gap <= 1e-7 * (epsilon + rate)


def test_the_saddle_point_is_near_the_truth():
    """Laplace's method is a guess, but must be a good one in the common case."""
    search = SaddleSearch([PoissonGaussian(0.01, 1.0)], np.array([10_000.0]), 0.0, REMOVE)
    saddle = search.for_delta(1e-5)
    # tests/golden/fourier_poisson.json: 6.18771…
    assert saddle.epsilon == pytest.approx(6.18771, rel=0.01)
    assert saddle.log_delta == pytest.approx(math.log(1e-5), abs=0.1)
    assert search.for_epsilon(saddle.epsilon).theta == pytest.approx(saddle.theta, rel=0.05)
