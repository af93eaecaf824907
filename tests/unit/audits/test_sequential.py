"""The audit's edges: tiny samples, constants, infinities, NaN, and what the verdict says."""

import copy
import json
import re

import dp_accounting as dpa
import numpy as np
import pytest

import audits
from audits import (
    EventClaim,
    Evidence,
    GaussianClaim,
    LikelihoodRatio,
    PointClaim,
    Verdict,
    Word,
    audit,
    estimate_epsilon,
)
from audits.testing.epsilon_sequence import GRID, EpsilonSequence
from audits.testing.sequential import BettingTest

GAUSSIAN = EventClaim(dpa.GaussianDpEvent(1.0))
PAIR = (1.0, 0.0)


def shifted(data, rng, n, scale=1.0):
    return data + rng.normal(scale=scale, size=n)


MECHANISMS = {
    "constant": lambda data, rng, n: np.zeros(n),
    "NaN": lambda data, rng, n: np.full(n, np.nan),
    "infinite": lambda data, rng, n: np.full(n, np.inf),
    "strange": lambda data, rng, n: rng.choice([np.nan, np.inf, -np.inf, 0.0, 1.0], size=n),
    "huge": lambda data, rng, n: 1e300 * rng.standard_cauchy(n),
    "tiny": lambda data, rng, n: 1e-310 * rng.normal(size=n),
    "integers": lambda data, rng, n: rng.integers(0, 2, size=n),
    "booleans": lambda data, rng, n: rng.random(n) < 0.5,
    "lists": lambda data, rng, n: [[value, 0.0] for value in rng.normal(size=n)],
    "normal": shifted,
}


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("draws", [1, 2, 10, 300])
def test_no_crash_no_nan_no_false_alarm(name, draws):
    """False alarm: at most 1e-9 for each of the forty."""
    verdict = audit(
        MECHANISMS[name],
        PAIR,
        GAUSSIAN,
        confidence=1 - 1e-9,
        max_samples=draws,
        rng=np.random.default_rng(0),
    )
    assert verdict.word is not Word.REFUTED
    assert verdict.evidence.samples == draws
    assert np.isfinite(verdict.evidence.log_e_value)
    assert 0.0 < verdict.evidence.p_value <= 1.0
    assert np.isfinite(verdict.evidence.epsilon_lower)
    if draws <= 2:
        assert verdict.word is Word.INCONCLUSIVE


@pytest.mark.parametrize("value", [np.nan, np.inf, 3.0])
def test_an_exact_leak_is_convicted_whatever_its_value(value):
    verdict = audit(
        lambda data, rng, n: np.full(n, value if data else 0.0),
        PAIR,
        GAUSSIAN,
        rng=np.random.default_rng(0),
    )
    assert verdict.refuted
    assert verdict.evidence.samples < 40


def test_convicts_in_both_directions_and_by_spread_alone():
    for pair in (PAIR, PAIR[::-1]):
        halved = audit(
            lambda d, rng, n: shifted(d, rng, n, 0.5), pair, GAUSSIAN, rng=np.random.default_rng(1)
        )
        assert halved.refuted
    by_spread = audit(
        lambda data, rng, n: rng.normal(scale=1.0 + 9.0 * data, size=n),
        PAIR,
        GAUSSIAN,
        rng=np.random.default_rng(2),
    )
    assert by_spread.refuted


def test_the_same_seed_gives_the_same_verdict():
    first, second = (
        audit(shifted, PAIR, GAUSSIAN, max_samples=500, rng=np.random.default_rng(5))
        for _ in range(2)
    )
    assert first == second
    assert first.evidence.seed == int(np.random.default_rng(5).integers(2**63))


def test_a_vector_is_scored_by_what_separates_it():
    """Ten coordinates that move in opposite directions: their sum shows nothing."""
    signs = np.resize([1.0, -1.0], 10)
    verdict = audit(
        lambda data, rng, n: data * signs + rng.normal(size=(n, 10)),
        PAIR,
        GaussianClaim(1.5),
        rng=np.random.default_rng(3),
    )
    assert verdict.refuted
    assert verdict.evidence.statistic == "a learnt linear score"


def test_known_densities_make_a_statistic():
    statistic = LikelihoodRatio(lambda x: -2 * (x - 1.0) ** 2, lambda x: -2 * x**2)
    verdict = audit(
        lambda d, rng, n: shifted(d, rng, n, 0.5),
        PAIR,
        GAUSSIAN,
        statistic=statistic,
        rng=np.random.default_rng(4),
    )
    assert verdict.refuted
    assert verdict.evidence.statistic == "the likelihood ratio"


