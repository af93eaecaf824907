"""The grid engine against closed forms, true values, and its own invariants."""

import itertools
import math
import types

import mpmath as mp
import numpy as np
import pytest
from dp_accounting import GaussianDpEvent, LaplaceDpEvent, PoissonSampledDpEvent
from scipy import special

from accountants import BallsInBinsDpEvent, FourierAccountant, elementary, gaussian, releases
from accountants.bounds import Bounds
from accountants.events import DiscreteGaussianDpEvent
from accountants.fourier.grid import convolve, discretise
from accountants.fourier.grid import engine as grid
from accountants.fourier.grid.laws.computed import ComputedLaw
from accountants.fourier.grid.pieces import gather
from accountants.fourier.pairs import explicit_pair, pair_laws

# (σ, q, T, δ) → ε of the remove direction, in tests/golden/fourier_poisson.json to more digits.
TRUE_VALUES = [
    ((1.0, 0.01, 1000, 1e-5), 1.82823666652),
    ((5.0, 0.02, 2500, 1e-4), 0.612117281132),
    ((2.0, 0.1, 500, 1e-5), 5.5554682144),
    ((1.0, 0.01, 1000, 1e-15), 4.8545377506),
    ((1.0, 0.01, 1000, 1e-50), 15.2097614965),
    ((0.5, 0.005, 2000, 1e-6), 11.810115458),
]
RELEASES = [
    releases.Gaussian(0.7),
    releases.PoissonGaussian(0.01, 1.0),
    releases.PoissonGaussian(1e-5, 0.6),
    releases.PoissonGaussian(0.9, 2.0),
    releases.PoissonGaussianReplace(0.05, 0.8),
    releases.FixedSizeGaussian(0.02, 1.5),
    releases.Laplace(1.7),
    releases.DiscreteLaplace(0.4, 3),
    releases.RandomizedResponse(0.4, 5, False),
    releases.RandomizedResponse(0.4, 5, True),
    releases.MixtureOfGaussians(1.0, (0.0, 1.0, 2.0), (0.8, 0.15, 0.05)),
]
PAIRS = [*RELEASES, *map(explicit_pair, RELEASES)]
LAWS = list(dict.fromkeys(law for release in PAIRS for law in pair_laws(release)))


def contains(bounds: Bounds, value: float, slack: float = 0.0) -> bool:
    return bounds.lower <= value * (1.0 + slack) and value * (1.0 - slack) <= bounds.upper


def both_directions(
    release: releases.Elementary, count: int, delta: float, **options: float
) -> Bounds:
    uppers, lowers = (
        [grid.epsilon_bounds([(law, count)], delta, **options) for law in pair_laws(pair)]
        for pair in (release, explicit_pair(release))
    )
    return Bounds(max(b.lower for b in lowers), max(b.upper for b in uppers))


@pytest.mark.parametrize(("setting", "truth"), TRUE_VALUES)
def test_true_values_of_poisson_sampling(setting, truth):
    sigma, rate, steps, delta = setting
    bounds = both_directions(releases.PoissonGaussian(rate, sigma), steps, delta)
    assert contains(bounds, truth, slack=1e-10)
    assert bounds.gap <= 1.1e-6 * truth


@pytest.mark.parametrize(
    ("setting", "lower", "upper"),
    [((1.0, 0.01, 1000, 1e-5), 13.3608, 14.8207), ((5.0, 0.02, 2500, 1e-4), 1.3966, 1.6015)],
)
def test_fixed_size_sampling_has_its_theory_gap(setting, lower, upper):
    """Both ends are in tests/golden/fourier_pairs.json to more digits."""
    sigma, rate, steps, delta = setting
    bounds = both_directions(releases.FixedSizeGaussian(rate, sigma), steps, delta, tolerance=1e-5)
    assert bounds.lower == pytest.approx(lower, abs=1e-3)
    assert bounds.upper == pytest.approx(upper, abs=1e-3)


