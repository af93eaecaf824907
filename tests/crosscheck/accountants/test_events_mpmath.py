"""The events beyond Gaussians against closed forms, finite sums and mpmath's quadrature."""

import itertools
import math

import dp_accounting as dpa
import mpmath as mp
import numpy as np
import pytest
from dp_accounting import NeighboringRelation

from accountants import (
    DiscreteGaussianDpEvent,
    EpsilonDeltaDpEvent,
    ExponentialMechanismDpEvent,
    FourierAccountant,
    PermuteAndFlipDpEvent,
    RenyiAccountant,
    cyclic_poisson_event,
)

REPLACE = NeighboringRelation.REPLACE_ONE
SPECIAL = NeighboringRelation.REPLACE_SPECIAL
ROOM = mp.mpf("1e-25")


@pytest.fixture(autouse=True)
def precise():
    with mp.workdps(40):
        yield


def holds(bounds, truth):
    return bounds.lower <= truth * (1 + ROOM) and truth * (1 - ROOM) <= bounds.upper


def of_atoms(atoms, epsilon):
    """δ(ε) from {loss: P-mass}."""
    kept = [mass * (1 - mp.exp(epsilon - loss)) for loss, mass in atoms.items() if loss > epsilon]
    return mp.fsum(kept)


def composed(atoms, times):
    """The law of a sum of independent losses."""
    total = {mp.mpf(0): mp.mpf(1)}
    for _ in range(times):
        sums: dict[mp.mpf, mp.mpf] = {}
        for (a, p), (b, q) in itertools.product(total.items(), atoms.items()):
            key = mp.nint((a + b) * mp.mpf(10) ** 30) / mp.mpf(10) ** 30
            sums[key] = sums.get(key, mp.mpf(0)) + p * q
        total = sums
    return total


def mixed(rate, loss):
    return mp.log(1 - rate + rate * mp.exp(loss))


# ---- Poisson-sampled Laplace ---------------------------------------------------------------------


def laplace_delta(scale, epsilon):
    top = 1 / mp.mpf(scale)
    if epsilon >= top:
        return mp.mpf(0)
    return 1 - mp.exp((epsilon - top) / 2) if epsilon > -top else 1 - mp.exp(epsilon)


def sampled_laplace_delta(scale, rate, direction, epsilon):
    """In closed form: H_α of the remove pair is q·H_{α'} with α' − 1 = (α − 1)/q."""
    if direction == "add":
        swapped = sampled_laplace_delta(scale, rate, "remove", -epsilon)
        return 1 - mp.exp(epsilon) + mp.exp(epsilon) * swapped
    inner = 1 + mp.expm1(epsilon) / rate
    return rate * laplace_delta(scale, mp.log(inner)) if inner > 0 else 1 - mp.exp(epsilon)


def twice(scale, rate, direction, epsilon):
    """δ of two steps: the first step's two atoms and its density over y in (0, 1)."""
    s, q = mp.mpf(scale), mp.mpf(rate)
    sign = 1 if direction == "remove" else -1

    def part(density_0, density_1, y_loss):
        """E over one piece, with densities of Lap(0) and Lap(1) and its plain loss."""
        loss = sign * mixed(q, y_loss)
        mass = (1 - q) * density_0 + q * density_1 if sign > 0 else density_0
        return mass * sampled_laplace_delta(scale, q, direction, epsilon - loss)

    half, faded = mp.mpf(1) / 2, mp.exp(-1 / s) / 2
    total = part(faded, half, 1 / s) + part(half, faded, -1 / s)

    def inside(y):
        return part(mp.exp(-y / s) / (2 * s), mp.exp((y - 1) / s) / (2 * s), (2 * y - 1) / s)

    # Where the second step's loss leaves its range.
    knots = {mp.mpf(0), mp.mpf(1)}
    for end in (1 / s, -1 / s):
        at = mp.exp(sign * (epsilon - sign * mixed(q, end)))
        inner = 1 + (at - 1) / q
        if inner > 0:
            y = (s * mp.log(inner) + 1) / 2
            if 0 < y < 1:
                knots.add(y)
    return total + mp.quad(inside, sorted(knots))


