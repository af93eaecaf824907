"""The oracle itself: against closed forms by other means, and its power to see 1e-12."""

import json
from pathlib import Path

import dp_accounting as dpa
import mpmath
import oracle
import pytest
from dp_accounting import NeighboringRelation
from dp_accounting.dp_event import DiscreteLaplaceDpEvent, MixtureOfGaussiansDpEvent
from flint import arb, ctx

ADD, ONE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE
GOLDEN = Path(__file__).parents[1] / "golden"


def rows(name, kind, steps, rate=0.0):
    data = json.loads((GOLDEN / name).read_text(encoding="utf-8"))[kind]
    return [
        row for row in data if row["steps"] >= steps and rate <= row.get("sampling_rate", 0.5) < 1.0
    ]


def ratio(pair, epsilon, delta):
    """δ(ε)/delta − 1, with all of the golden file's digits of ε."""
    with ctx.workprec(160):
        return pair.delta(arb(epsilon)) / arb(delta) - 1


def poisson(row):
    inner = dpa.GaussianDpEvent(row["noise_multiplier"])
    return dpa.PoissonSampledDpEvent(row["sampling_rate"], inner)


@pytest.mark.parametrize("row", rows("fourier_poisson.json", "points", 2000, 1e-3)[::6], ids=str)
def test_sampled_gaussian_is_the_golden_one(row):
    pairs = oracle.truth([(poisson(row), row["steps"])], ADD).below
    assert abs(ratio(pairs[0], row["epsilon_remove"], row["delta"])) < 1e-15


@pytest.mark.parametrize("row", rows("fourier_pairs.json", "replace_one", 1)[::5], ids=str)
def test_replaced_record_is_the_golden_one(row):
    (pair,) = oracle.truth([(poisson(row), row["steps"])], ONE).below
    assert abs(ratio(pair, row["epsilon"], row["delta"])) < 1e-14


def test_two_steps_are_the_golden_ones():
    data = [row for row in rows("fourier_poisson.json", "points", 2) if row["steps"] == 2]
    for row in data[:2]:
        pairs = oracle.truth([(poisson(row), 2)], ADD).below
        for pair, name in zip(pairs, ("epsilon_remove", "epsilon_add"), strict=True):
            assert abs(ratio(pair, row[name], row["delta"])) < 1e-15


@pytest.mark.parametrize("row", rows("fourier_pairs.json", "fixed_size_upper", 2)[::3], ids=str)
def test_batches_of_fixed_size_are_the_golden_ones(row):
    with ctx.workprec(160):
        rate, shift = arb(row["sampling_rate"]), 2 / arb(row["noise_multiplier"])
    pair = oracle.Direction(symmetric=[(rate, shift, row["steps"])])
    assert abs(ratio(pair, row["epsilon"], row["delta"])) < 1e-10


@pytest.mark.parametrize("row", rows("fourier_pairs.json", "laplace", 2)[::7], ids=str)
def test_laplace_is_the_golden_one(row):
    if row["epsilon"] == "0":
        pytest.skip("δ is above δ(0)")
    (pair,) = oracle.truth([(dpa.LaplaceDpEvent(row["scale"]), row["steps"])], ADD).below
    assert abs(ratio(pair, row["epsilon"], row["delta"])) < 1e-15


@pytest.mark.parametrize("row", rows("fourier_pairs.json", "randomized_response", 1)[::5], ids=str)
def test_responses_are_the_golden_ones(row):
    event = dpa.RandomizedResponseDpEvent(row["p"], row["answers"])
    (pair,) = oracle.truth([(event, row["steps"])], ONE).below
    assert abs(ratio(pair, row["epsilon"], row["delta"])) < 1e-15


def test_one_sampled_step_and_a_gaussian_by_quadrature():
    with mpmath.workdps(25):
        q, s, mu, eps = mpmath.mpf(0.5), mpmath.mpf(1.37), 1 / mpmath.mpf(2.9), mpmath.mpf(4.03)

        def profile(e):
            tail = mpmath.ncdf(mu / 2 - e / mu)
            return tail - mpmath.exp(e) * mpmath.ncdf(-mu / 2 - e / mu)

        def integrand(y):
            w = 1 - q + q * mpmath.exp(y / s - 1 / (2 * s * s))
            return mpmath.npdf(y) * w * profile(eps - mpmath.log(w))

        value = mpmath.nstr(mpmath.quad(integrand, list(range(-12, 21, 2))), 22)
    event = dpa.PoissonSampledDpEvent(0.5, dpa.GaussianDpEvent(1.37))
    pairs = oracle.truth([(event, 1), (dpa.GaussianDpEvent(2.9), 1)], ADD).below
    assert abs(ratio(pairs[0], arb(4.03), value)) < 1e-16