@pytest.mark.parametrize("steps", [2, 10, 1000])
@pytest.mark.parametrize("delta", [1e-3, 1e-12])
@pytest.mark.parametrize("mu", [0.05, 1.0])
def test_composed_gaussians(mu, steps, delta):
    law = pair_laws(releases.Gaussian(mu))[0]
    truth = gaussian.epsilon_bounds(mu * math.sqrt(steps), delta)
    bounds = grid.epsilon_bounds([(law, steps)], delta)
    assert bounds.lower <= truth.upper
    assert truth.lower <= bounds.upper
    assert bounds.gap <= 1.1e-6 * bounds.upper

    true_delta = gaussian.delta_bounds(mu * math.sqrt(steps), 1.0)
    delta_bounds = grid.delta_bounds([(law, steps)], 1.0, tolerance=1e-5)
    assert delta_bounds.lower <= true_delta.upper
    assert true_delta.lower <= delta_bounds.upper
    assert delta_bounds.gap <= 1.1e-5 * delta_bounds.upper


def test_different_gaussians_compose_to_one():
    counts = {0.3: 5, 0.7: 3, 0.05: 100}
    mu = math.sqrt(sum(count * m * m for m, count in counts.items()))
    laws = [(pair_laws(releases.Gaussian(m))[0], count) for m, count in counts.items()]
    bounds = grid.epsilon_bounds(laws, 1e-6)
    assert contains(bounds, gaussian.epsilon(mu, 1e-6), slack=1e-12)
    assert bounds.gap <= 1.1e-6 * bounds.upper


def test_equal_laws_are_merged():
    law = pair_laws(releases.PoissonGaussian(0.1, 1.0))[0]
    assert grid.epsilon_bounds([(law, 3), (law, 4)], 1e-5) == grid.epsilon_bounds([(law, 7)], 1e-5)


@pytest.mark.parametrize("rate", [1e-5, 1e-3, 0.3, 1.0])
@pytest.mark.parametrize("sigma", [0.4, 1.0, 20.0])
@pytest.mark.parametrize("epsilon", [0.0, 1e-4, 0.5])
def test_one_step_of_poisson_sampling(rate, sigma, epsilon):
    remove, add = pair_laws(releases.PoissonGaussian(rate, sigma))
    inner = math.log1p(math.expm1(epsilon) / rate)
    truth = rate * gaussian.delta(1.0 / sigma, inner)
    bounds = grid.delta_bounds([(remove, 1)], epsilon)
    assert contains(bounds, truth, slack=1e-10)
    assert bounds.gap <= 1e-11 * bounds.upper + 1e-300

    # Add: P = N(0), e^ε·Q = e^ε(1−q)·N(0) + e^ε·q·N(1).
    scale = -math.expm1(epsilon + math.log1p(-rate)) if rate < 1.0 else 1.0
    bounds = grid.delta_bounds([(add, 1)], epsilon)
    inner = epsilon + math.log(rate) - math.log(scale) if scale > 0.0 else math.inf
    if inner == math.inf:
        truth = 0.0
        assert bounds == Bounds(0.0, bounds.upper)
        assert bounds.upper < 1e-300
    elif inner >= 0.0:
        truth = scale * gaussian.delta(1.0 / sigma, inner)
    else:  # H_α(P‖Q) = 1 − α + α·H_{1/α}(Q‖P)
        alpha = math.exp(inner)
        truth = scale * (1.0 - alpha + alpha * gaussian.delta(1.0 / sigma, -inner))
    assert contains(bounds, truth, slack=1e-9)


def test_one_step_of_laplace():
    law = pair_laws(releases.Laplace(2.0))[0]
    for epsilon in (0.0, 0.1, 0.4999):
        truth = -math.expm1(0.5 * (epsilon - 0.5))
        assert contains(grid.delta_bounds([(law, 1)], epsilon), truth, 1e-12)
    # The largest loss is 1/b, which is a double for this b, but is not known to be one.
    assert grid.delta_bounds([(law, 1)], 0.5).upper < 2e-15
    assert grid.delta_bounds([(law, 1)], 0.5 * (1 + 4e-15)).upper < 1e-300
    truth = 0.5 + 2.0 * math.log1p(-1e-3)
    assert contains(grid.epsilon_bounds([(law, 1)], 1e-3), truth, 1e-12)


def atomic_delta(losses, masses, steps, epsilon):
    """δ of a law with few atoms, by enumeration of the multinomial."""
    total = 0.0
    for counts in itertools.product(range(steps + 1), repeat=len(losses)):
        if sum(counts) != steps:
            continue
        loss = math.fsum(c * x for c, x in zip(counts, losses, strict=True))
        if loss <= epsilon:
            continue
        ways = math.factorial(steps) / math.prod(math.factorial(c) for c in counts)
        mass = math.prod(p**c for c, p in zip(counts, masses, strict=True))
        total += ways * mass * -math.expm1(epsilon - loss)
    return total


