"""Balls in bins against closed forms, mpmath and importance sampling."""

import itertools
import math

import dp_accounting as dpa
import mpmath
import numpy as np
import pytest
from scipy import stats

from accountants import BallsInBinsDpEvent, FourierAccountant, gaussian
from accountants.fourier import allocation
from accountants.fourier.allocation import linear, tilted
from accountants.fourier.allocation.fused import Fused
from accountants.fourier.allocation.spread import Spread
from accountants.fourier.grid import engine

WIDTH = 2e-3


def interval(steps, sigma, epochs, epsilon, direction):
    """δ(ε) of one direction, from below and from above."""
    above = allocation.laws_from_above(steps, sigma, epochs)[direction]
    below = allocation.laws_from_below(steps, sigma, epochs)[direction]
    return (
        engine.delta_bounds([(below, 1)], epsilon).lower,
        engine.delta_bounds([(above, 1)], epsilon).upper,
    )


def call(strike, sigma):
    """E[(X − k)₊] of the lognormal with mean 1, for any real k (Black and Scholes 1973)."""
    if strike <= 0:
        return 1 - strike
    d = (-mpmath.log(strike) + 1 / (2 * sigma**2)) * sigma
    return mpmath.ncdf(d) - strike * mpmath.ncdf(d - 1 / sigma)


def two_steps(sigma, epsilon, direction):
    """δ(ε) for T = 2: the second step in closed form, the first by quadrature."""
    with mpmath.workdps(30):
        sigma, level = mpmath.mpf(sigma), mpmath.exp(mpmath.mpf(epsilon))

        def given(y):
            x = mpmath.exp(y / sigma - 1 / (2 * sigma**2))
            if direction == 0:
                value = call(2 * level - x, sigma) / 2
            else:
                strike = 2 / level - x  # (1 − e^ε·S)₊ is a put; the rest is parity
                value = level * (call(strike, sigma) - 1 + strike) / 2
            return value * mpmath.npdf(y)

        kink = sigma * mpmath.log(2 * (level if direction == 0 else 1 / level)) + 1 / (2 * sigma)
        knots = sorted({-14, -6, -3, 0, 3, 6, 14, float(kink)} | {float(1 / sigma)})
        return float(mpmath.quad(given, [k for k in knots if -14 <= k <= 14]))


def three_steps(sigma, epsilon, direction):
    """δ(ε) for T = 3: the third step in closed form, two by the trapezoid rule of step 1/16.

    At σ = 1.5 halving the step moves the value by less than 1e-9 of it, at larger σ by less.
    """
    with mpmath.workdps(20):
        sigma, level, step = mpmath.mpf(sigma), mpmath.exp(mpmath.mpf(epsilon)), mpmath.mpf(1) / 16
        places = [step * i for i in range(-160, 161)]
        ratios = [mpmath.exp(y / sigma - 1 / (2 * sigma**2)) for y in places]
        weights = [step * mpmath.npdf(y) for y in places]
        total = mpmath.mpf(0)
        for i, (x, weight) in enumerate(zip(ratios, weights, strict=True)):
            for j in range(i, len(places)):
                both = weight * weights[j] * (1 if i == j else 2)
                if both < 1e-22:
                    continue
                strike = 3 * (level if direction == 0 else 1 / level) - x - ratios[j]
                value = call(strike, sigma)
                total += both * (value if direction == 0 else level * (value - 1 + strike))
        return float(total / 3)


@pytest.mark.slow
@pytest.mark.parametrize("sigma", [1.5, 3.0])
@pytest.mark.parametrize(("epsilon", "direction"), [(0.1, 0), (1.5, 0), (0.1, 1), (0.8, 1)])
def test_three_steps(sigma, epsilon, direction):
    truth = three_steps(sigma, epsilon, direction)
    lower, upper = interval(3, sigma, 1, epsilon, direction)
    assert lower <= truth * (1 + 1e-8)
    assert truth * (1 - 1e-8) <= upper
    assert upper - lower <= WIDTH * upper


