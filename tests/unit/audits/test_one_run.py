"""One run: the theorem on whole scores by enumeration, ties, the bound of ε, the plan, the kit."""

import itertools

import dp_accounting as dpa
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audits import (
    EventClaim,
    PointClaim,
    canaries_needed,
    make_canaries,
    one_run_audit,
)
from audits.estimators.one_run import Guesses, point_p_value
from audits.estimators.score_bets import Revealed, score_p_value
from audits.testing.scores import as_scores

RNG = np.random.default_rng
CANARIES = 4
COINS = np.array(list(itertools.product([False, True], repeat=CANARIES)))
# Row i, column j: the coins with coin j turned.
TURNED = np.arange(16)[:, None] ^ (1 << np.arange(CANARIES)[::-1])[None, :]


def pure_epsilon(table: np.ndarray) -> float:
    """The largest log ratio between neighbours, of P(y | coins) as (coins, y)."""
    return float(np.abs(np.log(table[:, None, :] / table[TURNED])).max())


def mean_wealth(table: np.ndarray, scores: np.ndarray, epsilon: float) -> float:
    """E[W] over all coins and releases; `scores` is (y, canaries)."""
    total = 0.0
    for y, values in enumerate(scores):
        for coins, probability in zip(COINS, table[:, y], strict=True):
            revealed = Revealed.of(coins, as_scores(values))
            _, log_wealth = score_p_value(revealed, PointClaim(epsilon).region(), 0.05)
            total += probability * np.exp(log_wealth) / len(COINS)
    return total


@settings(max_examples=10)
@given(st.integers(0, 10**6), st.floats(0.2, 3.0), st.booleans())
def test_the_wealth_is_an_e_value_of_any_pure_mechanism(seed, strength, rounded):
    """An exponential mechanism with random utilities; the scores are its posterior or noise."""
    rng = RNG(seed)
    table = np.exp(strength * rng.normal(size=(16, 6)))
    table /= table.sum(axis=1, keepdims=True)
    posterior = (COINS.T.astype(float) @ table / table.sum(axis=0)).T
    scores = posterior if seed % 2 else rng.normal(size=(6, CANARIES))
    if rounded:
        scores = scores.round(1)
    assert mean_wealth(table, scores, pure_epsilon(table)) <= 1.0 + 1e-9


def test_the_wealth_grows_where_the_claim_is_false():
    """Randomised response with ε = 3, claimed 1: the theorem's premise fails, and its end too."""
    right = 1 / (1 + np.exp(-3.0))
    agree = (COINS[:, None, :] == COINS[None, :, :]).sum(axis=2)
    table = right**agree * (1 - right) ** (CANARIES - agree)
    assert mean_wealth(table, COINS.astype(float), 1.0) > 1.0
    assert mean_wealth(table, COINS.astype(float), 3.0) <= 1.0 + 1e-9


@pytest.mark.parametrize("leak", [0.01, 0.1])
@pytest.mark.parametrize("level", [0.05, 0.3])
def test_the_p_value_with_delta_by_enumeration(leak, level):
    """Everything is revealed with probability δ, else randomised response: (ε, δ)-DP exactly."""
    epsilon = 1.0
    right = 1 / (1 + np.exp(-epsilon))
    agree = (COINS[:, None, :] == COINS[None, :, :]).sum(axis=2)
    noisy = right**agree * (1 - right) ** (CANARIES - agree)
    # The second half of the releases says that it reveals: 10 where a canary is in.
    table = np.concatenate([(1 - leak) * noisy, leak * np.eye(16)], axis=1)
    scores = np.concatenate([COINS.astype(float), 10.0 * COINS])
    curve = PointClaim(epsilon, delta=leak).region()
    found = [
        (score_p_value(Revealed.of(coins, as_scores(values)), curve, level)[0], table[s, y] / 16)
        for y, values in enumerate(scores)
        for s, coins in enumerate(COINS)
    ]
    p_values, masses = np.array(found).T
    for t in np.unique(p_values):
        assert masses[p_values <= t].sum() <= t + 1e-9


def test_equal_scores_say_nothing_whatever_the_order_of_the_canaries():
    """Sorted coins refuted a true claim when ties kept their order. False alarm: 1e-9 each."""
    coins = np.arange(2000) >= 1000
    for seed, scores in enumerate((np.zeros(2000), np.arange(2000) % 2)):
        verdict = one_run_audit(coins, scores, PointClaim(0.1), rng=RNG(seed), confidence=1 - 1e-9)
        assert not verdict.refuted
        assert verdict.evidence.epsilon_lower == 0.0


