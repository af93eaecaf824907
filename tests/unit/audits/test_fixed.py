"""Fixed-sample bounds, the white-box audit and the one-run audit."""

import dp_accounting as dpa
import numpy as np
import pytest
from scipy import stats

from audits import (
    EventClaim,
    Evidence,
    GaussianClaim,
    Method,
    PointClaim,
    Word,
    audit_noise,
    clopper_pearson,
    gaussian_dp,
    judge,
    one_run_audit,
)
from audits.estimators.one_run import Guesses, curve_p_value, guess, point_p_value

RNG = np.random.default_rng


def test_clopper_pearson_by_hand():
    """Every test score separates: 50 of 50 against 0 of 50 in the held-out half."""
    evidence = clopper_pearson(np.ones(100), np.zeros(100), delta=0.0, confidence=0.95)
    p_lower, q_upper = 0.025 ** (1 / 50), 1 - 0.025 ** (1 / 50)
    assert evidence.epsilon_lower == pytest.approx(np.log(p_lower / q_upper))


def test_clopper_pearson_finds_either_direction_and_side():
    rng = RNG(0)
    first, second = rng.normal(3, 1, 4000), rng.normal(0, 1, 4000)
    bounds = [
        clopper_pearson(a, b).epsilon_lower
        for a, b in ((first, second), (second, first), (-first, -second))
    ]
    assert min(bounds) > 2.5


def test_clopper_pearson_is_below_the_truth():
    """Laplace, ε = 1: false alarm 1e-9 for each of twenty."""
    for seed in range(20):
        rng = RNG(seed)
        first, second = 1 + rng.laplace(size=2000), rng.laplace(size=2000)
        bound = clopper_pearson(first, second, delta=0.0, confidence=1 - 1e-9).epsilon_lower
        assert bound <= 1.0


def test_gaussian_estimate_is_sharp_for_gaussians_and_says_what_it_assumes():
    rng = RNG(1)
    evidence = gaussian_dp(rng.normal(1, 1, 20_000), rng.normal(0, 1, 20_000))
    assert 4.0 < evidence.epsilon_lower < 4.377
    assert "normal" in evidence.assumptions[0]


def test_gaussian_estimate_falsely_accuses_laplace():
    """Why it carries a flag: correct Laplace noise with ε = 1 looks like μ = 0.7, ε(1e-5) = 2.9."""
    rng = RNG(2)
    evidence = gaussian_dp(1 + rng.laplace(size=20_000), rng.laplace(size=20_000))
    assert evidence.epsilon_lower > 2.0
    assert judge(PointClaim(1.0), evidence).refuted
    assert "not a bound" in judge(PointClaim(1.0), evidence).explain()


def test_small_sample_bound_against_the_exact_law():
    """n = 5 per side: P(bound > μ) ≤ α/2 by simulation, with room of six standard errors."""
    rng = RNG(3)
    first, second = rng.normal(1, 1, (1200, 5)), rng.normal(0, 1, (1200, 5))
    from accountants import gaussian

    exceeded = np.mean(
        [
            gaussian_dp(a, b, confidence=0.9).epsilon_lower > gaussian.epsilon(1.0, 1e-5)
            for a, b in zip(first, second, strict=True)
        ]
    )
    assert exceeded < 0.05 + 6 * np.sqrt(0.05 * 0.95 / 1200)


def test_judging_a_bound():
    rng = RNG(4)
    evidence = clopper_pearson(rng.normal(4, 1, 5000), rng.normal(0, 1, 5000))
    assert judge(PointClaim(1.0, delta=1e-6), evidence).refuted
    assert judge(PointClaim(20.0, delta=1e-6), evidence).word is Word.NOT_REFUTED
    nothing = clopper_pearson(rng.normal(size=10), rng.normal(size=10))
    assert judge(PointClaim(1.0), nothing).word is Word.INCONCLUSIVE


@pytest.mark.parametrize("estimate", [clopper_pearson, gaussian_dp])
def test_samples_must_match(estimate):
    with pytest.raises(ValueError, match="same number of scores"):
        estimate(np.zeros(10), np.zeros(11))


def test_white_box_convicts_small_noise_and_only_that():
    """False alarm: 1e-9 each for the true noise and for more of it."""
    small = audit_noise(lambda r, n: r.normal(0, 0.5, n), noise_multiplier=1.0, rng=RNG(0))
    assert small.refuted
    assert small.evidence.samples < 60
    for scale, centre in ((1.0, 0.0), (2.0, 0.0), (1.0, 5.0)):
        verdict = audit_noise(
            lambda r, n, scale=scale, centre=centre: r.normal(centre, scale, n),
            noise_multiplier=1.0,
            confidence=1 - 1e-9,
            max_samples=3000,
            rng=RNG(1),
        )
        assert verdict.word is Word.NOT_REFUTED
    few = audit_noise(
        lambda r, n: r.normal(size=n), noise_multiplier=1.0, max_samples=5, rng=RNG(2)
    )
    assert few.word is Word.INCONCLUSIVE


