"""Users of several records: the pair, its likelihood ratio and its transform, beside mpmath."""

import functools
import math

import dp_accounting as dpa
import mpmath
import numpy as np
import pytest
from dp_accounting import NeighboringRelation

from accountants import FourierAccountant, UserDpEvent, elementary, gaussian, groups, releases
from accountants.fourier.contour import engine
from accountants.fourier.contour.decay import DecayBound
from accountants.fourier.contour.grouped import _ARGUMENT, GroupLine, counted
from accountants.fourier.contour.quadrature import ADD as ADD_DIRECTION
from accountants.fourier.contour.quadrature import REMOVE
from accountants.fourier.contour.quadrature import REPLACE as REPLACE_DIRECTION
from accountants.fourier.grid import engine as grid
from accountants.fourier.pairs import dominating_pair, explicit_pair, pair_laws
from accountants.releases import FixedSizeGroupGaussian, Gaussian, GroupGaussian, PoissonGaussian

ADD, REPLACE, ZERO = NeighboringRelation
# From dp-accounting 0.6.0, on cells of 0.002, a minute each: from_mixture_gaussian_mechanism(σ,
# [0, …, k], binomial probabilities), self_compose(steps), get_epsilon_for_delta(δ), the optimistic
# estimate without and the pessimistic one with connected dots.
PEER = [  # σ, q, k, steps, δ, optimistic, pessimistic
    (2.0, 0.05, 4, 50, 1e-5, 3.6268971657188183, 3.69713606867926),
    (1.0, 0.02, 3, 20, 1e-6, 3.7484760569390096, 3.7698302356727833),
    (4.0, 0.1, 8, 30, 1e-5, 5.220996080139757, 5.428777215578548),
]
DIRECTIONS = [REMOVE, ADD_DIRECTION, REPLACE_DIRECTION]


def exact_w(k, q, sigma, y, population=0):
    """Σ b_j·e^{jy/σ − j²/2σ²}, to the digits of mpmath, b from the definition."""
    q, sigma = mpmath.mpf(q), mpmath.mpf(sigma)
    if population:
        b = round(float(q) * population)
        weights = [
            mpmath.binomial(b, j)
            * mpmath.binomial(population - b, k - j)
            / mpmath.binomial(population, k)
            for j in range(k + 1)
        ]
    else:
        weights = [mpmath.binomial(k, j) * q**j * (1 - q) ** (k - j) for j in range(k + 1)]
    return mpmath.fsum(
        p * mpmath.exp(j * y / sigma - j * j / (2 * sigma**2)) for j, p in enumerate(weights)
    )


@pytest.mark.parametrize(
    ("k", "q", "sigma", "population"),
    [
        (2, 0.3, 0.5, 0),
        (5, 1e-4, 2.0, 0),
        (32, 0.01, 0.5, 0),
        (32, 0.1, 10.0, 0),
        (4, 0.1, 1.0, 50),
    ],
)
def test_the_likelihood_ratio_and_the_count(k, q, sigma, population):
    y = np.concatenate((np.linspace(-12.0, 12.0 + 2.0 * k / sigma, 25), [0.0, 0.5 / sigma]))
    at = counted(k, q, sigma, y, population)
    with mpmath.workdps(50):
        for i, place in enumerate(y.tolist()):
            place = mpmath.mpf(place)
            exact = mpmath.log(exact_w(k, q, sigma, place, population))
            assert abs(at.log_w[i] - exact) <= at.error[i]
            assert at.error[i] <= 1e-12 * (1.0 + abs(exact)) * (1.0 + k / sigma)

            def log_w(x):
                return mpmath.log(exact_w(k, q, sigma, x, population))

            mean = sigma * mpmath.diff(log_w, place)
            variance = sigma**2 * mpmath.diff(log_w, place, 2)
            assert abs(at.mean[i] - mean) <= at.count_error[i] * mean + 1e-25
            assert abs(at.variance[i] - variance) <= 1e-9 * variance + 1e-20
            assert at.variance[i] <= min(at.mean[i], k / 4.0) * (1.0 + 1e-12)


