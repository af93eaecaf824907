"""Skellam noise: its divergences and half-lines against sums of its mass in mpmath."""

import itertools
import math

import mpmath
import numpy as np
import pytest

from mechanisms.distributed_sum import _half_line
from mechanisms.primitives.skellam import concentration, divergence, sample_skellam


def mass(variance, reach):
    """e^{−μ}·I_|n|(μ) for n = −reach, …, reach."""
    half = [mpmath.exp(-variance) * mpmath.besseli(n, variance) for n in range(reach + 1)]
    return [*half[:0:-1], *half]


def exact_divergence(order, variance, shift):
    reach = int(12 * math.sqrt(variance) + 40 + order * shift)
    law = mass(variance, reach + shift)
    terms = (p**order * q ** (1 - order) for p, q in zip(law[shift:], law[:-shift], strict=True))
    return float(mpmath.log(mpmath.fsum(terms)) / (order - 1))


CASES = list(itertools.product((0.5, 3.0, 40.0), (1, 2, 5), (2, 3, 8)))


@pytest.mark.parametrize(("variance", "shift", "order"), CASES)
def test_the_bound_of_divergences(variance, shift, order):
    """Agarwal, Kairouz, Liu 2021, Theorem 3.5, term by term."""
    with mpmath.workdps(40):
        exact = exact_divergence(order, variance, shift)
    assert exact <= divergence(order, variance, shift, shift)


@pytest.mark.parametrize("order", [1.05, 1.5, 2.5, 3.9, 7.3])
@pytest.mark.parametrize(("variance", "shift"), [(0.5, 1), (3.0, 2), (40.0, 5)])
def test_the_bound_between_whole_orders(order, variance, shift):
    rho, xi = concentration(variance, shift, shift)
    with mpmath.workdps(40):
        assert exact_divergence(order, variance, shift) <= xi + rho * order


def test_divergences_add_up_over_coordinates():
    """The bound of a vector is no smaller than the sum of its coordinates' exact divergences."""
    with mpmath.workdps(40):
        exact = sum(exact_divergence(3, 10.0, shift) for shift in (1, 2, 3))
    assert exact <= divergence(3, 10.0, math.sqrt(14), 6)


@pytest.mark.parametrize(("variance", "moved"), [(4.0, 1), (50.0, 7), (2000.0, 40)])
@pytest.mark.parametrize("delta", [1e-3, 1e-6])
def test_the_half_line_from_below(variance, moved, delta):
    """δ(ε) at the ε that is said to be a lower bound is δ at least, by the mass itself."""
    epsilon = _half_line(variance, moved, delta)
    with mpmath.workdps(40):
        law = mass(variance, int(14 * math.sqrt(variance) + 60))
        first, second = law[moved:], law[:-moved]
        excess = mpmath.fsum(
            max(p - mpmath.exp(epsilon) * q, 0) for p, q in zip(second, first, strict=True)
        )
    assert epsilon > 0.0
    assert delta * (1 - 1e-6) <= float(excess) <= delta * 1.1


def test_the_sampler_has_the_law():
    """Frequencies of 20,000 draws: each within 6 deviations (below 1e-7 for all thirteen)."""
    rng = np.random.default_rng(0)
    draws = [sample_skellam(3, lambda below: int(rng.integers(below))) for _ in range(20_000)]
    law = [float(p) for p in mass(3, 6)]
    for value, p in zip(range(-6, 7), law, strict=True):
        deviation = math.sqrt(20_000 * p * (1 - p))
        assert abs(draws.count(value) - 20_000 * p) < 6 * deviation


def test_fractions_of_a_variance_count():
    from fractions import Fraction

    rng = np.random.default_rng(1)
    variance = Fraction(7, 3)
    draws = np.array(
        [sample_skellam(variance, lambda below: int(rng.integers(below))) for _ in range(20_000)]
    )
    # The variance of the sample variance is (κ₄ + 2μ²)/n with κ₄ = μ.
    mu = float(variance)
    assert abs(draws.var() - mu) < 6 * math.sqrt((mu + 2 * mu * mu) / 20_000)
    for bad in (0, -1, 0.5, True):
        with pytest.raises(ValueError, match="`variance` must be"):
            sample_skellam(bad)
