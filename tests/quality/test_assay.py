"""Certificate and audit of the same thing, for every mechanism and scope that `project` answers.

Each audit has confidence 1 − 1e-9, and there are fewer than 1,000: all of them together contradict
a true certificate with probability below 1e-6.
"""

import dataclasses
import functools
import json
import math

import dp_accounting as dpa
import numpy as np
import pytest
from dp_accounting import NeighboringRelation, UnsupportedEventError
from mechanism_cases import SCOPES, experiments

from accountants import codec
from audits import Assay, EventClaim, PointClaim, assay, audit
from mechanisms import (
    AGGREGATE,
    MESSAGES,
    Experiment,
    NoiseSplitting,
    ParameterPerturbation,
    Prior,
    Scope,
    worst_case,
)
from pvi import ExactSolver, LinearRegression

REPLACE = NeighboringRelation.REPLACE_ONE
CONFIDENCE = 1 - 1e-9


@functools.cache
def _claim(event_text, relation):
    return EventClaim(codec.decode_event(json.loads(event_text)), relation=relation)


def claim_of(event, relation):
    """The curve of an event, kept: that of a composition of sampled steps takes seconds."""
    return _claim(json.dumps(codec.encode_event(event)), relation)


def answered(rounds):
    for name, experiment in experiments(rounds).items():
        for scope in SCOPES:
            try:
                certificate = experiment.certify(scope)
            except UnsupportedEventError:
                continue
            if math.isfinite(certificate.bounds(experiment.delta).upper):
                yield pytest.param(experiment, scope, id=f"{name}; {scope}")


def examine(experiment, scope, samples):
    event = experiment.certify(scope).event
    return assay(
        experiment,
        scope=scope,
        claim=claim_of(event, scope.relation),
        confidence=CONFIDENCE,
        max_samples=samples,
        rng=np.random.default_rng(1),
        progress=False,
    )


@pytest.mark.parametrize(("experiment", "scope"), list(answered(1)))
def test_draws_stay_below_the_certificate(experiment, scope):
    found = examine(experiment, scope, 400)
    assert found.consistent
    assert not found.contradicted
    assert found.evidence.epsilon_lower <= found.certified.upper
    assert found.evidence.samples == 400


@pytest.mark.slow
@pytest.mark.parametrize(("experiment", "scope"), list(answered(3)))
def test_draws_stay_below_the_certificate_over_rounds(experiment, scope):
    found = examine(experiment, scope, 4_000)
    assert found.consistent
    assert not found.contradicted


def federation(mechanism, clients=10):
    return Experiment(
        mechanism=mechanism,
        model=LinearRegression(dimension=1, noise_std=1.0),
        prior=Prior(variance=1e-3),
        clients=clients,
        rounds=1,
        delta=1e-5,
        solver=ExactSolver(),
    )


@pytest.mark.parametrize("clients", [2, 10])
def test_split_noise_is_contradicted_in_one_call(clients):
    """Each of M clients adds σC/√M, and σ is claimed: √M too little in the view of messages."""
    splitting = NoiseSplitting(clip_norm=1.0, noise_multiplier=2.0)
    claim = EventClaim(dpa.GaussianDpEvent(2.0), relation=REPLACE)
    found = {
        view: assay(
            federation(splitting, clients),
            scope=Scope(relation=REPLACE, view=view),
            claim=claim,
            # A flawed claim of two clients takes 153 draws in the median, 1,591 at most of 200.
            max_samples=20_000,
            rng=np.random.default_rng(2),
            progress=False,
        )
        for view in (MESSAGES, AGGREGATE)
    }
    messages, sums = found[MESSAGES], found[AGGREGATE]
    assert messages.contradicted
    assert messages.consistent
    assert messages.verdict.refuted
    assert messages.attained
    assert messages.claimed < messages.certified.lower
    assert messages.explain().startswith("CONTRADICTED")
    # The sum of one round hides the shares: there the claim is what is certified.
    assert not sums.contradicted
    assert sums.claimed == pytest.approx(sums.certified.upper, rel=1e-9)
    assert sums.explain().startswith("NOT CONTRADICTED")


def test_a_mechanism_that_understates_its_cost_is_inconsistent():
    class Boastful(ParameterPerturbation):
        """Says that it adds twice the noise that it adds."""

        def contributions(self, layout):
            honest = super().contributions(layout)
            return tuple(dataclasses.replace(own, noise_std=2 * own.noise_std) for own in honest)

    found = assay(
        federation(Boastful(clip_norm=1.0, noise_multiplier=2.0), clients=2),
        scope=Scope(relation=REPLACE),
        max_samples=20_000,
        rng=np.random.default_rng(3),
        progress=False,
    )
    assert not found.consistent
    assert found.explain().startswith("INCONSISTENT")


def test_a_refused_scope_needs_a_claim():
    splitting = NoiseSplitting(clip_norm=1.0, noise_multiplier=2.0, precision_floor=1.0)
    experiment = dataclasses.replace(federation(splitting), rounds=2)
    scope = Scope(relation=REPLACE, view=AGGREGATE)
    options = {"scope": scope, "max_samples": 300, "progress": False}
    with pytest.raises(UnsupportedEventError, match="remembers noise"):
        assay(experiment, **options, rng=np.random.default_rng(0))
    pair = worst_case(experiment, dataclasses.replace(scope, view=MESSAGES))
    found = assay(
        experiment,
        (pair.first, pair.second),
        claim=PointClaim(50.0, 1e-5, relation=REPLACE),
        **options,
        rng=np.random.default_rng(0),
    )
    assert found.certificate is None
    assert "remembers noise" in found.explain()
    assert found.consistent


def test_an_experiment_is_audited_as_its_sampler_is():
    experiment = federation(ParameterPerturbation(clip_norm=1.0, noise_multiplier=2.0), 2)
    scope = Scope(relation=REPLACE)
    extreme = worst_case(experiment, scope)
    pair, claim = (extreme.first, extreme.second), experiment.certify(scope)
    options = {"max_samples": 200, "progress": False}
    one = audit(experiment, pair, claim, scope=scope, rng=np.random.default_rng(4), **options)
    sampler = experiment.sampler(scope)
    other = audit(sampler, pair, claim, rng=np.random.default_rng(4), **options)
    assert one.evidence == other.evidence
    with pytest.raises(ValueError, match="`scope` must be left out"):
        audit(sampler, pair, claim, scope=scope, rng=np.random.default_rng(4), **options)


def test_json_says_all_that_was_found():
    experiment = federation(ParameterPerturbation(clip_norm=1.0, noise_multiplier=2.0), 2)
    found = assay(experiment, max_samples=100, rng=np.random.default_rng(5), progress=False)
    assert isinstance(found, Assay)
    body = json.loads(found.to_json())
    assert body["format"] == "dp-assay/assay"
    assert body["scope"] == str(Scope())
    assert body["consistent"] is True
    assert body["certificate"]["points"][0][2] == found.certified.upper
    assert body["verdict"]["evidence"]["samples"] == 100
