"""Each local error that the grid engine claims, against ball arithmetic, with no slack of our own.

An upper bound must not be below the truth by a single rounding, nor a lower bound above it. What
is compared are the engine's floats, taken as exact numbers, and closed forms evaluated in balls.
"""

import functools
import math

import numpy as np
import pytest
from scipy import fft, special

from accountants import releases
from accountants.fourier.grid import convolve, discretise
from accountants.fourier.grid.laws.discrete import AtomicLaw
from accountants.fourier.grid.laws.law import TAIL_ERROR, UNIT
from accountants.fourier.pairs import pair_laws

flint = pytest.importorskip("flint")
arb = flint.arb


@pytest.fixture(autouse=True)
def precise():
    with flint.ctx.workprec(256):
        yield


def tail(x):
    """P(Z > x) of a standard Gaussian."""
    return (x / arb(2).sqrt()).erfc() / 2


def gaussian_delta(mu, epsilon):
    return tail(epsilon / mu - mu / 2) - epsilon.exp() * tail(epsilon / mu + mu / 2)


def remove_delta(rate, mu, epsilon):
    inner = 1 + epsilon.expm1() / rate
    return rate * gaussian_delta(mu, inner.log()) if inner > 0 else -epsilon.expm1()


def add_delta(rate, mu, epsilon):
    return -epsilon.expm1() + epsilon.exp() * remove_delta(rate, mu, -epsilon)


def symmetrised_delta(rate, mu, epsilon):
    if epsilon > 0:
        return remove_delta(rate, mu, epsilon)
    return -epsilon.expm1() + epsilon.exp() * remove_delta(rate, mu, -epsilon)


def replace_delta(rate, mu, epsilon):
    """P − e^ε·Q is positive above one place: with v = e^{μy} a quadratic equation."""
    q, c = rate, (1 - rate) * (mu * mu / 2).exp()
    e = epsilon.exp()
    # (1−q) + q·k·v > e·((1−q) + q·k/v), k = e^{−μ²/2}; times v·e^{μ²/2}.
    b = c * (1 - e)
    v = ((b * b + 4 * q * q * e).sqrt() - b) / (2 * q)
    y = v.log() / mu
    with_record = (1 - q) * tail(y) + q * tail(y - mu)
    return with_record - e * ((1 - q) * tail(y) + q * tail(y + mu))


def laplace_delta(scale, epsilon):
    top = 1 / scale
    if epsilon > top:
        return arb(0)
    if epsilon < -top:
        return -epsilon.expm1()
    return -((epsilon - top) / 2).expm1()


def discrete_laplace_delta(parameter, shift, epsilon):
    total = arb(0)
    for x in range(shift + 1):
        mass = (parameter / 2).tanh() * (-parameter * x).exp()
        if x == 0:
            mass = 1 / (1 + (-parameter).exp())
        if x == shift:
            mass = (-parameter * shift).exp() / (1 + (-parameter).exp())
        loss = parameter * (shift - 2 * x)
        if loss > epsilon:
            total -= mass * (epsilon - loss).expm1()
    return total


def sampled_remove_delta(rate, inner, epsilon):
    argument = 1 + epsilon.expm1() / rate
    return rate * inner(argument.log()) if argument > 0 else -epsilon.expm1()


def sampled_add_delta(rate, inner, epsilon):
    return -epsilon.expm1() + epsilon.exp() * sampled_remove_delta(rate, inner, -epsilon)


def bounded_range_delta(top, epsilon):
    """max over t of (e^top − e^t)(1 − e^{ε−t})/(e^top − 1), at t = (top + ε)/2."""
    if epsilon > top:
        return arb(0)
    if epsilon < -top:
        return -epsilon.expm1()
    t = (top + epsilon) / 2
    return (top.exp() - t.exp()) * (1 - (epsilon - t).exp()) / top.expm1()


def discrete_gaussian_delta(deviation, shift, epsilon):
    reach = int(60 * float(deviation)) + shift
    masses = {x: (-(arb(x) ** 2) / (2 * deviation**2)).exp() for x in range(-reach, reach + 1)}
    total = sum(masses.values())
    found = arb(0)
    for x in range(-reach + shift, reach + 1):
        difference = masses[x] - epsilon.exp() * masses[x - shift]
        if difference > 0:
            found += difference
    return found / total


def response_delta(top, epsilon):
    yes = 1 / (1 + (-top).exp())
    found = arb(0)
    for mass, loss in ((yes, top), (1 - yes, -top)):
        if loss > epsilon:
            found -= mass * (epsilon - loss).expm1()
    return found