@pytest.mark.parametrize("release", RELEASES[7:10], ids=str)
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 3.0])
def test_atoms_compose_exactly(release, epsilon):
    for law in pair_laws(release):
        points = law.points(np.arange(-10.0, 10.0, 0.1))  # No two atoms in a cell.
        truth = atomic_delta(points.loss, points.mass, 12, epsilon)
        bounds = grid.delta_bounds([(law, 12)], epsilon)
        assert contains(bounds, truth, slack=1e-13)
        assert bounds.gap <= 1e-8 * bounds.upper


def test_randomised_response_many_times_is_a_binomial():
    noise, steps = 0.6, 400
    law = pair_laws(releases.RandomizedResponse(noise, 2, False))[0]
    step = law.losses[-1]
    wins = np.arange(steps + 1)
    losses = (2 * wins - steps) * step
    log_masses = (
        special.gammaln(steps + 1)
        - special.gammaln(wins + 1)
        - special.gammaln(steps - wins + 1)
        + wins * math.log(law.masses[-1])
        + (steps - wins) * math.log(law.masses[0])
    )
    for epsilon in (10.0, 60.0, 150.0):
        truth = float(np.sum(np.exp(log_masses) * -np.expm1(np.minimum(epsilon - losses, 0.0))))
        bounds = grid.delta_bounds([(law, steps)], epsilon)
        assert contains(bounds, truth, slack=1e-10)
        assert bounds.gap <= 1e-7 * bounds.upper


def test_epsilon_is_zero_where_delta_exceeds_the_total_variation():
    law = pair_laws(releases.PoissonGaussian(1e-4, 2.0))[0]
    at_zero = grid.delta_bounds([(law, 5)], 0.0)
    assert 0.0 < at_zero.lower <= at_zero.upper < 1e-3
    assert grid.epsilon_bounds([(law, 5)], 1.001 * at_zero.upper) == Bounds(0.0, 0.0)
    assert grid.epsilon_bounds([(law, 5)], 0.999 * at_zero.lower).lower > 0.0


@pytest.mark.parametrize("steps", [10**5, 10**7])
def test_many_steps_are_bounded_without_ado(steps):
    for law in pair_laws(releases.PoissonGaussian(1e-3, 1.0)):
        bounds = grid.epsilon_bounds([(law, steps)], 1e-6)
        assert 0.0 < bounds.lower <= bounds.upper <= 1.01 * bounds.lower


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_laws_are_probability_laws_whose_other_side_is_one(law):
    low, high = law.loss_range(1e-40, 1e-40)
    points = law.points(np.linspace(low - 1e-9, high + 1e-9, 50))
    assert np.all(points.mass >= 0.0)
    assert math.fsum(points.mass) == pytest.approx(1.0, abs=1e-12)
    assert math.fsum(points.mass * np.exp(-points.loss)) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_tails_and_points_agree(law):
    least, most = law.loss_range(1e-9, 1e-9)
    wide = law.loss_range(1e-300, 1e-300)
    for low, high in ((0.5 * least, 0.5 * most), (0.3 * most, 0.3 * least)):
        below, above, log_other = law.tails(low, high)
        upper = law.points(np.array([high, wide[1] + 1e-9]))
        lower = law.points(np.array([wide[0] - 1e-9, low]))
        is_above = upper.loss > high  # An atom there is a point, but not in the tail.
        assert below == pytest.approx(math.fsum(lower.mass[lower.loss < low]), rel=1e-11)
        assert above == pytest.approx(math.fsum(upper.mass[is_above]), rel=1e-11)
        other = math.fsum((upper.mass * np.exp(-upper.loss))[is_above])
        assert math.exp(log_other) == pytest.approx(other, rel=1e-11)