@pytest.mark.parametrize(("scale", "rate"), [(1.0, 0.1), (0.3, 0.01), (4.0, 0.75)])
@pytest.mark.parametrize("steps", [1, 2])
def test_sampled_laplace(scale, rate, steps):
    event = dpa.PoissonSampledDpEvent(rate, dpa.LaplaceDpEvent(scale))
    top = float(mixed(mp.mpf(rate), 1 / mp.mpf(scale)))
    for share in (0.0, 0.1, 0.6, 0.99) if steps == 1 else (0.1, 0.6):
        epsilon = share * steps * top
        truth = max(
            sampled_laplace_delta(scale, mp.mpf(rate), way, mp.mpf(epsilon))
            if steps == 1
            else twice(scale, rate, way, mp.mpf(epsilon))
            for way in ("remove", "add")
        )
        bounds = FourierAccountant().compose(event, steps).get_delta_bounds(epsilon)
        assert bounds.lower <= truth * (1 + mp.mpf("1e-18"))
        assert truth * (1 - mp.mpf("1e-18")) <= bounds.upper
        assert bounds.gap <= 3e-6 * bounds.upper


@pytest.mark.parametrize(("scale", "rate"), [(1.0, 0.1), (0.2, 1e-4), (4.0, 0.75)])
@pytest.mark.parametrize("order", [1.01, 2.0, 7.5, 60.0])
def test_renyi_of_sampled_laplace(scale, rate, order):
    s, q, a = mp.mpf(scale), mp.mpf(rate), mp.mpf(order)

    def moment(sign):
        def part(p, q_mass, loss):
            weight = (1 - q) * q_mass + q * p if sign > 0 else q_mass
            return weight * mp.exp((a - 1) * sign * mixed(q, loss))

        half, faded = mp.mpf(1) / 2, mp.exp(-1 / s) / 2
        ends = part(half, faded, 1 / s) + part(faded, half, -1 / s)
        return ends + mp.quad(
            lambda y: part(
                mp.exp((y - 1) / s) / (2 * s), mp.exp(-y / s) / (2 * s), (2 * y - 1) / s
            ),
            [0, 0.25, 0.5, 0.75, 1],
        )

    truth = max(mp.log(moment(1)), mp.log(moment(-1))) / (a - 1)
    event = dpa.PoissonSampledDpEvent(rate, dpa.LaplaceDpEvent(scale))
    found = RenyiAccountant().compose(event).divergence(order)
    assert truth <= found <= truth * (1 + mp.mpf("2e-4"))