def mean_delta(chances, inner, epsilon):
    return sum((arb(p) * delta(epsilon) for p, delta in zip(chances, inner, strict=True)), arb(0))


def grouped_delta(rate, chances, mus, epsilon):
    """q·Σ p·δ(α′) above 0, and the symmetric continuation below."""
    gaussians = [functools.partial(gaussian_delta, arb(mu)) for mu in mus]
    inner = functools.partial(mean_delta, chances, gaussians)
    remove = functools.partial(sampled_remove_delta, arb(rate), inner)
    return remove(epsilon) if epsilon > 0 else -epsilon.expm1() + epsilon.exp() * remove(-epsilon)


def derived_truths():
    """Laws of samples, choices and guarantees; see `accountants.releases`."""
    half = 0.5 * math.log(2.0)
    pure = (
        (releases.Laplace(1.7), functools.partial(laplace_delta, arb(1.7))),
        (releases.Laplace(0.05), functools.partial(laplace_delta, arb(0.05))),
        (
            releases.DiscreteLaplace(0.4, 3),
            functools.partial(discrete_laplace_delta, arb(0.4), 3),
        ),
        (
            releases.DiscreteLaplace(0.4, 4),  # With an atom at 0.
            functools.partial(discrete_laplace_delta, arb(0.4), 4),
        ),
        (releases.PureResponse(half), functools.partial(response_delta, arb(half))),
        (releases.BoundedRange(0.9), functools.partial(bounded_range_delta, arb(0.9))),
        (
            releases.DiscreteGaussian(1.3, 2),
            functools.partial(discrete_gaussian_delta, arb(1.3), 2),
        ),
    )
    for release, delta in pure[4:]:
        yield pair_laws(release)[0], delta
    yield (
        pair_laws(releases.BoundedRange(40.0))[0],
        functools.partial(bounded_range_delta, arb(40.0)),
    )
    for release, delta in pure:
        for rate in (0.01, 0.7):
            remove, add = pair_laws(releases.Sampled(rate, release))
            yield remove, functools.partial(sampled_remove_delta, arb(rate), delta)
            yield add, functools.partial(sampled_add_delta, arb(rate), delta)
    # Rates next to 1, where e^λ is far below 1.
    steep = functools.partial(laplace_delta, arb(0.01))
    for rate in (1.0 - 1e-6, 1.0 - 2.0**-53):
        remove, add = pair_laws(releases.Sampled(rate, releases.Laplace(0.01)))
        yield remove, functools.partial(sampled_remove_delta, arb(rate), steep)
        yield add, functools.partial(sampled_add_delta, arb(rate), steep)
    one, two = releases.PoissonGaussian(0.1, 1.0), releases.PoissonGaussian(0.07, 0.5)
    label = pair_laws(releases.Labelled((0.875, 0.125), (one, two)))
    for law, direction in zip(label, (remove_delta, add_delta), strict=True):
        inner = [
            functools.partial(direction, arb(0.1), arb(1.0)),
            functools.partial(direction, arb(0.07), arb(2.0)),
        ]
        yield law, functools.partial(mean_delta, (0.875, 0.125), inner)
    groups = releases.FixedSizeGroups(0.05, (0.9375, 0.0625), (2.0, 4.0))
    yield (
        pair_laws(groups)[0],
        functools.partial(grouped_delta, 0.05, (0.9375, 0.0625), (2.0, 4.0)),
    )


def truths():
    """Laws and their profiles. The laws know 1/σ as a float, and so do the profiles."""
    for rate, sigma in ((0.01, 1.0), (1e-7, 0.6), (0.9, 2.0), (0.3, 0.05)):
        remove, add = pair_laws(releases.PoissonGaussian(rate, sigma))
        swapped = pair_laws(releases.PoissonGaussianReplace(rate, sigma))[0]
        fixed = pair_laws(releases.FixedSizeGaussian(rate, sigma))[0]
        for law, delta, width in (
            (remove, remove_delta, 1.0),
            (add, add_delta, 1.0),
            (swapped, replace_delta, 1.0),
            (fixed, symmetrised_delta, 2.0),
        ):
            yield law, functools.partial(delta, arb(rate), arb(width / sigma))
    for scale in (1.7, 0.01):
        law = pair_laws(releases.Laplace(scale))[0]
        yield law, functools.partial(laplace_delta, arb(scale))
    for parameter, shift in ((0.4, 3), (0.01, 500)):
        law = pair_laws(releases.DiscreteLaplace(parameter, shift))[0]
        yield law, functools.partial(discrete_laplace_delta, arb(parameter), shift)
    yield from derived_truths()


TRUTHS = list(truths())


