"""The zoo: fields complete, every flaw caught, no twin accused.

False alarms: a twin's claim is tested at confidence 1 − 1e-8, so that a sound twin fails its test
with probability at most 1e-8, and fewer than 100 of them together with less than 1e-6; seeds are
fixed besides. Flawed ones are tested at 99%, with fixed seeds.
"""

import collections
import dataclasses
import importlib
import json
import pkgutil
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

import audits.specimens
from audits import Claim, Word
from audits.specimens import (
    CAUGHT,
    LINTS,
    SPECIMENS,
    Examination,
    Specimen,
    Witness,
    as_json,
    epsilon_claimed,
    examine,
    hidden_noise_in_factors,
    percentile_clipping,
    random_walk,
    run_zoo,
)
from audits.specimens.examine import REPORTED_DELTA, verdict_on
from audits.specimens.sums import REPLACE
from mechanisms import AGGREGATE, MESSAGES, NoiseSplitting, Scope, UnsupportedEventError, project

SOUND = 1.0 - 1e-8


@pytest.mark.parametrize("name", [*SPECIMENS, *LINTS])
def test_fields_are_complete(name):
    """A reference, a twin, expected words, a sentence and an explanation of both sides."""
    member = SPECIMENS.get(name) or LINTS[name]
    for text in (member.name, member.flaw, member.reference, member.explanation):
        assert text.strip()
    assert "twin" in member.explanation
    assert member.flawed != member.repaired
    assert member.flaw.endswith(".")
    if isinstance(member, Specimen):
        assert isinstance(member.claim, Claim)
        assert not member.claim.is_point
        assert member.expected.repaired is Word.NOT_REFUTED
        assert member.pair.name != "the given pair"


def records_of(data):
    """All records of a data set, whatever its form, and the client that has each."""
    if isinstance(data, tuple):
        return [(client, target) for client, own in enumerate(data) for target in own]
    return [tuple(np.atleast_1d(row)) for row in data]


@pytest.mark.parametrize("name", SPECIMENS)
def test_the_pair_are_neighbours_under_the_claimed_relation(name):
    specimen = SPECIMENS[name]
    first, second = (
        collections.Counter(records_of(data))
        for data in (specimen.pair.first, specimen.pair.second)
    )
    more, less = (first - second).total(), (second - first).total()
    if specimen.claim.relation is REPLACE:
        assert (more, less) == (1, 1)
    else:
        assert sorted((more, less)) == [0, 1]


def test_every_flaw_module_is_registered_and_documented():
    found = 0
    for module in pkgutil.iter_modules(audits.specimens.__path__):
        if module.name in audits.specimens.MACHINERY:
            continue
        loaded = importlib.import_module(f"audits.specimens.{module.name}")
        assert loaded.__doc__
        for member in getattr(loaded, "SPECIMENS", ()):
            assert SPECIMENS[member.name] is member
            found += 1
    assert found == len(SPECIMENS)


@pytest.mark.parametrize("name", SPECIMENS)
def test_the_flawed_mechanism_gets_the_expected_word(name):
    specimen = SPECIMENS[name]
    harmless = specimen.expected.flawed is Word.NOT_REFUTED
    verdict = verdict_on(
        specimen.flawed, specimen, np.random.default_rng(0), SOUND if harmless else 0.99
    )
    assert verdict.word is specimen.expected.flawed, verdict.explain()


@pytest.mark.parametrize("name", SPECIMENS)
def test_the_twin_is_not_refuted(name):
    specimen = SPECIMENS[name]
    verdict = verdict_on(specimen.repaired, specimen, np.random.default_rng(1), SOUND)
    assert verdict.word is Word.NOT_REFUTED, verdict.explain()


@pytest.mark.parametrize("name", [n for n, s in SPECIMENS.items() if s.witness is not None])
def test_a_witness_proves_more_than_is_claimed(name):
    specimen = SPECIMENS[name]
    claimed = epsilon_claimed(specimen.claim)
    assert specimen.witness.epsilon_lower(REPORTED_DELTA) > claimed


@pytest.mark.parametrize("name", LINTS)
def test_lints_tell_the_mistake_from_the_repair(name):
    assert LINTS[name].as_expected()


def test_the_random_walk_grows_in_proportion_to_the_rounds():
    """T·(σC)² without resets, (σC)² with them; 4,000 repetitions, 7 standard errors: < 1e-11."""
    slack = 7.0 * np.sqrt(2.0 / random_walk.REPETITIONS)
    for rounds in (1, 5, 20):
        one_round = random_walk.NOISE_MULTIPLIER**2
        walked = random_walk.variance_after(rounds, "forgets", seed=1)
        assert walked == pytest.approx(rounds * one_round, rel=slack)
        reset = random_walk.variance_after(rounds, "resets", seed=2)
        assert reset == pytest.approx(one_round, rel=slack)