@pytest.mark.parametrize(("k", "q", "sigma", "population"), [(6, 0.2, 0.7, 0), (5, 0.25, 2.0, 40)])
def test_all_zeros_are_real_and_the_strip_is_tame(k, q, sigma, population):
    """Roots by mpmath; |w| and arg w above the axis against their bounds."""
    with mpmath.workdps(60):
        weights = groups.counts(k, q, population)
        coefficients = [
            mpmath.mpf(p) * mpmath.exp(-mpmath.mpf(j * j) / (2 * mpmath.mpf(sigma) ** 2))
            for j, p in enumerate(weights)
        ]
        for root in mpmath.polyroots(coefficients[::-1], maxsteps=500, extraprec=500):
            assert abs(mpmath.im(root)) < 1e-30 * abs(root)
            assert mpmath.re(root) < 0
        for a in (0.3, 1.0, 1.5):
            for y in (-3.0, 0.0, 2.0, 8.0):
                at = counted(k, q, sigma, np.array([y]), population)
                mean = float(at.mean[0])
                # The argument by continuity along the vertical line.
                argument, last = 0.0, exact_w(k, q, sigma, mpmath.mpf(y), population)
                real = last
                for x in np.linspace(0.0, a, 50)[1:]:
                    z = mpmath.mpc(y, sigma * x)
                    here = exact_w(k, q, sigma, z, population)
                    argument += float(mpmath.arg(here / last))
                    last = here
                assert -1e-12 <= argument <= min(k * a, _ARGUMENT * a * mean) + 1e-12
                ratio = float(abs(last) / real)
                bend = 1.0 - math.cos(a)
                steep = -math.log1p(-0.5 * bend) / (0.5 * bend) * bend
                assert math.cos(0.5 * a) ** k <= ratio * (1.0 + 1e-12)
                assert -math.log(ratio) <= steep * min(mean, 0.25 * k) + 1e-12
                assert ratio <= 1.0 + 1e-12


def test_one_factor_turns_by_little_more_than_its_share():
    """arg((1−r) + r·e^{ia}) ≤ 1.06·r·a for a ≤ 3/2, on a grid whose steps move it by below 1e-3."""
    r, a = np.meshgrid(np.linspace(1e-6, 1.0, 2001), np.linspace(1e-6, 1.5, 1501))
    turned = np.arctan2(r * np.sin(a), 1.0 - r + r * np.cos(a)) / (r * a)
    assert turned.max() < _ARGUMENT - 1e-3


@functools.cache
def logs(k, q, sigma, population):
    """Nodes of a trapezoid rule, log w there and opposite: h = 1/16, so that e^{−2πd/h} < 1e-40.

    With d = 1: there the integrand is larger by e^{1/2 + t·k/σ} and the like only.
    """
    reach = 16 * math.ceil(14 + 3 * k / sigma)
    with mpmath.workdps(40):
        return [
            (y, *(mpmath.log(exact_w(k, q, sigma, x, population)) for x in (y, -y)))
            for y in (mpmath.mpf(i) / 16 for i in range(-reach, reach + 1))
        ]


def transform(k, q, sigma, direction, z, population=0):
    """E[w^{…}] by that rule."""
    total = mpmath.mpf(0)
    for y, at, back in logs(k, q, sigma, population):
        if direction is REPLACE_DIRECTION:
            exponent = (z + 1) * at - z * back
        else:
            exponent = (z + 1) * at if direction is REMOVE else -z * at
        total += mpmath.exp(exponent - y * y / 2)
    return total / (16 * mpmath.sqrt(2 * mpmath.pi))