@pytest.mark.parametrize("sigma", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("epochs", [1, 3, 20])
def test_one_step_an_epoch_is_a_gaussian(sigma, epochs):
    mu = math.sqrt(epochs) / sigma
    for epsilon in (0.0, 0.3 * mu, mu, 4.0 * mu):
        truth = gaussian.delta_bounds(mu, epsilon)
        for direction in (0, 1):
            lower, upper = interval(1, sigma, epochs, epsilon, direction)
            assert lower <= truth.upper
            assert truth.lower <= upper
            assert upper - lower <= WIDTH * upper


@pytest.mark.parametrize("sigma", [0.6, 1.0, 3.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.2, 1.5])
@pytest.mark.parametrize("direction", [0, 1])
def test_two_steps(sigma, epsilon, direction):
    truth = two_steps(sigma, epsilon, direction)
    lower, upper = interval(2, sigma, 1, epsilon, direction)
    assert lower <= truth * (1 + 1e-12) + 1e-18
    assert truth * (1 - 1e-12) - 1e-18 <= upper
    assert upper - lower <= WIDTH * upper


@pytest.mark.parametrize(("steps", "sigma", "epochs"), [(3, 0.7, 1), (100, 1.0, 1), (37, 0.8, 4)])
def test_importance_sampling(steps, sigma, epochs):
    """Draws under P, where S is size-biased: δ_remove = E_P[(1 − e^ε/S)₊]; failure below 1e-8."""
    rng = np.random.default_rng(20261118)
    draws = 40_000
    log_s = np.zeros(draws)
    for _ in range(epochs):
        y = rng.standard_normal((draws, steps))
        y[:, 0] += 1.0 / sigma
        log_s += np.log(np.mean(np.exp(y / sigma - 0.5 / sigma**2), axis=1))
    for epsilon in (0.0, 0.5, 1.0):
        gain = -np.expm1(-np.maximum(log_s - epsilon, 0.0))
        error = 6.0 * float(np.std(gain)) / math.sqrt(draws) + 1e-3 / math.sqrt(draws)
        lower, upper = interval(steps, sigma, epochs, epsilon, 0)
        assert lower <= float(np.mean(gain)) + error
        assert float(np.mean(gain)) - error <= upper


def tilted_gains(rng, draws, steps, sigma, epochs, epsilon, direction):
    """Draws whose mean is δ(ε), from laws under which what δ is made of is common.

    To remove, one step of each epoch is N(m, 1); to add, all lean down by m. The weight is the
    density of independent N(0, 1) over that of what was drawn.
    """
    log_ratio, log_weight = np.zeros(draws), np.zeros(draws)
    for _ in range(epochs):
        y = rng.standard_normal((draws, steps))
        if direction == 0:
            m = max(1.0 / sigma, sigma * (epsilon / epochs + math.log(steps)))
            y[:, 0] += m
            log_weight -= np.log(np.mean(np.exp(m * y - 0.5 * m * m), axis=1))
        else:
            m = 1.3 * epsilon * sigma / epochs / math.sqrt(steps)
            y -= m
            log_weight += m * np.sum(y, axis=1) + 0.5 * steps * m * m
        log_ratio += np.log(np.mean(np.exp(y / sigma - 0.5 / sigma**2), axis=1))
    gain = (
        np.exp(log_ratio) - math.exp(epsilon) if direction == 0 else -np.expm1(epsilon + log_ratio)
    )
    return np.exp(log_weight) * np.maximum(gain, 0.0)


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "direction"), [(7.0, 0), (13.0, 0), (2.5, 1)])
def test_ten_million_tilted_draws(epsilon, direction):
    """δ of 8e-6, 2e-12 and 8e-3 to a few parts in a thousand; by the CLT failure is below 1e-8."""
    rng, batch, batches = np.random.default_rng(20261119), 50_000, 200
    total = squares = 0.0
    for _ in range(batches):
        gains = tilted_gains(rng, batch, 10, 0.7, 3, epsilon, direction)
        total, squares = total + float(np.sum(gains)), squares + float(np.sum(gains**2))
    draws = batch * batches
    mean = total / draws
    error = math.sqrt((squares / draws - mean**2) / draws)
    assert error <= 2e-3 * mean
    lower, upper = interval(10, 0.7, 3, epsilon, direction)
    assert lower <= mean + 6.0 * error
    assert mean - 6.0 * error <= upper


def test_more_steps_cost_less():
    """A mean of T + 1 is below that of T in convex order."""
    bounds = [
        FourierAccountant()
        .compose(BallsInBinsDpEvent(steps, dpa.GaussianDpEvent(0.8)), 2)
        .get_epsilon_bounds(1e-6)
        for steps in (1, 2, 3, 7, 8, 50)
    ]
    for dear, cheap in itertools.pairwise(bounds):
        assert cheap.lower < dear.upper
        assert cheap.upper < dear.lower


def test_two_short_epochs_cost_more_than_a_long_one():
    """The record takes part twice in as many steps."""
    whole = FourierAccountant().compose(BallsInBinsDpEvent(20, dpa.GaussianDpEvent(1.0)), 1)
    halves = FourierAccountant().compose(BallsInBinsDpEvent(10, dpa.GaussianDpEvent(1.0)), 2)
    assert whole.get_epsilon_bounds(1e-5).upper < halves.get_epsilon_bounds(1e-5).lower


@pytest.mark.parametrize(
    ("steps", "sigma", "epochs"), [(300, 0.5, 1), (300, 0.5, 10), (150, 0.6, 2)]
)
def test_nothing_is_lost_where_means_have_wandered_from_their_nodes(steps, sigma, epochs):
    """After many sums, far out, where ε is: the interval was a third of ε wide there."""
    event = BallsInBinsDpEvent(steps, dpa.GaussianDpEvent(sigma))
    bounds = FourierAccountant().compose(event, epochs).get_epsilon_bounds(1e-8)
    assert bounds.gap <= 1e-4 * bounds.upper