@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_a_refuted_claim_comes_with_a_bound_above_it(delta):
    """2,000 canaries, randomised response with ε = 2, at 99%: one seed, which is fixed."""
    rng = RNG(0)
    coins = rng.random(2000) < 0.5
    scores = coins ^ (rng.random(2000) > 1 / (1 + np.exp(-2.0)))
    verdict = one_run_audit(coins, scores, PointClaim(1.0, delta=delta), rng=rng)
    assert verdict.refuted
    assert 1.0 < verdict.evidence.epsilon_lower <= 2.0
    assert verdict.evidence.delta == delta
    assert "ε ≥" in verdict.explain()


def test_whole_scores_refute_what_counts_of_guesses_do_not():
    """One canary in fifty is known for sure, the rest are noise: extremes tell, counts do not."""
    rng = RNG(1)
    coins = rng.random(3000) < 0.5
    known = rng.random(3000) < 0.015
    scores = np.where(known, 40.0 * (coins - 0.5), rng.normal(size=3000))
    claim = PointClaim(1.0)
    by_counts = [
        one_run_audit(coins, scores, claim, rng=rng, made=3000 // part) for part in (1, 2, 5, 20)
    ]
    assert not any(verdict.refuted for verdict in by_counts)
    whole = one_run_audit(coins, scores, claim, rng=rng)
    assert whole.refuted
    assert whole.evidence.log_e_value > 5.0
    assert "whole scores" in whole.evidence.statistic


def test_the_plan_is_what_the_test_needs():
    claim = PointClaim(1.0)
    needed = canaries_needed(claim, accuracy=0.9)
    assert point_p_value(Guesses(needed, needed, int(0.9 * needed)), 1.0, 0.0) <= 0.01
    fewer = needed - 5
    assert point_p_value(Guesses(fewer, fewer, int(0.9 * fewer)), 1.0, 0.0) > 0.01
    # All right: (e/(1+e))^n ≤ 0.01 by hand.
    assert canaries_needed(claim, accuracy=1.0) == int(
        np.ceil(np.log(0.01) / np.log(np.e / (1 + np.e)))
    )
    # e/(1+e) = 0.731 is what the claim allows.
    assert canaries_needed(claim, accuracy=0.73) == np.inf
    assert canaries_needed(claim, accuracy=0.9, guessed=0.1) > 9 * needed
    curve = EventClaim(dpa.GaussianDpEvent(2.0))
    assert 10 < canaries_needed(curve, accuracy=0.95) < 200


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"accuracy": 0.5}, "`accuracy` must be in"),
        ({"accuracy": 0.9, "guessed": 0.0}, "`guessed` must be in"),
        ({"accuracy": 0.9, "confidence": 1.0}, "`confidence` must be in"),
    ],
)
def test_a_plan_of_nothing_is_refused(keywords, message):
    with pytest.raises(ValueError, match=message):
        canaries_needed(PointClaim(1.0), **keywords)


def test_the_kit_from_canaries_to_verdict():
    """A noisy sum with a fifth of the noise is refuted; with the claimed noise not (1e-9)."""
    claim = EventClaim(dpa.GaussianDpEvent(1.0))
    for noise, confidence in ((0.2, 0.99), (1.0, 1 - 1e-9)):
        rng = RNG(2)
        canaries = make_canaries(300, 400, rng=rng)
        data = canaries.inserted_into(np.zeros((3, 400)))
        assert len(data) == 3 + canaries.included.sum()
        released = data.sum(axis=0) + rng.normal(scale=noise, size=400)
        verdict = one_run_audit(
            canaries.included, canaries.scores(released), claim, rng=rng, confidence=confidence
        )
        assert verdict.refuted is (noise < 1.0)


@pytest.mark.parametrize("claim", [PointClaim(0.0), PointClaim(800.0), PointClaim(1.0, delta=0.9)])
def test_any_scores_give_a_p_value(claim):
    coins = RNG(1).random(3000) < 0.5
    for scores in (coins, np.full(3000, np.nan), np.where(coins, np.inf, -np.inf), 1e308 * coins):
        evidence = one_run_audit(coins, scores, claim, rng=RNG(0)).evidence
        assert 0.0 < evidence.p_value <= 1.0
        assert np.isfinite(evidence.epsilon_lower)


def test_the_kits_edges():
    rng = RNG(0)
    many = make_canaries(10, 4, norm=3.0, rng=rng)
    assert np.allclose(np.linalg.norm(many.records, axis=1), 3.0)
    assert many.scores(np.zeros((7, 4))).shape == (10,)
    with pytest.raises(ValueError, match="`data` must have shape"):
        many.inserted_into(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="`released` must be vectors of 4"):
        many.scores(np.zeros(3))
    with pytest.raises(ValueError, match="`count` must be"):
        make_canaries(0, 4, rng=rng)
    with pytest.raises(TypeError, match="`rng` must be"):
        make_canaries(1, 4, rng=3)
    with pytest.raises(TypeError, match="`rng` must be"):
        one_run_audit([True, False], [0, 1], PointClaim(1.0), rng=None)
