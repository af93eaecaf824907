"""Compositions at the ends of what floats and grids can hold: finite, tight, with the truth."""

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from dp_accounting import (
    ComposedDpEvent,
    GaussianDpEvent,
    LaplaceDpEvent,
    NeighboringRelation,
    PoissonSampledDpEvent,
    RandomizedResponseDpEvent,
    SampledWithoutReplacementDpEvent,
    SelfComposedDpEvent,
)
from dp_accounting.dp_event import DiscreteLaplaceDpEvent, MixtureOfGaussiansDpEvent

from accountants import FourierAccountant, releases
from accountants.bounds import Bounds
from accountants.fourier import fallback
from accountants.fourier.grid import engine as grid
from accountants.fourier.grid.laws import gaussian as laws
from accountants.fourier.pairs import bracket, pair_laws

ADD_OR_REMOVE = NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = NeighboringRelation.REPLACE_ONE
SLOW = pytest.mark.slow


def poisson(rate, sigma):
    return PoissonSampledDpEvent(rate, GaussianDpEvent(sigma))


def epsilon(event, delta, relation=ADD_OR_REMOVE, count=1) -> Bounds:
    accountant = FourierAccountant(relation)
    assert accountant.supports(event)
    return accountant.compose(event, count).get_epsilon_bounds(delta)


def two_laplace_delta(short):
    """δ(ε) of two Laplace laws, `short` below the sum of their largest losses.

    Each loss is its largest one less z, z = 0 with mass 1/2 and else of density e^{−z/2}/4.
    """

    def gain(z):
        return -mp.expm1(z - short)

    one = mp.quad(lambda z: mp.exp(-z / 2) / 4 * gain(z), [0, short])
    both = mp.quad(lambda z: z * mp.exp(-z / 2) / 16 * gain(z), [0, short])
    return gain(0) / 4 + one + both


@pytest.mark.parametrize("delta", [1e-2, 1e-5, 1e-8])
@pytest.mark.parametrize("scales", [(1.0, 3.0), (1.0, math.pi), (0.3, 5.0)])
def test_atoms_of_two_lattices(scales, delta):
    event = ComposedDpEvent([LaplaceDpEvent(scale) for scale in scales])
    bounds = epsilon(event, delta)
    short = mp.findroot(lambda x: two_laplace_delta(x) - delta, 4 * delta)
    assert short < 2 / max(scales)  # No loss reaches its lowest atom.
    truth = 1 / mp.mpf(scales[0]) + 1 / mp.mpf(scales[1]) - short
    assert bounds.lower <= truth <= bounds.upper
    assert bounds.gap <= 1e-6 * bounds.upper


@pytest.mark.parametrize(
    ("event", "relation", "pure"),
    [
        (
            ComposedDpEvent([LaplaceDpEvent(1.0), RandomizedResponseDpEvent(0.3, 4)]),
            REPLACE,
            2.0 + math.log1p(4 * 0.7 / 0.3),
        ),
        (
            ComposedDpEvent([LaplaceDpEvent(1.0), DiscreteLaplaceDpEvent(0.7, 3)]),
            ADD_OR_REMOVE,
            3.1,
        ),
        (DiscreteLaplaceDpEvent(1e-6, 2**21), ADD_OR_REMOVE, 1e-6 * 2**21),
        (LaplaceDpEvent(1e-8), ADD_OR_REMOVE, 1e8),
    ],
)
@pytest.mark.parametrize("delta", [1e-5, 1e-18])
def test_pure_releases_cost_little_less_than_the_sum_of_their_epsilons(
    event, relation, pure, delta
):
    """Both laws are at their highest loss with a probability of 1/4 or more."""
    for count in (1, 2):
        bounds = epsilon(event, delta, relation, count)
        at_top = 0.25**count
        assert bounds.upper <= count * pure * (1.0 + 1e-9)
        assert bounds.upper >= count * pure + math.log1p(-delta / at_top) - 1e-9 * pure
        assert bounds.gap <= 2e-6 * bounds.upper