@pytest.mark.parametrize("direction", DIRECTIONS, ids=["remove", "add", "replace"])
@pytest.mark.parametrize(
    ("k", "q", "sigma", "population"), [(3, 0.02, 1.0, 0), (8, 0.05, 3.0, 0), (3, 0.1, 2.0, 60)]
)
def test_the_lines_errors_are_what_they_claim(direction, k, q, sigma, population):
    theta, exponent = 1.7, 32.0
    t = np.array([0.0, 0.4, 3.0, 11.0])
    line = GroupLine(q, sigma, direction, theta, float(t[-1]), exponent, True, k, population)
    log_phi, error = line.characteristic(theta, t)
    real_line = GroupLine(q, sigma, direction, theta, 0.0, exponent, False, k, population)
    moment, moment_error = real_line.log_moment(theta)
    bound = DecayBound(*real_line.steps(theta))
    with mpmath.workdps(25):
        scale = transform(k, q, sigma, direction, mpmath.mpf(theta), population)
        assert abs(mpmath.log(scale) - moment) <= moment_error
        assert moment_error < 1e-11
        for i, frequency in enumerate(t.tolist()):
            z = mpmath.mpc(theta, frequency)
            phi = transform(k, q, sigma, direction, z, population) / scale
            assert abs(phi - mpmath.exp(complex(log_phi[i]))) <= error[i]
            assert error[i] < 1e-11
            assert float(abs(phi)) <= math.exp(float(bound.log(t[i : i + 1])[0])) * (1 + 1e-12)


def test_one_record_is_the_ordinary_line():
    """k = 1 by the general formulas, beside the engine for one record."""
    counts = np.array([1000.0])
    for replaced, one in (
        (False, PoissonGaussian(0.01, 1.0)),
        (True, releases.PoissonGaussianReplace(0.01, 1.0)),
    ):
        ours = engine.epsilon_bounds(
            engine.Composition([GroupGaussian(1, 0.01, 1.0, replaced)], counts), 1e-5, 1e-6
        )
        theirs = engine.epsilon_bounds(engine.Composition([one], counts), 1e-5, 1e-6)
        assert ours.intersect(theirs).gap < 1e-6 * theirs.upper


@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize(
    ("k", "q", "sigma", "steps", "population"),
    [
        (2, 0.01, 1.0, 300, 0),
        (6, 0.05, 4.0, 200, 0),
        (20, 0.02, 2.0, 100, 0),
        (5, 0.1, 3.0, 100, 100),
    ],
)
def test_the_two_engines_agree(replaced, k, q, sigma, steps, population):
    """They share no formula; the grid is asked for 1e-4."""
    release = GroupGaussian(k, q, sigma, replaced, population)
    composition = engine.Composition([release], np.array([float(steps)]))
    ours = engine.epsilon_bounds(composition, 1e-6, 1e-6)
    remove, add = pair_laws(release)
    theirs = grid.epsilon_bounds([(remove, steps)], 1e-6, tolerance=1e-4)
    if not replaced:
        theirs = theirs.larger(grid.epsilon_bounds([(add, steps)], 1e-6, tolerance=1e-4))
    assert theirs.gap < 1e-3 * theirs.upper
    assert ours.gap < 1e-6 * ours.upper
    assert theirs.intersect(ours) == ours


@pytest.mark.parametrize(("sigma", "q", "k", "steps", "delta", "lower", "upper"), PEER)
def test_against_dp_accounting(sigma, q, k, steps, delta, lower, upper):
    """Their pessimistic and optimistic estimates on a grid contain ours."""
    accountant = FourierAccountant().compose(groups.user_event(sigma, q, k), steps)
    bounds = accountant.get_epsilon_bounds(delta)
    assert lower <= bounds.lower
    assert bounds.upper <= upper
    assert bounds.gap < 1e-5 * bounds.upper


def hockey_stick(weights, with_record, without, alpha, sigma):
    """H_α of two mixtures of Gaussians in the plane, by the trapezoid rule."""
    places = np.linspace(-14.0, 14.0, 281)
    x, y = np.meshgrid(places, places)

    def density(means):
        total = np.zeros_like(x)
        for weight, (a, b) in zip(weights, means, strict=True):
            total += weight * np.exp(-0.5 * ((x - a) ** 2 + (y - b) ** 2) / sigma**2)
        return total / (2.0 * math.pi * sigma**2)

    excess = np.maximum(density(with_record) - alpha * density(without), 0.0)
    return float(excess.sum()) * (places[1] - places[0]) ** 2


def in_disc(rng, count):
    radius, angle = np.sqrt(rng.random(count)), rng.random(count) * 2.0 * math.pi
    return np.column_stack((radius * np.cos(angle), radius * np.sin(angle)))