def test_discrete_laplace_by_summation():
    a, shift, eps = 0.3, 4, 0.35
    with mpmath.workdps(30):
        a_, e = mpmath.mpf(a), mpmath.exp(mpmath.mpf(eps))
        total = sum(
            max(0, mpmath.exp(-a_ * abs(x)) - e * mpmath.exp(-a_ * abs(x - shift)))
            for x in range(-300, 300)
        )
        value = mpmath.nstr(mpmath.tanh(a_ / 2) * total, 25)
    (pair,) = oracle.truth([(DiscreteLaplaceDpEvent(a, shift), 1)], ADD).below
    assert abs(ratio(pair, arb(eps), value)) < 1e-20
    # Twice, against the same law written out with a second release that says next to nothing.
    nothing = (DiscreteLaplaceDpEvent(1e-30, 1), 1)
    (pair,) = oracle.truth([(DiscreteLaplaceDpEvent(a, shift), 1), nothing], ADD).below
    assert abs(ratio(pair, arb(eps), value)) < 1e-20


COMPOSITIONS = {
    "Gaussian": [(dpa.GaussianDpEvent(1.3), 7)],
    "Poisson": [(dpa.PoissonSampledDpEvent(0.01, dpa.GaussianDpEvent(1.0)), 1000)],
    "Laplace and discrete Laplace": [
        (dpa.LaplaceDpEvent(2.0), 3),
        (DiscreteLaplaceDpEvent(0.2, 3), 4),
    ],
    "mixture and Laplace": [
        (MixtureOfGaussiansDpEvent(1.0, [0.0, 0.5, 1.0], [0.6, 0.3, 0.1]), 1),
        (dpa.GaussianDpEvent(1.0), 1),
        (dpa.LaplaceDpEvent(2.0), 1),
    ],
}


@pytest.mark.parametrize("name", COMPOSITIONS)
@pytest.mark.parametrize("epsilon", [0.3, 1.7])
def test_an_error_of_1e_12_is_seen(name, epsilon):
    parts = COMPOSITIONS[name]
    delta = float(max(float(p.delta(epsilon).mid()) for p in oracle.truth(parts, ADD).below))
    up, down = 1.0 + 1e-12, 1.0 - 1e-12
    assert oracle.check_delta(parts, ADD, epsilon, delta * down, delta * up) == ("right", "right")
    assert oracle.check_delta(parts, ADD, epsilon, delta * up, 1.0) == ("wrong", "right")
    assert oracle.check_delta(parts, ADD, epsilon, 0.0, delta * down) == ("right", "wrong")
    assert oracle.check_epsilon(parts, ADD, delta, 0.0, epsilon * down) == ("right", "wrong")
    assert oracle.check_epsilon(parts, ADD, delta, epsilon * up, 9.0) == ("wrong", "right")


def test_what_is_not_covered_is_said():
    with pytest.raises(oracle.UnknownError, match="ZCDpEvent"):
        oracle.truth([(dpa.ZCDpEvent(1.0), 1)], ADD)


def test_gaussian_far_out_by_mpmath():
    """Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ) where the second term is e^(2e13) times next to nothing."""
    sigma, count, epsilon = 0.0012, 60_200_000, 20903017313986.773
    with mpmath.workdps(60):
        mu = mpmath.sqrt(count) / mpmath.mpf(sigma)
        near, far = epsilon / mu - mu / 2, epsilon / mu + mu / 2
        mills = mpmath.nsum(  # the asymptotic series of Mills' ratio
            lambda k: (-1) ** int(k) * mpmath.fac2(2 * k - 1) / far ** (2 * k + 1), [0, 4]
        )
        value = mpmath.ncdf(-near) - mpmath.npdf(near) * mills
        value = mpmath.nstr(value, 25)
    (pair,) = oracle.truth([(dpa.GaussianDpEvent(sigma), count)], ADD).below
    assert abs(ratio(pair, arb(epsilon), value)) < 1e-11