@pytest.mark.parametrize(
    ("event", "relation", "count", "delta", "gap"),
    [
        (ComposedDpEvent([poisson(0.005, 0.2), LaplaceDpEvent(1.0)]), ADD_OR_REMOVE, 1, 1e-7, 1e-5),
        pytest.param(poisson(1e-8, 1.0), ADD_OR_REMOVE, 2, 1e-10, 1e-4, marks=SLOW),
        pytest.param(poisson(7e-5, 0.1), ADD_OR_REMOVE, 5_000_000, 1e-10, 1e-4, marks=SLOW),
        (poisson(0.01, 1.0), ADD_OR_REMOVE, 5, 1e-300, 1e-6),
        pytest.param(poisson(1e-9, 1.0), REPLACE, 10, 1e-10, 1e-4, marks=SLOW),
        (poisson(1e-12, 0.5), REPLACE, 1000, 1e-12, 1e-2),
        (poisson(0.1, 1e-2), ADD_OR_REMOVE, 2, 1e-5, 1e-4),
        (DiscreteLaplaceDpEvent(0.7, 3), ADD_OR_REMOVE, 300, 1e-25, 1e-6),
        (LaplaceDpEvent(0.5), ADD_OR_REMOVE, 300, 1e-25, 1e-6),
    ],
)
def test_what_was_infinite_or_wide_is_tight(event, relation, count, delta, gap):
    bounds = epsilon(event, delta, relation, count)
    assert 0.0 < bounds.lower <= bounds.upper < math.inf
    assert bounds.gap <= gap * bounds.upper


def test_a_delta_above_the_total_variation():
    """δ(0) ≤ 1 − (1 − 0.6)² = 0.84."""
    assert epsilon(poisson(0.6, 0.1), 0.9, count=2) == Bounds(0.0, 0.0)


@pytest.mark.parametrize("batch", [60, 90, 99])
@pytest.mark.parametrize("sigma", [0.5, 3.0])
def test_batches_of_almost_all_records(batch, sigma):
    """Between the pair that data realise and the same noise without sampling."""
    event = SampledWithoutReplacementDpEvent(100, batch, GaussianDpEvent(sigma))
    bounds = epsilon(event, 1e-8, REPLACE, 2)
    explicit = epsilon(poisson(batch / 100, sigma / 2), 1e-8, count=2)
    unsampled = epsilon(GaussianDpEvent(sigma), 1e-8, REPLACE, 2)
    assert explicit.lower * (1.0 - 1e-9) <= bounds.lower <= bounds.upper <= unsampled.upper


@pytest.mark.slow
@pytest.mark.parametrize("sigma", [1e-5, 1e-9])
def test_next_to_no_noise(sigma):
    """Finite, and no less than at a hundred times the noise."""
    bounds = epsilon(poisson(0.1, sigma), 1e-5, count=2)
    assert epsilon(poisson(0.1, 0.1), 1e-5, count=2).upper <= bounds.lower
    assert bounds.upper < math.inf


@pytest.mark.slow
def test_mixtures_of_very_many_components_are_bracketed():
    release = releases.MixtureOfGaussians(
        1.0, tuple(k / 3000 for k in range(3000)), (1 / 3000,) * 3000
    )
    above, below = bracket(release)
    assert len(set(above.sensitivities)) <= 128
    for high, exact, low in zip(
        above.sensitivities, release.sensitivities, below.sensitivities, strict=True
    ):
        assert low <= exact <= high <= low + 0.01
    event = MixtureOfGaussiansDpEvent(1.0, list(release.sensitivities), [1 / 3000] * 3000)
    bounds = epsilon(event, 1e-5, count=2)
    assert 0.0 < bounds.lower <= bounds.upper <= 1.03 * bounds.lower


