"""Guesses and learnt scores: they steer bets, so they are tested for what they see."""

import numpy as np
import pytest
from scipy import stats

from audits import GaussianClaim, LinearScore, PointClaim, QuadraticScore, audit
from audits.testing.guesses import cell_edges, common_values, laplace_cells, laplace_guess
from audits.testing.half_lines import cautious_mass, half_line_guess, thresholds
from audits.testing.learnt import learn_score
from audits.testing.scores import as_scores
from audits.testing.statistics import Summary

RNG = np.random.default_rng


def test_laplace_cells_are_laplaces():
    edges = np.linspace(-6.0, 3.0, 12)
    exact = np.diff(np.concatenate([[0.0], stats.laplace.cdf(edges), [1.0]]))
    assert laplace_cells(edges) == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_laplace_guess_finds_the_ratio(sign):
    rng = RNG(0)
    first, second = sign * (1.5 + rng.laplace(size=20_000)), sign * rng.laplace(size=20_000)
    guess = laplace_guess(first, second, prior=1.0)
    ratios = np.log(guess.first / guess.second)
    # Standard error of the medians' distance: √2/√n = 0.01.
    assert np.abs(ratios).max() == pytest.approx(1.5, abs=0.06)
    assert guess.first.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (np.zeros(10), np.zeros(10)),
        (np.ones(10), np.zeros(10)),
        (np.full(10, np.inf), np.zeros(10)),
        (np.zeros(2), np.ones(2)),
        (1e-320 * np.arange(10), np.zeros(10)),
        (np.full(10, 1e308), np.full(10, -1e308)),
    ],
)
def test_no_laplace_law_is_fitted_to_what_is_none(first, second):
    guess = laplace_guess(as_scores(first), as_scores(second), 1.0)
    if guess is not None:
        assert np.isfinite(guess.edges).all()
        assert guess.first.sum() == pytest.approx(1.0)


def test_half_lines_find_the_end_of_a_support():
    rng = RNG(1)
    first, second = np.sort(rng.uniform([[-1.0], [-2.0]], [[3.0], [2.0]], (2, 3000)))
    guess = half_line_guess(first, second, GaussianClaim(1.0).region())
    # [2, 3] is out of the second's reach, [−2, −1] out of the first's.
    assert guess.edges[0] == pytest.approx(-1.0, abs=0.15)
    assert guess.edges[-1] == pytest.approx(2.0, abs=0.15)
    assert guess.second[-1] < 0.002 < guess.first[-1]
    assert half_line_guess(first, first, GaussianClaim(1.0).region()) is None


def test_thresholds_and_cells_set_common_values_and_nan_apart():
    pooled = np.sort(as_scores(np.repeat([np.nan, np.inf, 0.0, -0.0, 1.0], 20)))
    assert common_values(pooled).size == 5
    for edges in (thresholds(pooled), cell_edges(pooled)):
        cells = np.searchsorted(edges, np.unique(pooled), side="right")
        assert np.unique(cells).size == 5


def test_a_cautious_mass_lies_inside():
    hits = np.array([0, 1, 50, 100])
    for sign in (-1.0, 1.0):
        mass = cautious_mass(hits, 100, sign)
        assert ((mass > 0.0) & (mass < 1.0)).all()
    assert (cautious_mass(hits, 100, -1.0) <= cautious_mass(hits, 100, 1.0)).all()


def test_the_lowest_bit_is_absolute():
    values = np.array([0.75, 1.0, 3.0, 2.0**-1074, 2.0**1023, 0.1, 0.0, np.inf, np.nan])
    # 0.1 is odd · 2^−55 as a double: 0x1.999999999999ap-4.
    expected = [-2.0, 0.0, 0.0, -1074.0, 1023.0, -55.0, 1024.0, 1025.0, 1025.0]
    assert Summary("exponent of the lowest bit")(values).tolist() == expected


def test_noise_added_in_floats_is_refuted_by_its_lowest_bit():
    """Mironov 2012: 0 + noise has finer bits than 1 + noise. The claim is true of real numbers."""
    verdict = audit(
        lambda data, rng, n: data + rng.normal(size=n),
        (1.0, 0.0),
        GaussianClaim(1.0),
        statistic=Summary("exponent of the lowest bit"),
        rng=RNG(0),
    )
    assert verdict.refuted
    assert verdict.evidence.statistic == "the exponent of the lowest bit"


def categories_and_numbers(data, rng, n):
    """The category decides the sign of the shift: neither of the two moves by itself."""
    category = rng.integers(0, 2, n)
    return np.stack([category, rng.normal(size=n) + np.where(category, data, -data)], axis=1)


def correlated(data, rng, n):
    one, two = rng.normal(size=(2, n))
    return np.stack([one, 0.9 * one + np.sqrt(0.19) * two if data else two], axis=1)


@pytest.mark.parametrize("mechanism", [categories_and_numbers, correlated])
def test_an_event_in_two_outputs_together_is_found(mechanism):
    verdict = audit(mechanism, (1.0, 0.0), GaussianClaim(0.5), max_samples=6000, rng=RNG(0))
    assert verdict.refuted
    assert verdict.evidence.statistic == "a learnt quadratic score"


def test_equal_laws_and_shifts_keep_the_linear_score():
    rng = RNG(3)
    first, second = rng.normal(size=(2, 400, 5))
    assert type(learn_score(first + 1.0, second)) is LinearScore
    tiny = learn_score(first[:3], second[:3])
    assert np.isfinite(tiny(second)).all()


def test_a_quadratic_score_survives_what_is_no_number():
    rng = RNG(4)
    outputs = rng.choice([np.nan, np.inf, -np.inf, 0.0, 1.0], size=(200, 3))
    score = QuadraticScore.learn(outputs[:100], outputs[100:])
    assert np.isfinite(score(outputs)).all()
    wide = QuadraticScore.learn(rng.normal(size=(20, 500)), rng.normal(size=(20, 500)))
    assert wide(rng.normal(size=(3, 500))).shape == (3,)


def test_a_pure_claim_is_tested_by_laplaces_law_from_the_start():
    """ε = 3, claimed 1, within 200 draws on each of five seeds, which are fixed."""
    for seed in range(5):
        verdict = audit(
            lambda data, rng, n: data + rng.laplace(scale=1 / 3, size=n),
            (1.0, 0.0),
            PointClaim(1.0),
            rng=RNG(seed),
        )
        assert verdict.refuted
        assert verdict.evidence.samples <= 200
