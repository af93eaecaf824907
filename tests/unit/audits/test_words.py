"""What a verdict says first, and that no figure beside it reads as a contradiction."""

import math
import re
from dataclasses import replace

import dp_accounting as dpa
import numpy as np
import pytest

from audits import (
    EventClaim,
    Evidence,
    GaussianClaim,
    Method,
    PointClaim,
    Verdict,
    Word,
    audit,
    audit_noise,
    clopper_pearson,
    hunt,
    judge,
    one_run_audit,
)
from audits.testing.effort import Effort, draws_needed
from audits.wording import odds, once_in

GAUSSIAN = EventClaim(dpa.GaussianDpEvent(1.0))
PAIR = (1.0, 0.0)


def noisy(data, rng, n):
    return data + rng.normal(scale=0.5, size=n)


@pytest.mark.parametrize(
    ("e_value", "words"),
    [
        (100.0, "99 to 1"),  # a stake of 1 has become 100: a gain of 99; also (1 − 1/100)/(1/100)
        (1.5, "less than 1 to 1"),
        (2.0, "1 to 1"),
        (1235.9, "1,230 to 1"),
        (2e6, "more than a million to 1"),
        (3e13, "more than a trillion to 1"),
        (math.inf, "more than a trillion to 1"),
    ],
)
def test_odds_are_the_gain_on_a_stake_of_one_rounded_down(e_value, words):
    assert odds(math.log(e_value) + 1e-12) == words


def test_a_probability_is_rounded_to_the_likelier_side():
    assert once_in(1 / 1239.5) == "once in 1,230"
    assert once_in(0.0) == "once in more than a trillion"


def every_method():
    rng = np.random.default_rng(0)
    yield audit(noisy, PAIR, GAUSSIAN, rng=rng)
    yield hunt(lambda data, rng, n: noisy(np.sum(data), rng, n), GAUSSIAN, rng=rng, dimensions=(1,))
    yield audit_noise(lambda rng, n: rng.normal(scale=0.5, size=n), noise_multiplier=1.0, rng=rng)
    coins = rng.random(500) < 0.5
    yield one_run_audit(coins, coins + 0.1 * rng.normal(size=500), PointClaim(0.2), rng=rng)
    first, second = rng.normal(size=5000) + 4.0, rng.normal(size=5000)
    yield judge(PointClaim(0.5, 1e-5), clopper_pearson(first, second, delta=1e-5))


def test_every_refutation_begins_with_one_sentence_for_everybody():
    """Five methods; each of them refutes a claim that is false by far."""
    count = r"[\d,]+ (draws per side|canaries|draws of the noise)"
    shapes = (
        rf"REFUTED: odds of [\w, ]+ to 1 against the claim after {count}\.",
        "REFUTED: a true claim would look as bad as this at most once in "
        rf"[\w, ]+ times \({count}\)\.",
        rf"REFUTED: {count} show more privacy loss than is claimed, with confidence 99%\.",
    )
    seen = set()
    for verdict in every_method():
        assert verdict.refuted
        first, details = verdict.explain().split("\n")
        (shape,) = [one for one in shapes if re.fullmatch(one, first)]
        seen.add(shape)
        assert details.startswith("The claim of ")
    assert seen == set(shapes)


def test_the_odds_are_of_the_e_value_and_not_of_the_largest_wealth():
    """A wealth that was 1000 and fell to 150: 149 to 1, since only the last one is an e-value."""
    evidence = Evidence(
        method=Method.SEQUENTIAL_AUDIT,
        samples=7,
        confidence=0.99,
        log_e_value=math.log(150.0) + 1e-12,
        log_largest_wealth=math.log(1000.0),
        p_value=0.001,
    )
    verdict = Verdict(word=Word.REFUTED, claim=GAUSSIAN, evidence=evidence)
    assert verdict.headline == "REFUTED: odds of 149 to 1 against the claim after 7 draws per side."


def test_a_bound_below_a_refuted_claim_says_why():
    curve = audit(noisy, PAIR, GAUSSIAN, rng=np.random.default_rng(0))
    assert 0.0 < curve.evidence.epsilon_lower < 4.377
    assert "it is the claimed curve as a whole that the draws refute" in curve.explain()
    pure = audit(
        lambda data, rng, n: data + rng.laplace(scale=0.6, size=n),
        PAIR,
        PointClaim(1.0),
        rng=np.random.default_rng(0),
    )
    assert 0.0 < pure.evidence.epsilon_lower < 1.0
    assert "the verdict asks only whether the claimed ε can be true" in pure.explain()
    beyond = replace(pure, evidence=replace(pure.evidence, epsilon_lower=1.5))
    assert "The same sample shows ε ≥ 1.5 at" in beyond.explain()
    assert "takes nothing from the verdict" not in beyond.explain()
    # At a δ below the claimed one a point says nothing at all.
    silent = replace(pure, claim=PointClaim(1.0, 0.1))
    assert "the claim says nothing at this δ" in silent.explain()


@pytest.mark.parametrize("word", [Word.NOT_REFUTED, Word.INCONCLUSIVE])
def test_silence_is_no_proof(word):
    evidence = Evidence(method=Method.SEQUENTIAL_AUDIT, samples=1234, confidence=0.99)
    text = Verdict(word=word, claim=GAUSSIAN, evidence=evidence).explain()
    expected = {
        Word.NOT_REFUTED: "NOT REFUTED: 1,234 draws per side did not contradict the claim, which "
        "is no proof of it.",
        Word.INCONCLUSIVE: "INCONCLUSIVE: 1,234 draws per side cannot tell whether the claim is "
        "true.",
    }
    assert text.split("\n")[0] == expected[word]
    assert not re.search(r"\b(pass(ed|es)?|safe|private|secure)\b", text, re.IGNORECASE)


def test_a_point_is_told_what_it_costs_and_what_would_cost_less():
    """Gaussian noise that attains (4.377, 1e-5) has μ = 1 (Balle and Wang 2018); μ to 1%."""
    point = Effort(PointClaim(4.377, 1e-5), 0.99)
    told = re.search(r"μ = ([\d.]+), .* about ([\d,]+) draws per side", point.advice)
    assert float(told[1]) == pytest.approx(1.0, rel=0.011)
    curve = draws_needed(GaussianClaim(1.0).region(), 0.99)
    assert float(told[2].replace(",", "")) == pytest.approx(curve, rel=0.1)
    assert point.needed > 50 * curve
    assert "only end REFUTED or INCONCLUSIVE" in point.notice(1000)
    assert point.notice(10**7) == ""
    assert Effort(GaussianClaim(1.0), 0.99).advice == ""
    assert Effort(PointClaim(1.0), 0.99).advice == ""
