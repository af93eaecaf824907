"""Sums of discrete Gaussians against their laws, convolved term by term in mpmath."""

import itertools

import mpmath
import numpy as np
import pytest

from mechanisms.primitives.discrete_sums import log_ratio, sum_distance


def law(variance, reach):
    """N_Z(0, variance) on −reach, …, reach."""
    weights = [mpmath.exp(-(mpmath.mpf(x) ** 2) / (2 * variance)) for x in range(-reach, reach + 1)]
    total = mpmath.fsum(weights)
    return [weight / total for weight in weights]


def convolved(first, second):
    out = [mpmath.mpf(0)] * (len(first) + len(second) - 1)
    for (i, p), (j, q) in itertools.product(enumerate(first), enumerate(second)):
        out[i + j] += p * q
    return out


def summed(variances, reach):
    """The law of the sum on −reach, …, reach, where what was cut off is below 1e-40."""
    found = law(variances[0], reach)
    for variance in variances[1:]:
        whole = convolved(found, law(variance, reach))
        middle = len(whole) // 2
        found = whole[middle - reach : middle + reach + 1]
    return found


@pytest.mark.parametrize(
    "stds", [(0.5, 0.5), (0.7, 0.7, 0.7), (1.0, 1.5), (1.2, 0.6, 0.9), (1.5, 1.5)], ids=str
)
def test_the_ratio_of_a_sum_to_one_discrete_gaussian(stds):
    """From below it is sharp: half of it is attained by two equal summands."""
    with mpmath.workdps(60):
        variances = [mpmath.mpf(std) ** 2 for std in stds]
        total = mpmath.fsum(variances)
        reach = int(14 * float(mpmath.sqrt(total))) + 4
        near = int(5 * float(mpmath.sqrt(total)))  # here the cut at `reach` is far below the ratio
        one, many = law(total, reach), summed(variances, reach)
        ratios = [abs(mpmath.log(many[x] / one[x])) for x in range(reach - near, reach + near + 1)]
        worst = float(max(ratios))
        assert worst <= log_ratio(stds) <= 5.0 * worst
        apart = float(mpmath.fsum(abs(p - q) for p, q in zip(one, many, strict=True)) / 2)
        assert apart <= 0.5 * log_ratio(stds)


@pytest.mark.parametrize(("std", "count"), [(1.0, 2), (1.0, 4), (1.5, 3), (3.0, 2)])
def test_the_distance_of_a_sum_from_a_rounded_gaussian(std, count):
    with mpmath.workdps(40):
        total = count * mpmath.mpf(std) ** 2
        deviation = mpmath.sqrt(total)
        reach = int(12 * float(deviation)) + 2
        many = summed([mpmath.mpf(std) ** 2] * count, reach)
        edges = [mpmath.ncdf((x - mpmath.mpf(1) / 2) / deviation) for x in range(-reach, reach + 2)]
        rounded = [b - a for a, b in itertools.pairwise(edges)]
        apart = float(mpmath.fsum(abs(p - q) for p, q in zip(many, rounded, strict=True)) / 2)
        assert 0.0 < apart <= sum_distance(std, count, 1)


def test_kairouz_liu_steinke_is_no_smaller():
    """Their Theorem 1: 10·Σ_k e^{−2π²σ²k/(k+1)} for n shares, here for the ratio alone."""
    for std, n in itertools.product((0.5, 1.0, 2.0, 4.0), (2, 5, 50)):
        k = np.arange(1, n)
        theirs = 10.0 * float(np.sum(np.exp(-2.0 * np.pi**2 * std**2 * k / (k + 1))))
        assert log_ratio([std] * n) <= theirs * (1.0 + 1e-9) + 1e-300


def test_too_small_deviations_prove_nothing():
    assert log_ratio([0.1, 0.1]) == np.inf
    assert log_ratio([1e-200, 1.0]) == np.inf
    assert log_ratio([0.1]) == 0.0
    assert sum_distance(1.0, 10**6, 10**9) == 1.0
    for bad in ([], [0.0], [1.0, -1.0], [float("nan")]):
        with pytest.raises(ValueError, match="`stds_in_steps` must"):
            log_ratio(bad)
    with pytest.raises(ValueError, match="must be at least 1"):
        sum_distance(0.5, 2, 1)