# ---- guarantees ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "delta", "steps"), [(0.5, 1e-6, 30), (2.0, 0.01, 3)])
def test_epsilon_delta_composes_as_kairouz_oh_viswanath(epsilon, delta, steps):
    """Their Theorem 3.3: at ε′ = (k − 2i)ε, δ′ = 1 − (1 − δ)^k·(1 − δ_i)."""
    e, k = mp.mpf(epsilon), steps
    composition = FourierAccountant().compose(EpsilonDeltaDpEvent(epsilon, delta), steps)
    for i in (0, k // 3):
        at = (k - 2 * i) * e
        inner = (
            mp.fsum(
                mp.binomial(k, j) * (mp.exp((k - j) * e) - mp.exp((k - 2 * i + j) * e))
                for j in range(i)
            )
            / (1 + mp.exp(e)) ** k
        )
        truth = 1 - (1 - mp.mpf(delta)) ** k * (1 - inner)
        bounds = composition.get_delta_bounds(float(at))
        assert holds(bounds, truth)
        assert bounds.gap <= 1e-6 * bounds.upper
        if i > 0 and truth < 1:
            back = composition.get_epsilon_bounds(float(truth))
            assert back.lower <= at * (1 + mp.mpf("1e-9"))
            assert at * (1 - mp.mpf("1e-9")) <= back.upper


def test_what_is_revealed_bounds_delta_from_below():
    composition = FourierAccountant().compose(EpsilonDeltaDpEvent(0.1, 1e-3), 4)
    revealed = 1 - (1 - mp.mpf(1e-3)) ** 4
    below = math.nextafter(float(revealed * (1 - mp.mpf("1e-12"))), 0.0)
    assert composition.get_epsilon_bounds(below).lower == math.inf
    assert composition.get_epsilon_bounds(1e-3).upper == math.inf
    above = composition.get_epsilon_bounds(float(revealed * (1 + mp.mpf("1e-9"))))
    assert above.lower <= 0.4 <= above.upper * (1 + 1e-6)


@pytest.mark.parametrize("rate", [0.03, 0.6])
@pytest.mark.parametrize("epsilon", [0.2, 3.0])
def test_a_sampled_response(rate, epsilon):
    """Two losses: 20 steps are a binomial sum."""
    q, e = mp.mpf(rate), mp.mpf(epsilon)
    yes = 1 / (1 + mp.exp(-e))
    with_record = {
        mixed(q, e): (1 - q) * (1 - yes) + q * yes,
        mixed(q, -e): (1 - q) * yes + q * (1 - yes),
    }
    without = {-mixed(q, -e): yes, -mixed(q, e): 1 - yes}
    event = dpa.PoissonSampledDpEvent(rate, EpsilonDeltaDpEvent(epsilon))
    composition = FourierAccountant().compose(event, 20)
    for level in (0.0, 0.1, 0.5):
        at = level * 20 * float(mixed(q, e))
        truth = max(of_atoms(composed(law, 20), mp.mpf(at)) for law in (with_record, without))
        bounds = composition.get_delta_bounds(at)
        assert bounds.lower <= truth * (1 + mp.mpf("1e-18"))
        assert truth * (1 - mp.mpf("1e-18")) <= bounds.upper
        assert bounds.gap <= 1e-6 * bounds.upper


def two_candidates(top, t):
    """The losses of an exponential mechanism with two candidates."""
    yes = (mp.exp(top) - mp.exp(t)) / mp.expm1(top)
    return {t: yes, t - top: 1 - yes}


def _two_adaptive_steps(top, epsilon):
    """The most of δ(ε) over t in the first step and, by what came out, over t in the second."""
    t = top * np.arange(1, 128) / 128
    yes = (np.exp(top) - np.exp(t)) / np.expm1(top)

    def best(at):
        gains = [-np.expm1(np.minimum(np.subtract.outer(at, t - away), 0)) for away in (0, top)]
        return np.max(yes * gains[0] + (1 - yes) * gains[1], axis=-1)

    return float(np.max(yes * best(epsilon - t) + (1 - yes) * best(epsilon - t + top)))


@pytest.mark.parametrize("top", [0.3, 2.0])
def test_bounded_range_is_above_all_adaptive_choices(top):
    """Two steps, where the second's t depends on what came out of the first."""
    e = mp.mpf(top)
    choices = [e * k / 16 for k in range(1, 16)]

    def best(at):
        return max(of_atoms(two_candidates(e, t), at) for t in choices)

    one = FourierAccountant().compose(ExponentialMechanismDpEvent(top))
    two = FourierAccountant().compose(ExponentialMechanismDpEvent(top), 2)
    for share in (0.2, 0.7):
        once = one.get_delta_bounds(share * top)
        brute = best(mp.mpf(share * top))
        assert brute <= once.upper
        assert once.upper <= brute * (1 + mp.mpf("0.05"))
        at = 2 * share * top
        brute = _two_adaptive_steps(top, at)
        twice_bounds = two.get_delta_bounds(at)
        assert brute <= twice_bounds.upper
        # Not attained: the dominating pair has another t for each α.
        assert twice_bounds.upper <= brute * 1.15
        # The grid of t's is 1/128 apart; the lower end's t need not be on it.
        assert twice_bounds.lower <= brute * (1 + 1e-3)


def test_the_exponential_mechanism_itself():
    """Three candidates, scores moved by one either way, weights e^{ε·score/2}."""
    epsilon = 0.8
    event = FourierAccountant().compose(ExponentialMechanismDpEvent(epsilon))
    for base in itertools.product((0, 2), repeat=3):
        for moves in itertools.product((-1, 1), repeat=3):
            scores = [b + m for b, m in zip(base, moves, strict=True)]
            first, second = (
                [mp.exp(mp.mpf(epsilon) * x / 2) for x in values] for values in (base, scores)
            )
            p = [w / mp.fsum(first) for w in first]
            q = [w / mp.fsum(second) for w in second]
            for at in (0.0, 0.3, 0.7):
                delta = mp.fsum(max(a - mp.exp(at) * b, 0) for a, b in zip(p, q, strict=True))
                assert delta <= event.get_delta_bounds(at).upper * (1 + 1e-15)


def permute_and_flip(scores, epsilon):
    """The law of the choice, over all orders of the candidates."""
    law = dict.fromkeys(range(len(scores)), mp.mpf(0))
    chances = [mp.exp(mp.mpf(epsilon) * (x - max(scores)) / 2) for x in scores]
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        left = mp.mpf(1) / len(orders)
        for candidate in order:
            law[candidate] += left * chances[candidate]
            left *= 1 - chances[candidate]
    return law


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_permute_and_flip_itself(epsilon):
    accountant = FourierAccountant().compose(PermuteAndFlipDpEvent(epsilon))
    dearest = dict.fromkeys((0.0, 0.2, 0.8, 0.99), mp.mpf(0))
    for base in itertools.product((0, 1, 2), repeat=2):
        for moves in itertools.product((-1, 0, 1), repeat=2):
            p = permute_and_flip(base, epsilon)
            q = permute_and_flip([b + m for b, m in zip(base, moves, strict=True)], epsilon)
            for share in dearest:
                for a, b in ((p, q), (q, p)):
                    delta = mp.fsum(max(a[i] - mp.exp(share * epsilon) * b[i], 0) for i in a)
                    dearest[share] = max(dearest[share], delta)
    for share, delta in dearest.items():
        bounds = accountant.get_delta_bounds(share * epsilon)
        assert bounds.lower <= delta * (1 + mp.mpf("1e-12"))
        assert delta <= bounds.upper * (1 + mp.mpf("1e-12"))


# ---- the discrete Gaussian -----------------------------------------------------------------------


def discrete_gaussian(deviation, shift):
    reach = int(14 * deviation) + shift + 2
    scale = 2 * mp.mpf(deviation) ** 2
    masses = {x: mp.exp(-(mp.mpf(x) ** 2) / scale) for x in range(-reach, reach + 1)}
    total = mp.fsum(masses.values())
    return {shift * (shift - 2 * x) / scale: mass / total for x, mass in masses.items()}


@pytest.mark.parametrize(("deviation", "sensitivity"), [(1.0, 1), (0.4, 1), (3.3, 4)])
@pytest.mark.parametrize("relation", [SPECIAL, REPLACE])
@pytest.mark.parametrize("steps", [1, 2])
def test_discrete_gaussian(deviation, sensitivity, relation, steps):
    shift = sensitivity * (2 if relation is REPLACE else 1)
    law = composed(discrete_gaussian(deviation, shift), steps)
    event = DiscreteGaussianDpEvent(deviation, sensitivity)
    accountant = FourierAccountant(relation).compose(event, steps)
    for epsilon in (0.0, 2.0):
        truth = of_atoms(law, mp.mpf(epsilon))
        bounds = accountant.get_delta_bounds(epsilon)
        assert bounds.lower <= truth * (1 + mp.mpf("1e-20"))
        assert truth * (1 - mp.mpf("1e-20")) <= bounds.upper
        assert bounds.gap <= 1e-6 * bounds.upper
    order = mp.mpf(5) / 2
    moment = mp.fsum(mass * mp.exp((order - 1) * loss) for loss, mass in law.items())
    renyi = RenyiAccountant(relation).compose(event, steps)
    assert mp.log(moment) / (order - 1) <= renyi.divergence(float(order)) * (1 + 1e-12)


# ---- Rényi ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rate", "sigma"), [(0.01, 1.0), (1e-5, 2.0), (0.3, 0.7), (0.9, 5.0)])
@pytest.mark.parametrize("order", [1.05, 11.5])
def test_renyi_under_replace_one(rate, sigma, order):
    q, s, a = mp.mpf(rate), mp.mpf(sigma), mp.mpf(order)

    def integrand(y):
        up, down = (1 - q + q * mp.exp(sign * y / s - 1 / (2 * s * s)) for sign in (1, -1))
        return mp.npdf(y) * (up**a * down ** (1 - a) - a * up - (1 - a) * down)

    middle = a / s
    knots = [-20, -1 / s, 0, 1 / s, middle / 2, middle - 6, middle, middle + 6, middle + 20]
    with mp.workdps(25):
        truth = mp.log1p(mp.quad(integrand, sorted(set(knots)), maxdegree=6)) / (a - 1)
    event = dpa.PoissonSampledDpEvent(rate, dpa.GaussianDpEvent(sigma))
    found = RenyiAccountant(REPLACE).compose(event).divergence(order)
    assert truth * (1 - mp.mpf("1e-12")) <= found <= truth * (1 + mp.mpf("1e-8"))


@pytest.mark.parametrize("epsilon", [1e-3, 0.5, 8.0, 80.0])
@pytest.mark.parametrize("order", [1.01, 3.0, 50.0])
def test_renyi_of_bounded_range(epsilon, order):
    e, a = mp.mpf(epsilon), mp.mpf(order)
    scale = mp.exp(e / 2) / (2 * mp.expm1(e))
    moment = scale * (mp.exp((a - 0.5) * e) - mp.exp(-(a - 0.5) * e)) / (a - mp.mpf(1) / 2)
    truth = mp.log(moment) / (a - 1)
    found = RenyiAccountant().compose(ExponentialMechanismDpEvent(epsilon)).divergence(order)
    assert truth <= found <= truth * (1 + mp.mpf("1e-9"))


@pytest.mark.parametrize("order", [1.5, 2.0, 6.3, 20.0])
@pytest.mark.parametrize("rate", [0.001, 0.2])
def test_sampled_zcdp_is_above_the_sampled_gaussian(order, rate):
    """N(0, σ²) is 1/2σ²-zCDP; its own sampled divergence is known exactly."""
    sigma = 1.7
    exact = dpa.PoissonSampledDpEvent(rate, dpa.GaussianDpEvent(sigma))
    general = dpa.PoissonSampledDpEvent(rate, dpa.ZCDpEvent(0.5 / sigma**2))
    truth = RenyiAccountant().compose(exact).divergence(order)
    bound = RenyiAccountant().compose(general).divergence(order)
    assert truth <= bound <= min(4.0 * truth + 3.0 * rate**3, 0.5 * order / sigma**2 * (1 + 1e-9))


def selected(mean, law, worst):
    """The chance that all of K runs, K geometric, are `worst`: that it is selected."""
    gamma = 1 / mp.mpf(mean)
    return gamma * law[worst] / (1 - (1 - gamma) * law[worst])


@pytest.mark.parametrize("shape", [1.0, math.inf])
@pytest.mark.parametrize("order", [1.5, 4.0, 30.0])
def test_repeat_and_select_is_above_a_selection(shape, order):
    """A response of ε = 1, of which "yes" is better: P(no) by the generating function of K."""
    e, mean = mp.mpf(1), 6.0
    no = {True: 1 / (1 + mp.exp(e)), False: 1 / (1 + mp.exp(-e))}
    if shape == 1.0:
        p, q = (selected(mean, {0: no[side]}, 0) for side in (True, False))
    else:  # K = 0 releases "no" too.
        p, q = (mp.exp(-mean * (1 - no[side])) for side in (True, False))
    event = dpa.dp_event.RepeatAndSelectDpEvent(EpsilonDeltaDpEvent(1.0), mean, shape)
    found = RenyiAccountant().compose(event).divergence(order)
    for a, b in ((p, q), (q, p)):
        moment = a**order * b ** (1 - order) + (1 - a) ** order * (1 - b) ** (1 - order)
        assert mp.log(moment) / (order - 1) <= found


# ---- δ = 0 ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("accountant", [FourierAccountant, RenyiAccountant])
def test_pure_costs_add(accountant):
    composition = accountant(SPECIAL)
    composition.compose(dpa.LaplaceDpEvent(2.0), 3)
    composition.compose(dpa.dp_event.DiscreteLaplaceDpEvent(0.25, 2))
    composition.compose(EpsilonDeltaDpEvent(0.125), 2)
    composition.compose(dpa.RandomizedResponseDpEvent(0.5, 2))
    # Against the uniform response: 3/4 against 1/2, and 1/4 against 1/2.
    truth = mp.mpf(3) / 2 + mp.mpf(1) / 2 + mp.mpf(1) / 4 + mp.log(2)
    bounds = composition.get_epsilon_bounds(0.0)
    assert holds(bounds, truth)
    assert bounds.gap <= 1e-12
    assert composition.get_epsilon(0.0) == bounds.upper
    # No ε(δ) is larger, and it rises to that.
    assert composition.get_epsilon_bounds(1e-200).lower <= bounds.upper


def test_pure_costs_of_samples():
    event = dpa.PoissonSampledDpEvent(0.1, dpa.LaplaceDpEvent(2.0))
    bounds = FourierAccountant().compose(event, 5).get_epsilon_bounds(0.0)
    assert holds(bounds, 5 * mixed(mp.mpf(0.1), mp.mpf(1) / 2))
    assert bounds.gap <= 1e-12


@pytest.mark.parametrize(
    "event",
    [
        dpa.GaussianDpEvent(1.0),
        dpa.PoissonSampledDpEvent(0.1, dpa.GaussianDpEvent(1.0)),
        DiscreteGaussianDpEvent(1.0),
        EpsilonDeltaDpEvent(0.1, 1e-9),
        dpa.NonPrivateDpEvent(),
    ],
)
def test_what_is_not_pure_has_no_finite_epsilon(event):
    bounds = FourierAccountant().compose(event).get_epsilon_bounds(0.0)
    assert bounds == (math.inf, math.inf)


def test_largest_losses_of_unlike_directions_are_not_mixed():
    """Randomised response against a special record: one direction's worst, then the other's."""
    one = dpa.RandomizedResponseDpEvent(0.9, 10)
    bounds = FourierAccountant(SPECIAL).compose(one, 3).get_epsilon_bounds(0.0)
    assert holds(bounds, 3 * mp.log(1 + 9 * (1 - mp.mpf(0.9))))


# ---- mappings ------------------------------------------------------------------------------------


@pytest.mark.parametrize("relation", [SPECIAL, REPLACE])
@pytest.mark.parametrize(("counts", "depth"), [(1, 1), (7, 3), (8, 4), ([3, 100, 9], 7)])
def test_a_tree_is_a_gaussian_per_level(relation, counts, depth):
    event = dpa.SingleEpochTreeAggregationDpEvent(2.5, counts)
    found = FourierAccountant(relation).compose(event).get_epsilon_bounds(1e-6)
    levels = FourierAccountant(relation).compose(dpa.GaussianDpEvent(2.5), depth)
    truth = levels.get_epsilon_bounds(1e-6)
    assert found.lower <= truth.upper
    assert truth.lower <= found.upper


def test_bands_take_turns():
    event = cyclic_poisson_event(noise_multiplier=1.5, bands=7, sampling_rate=0.25, steps=50)
    step = dpa.PoissonSampledDpEvent(0.25, dpa.GaussianDpEvent(1.5))
    assert event == dpa.SelfComposedDpEvent(step, 8)