@pytest.mark.parametrize("seed", range(6))
def test_no_two_users_cost_more_than_the_pair(seed):
    """The theorem of `pairs`, tried on records anywhere in the disc; 1e-6 is the rule's error."""
    rng = np.random.default_rng(seed)
    q, sigma, k = float(rng.uniform(0.1, 0.6)), float(rng.uniform(1.0, 2.5)), 2
    alpha = math.exp(rng.normal())
    sets = [(), (0,), (1,), (0, 1)]
    weights = [q ** len(s) * (1.0 - q) ** (k - len(s)) for s in sets]
    old, new = in_disc(rng, k), in_disc(rng, k)
    found, zeroed = (
        hockey_stick(
            weights,
            [old[list(s)].sum(axis=0) for s in sets],
            [other[list(s)].sum(axis=0) for s in sets],
            alpha,
            sigma,
        )
        for other in (new, np.zeros((k, 2)))
    )
    lengths = [(float(len(s)), 0.0) for s in sets]
    opposite = [(-float(len(s)), 0.0) for s in sets]
    assert found <= hockey_stick(weights, lengths, opposite, alpha, sigma) + 1e-6
    assert zeroed <= hockey_stick(weights, lengths, [(0.0, 0.0)] * 4, alpha, sigma) + 1e-6


@pytest.mark.parametrize("seed", range(6))
def test_no_batch_of_fixed_size_costs_more_than_its_bound(seed):
    """One of the law's couplings: u_j, v_j, with three kinds of records anywhere in the disc."""
    rng = np.random.default_rng(seed)
    release = FixedSizeGroupGaussian(2, 0.4, float(rng.uniform(1.5, 3.0)), 20)
    weights = groups.counts(2, 0.4, 20)
    others, old, new = (in_disc(rng, 2) for _ in range(3))
    alpha, sigma = math.exp(rng.normal()), release.noise_multiplier
    moved = [[(part[:j] - others[:j]).sum(axis=0) for j in range(3)] for part in (old, new)]
    above = dominating_pair(release)
    scale = sigma / above.noise_multiplier
    lengths = [(scale * j, 0.0) for j in range(3)]
    opposite = [(-scale * j, 0.0) for j in range(3)]
    most = hockey_stick(weights, lengths, opposite, alpha, sigma)
    assert hockey_stick(weights, *moved, alpha, sigma) <= most + 1e-6


def test_what_users_resolve_to():
    step = dpa.PoissonSampledDpEvent(0.1, dpa.GaussianDpEvent(2.0))
    for relation, replaced in ((ADD, False), (ZERO, False), (REPLACE, True)):
        wanted = GroupGaussian(3, 0.1, 2.0, replaced)
        assert elementary.resolve(groups.user_event(2.0, 0.1, 3), relation) == wanted
        assert elementary.resolve(UserDpEvent(3, step), relation) == wanted
        one = elementary.resolve(step, relation)
        assert elementary.resolve(UserDpEvent(1, step), relation) == one
        assert elementary.resolve(groups.user_event(2.0, 0.1, 1), relation) == one
        # All k records are always in: a Gaussian moved by k, or 2k.
        mu = (2.0 if replaced else 1.0) * 3 / 2.0
        assert elementary.resolve(groups.user_event(2.0, 1.0, 3), relation) == Gaussian(mu)
        always = UserDpEvent(3, dpa.GaussianDpEvent(2.0))
        assert elementary.resolve(always, relation) == Gaussian(mu)
    fixed = dpa.SampledWithoutReplacementDpEvent(100, 10, dpa.GaussianDpEvent(2.0))
    release = elementary.resolve(UserDpEvent(4, fixed), REPLACE)
    assert release == FixedSizeGroupGaussian(4, 0.1, 2.0, 100)
    assert explicit_pair(release, 0) == GroupGaussian(4, 0.1, 1.0, False, 100)
    assert explicit_pair(release, 1) == GroupGaussian(4, 0.1, 2.0, True, 100)