@pytest.mark.parametrize(
    ("steps", "sigma", "epochs", "delta"),
    [(340, 1.0, 10, 1e-10), (1000, 1.0, 10, 1e-10), (3000, 0.7, 1, 1e-5), (50, 1.0, 100, 1e-5)],
)
def test_widths(steps, sigma, epochs, delta):
    """Settings whose intervals were wider: rare large factors, a rare jump, an epoch of 50."""
    event = BallsInBinsDpEvent(steps, dpa.GaussianDpEvent(sigma))
    bounds = FourierAccountant().compose(event, epochs).get_epsilon_bounds(delta)
    assert bounds.gap <= 1e-4 * bounds.upper


def test_the_prototypes_value():
    """An uncertified FFT on a linear grid gave 1.298 for σ = 1, 234 steps, 15 epochs, δ = 1e-5."""
    event = BallsInBinsDpEvent(234, dpa.GaussianDpEvent(1.0))
    lower, upper = FourierAccountant().compose(event, 15).get_epsilon_bounds(1e-5)
    assert lower < 1.2985
    assert upper > 1.2975
    assert upper - lower < 3e-4 * upper


@pytest.mark.parametrize(
    ("steps", "sigma", "epochs", "delta"),
    [
        (2, 1e5, 1000, 1e-9),
        (10, 1e8, 1, 1e-9),
        (10, 1.0, 10**6, 1e-5),
        (10, 30.0, 10**6, 1e-5),
        (5, 0.06, 50, 1e-5),
        (5, 0.01, 3, 1e-5),
        (5, 0.051, 3, 1e-200),
        (5, 2.0, 3, 0.999),
    ],
)
def test_extremes(steps, sigma, epochs, delta):
    """Whoever knows the record's steps sees one Gaussian an epoch: ε is at most theirs."""
    accountant = FourierAccountant().compose(
        BallsInBinsDpEvent(steps, dpa.GaussianDpEvent(sigma)), epochs
    )
    lower, upper = accountant.get_epsilon_bounds(delta)
    revealed = gaussian.epsilon_bounds(math.sqrt(epochs) / sigma, delta)
    assert lower <= revealed.upper
    assert upper <= revealed.upper * (1 + 1e-9)


def test_beside_other_releases():
    """A composition costs at least its dearest part, and at most all parts at shares of δ."""
    event = BallsInBinsDpEvent(50, dpa.GaussianDpEvent(1.0))
    alone = FourierAccountant().compose(event, 3)
    both = FourierAccountant().compose(event, 3).compose(dpa.LaplaceDpEvent(4.0))
    assert both.get_epsilon_bounds(1e-5).lower > alone.get_epsilon_bounds(1e-5).upper
    assert both.get_epsilon_bounds(1e-5).upper < alone.get_epsilon_bounds(1e-5).upper + 0.25


def test_sums_of_binomials():
    """Masses of a sum against scipy's binomial law, to 1e-20 of the whole."""
    found = tilted.sums(0, np.array([0.7, 0.3]), 1.0, 1000, moments=np.array([0.0, 0.3]))
    places = found.first + np.arange(found.lower.size)
    truth = stats.binom.pmf(places, 1000, 0.3)
    assert np.all(found.lower <= truth * (1 + 1e-9))
    assert np.all(truth * (1 - 1e-9) <= found.upper)
    seen = truth > 1e-20
    assert np.sum(truth[seen]) > 1 - 1e-12
    assert np.all((found.upper - found.lower)[seen] <= 1e-7 * truth[seen])
    # n·p^{*(n−1)} * m, m = p·1[X = 1], is E[sum; sum = k] = k·P(sum = k).
    assert np.all(found.moment_lower <= places * truth * (1 + 1e-9))
    assert np.all(places * truth * (1 - 1e-9) <= found.moment_upper)


@pytest.mark.slow
@pytest.mark.parametrize(("steps", "sigma"), [(400, 0.5), (100, 1.0), (1000, 1.0)])
def test_two_ways_to_a_mean_overlap(steps, sigma):
    """Doubling on a geometric lattice and one sum on a linear grid share no step."""
    one = allocation._first_step(sigma, allocation.NODES)
    ways = (
        (
            allocation._mean_of(steps, Spread.lognormal(sigma, one), allocation.NODES).laws(),
            allocation._mean_of(steps, Fused.lognormal(sigma, one), allocation.NODES).laws(),
        ),
        (
            linear.mean_from_above(steps, sigma).laws(),
            linear.mean_from_below(steps, sigma).laws(),
        ),
    )
    for direction, epsilon in ((0, 0.1), (0, 1.0), (0, 4.0), (1, 0.05), (1, 0.3)):
        found = [
            (
                engine.delta_bounds([(below[direction], 1)], epsilon).lower,
                engine.delta_bounds([(above[direction], 1)], epsilon).upper,
            )
            for above, below in ways
        ]
        assert found[0][0] <= found[1][1]
        assert found[1][0] <= found[0][1]
        assert all(upper - lower <= 0.02 * upper for lower, upper in found if upper > 1e-15)
