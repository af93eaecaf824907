"""Sampled sums, enumerated: every way in which a tiny data set is drawn, against the accountant.

The proofs in `accountants.resolution` bound all data sets; here all that have records at −1, 0 and
1 are made, and the hockey-stick divergence of the two mixtures of Gaussians is integrated.
"""

import itertools
import math

import dp_accounting as dpa
import numpy as np
import pytest
from dp_accounting import NeighboringRelation
from dp_accounting.dp_event import TruncatedSubsampledGaussianDpEvent

from accountants import FourierAccountant

ADD = NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = NeighboringRelation.REPLACE_ONE
SPECIAL = NeighboringRelation.REPLACE_SPECIAL
PLACES = (-1.0, 0.0, 1.0)
EPSILONS = (0.0, 0.3, 1.0, 2.5)
# The midpoint rule on a smooth integrand but for its kinks: far below what is compared.
STEP = 4e-3
QUADRATURE = 1e-6


def truncated(records, rate, most):
    """{sum: probability} of a Poisson sample that is cut to a uniform subset of `most` records."""
    law = {}
    for coins in itertools.product((0, 1), repeat=len(records)):
        chance = math.prod(rate if coin else 1.0 - rate for coin in coins)
        drawn = [x for x, coin in zip(records, coins, strict=True) if coin]
        subsets = list(itertools.combinations(drawn, min(most, len(drawn))))
        for subset in subsets:
            total = sum(subset)
            law[total] = law.get(total, 0.0) + chance / len(subsets)
    return law


def with_replacement(records, draws):
    """{sum: probability} of `draws` records, each anew."""
    law = {}
    for batch in itertools.product(records, repeat=draws):
        total = sum(batch)
        law[total] = law.get(total, 0.0) + len(records) ** -draws
    return law


def density(law, sigma, y):
    weights = np.array(list(law.values()))[:, None]
    z = (y - np.array(list(law))[:, None]) / sigma
    return (weights * np.exp(-0.5 * z * z)).sum(0) / (sigma * math.sqrt(2.0 * math.pi))


def deltas(first, second, sigma):
    """δ(ε) of both ordered pairs, at each of `EPSILONS`, the larger."""
    reach = max(map(abs, [*first, *second])) + 9.0 * sigma
    y = np.arange(-reach, reach, STEP)
    p, q = density(first, sigma, y), density(second, sigma, y)
    return [
        STEP * max(np.maximum(a - math.exp(e) * b, 0.0).sum() for a, b in ((p, q), (q, p)))
        for e in EPSILONS
    ]


def neighbours(relation, size):
    """All pairs of data sets of records in `PLACES`, up to their order."""
    for others in itertools.combinations_with_replacement(PLACES, size - 1):
        if relation is ADD:
            yield from (((*others, x), others) for x in PLACES)
        elif relation is SPECIAL:
            yield from (((*others, x), (*others, 0.0)) for x in (-1.0, 1.0))
        else:
            yield ((*others, -1.0), (*others, 1.0))
            yield ((*others, 0.0), (*others, 1.0))


def check(accountant, costs):
    """No data set costs more than the upper end, and the dearest no less than the lower one."""
    dearest = np.max(costs, axis=0)
    for epsilon, delta in zip(EPSILONS, dearest, strict=True):
        lower, upper = accountant.get_delta_bounds(epsilon)
        assert delta <= upper * (1.0 + QUADRATURE) + QUADRATURE
        assert lower <= delta * (1.0 + QUADRATURE) + QUADRATURE


@pytest.mark.parametrize("relation", NeighboringRelation)
@pytest.mark.parametrize(
    ("size", "rate", "most", "sigma"), [(3, 0.4, 1, 0.8), (3, 0.7, 2, 1.0), (4, 0.5, 2, 0.6)]
)
def test_truncated_poisson(relation, size, rate, most, sigma):
    costs = [
        deltas(truncated(one, rate, most), truncated(two, rate, most), sigma)
        for one, two in neighbours(relation, size)
    ]
    event = TruncatedSubsampledGaussianDpEvent(size, rate, most, sigma)
    check(FourierAccountant(relation).compose(event), costs)


@pytest.mark.parametrize(("size", "draws", "sigma"), [(2, 2, 1.0), (3, 2, 0.7), (3, 3, 1.5)])
def test_with_replacement(size, draws, sigma):
    costs = [
        deltas(with_replacement(one, draws), with_replacement(two, draws), sigma)
        for one, two in neighbours(REPLACE, size)
    ]
    event = dpa.SampledWithReplacementDpEvent(size, draws, dpa.GaussianDpEvent(sigma))
    check(FourierAccountant(REPLACE).compose(event), costs)


def test_the_enumeration_sees_a_wrong_claim():
    """Plain Poisson sampling costs less than a truncated sample's dearest data."""
    costs = [
        deltas(truncated(one, 0.7, 1), truncated(two, 0.7, 1), 0.5)
        for one, two in neighbours(ADD, 3)
    ]
    plain = FourierAccountant().compose(
        dpa.PoissonSampledDpEvent(0.7 * 0.5, dpa.GaussianDpEvent(0.5))
    )
    with pytest.raises(AssertionError):
        check(plain, costs)