def test_the_bound_of_epsilon_is_below_the_truth_at_every_time():
    """Laplace with scale 1/2: ε = 2. False alarm: 1e-9."""
    evidence = estimate_epsilon(
        lambda data, rng, n: data + rng.laplace(scale=0.5, size=n),
        PAIR,
        delta=0.0,
        confidence=1 - 1e-9,
        max_samples=20_000,
        rng=np.random.default_rng(0),
    )
    bounds = [bound for _, bound in evidence.epsilon_path]
    assert bounds == sorted(bounds)
    assert 1.5 < evidence.epsilon_lower <= 2.0 + 1e-9


def test_a_refuted_bound_exceeds_a_false_epsilon():
    evidence = estimate_epsilon(
        lambda data, rng, n: data + rng.laplace(scale=0.25, size=n),
        PAIR,
        delta=0.0,
        max_samples=5_000,
        rng=np.random.default_rng(0),
    )
    assert evidence.epsilon_lower > 2.0


def test_a_point_is_called_weak():
    verdict = audit(
        shifted,
        PAIR,
        PointClaim(4.377, delta=1e-5),
        max_samples=200,
        rng=np.random.default_rng(0),
    )
    assert verdict.word is Word.INCONCLUSIVE
    assert "weak claim" in verdict.explain()
    assert verdict.evidence.delta == 1e-5


@pytest.mark.parametrize("scale", [0.5, 1.0])
def test_json_and_explanation(scale):
    verdict = audit(
        lambda d, rng, n: shifted(d, rng, n, scale),
        PAIR,
        GAUSSIAN,
        max_samples=400,
        rng=np.random.default_rng(0),
    )
    assert Verdict.from_json(verdict.to_json()) == verdict
    assert Evidence.from_json(verdict.evidence.to_json()) == verdict.evidence
    assert json.loads(verdict.to_json())["word"] == verdict.word.value
    text = verdict.explain()
    assert text.startswith(verdict.word.value.replace("_", " "))
    assert text.splitlines()[0] == verdict.headline
    assert len(text.splitlines()) == 2
    assert not re.search(r"\b(pass(ed|es)?|safe|private|secure)\b", text, re.IGNORECASE)


def test_a_method_is_stored_by_its_words():
    verdict = audit(shifted, PAIR, GAUSSIAN, max_samples=10, rng=np.random.default_rng(0))
    body = json.loads(verdict.evidence.to_json())
    assert body["method"] == "sequential betting audit"
    with pytest.raises(ValueError, match="`method` must be one of"):
        Evidence.from_json(json.dumps(body | {"method": "tea leaves"}))


def test_json_of_others_is_refused():
    verdict = audit(shifted, PAIR, GAUSSIAN, max_samples=10, rng=np.random.default_rng(0))
    body = json.loads(verdict.to_json())
    for change in ({"word": "PASSED"}, {"version": 99}, {"surplus": 1}, {"evidence": {}}):
        with pytest.raises(ValueError, match="must"):
            Verdict.from_json(json.dumps(body | change))


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"confidence": 1.0}, "`confidence` must be in"),
        ({"max_samples": 0}, "`max_samples` must be at least 1"),
        ({"delta": 2.0}, "`delta` must be in"),
        ({"rng": 3}, "`rng` must be a numpy.random.Generator"),
        ({"statistic": lambda outputs: [1.0]}, "`statistic` must give one number per output"),
    ],
)
def test_bad_arguments(keywords, message):
    with pytest.raises((ValueError, TypeError), match=message):
        audit(shifted, PAIR, GAUSSIAN, **({"rng": np.random.default_rng(0)} | keywords))


def test_bad_mechanisms_and_pairs():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="must return n = "):
        audit(lambda data, rng, n: np.zeros(n + 1), PAIR, GAUSSIAN, rng=rng)
    with pytest.raises(TypeError, match="`pair` must be"):
        audit(shifted, 3, GAUSSIAN, rng=rng)
    with pytest.raises(TypeError, match="`mechanism` must be a function"):
        audit(None, PAIR, GAUSSIAN, rng=rng)


def test_one_at_a_time_functions_are_lifted():
    one = audits.repeat(lambda data, rng: data + rng.normal(scale=0.4))
    assert audit(one, PAIR, GAUSSIAN, rng=np.random.default_rng(0)).refuted