@pytest.mark.parametrize(
    ("event", "relation", "why"),
    [
        (UserDpEvent(2, dpa.LaplaceDpEvent(1.0)), ADD, "users of several records"),
        (
            UserDpEvent(
                20, dpa.SampledWithoutReplacementDpEvent(100, 10, dpa.GaussianDpEvent(2.0))
            ),
            REPLACE,
            "in a batch",
        ),
        (
            UserDpEvent(2, dpa.SampledWithoutReplacementDpEvent(100, 10, dpa.GaussianDpEvent(2.0))),
            ADD,
            "REPLACE_ONE only",
        ),
        (
            dpa.dp_event.MixtureOfGaussiansDpEvent(1.0, [0.0, 1.0, 2.0], [0.9, 0.05, 0.05]),
            REPLACE,
            "binomial",
        ),
    ],
)
def test_what_is_refused_says_why(event, relation, why):
    with pytest.raises(dpa.UnsupportedEventError, match=why):
        FourierAccountant(relation).compose(event)


@pytest.mark.parametrize("replaced", [False, True])
def test_a_single_step_of_a_user_beside_mpmath(replaced):
    """δ(ε) = ∫(p − e^ε·q)₊: both directions, by mpmath between the crossing and infinity."""
    k, q, sigma, epsilon = 3, 0.1, 1.5, 0.8
    relation = REPLACE if replaced else ADD
    accountant = FourierAccountant(relation).compose(groups.user_event(sigma, q, k))
    bounds = accountant.get_delta_bounds(epsilon)
    with mpmath.workdps(30):

        def loss(y):
            back = mpmath.log(exact_w(k, q, sigma, -y)) if replaced else 0
            return mpmath.log(exact_w(k, q, sigma, y)) - back

        def density(y):
            return mpmath.npdf(y) * (exact_w(k, q, sigma, -y) if replaced else 1)

        place = mpmath.findroot(lambda y: loss(y) - epsilon, 1.0)
        truth = mpmath.quad(
            lambda y: density(y) * (mpmath.exp(loss(y)) - mpmath.exp(epsilon)),
            [place, place + 2, place + 6, place + 30],
        )
        assert bounds.lower <= truth <= bounds.upper
        assert bounds.gap < 1e-6 * bounds.upper


def test_group_privacy_holds():
    """δ_k(kε) ≤ Σ_{i<k} e^{iε}·δ_1(ε): the general bound, far above (Vadhan 2017, Lemma 2.2)."""
    for k in (2, 5):
        one = FourierAccountant().compose(groups.user_event(2.0, 0.02, 1), 200)
        all_k = FourierAccountant().compose(groups.user_event(2.0, 0.02, k), 200)
        for epsilon in (0.2, 0.5):
            general = sum(math.exp(i * epsilon) for i in range(k)) * one.get_delta(epsilon)
            assert all_k.get_delta_bounds(k * epsilon).lower <= general


def test_more_of_everything_costs_more():
    base = {"noise_multiplier": 2.0, "rate": 0.03, "records": 4, "steps": 300, "population": 0}

    def epsilon(relation=ADD, **changes):
        setting = base | changes
        event = groups.user_event(setting["noise_multiplier"], setting["rate"], setting["records"])
        accountant = FourierAccountant(relation).compose(event, setting["steps"])
        return accountant.get_epsilon_bounds(1e-6)

    for relation in (ADD, REPLACE):
        here = epsilon(relation)
        for more in (
            {"noise_multiplier": 1.9},
            {"rate": 0.033},
            {"records": 5},
            {"steps": 330},
        ):
            assert epsilon(relation, **more).lower > here.upper
    assert epsilon(REPLACE).lower > epsilon(ADD).upper
    assert epsilon(ADD) == epsilon(ZERO)


def test_a_user_of_all_records_is_the_gaussian_nearly():
    """q → 1: Binomial(k, q) is k with probability above 1 − 1e-9."""
    k, sigma = 3, 4.0
    accountant = FourierAccountant().compose(groups.user_event(sigma, 1.0 - 1e-12, k), 10)
    limit = gaussian.epsilon(k / sigma * math.sqrt(10.0), 1e-5)
    assert accountant.get_epsilon_bounds(1e-5).upper == pytest.approx(limit, rel=1e-6)