def hockey_stick(part: discretise.Discretised, epsilon: float) -> float:
    losses = part.grid.nodes - part.nudge
    gain = -np.expm1(np.minimum(epsilon - losses, 0.0))
    return float(np.dot(part.masses, gain)) + part.infinite


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("count", [7, 100, 3000])
@pytest.mark.parametrize("stride", [1, 3])
def test_discretised_laws_are_above_and_below(law, count, stride):
    """The whole curve, not only ε ≥ 0: the order must hold inside any composition."""
    low, high = law.loss_range(1e-12, 1e-12)
    step = (high - low) / count
    first, last = math.floor(low / step) - 1, math.ceil(high / step) + 1
    indices = np.arange(first, last + stride, stride)
    nodes = discretise.Grid(0.0, step, indices)
    above, below = discretise.both(law, nodes)
    assert math.fsum(above.masses) + above.infinite == pytest.approx(1.0, abs=1e-10)
    assert math.fsum(below.masses) <= 1.0
    assert np.all(below.masses >= 0.0)
    assert np.all(above.masses >= 0.0)
    wide = law.loss_range(1e-300, 1e-300)
    for epsilon in np.linspace(low + 0.01 * (high - low), high - 0.01 * (high - low), 23):
        points = law.points(np.array([epsilon, wide[1] + 1e-9]))
        truth = math.fsum(points.mass * -np.expm1(np.minimum(epsilon - points.loss, 0.0)))
        assert hockey_stick(above, epsilon) >= truth * (1.0 - 1e-13)
        assert hockey_stick(below, epsilon) <= truth * (1.0 + 1e-13)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_one_sided_discretisations_are_those_of_both(law):
    low, high = law.loss_range(1e-10, 1e-10)
    nodes = discretise.Grid(0.0, (high - low) / 50, np.arange(-80, 81))
    above, below = discretise.both(law, nodes)
    alone = discretise.upper(law, nodes)
    np.testing.assert_allclose(alone.masses, above.masses, rtol=1e-10, atol=1e-14)
    np.testing.assert_array_equal(discretise.lower(law, nodes).masses, below.masses)


@pytest.mark.parametrize("direction", [1, -1])
def test_gathered_pieces_keep_mass_and_mean(direction):
    rng = np.random.default_rng(5)
    nodes = np.linspace(0.0, 2.0, 21)
    cells = np.repeat(np.arange(20), 4)
    mass = rng.exponential(size=80) ** 3
    loss = nodes[cells] + rng.uniform(0.0, 0.1, size=80)
    gain = -mass * np.expm1(nodes[cells] - loss)
    left_mass, left_gain, masses = mass.copy(), gain.copy(), np.zeros(21)
    gather(nodes, cells, left_mass, left_gain, slice(0, 80), direction, masses)
    gathered = math.fsum(masses)
    assert gathered > 0.8 * math.fsum(mass)
    assert gathered + math.fsum(left_mass) == pytest.approx(math.fsum(mass), rel=1e-13)
    other = math.fsum(masses * np.exp(-nodes))
    other += math.fsum((left_mass - left_gain) * np.exp(-nodes[cells]))
    assert other == pytest.approx(math.fsum(mass * np.exp(-loss)), rel=1e-13)


def test_zero_concentrated_has_no_pair():
    with pytest.raises(elementary.NotSupportedError, match="no pair of distributions"):
        pair_laws(releases.ZeroConcentrated(0.1, 0.0))


def test_directions_and_tightness():
    with_record, without = pair_laws(releases.Gaussian(1.0))
    assert with_record == without
    with_record, without = pair_laws(releases.PoissonGaussian(0.1, 1.0))
    assert with_record != without
    fixed = releases.FixedSizeGaussian(0.1, 1.0)
    assert [release for release in (*RELEASES, fixed) if explicit_pair(release) != release] == [
        release for release in (*RELEASES, fixed) if isinstance(release, releases.FixedSizeGaussian)
    ]
    assert pair_laws(explicit_pair(fixed)) != pair_laws(fixed)


def test_bad_arguments_are_refused():
    law = pair_laws(releases.Gaussian(1.0))[0]
    with pytest.raises(ValueError, match="at least one law"):
        grid.epsilon_bounds([], 1e-5)
    with pytest.raises(ValueError, match="`count`"):
        grid.epsilon_bounds([(law, 0)], 1e-5)
    with pytest.raises(ValueError, match="`delta`"):
        grid.epsilon_bounds([(law, 1)], 1.0)
    with pytest.raises(ValueError, match="`epsilon`"):
        grid.delta_bounds([(law, 1)], -1.0)
    with pytest.raises(ValueError, match="`tolerance`"):
        grid.delta_bounds([(law, 1)], 1.0, tolerance=0.0)