def test_the_witness_of_percentile_clipping_agrees_with_draws():
    """P(S) is near 1, so a binomial bound at 1e-8 is close to it; Q(S) is below 1e-21."""
    specimen = SPECIMENS["percentile clipping"]
    radius = 6.0 * percentile_clipping.NOISE_MULTIPLIER * percentile_clipping.SMALL
    inside = [
        np.linalg.norm(specimen.flawed(data, np.random.default_rng(0), 20_000), axis=1) < radius
        for data in (specimen.pair.first, specimen.pair.second)
    ]
    assert stats.binom.cdf(inside[0].sum(), 20_000, specimen.witness.probability_first_lower) > 1e-8
    assert not inside[1].any()
    assert specimen.witness.epsilon_lower(1e-5) > 50.0


def test_what_project_says_of_the_flawed_federations():
    """The accounting of our own mechanisms sees what the specimens show."""
    flawed = NoiseSplitting(clip_norm=1.0, noise_multiplier=2.0)
    scope = Scope(relation=REPLACE, unit="record", view=MESSAGES)
    event = project(flawed.plan(clients=10, rounds=1), scope)
    assert event.noise_multiplier == pytest.approx(2.0 / 10**0.5)
    with pytest.raises(UnsupportedEventError):
        project(flawed.plan(clients=10, rounds=10), dataclasses.replace(scope, view=AGGREGATE))


@pytest.mark.slow
def test_noise_hidden_in_the_factors_of_a_hundred_clients():
    """σ = 5, T = 10, α = 1: the others are hardly ever clipped, and the leak is plainer."""
    specimen = dataclasses.replace(
        hidden_noise_in_factors.clipped_among(100), name="a hundred clients", max_samples=150
    )
    flawed = verdict_on(specimen.flawed, specimen, np.random.default_rng(0), 0.99)
    repaired = verdict_on(specimen.repaired, specimen, np.random.default_rng(1), SOUND)
    assert (flawed.word, repaired.word) == CAUGHT


def small_specimen(**changes):
    return dataclasses.replace(SPECIMENS["fixed seed"], max_samples=200, **changes)


def test_a_hunt_where_no_statistic_is_given():
    specimen = small_specimen(statistic=None)
    examination = examine(specimen, np.random.default_rng(0))
    assert examination.as_expected
    assert "explored" in examination.flawed.reason


def test_the_zoo_as_json():
    found = run_zoo(
        [small_specimen(), SPECIMENS["exact mean released beside"]], np.random.default_rng(0)
    )
    body = json.loads(json.dumps(as_json(found, LINTS.values()), allow_nan=False))
    first, second = body["specimens"]
    assert first["name"] == "fixed seed"
    assert first["reference"]
    assert first["flawed"]["verdict"] == "REFUTED"
    assert first["flawed"]["samples"] > 0
    assert first["repaired"]["verdict"] == "NOT_REFUTED"
    assert first["as_expected"]
    assert first["claimed_epsilon_upper"] == pytest.approx(4.3771780957, rel=1e-5)
    assert second["witness"]["epsilon_lower"] is None  # infinite
    assert len(body["lints"]) == len(LINTS)


def test_a_zoo_gives_each_specimen_the_same_draws_whoever_else_is_there():
    both = run_zoo(
        [SPECIMENS["noise reused across releases"], small_specimen()], np.random.default_rng(3)
    )
    alone = run_zoo([small_specimen()], np.random.default_rng(3))
    assert both[1].repaired.evidence == alone[0].repaired.evidence


def test_an_examination_that_went_wrong_says_so():
    good = examine(small_specimen(), np.random.default_rng(0))
    swapped = Examination(specimen=good.specimen, flawed=good.repaired, repaired=good.flawed)
    assert good.as_expected
    assert not swapped.as_expected


@pytest.mark.parametrize(
    "changes",
    [
        {"reference": " "},
        {"flaw": "no full stop"},
        {"explanation": ""},
        {"repaired": None},
        {"pair": ([0.0], [1.0])},
        {"max_samples": 0},
    ],
)
def test_incomplete_specimens_are_refused(changes):
    with pytest.raises((TypeError, ValueError), match=next(iter(changes))):
        small_specimen(**changes)


def test_a_specimen_needs_every_field():
    with pytest.raises(TypeError, match="expected"):
        Specimen(name="a", flaw="b.", reference="c", explanation="d", statistic=None)
    assert CAUGHT == (Word.REFUTED, Word.NOT_REFUTED)


@pytest.mark.parametrize(
    ("first", "second", "delta", "epsilon"),
    [(0.5, 0.5, 0.0, 0.0), (0.2, 0.5, 0.0, 0.0), (1.0, 0.0, 0.1, np.inf), (0.6, 0.25, 0.1, 0.693)],
)
def test_what_a_witness_shows(first, second, delta, epsilon):
    witness = Witness(event="S", probability_first_lower=first, probability_second_upper=second)
    assert witness.epsilon_lower(delta) == pytest.approx(epsilon, abs=1e-3)


def test_import_audits_builds_no_specimens():
    code = "import sys, audits; print([m for m in sys.modules if m.startswith('audits.specimens')])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_the_zoo_loads_nothing_heavy():
    code = (
        "import sys, audits.specimens; "
        "print([m for m in ('torch', 'matplotlib', 'hypothesis') if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