def test_white_box_survives_what_is_no_number():
    verdict = audit_noise(
        lambda r, n: np.full(n, np.nan), noise_multiplier=1.0, max_samples=50, rng=RNG(0)
    )
    assert not verdict.refuted


def test_the_point_p_value_is_a_binomial_tail_without_delta():
    """Steinke et al. 2023, Theorem 5.2 with δ = 0."""
    tail = stats.binom.sf(79, 100, np.e / (1 + np.e))
    assert point_p_value(Guesses(100, 100, 80), 1.0, 0.0) == pytest.approx(tail)
    assert point_p_value(Guesses(100, 100, 80), 1.0, 1e-3) > tail
    assert point_p_value(Guesses(100, 100, 0), 1.0, 1e-3) == 1.0


def test_the_curve_p_value_of_pure_privacy_is_near_the_binomial_tail():
    """Both theorems hold for a pure ε; the second is within a factor of the exact first."""
    curve = PointClaim(1.0).region()
    for right in (750, 770, 790):
        exact = stats.binom.sf(right - 1, 1000, np.e / (1 + np.e))
        assert exact <= curve_p_value(Guesses(1000, 1000, right), curve) <= 4 * exact


def test_the_curve_p_value_is_valid_for_the_gaussian():
    """250 runs of μ = 1 on 200 canaries at level 0.1; the bound has false alarm below 1e-6."""
    rng, curve, alarms = RNG(5), GaussianClaim(1.0).region(), 0
    for _ in range(250):
        coins = rng.random(200) < 0.5
        guesses = guess(coins, coins + rng.normal(size=200), 40, rng=RNG(0))
        alarms += curve_p_value(guesses, curve) <= 0.1
    assert alarms <= stats.binom.isf(1e-7, 250, 0.1)


def test_guesses_count_both_ends():
    coins = np.array([False, False, True, False, True, True])
    assert guess(coins, [0, 1, 2, 3, 4, 5], 4, rng=RNG(0)) == Guesses(6, 4, 4)
    assert guess(coins, [5, 4, 3, 2, 1, 0], 6, rng=RNG(0)) == Guesses(6, 6, 2)
    with pytest.raises(ValueError, match="one entry per canary"):
        guess(coins, [1.0], 2, rng=RNG(0))


def test_one_run_says_when_it_could_not_have_told():
    verdict = one_run_audit([True, False, True, False], [3, 1, 4, 2], PointClaim(8.0), rng=RNG(0))
    assert verdict.word is Word.INCONCLUSIVE
    assert "every guess had been right" in verdict.explain()


def test_one_run_counts_its_looks():
    """Four numbers of guesses share half of α: at most eight times the p-value of one of them."""
    coins = np.arange(400) >= 200
    claim = EventClaim(dpa.GaussianDpEvent(2.0))
    all_looks = one_run_audit(coins, np.arange(400), claim, rng=RNG(0))
    one_look = one_run_audit(coins, np.arange(400), claim, made=400, rng=RNG(0))
    assert all_looks.evidence.p_value <= 8 * one_look.evidence.p_value * (1 + 1e-9)
    assert all_looks.refuted


@pytest.mark.parametrize("delta", [0.0, 1e-5])
@pytest.mark.parametrize(("shown", "refuted"), [(1.5, True), (1.0, False), (0.5, False)])
def test_a_point_is_judged_at_its_own_delta(delta, shown, refuted):
    evidence = Evidence(
        method=Method.CLOPPER_PEARSON, samples=10, confidence=0.99, epsilon_lower=shown, delta=delta
    )
    assert judge(PointClaim(1.0, delta=delta), evidence).refuted is refuted
    # A claim at another δ: weaker at a larger one, of which a smaller δ says nothing.
    assert judge(PointClaim(1.0, delta=2 * delta + 1e-3), evidence).word is Word.NOT_REFUTED


@pytest.mark.parametrize(
    "claim",
    [PointClaim(1.0, delta=1e-5), GaussianClaim(1.0), EventClaim(dpa.LaplaceDpEvent(1.0))],
)
def test_judging_agrees_with_the_claims_own_epsilon(claim):
    exact = claim.epsilon_upper(1e-5)
    for factor, refuted in ((1.001, True), (0.999, False), (np.inf, True)):
        evidence = Evidence(
            method=Method.CLOPPER_PEARSON,
            samples=10,
            confidence=0.99,
            epsilon_lower=factor * exact,
            delta=1e-5,
        )
        assert judge(claim, evidence).refuted is refuted