RELEASES = [
    releases.Gaussian(0.7),
    releases.PoissonGaussian(0.01, 1.0),
    releases.PoissonGaussianReplace(0.05, 0.8),
    releases.FixedSizeGaussian(0.02, 1.5),
    releases.Laplace(1.7),
    releases.DiscreteLaplace(0.4, 3),
    releases.DiscreteLaplace(2.0, 400),
    releases.RandomizedResponse(0.4, 5, special=False),
    releases.RandomizedResponse(0.4, 5, special=True),
    releases.MixtureOfGaussians(1.0, (0.0, 1.0, 2.0), (0.8, 0.15, 0.05)),
]


@pytest.mark.parametrize("release", RELEASES, ids=str)
@pytest.mark.parametrize("count", [1, 7])
def test_what_is_proved_without_an_engine_is_above_what_engines_prove(release, count):
    parts = [(release, count)]
    for law in pair_laws(release):
        for delta in (0.3, 1e-9):
            upper = fallback.epsilon_bounds(parts, delta).upper
            assert grid.epsilon_bounds([(law, count)], delta, tolerance=1e-3).lower <= upper
            assert upper < math.inf
        for eps in (0.0, 2.0):
            upper = fallback.delta_bounds(parts, eps).upper
            assert grid.delta_bounds([(law, count)], eps, tolerance=1e-3).lower <= upper <= 1.0


@pytest.mark.parametrize("scale", [0.7, 1.7, 3.3, 7.7, 30.3, 101.0])
@pytest.mark.parametrize("delta", [8.9e-168, 1e-100, 1e-300])
def test_the_upper_end_of_one_laplace_is_not_a_rounding_below_its_largest_loss(scale, delta):
    """ε(δ) = 1/b + 2·log(1 − δ)-like terms of 1e-100 at most: 1/b in exact arithmetic, nearly."""
    bounds = (
        FourierAccountant(tolerance=1e-11).compose(LaplaceDpEvent(scale)).get_epsilon_bounds(delta)
    )
    truth = 1 / Fraction(scale)
    assert Fraction(bounds.upper) >= truth * (1 - Fraction(1, 10**40))
    assert Fraction(bounds.lower) <= truth
    assert bounds.gap < 1e-14 / scale


@pytest.mark.parametrize("rate", [0.6, 0.999, 0.999999999, 1.0 - 2.0**-52])
@pytest.mark.parametrize("sigma", [0.0075, 0.3, 4.0])
@pytest.mark.parametrize("above", [2e-8, 1e-3, 1.0, 25.0])
def test_the_place_of_a_loss_near_the_least(rate, sigma, above):
    """The least ratio is 1 − q: just above it, y is an inverse that cancels if taken from 1."""
    kind = laws.Kind.REMOVE
    law = laws.GaussianMixtureLaw(kind=kind, weights=(1.0 - rate, rate), shifts=(0.0, 1.0 / sigma))
    loss = math.log(1.0 - rate) + above
    with mp.workdps(60):
        rest, q, shift = mp.mpf(1.0 - rate), mp.mpf(rate), mp.mpf(1.0 / sigma)
        # An ulp of the loss moves the place by its share of what is above the least.
        ulps = 4 * abs(loss) * mp.mpf(2) ** -52 / mp.expm1(above) * mp.exp(above)
        truth = mp.log((mp.exp(loss) - rest) / q) / shift + shift / 2
    (found,) = law._place(np.array([loss]))
    assert abs(found - truth) <= (ulps + 1e-14 * (1 + abs(truth) * shift)) / shift


def test_nearly_every_record_in_each_batch_and_hardly_any_noise():
    """All the mass at one loss, but for rounding; δ is a step from 1 to 0."""
    event = SelfComposedDpEvent(PoissonSampledDpEvent(0.999999999, GaussianDpEvent(0.0075)), 3)
    bounds = FourierAccountant(tolerance=1e-12).compose(event).get_delta_bounds(0.006)
    assert 1.0 - 1e-9 < bounds.lower <= bounds.upper == 1.0