def exact_delta(part, epsilon):
    """δ(ε) of a discretised law, in balls, from its floats."""
    grid = part.grid
    total = arb(part.infinite)
    for index, mass in zip(grid.indices.tolist(), part.masses.tolist(), strict=True):
        loss = arb(grid.offset) + arb(grid.step) * index - arb(part.nudge)
        if loss > epsilon:
            total -= arb(mass) * (epsilon - loss).expm1()
    return total


def grids(law):
    """Grids that see most, or end in the middle of the law, or lie on one side of it."""
    low, high = law.loss_range(1e-12, 1e-12)
    for count, stride, ends in ((40, 1, (0.0, 1.0)), (60, 3, (0.0, 0.6)), (30, 1, (0.55, 1.0))):
        span = max(high - low, 1e-3)  # All losses may be the same, but for rounding.
        step = span / count
        first = math.floor((low + ends[0] * span) / step)
        indices = np.arange(first, math.ceil((low + ends[1] * span) / step) + stride, stride)
        yield discretise.Grid(0.0, step, indices)
        if law.highest < math.inf:  # A node at the highest loss, and none above.
            yield discretise.Grid(law.highest, step, np.arange(-count, 1))


@pytest.mark.parametrize(("law", "truth"), TRUTHS, ids=[str(law)[:70] for law, _ in TRUTHS])
def test_discretised_laws_are_above_and_below(law, truth):
    rng = np.random.default_rng(3)
    for grid in grids(law):
        above, below = discretise.both(law, grid)
        nodes = grid.nodes
        places = rng.uniform(nodes[0] - grid.step, nodes[-1] + 3.0 * grid.step, size=6)
        ends = [nodes[0], nodes[-1] - 1e-9 * grid.step, nodes[-2], nodes[-1]]
        for epsilon in map(arb, [*places.tolist(), *map(float, ends)]):
            delta = truth(epsilon)
            assert not exact_delta(above, epsilon) < delta
            assert not exact_delta(below, epsilon) > delta


@pytest.mark.parametrize("excess", [0.0, 1e-16, 1e-12, 0.3])
def test_an_atom_at_or_above_the_last_node_is_not_moved_down(excess):
    top = 1.0 + excess
    law = AtomicLaw((-1.0, top), (0.25, 0.75), None)
    grid = discretise.Grid(0.0, 0.25, np.arange(-6, 5))
    above, below = discretise.both(law, grid)
    for epsilon in (0.0, 0.9, 1.0 - 2.0**-40, 1.0, 1.1):
        truth = arb(0)
        for loss, mass in zip(law.losses, law.masses, strict=True):
            if loss > epsilon:
                truth -= arb(mass) * (arb(epsilon) - arb(loss)).expm1()
        assert exact_delta(above, arb(epsilon)) >= truth
        assert exact_delta(below, arb(epsilon)) <= truth
    alone = discretise.upper(law, grid)
    assert math.fsum(alone.masses) + alone.infinite >= 1.0


@pytest.mark.parametrize(("law", "truth"), TRUTHS, ids=[str(law)[:70] for law, _ in TRUTHS])
def test_tails_are_within_their_error(law, truth):
    """From the profile: P(L > l) = δ(l) − dδ/dl = δ + e^l·Q, so −δ′(l) = e^l·Q(L > l)."""
    low, high = law.loss_range(1e-30, 1e-30)
    rng = np.random.default_rng(4)
    for place in rng.uniform(low, high, size=5).tolist():
        epsilon, h = arb(place), arb(2) ** -60
        slope = (truth(epsilon + h) - truth(epsilon - h)) / (2 * h)
        tails = law.tails(place, place)
        if not -slope > 1e-60:  # The quotient has no digits left.
            continue
        log_error = TAIL_ERROR + 8.0 * UNIT * abs(tails.log_above_other) + 1e-12
        log_other = (-slope).log() - epsilon
        assert abs(log_other - arb(tails.log_above_other)) < 10.0 * log_error
        above = truth(epsilon) - slope
        assert abs(above / arb(tails.above) - 1) < 10.0 * TAIL_ERROR
        if tails.below > 1e-20:
            assert abs((1 - above) / arb(tails.below) - 1) < 10.0 * TAIL_ERROR