def test_the_e_value_is_the_last_wealth_and_the_p_value_comes_from_the_largest():
    verdict = audit(shifted, PAIR, GAUSSIAN, max_samples=400, rng=np.random.default_rng(5))
    evidence = verdict.evidence
    assert not verdict.refuted
    assert evidence.log_e_value == evidence.wealth_path[-1][1]
    assert evidence.log_e_value < evidence.log_largest_wealth
    assert evidence.p_value == pytest.approx(np.exp(-evidence.log_largest_wealth))
    assert Evidence.from_json(evidence.to_json()) == evidence
    refuted = audit(
        lambda d, rng, n: shifted(d, rng, n, 0.5), PAIR, GAUSSIAN, rng=np.random.default_rng(1)
    ).evidence
    assert refuted.log_e_value == refuted.log_largest_wealth


def test_evidence_stored_before_the_two_had_names_is_read():
    evidence = audit(shifted, PAIR, GAUSSIAN, max_samples=50, rng=np.random.default_rng(5)).evidence
    body = evidence.as_dictionary()
    del body["log_largest_wealth"]
    assert Evidence.from_dictionary(body).log_largest_wealth is None


# Pairs of laws on few values, with claims that are true of them and as tight as can be.
FEW_VALUES = {
    "randomised response": ([0.25, 0.75], [0.75, 0.25], PointClaim(np.log(3.0))),
    "with a leak": ([0.05, 0.7, 0.25], [0.0, 0.25, 0.75], PointClaim(np.log(3.0), delta=0.05)),
}


def mean_factor(test, first_law, second_law):
    """The exact mean of what one more pair of draws multiplies the wealth with."""
    mean = 0.0
    for x, p in enumerate(first_law):
        for y, q in enumerate(second_law):
            ahead = copy.deepcopy(test)
            ahead.update(np.array([float(x)]), np.array([float(y)]))
            mean += p * q * np.exp(ahead.log_wealth - test.log_wealth)
    return mean


@pytest.mark.parametrize("name", FEW_VALUES)
@pytest.mark.parametrize("past", [7, 60, 600, 1500])
def test_a_true_claims_wealth_is_a_supermartingale_given_any_past(name, past):
    """Bets are chosen from the past alone: no draw is bet on with itself in view."""
    first_law, second_law, claim = FEW_VALUES[name]
    rng = np.random.default_rng([6, past])
    test = BettingTest(claim.region(), 1e300)
    # A past that looks worse than the claim allows, so that bets are made.
    values = np.arange(len(first_law), dtype=float)
    while test.samples < past:
        size = min(BettingTest.next_block(test.samples), past - test.samples)
        first = rng.choice(values, size, p=0.5 * np.array(first_law) + 0.5 * np.eye(values.size)[1])
        second = rng.choice(
            values, size, p=0.5 * np.array(second_law) + 0.5 * np.eye(values.size)[0]
        )
        test.update(first, second)
    assert test.log_wealth > 0.0 or past < 60
    assert mean_factor(test, first_law, second_law) <= 1.0 + 1e-12


def test_bets_do_not_depend_on_draws_to_come():
    """Two futures that part in the middle of a block: the same wealth up to there."""
    rng = np.random.default_rng(7)
    one, other = (BettingTest(GAUSSIAN.region(), 1e300) for _ in range(2))
    for _ in range(12):
        size = BettingTest.next_block(one.samples)
        block = rng.normal(2.0, 1.0, size), rng.normal(size=size)
        one.update(*block)
        other.update(*block)
    first, second = rng.normal(2.0, 1.0, 40), rng.normal(size=40)
    one.update(first, second)
    other.update(np.append(first[:20], 99.0), np.append(second[:20], -99.0))
    assert one.path[-1][:20].tolist() == other.path[-1][:20].tolist()
    assert one.path[-1][20] != other.path[-1][20]


def test_the_wealth_behind_the_bound_is_a_supermartingale_at_true_points():
    """Randomised response: (ε₀, 0)-DP is true for every grid point from log 3 on."""
    first_law, second_law, claim = FEW_VALUES["randomised response"]
    rng = np.random.default_rng(8)
    sequence, past = EpsilonSequence(0.0, np.log(100.0)), (np.empty(0), np.empty(0))
    for size in (20, 60, 400):
        block = (rng.random(size) < 0.9).astype(float), (rng.random(size) < 0.1).astype(float)
        past = np.append(past[0], block[0]), np.append(past[1], block[1])
        sequence.update(*block, past)
    means = np.zeros_like(sequence._wealths)
    for x, p in enumerate(first_law):
        for y, q in enumerate(second_law):
            ahead = copy.deepcopy(sequence)
            ahead.update(np.array([float(x)]), np.array([float(y)]), past)
            means += p * q * np.exp(ahead._wealths - sequence._wealths)
    true = claim.epsilon <= GRID
    assert means[:, true].max() <= 1.0 + 1e-12
    assert (means[:, true] < 1.0).any()  # Bets are made there.