@pytest.mark.parametrize("infinite", [0.0, 1e-3, 1.0])
def test_a_law_without_any_mass_that_a_double_holds(infinite):
    """Nothing is known of it, so δ may be anything. No warning, no NaN."""
    nodes = discretise.Grid(0.0, 4.0 / 64, np.arange(64))
    empty = discretise.Discretised(nodes, np.zeros(64), infinite, 0.0)
    full = discretise.Discretised(nodes, np.full(64, 1.0 / 64), 0.0, 0.0)
    window = convolve.Window(2.0, 0.5, 1.0, 4.0, -1.0, 4.0, 2.0)
    for parts in ([(empty, 3)], [(full, 2), (empty, 3)]):
        for epsilon in (0.5, 0.7, 1.4):
            assert convolve.compose(parts, window, 64, 1).delta(epsilon) == (1.0, 0.0)
            assert convolve.compose(parts, window, 64, -1).delta(epsilon) == (0.0, 0.0)


def test_laws_with_more_than_all_mass_do_not_cross():
    """What is at ∞ is all mass less what is finite, also where all mass is not 1."""
    heavy = ComputedLaw(np.array([-0.1, 0.0, 0.1]), np.array([0.3, 0.4, 0.301]), 0.0)
    revealing = ComputedLaw(np.array([-9.0, 9.0]), np.array([1e-4, 0.9999]), 0.0)
    laws = [(heavy, 1), (revealing, 2)]
    for epsilon in (1.0, 8.0, 17.0, 17.95):
        finite = [
            mass * (1.0 - math.exp(epsilon - loss))
            for loss, mass in (
                (a + b + c, p * q * r)
                for a, p in zip(heavy.losses, heavy.masses, strict=True)
                for b, q in zip(revealing.losses, revealing.masses, strict=True)
                for c, r in zip(revealing.losses, revealing.masses, strict=True)
            )
            if loss > epsilon
        ]
        bounds = grid.delta_bounds(laws, epsilon)
        truth = min(math.fsum(finite), 1.0)
        assert bounds.lower <= truth * (1.0 + 1e-12)
        assert bounds.upper >= truth * (1.0 - 1e-12)


def test_coarse_laws_beside_a_response_that_reveals_nearly_all():
    """The upper end was below the lower one: balls in bins from above, and a mass at ∞."""
    accountant = FourierAccountant()
    accountant.compose(BallsInBinsDpEvent(120, GaussianDpEvent(40.0)), 771)
    accountant.compose(DiscreteGaussianDpEvent(0.18679068418560138), 2)
    alone = FourierAccountant().compose(DiscreteGaussianDpEvent(0.18679068418560138), 2)
    for epsilon in (0.0, 10.0, 30.0):
        bounds = accountant.get_delta_bounds(epsilon)
        assert bounds.upper >= alone.get_delta_bounds(epsilon).lower
        assert bounds.lower <= bounds.upper


def test_a_rare_sample_with_hardly_any_noise_gives_no_warning():
    """Likelihood ratios up to e^1500 times 1e-60: an overflow that was a share of 0."""
    sampled = PoissonSampledDpEvent(3.5e-60, GaussianDpEvent(0.018))
    accountant = FourierAccountant().compose(sampled, 17).compose(LaplaceDpEvent(24.5), 5)
    alone = FourierAccountant().compose(LaplaceDpEvent(24.5), 5)
    bounds = accountant.get_epsilon_bounds(2.9e-8)
    assert bounds.upper >= alone.get_epsilon_bounds(2.9e-8).lower


@pytest.mark.parametrize("finite", [1e-300, 1e-10, 0.5, 1.0 - 1e-9, 1.0 - 1e-16, 1.0])
@pytest.mark.parametrize("infinite", [0.0, 1e-300, 1e-16, 0.1, 1.0])
@pytest.mark.parametrize("count", [1, 7, 10**6])
def test_the_mass_at_infinity_of_a_composition(finite, infinite, count):
    """All of it less the finite, n times; also where the finite alone underflows."""
    if not abs(finite + infinite - 1.0) < 1e-6:
        infinite = 1.0 - finite
    part = types.SimpleNamespace(masses=np.array([finite / 2, finite / 2]), infinite=infinite)
    with mp.workdps(700):
        whole, less = mp.mpf(finite) + mp.mpf(infinite), mp.mpf(finite)
        truth = whole**count - less**count
    found = convolve._infinite([(part, count)])
    assert truth <= found * (1 + mp.mpf(10) ** -12)
    assert found <= float(truth) * (1 + 1e-8) + 1e-300