@pytest.mark.parametrize("steps", [2, 9, 40])
@pytest.mark.parametrize("tilt", [0.0, 0.7, 5.0])
def test_composed_masses_are_above_and_below(steps, tilt):
    """The FFT, its error bound and the aliases, on masses that are taken as exact."""
    law = pair_laws(releases.PoissonGaussian(0.05, 0.8))[0]
    grid = discretise.Grid(-0.02, 0.125, np.arange(-2, 60))
    parts = discretise.both(law, grid)
    low = 1.0
    window = convolve.Window(
        tilt=tilt, low=low, read=10.0, width=0.125 * 1024, below=tilt - 0.3, above=tilt + 0.6,
        beyond=tilt + 0.3,
    )  # fmt: skip
    for part, sign in zip(parts, (1, -1), strict=True):
        composed = convolve.compose([(part, steps)], window, 1024, sign)
        first = int(part.grid.indices[0])
        dense = [0.0] * (int(part.grid.indices[-1]) - first + 1)
        for index, mass in zip(part.grid.indices.tolist(), part.masses.tolist(), strict=True):
            dense[index - first] = mass
        power = flint.arb_poly(dense) ** steps
        for epsilon in (1.0, 1.7, 4.0, 8.0):
            truth = 1 - (1 - arb(part.infinite)) ** steps
            for k in range(power.degree() + 1):
                loss = steps * (arb(part.grid.offset) - arb(part.nudge))
                loss += arb(part.grid.step) * (steps * first + k)
                if loss > epsilon:
                    truth -= power[k] * (arb(epsilon) - loss).expm1()
            found = composed.delta(epsilon)[0]
            assert truth <= found if sign > 0 else found <= truth
            assert float(truth) == pytest.approx(found, abs=1e-4) or tilt != 0.7


@pytest.mark.parametrize("size", [2**6, 2**12, 2**16])
def test_fourier_transforms_are_within_eight_roundings_a_stage(size):
    """A constant that is assumed, not proved: pocketfft promises no bound."""
    rng = np.random.default_rng(size)
    claimed = convolve._STAGE_ERROR * (math.log2(size) + 1.0)
    # One by one: a product of balls in the plane grows with every turn.
    roots = [flint.acb(arb(2 * k) / size).exp_pi_i() for k in range(size)]
    for values in (rng.exponential(size=size) ** 4, np.exp(-0.01 * np.arange(size)) + 1e-18):
        spectrum = fft.rfft(values)
        exact_values = [arb(value) for value in values.tolist()]
        for k in (1, size // 3, size // 2 - 1):
            total = sum(
                (roots[-k * i % size] * value for i, value in enumerate(exact_values)), flint.acb(0)
            )
            error = abs(total - flint.acb(complex(spectrum[k])))
            assert error < claimed * math.fsum(values) / 4
    # Back: one node of the inverse of a half spectrum with real ends.
    half = rng.normal(size=size // 2 + 1) + 1j * rng.normal(size=size // 2 + 1)
    half[[0, -1]] = half[[0, -1]].real
    back = fft.irfft(half, size)
    node = size // 5
    total = arb(0)
    for k, value in enumerate(half.tolist()):
        part = (flint.acb(value) * roots[k * node % size]).real
        total += part if k in (0, size // 2) else 2 * part
    sizes = 2.0 * float(np.sum(np.abs(half)))
    assert abs(total / size - arb(float(back[node]))) < claimed * sizes / size / 4


@pytest.mark.parametrize(
    ("function", "exact", "low", "high"),
    [
        (np.exp, lambda x: x.exp(), -700.0, 700.0),
        (np.expm1, lambda x: x.expm1(), -30.0, 30.0),
        (np.expm1, lambda x: x.expm1(), -1e-5, 1e-5),
        (np.log, lambda x: x.log(), 1e-300, 1e300),
        (np.log1p, lambda x: x.log1p(), -0.999, 1e3),
        (np.log1p, lambda x: x.log1p(), -1e-9, 1e-9),
    ],
)
def test_elementary_functions_are_within_four_roundings(function, exact, low, high):
    """Assumed of the platform's libraries and measured here, on 2000 places each."""
    rng = np.random.default_rng(9)
    x = rng.uniform(low, high, size=2000)
    if low > 0.0:
        x = np.exp(rng.uniform(math.log(low), math.log(high), size=2000))
    for place, value in zip(x.tolist(), function(x).tolist(), strict=True):
        truth = exact(arb(place))
        assert abs(arb(value) - truth) <= 4.0 * UNIT * abs(truth)


def test_gaussian_tails_of_scipy():
    rng = np.random.default_rng(10)
    for x in rng.uniform(-37.0, 8.0, size=400).tolist():
        truth = tail(-arb(x))
        assert abs(arb(float(special.ndtr(x))) / truth - 1) < 1e-12
    for x in rng.uniform(-1e3, 5.0, size=400).tolist():
        truth = tail(-arb(x)).log()
        assert abs(arb(float(special.log_ndtr(x))) - truth) < 1e-12 + 8.0 * UNIT * abs(truth)
