"""Balls in bins: what is trained with is what is certified, and an attack gets most of it."""

import dp_accounting as dpa
import numpy as np
import pytest
from dp_accounting import NeighboringRelation

from accountants import BallsInBinsDpEvent, epsilon_bounds
from audits import EventClaim, Word, assay, audit, estimate_epsilon
from audits.testing.statistics import as_matrix
from mechanisms import BallsInBins, Experiment, Scope, UnsupportedEventError

STEPS, SIGMA, DELTA = 4, 0.7, 1e-2
# A true bound fails with a probability below 1e-7.
CONFIDENCE = 1.0 - 1e-7

TOML = """
format = "dp-assay/experiment"
version = 1
name = "bins"
clients = 1
rounds = 2
delta = 1e-5
scopes = [{ relation = "ADD_OR_REMOVE_ONE", unit = "record", view = "messages" }]

[mechanism]
kind = "dp_optimisation"
clip_norm = 1.0
noise_multiplier = 1.0
steps = 6
sampling = { kind = "balls_in_bins", steps_per_epoch = 4 }
rule = { kind = "sgd", learning_rate = 0.5 }

[model]
kind = "linear_regression"
dimension = 1
noise_std = 1.0

[prior]
mean = 0.0
variance = 1.0
"""


class NoisySums:
    """The noisy sums of one epoch's batches, drawn as a mechanism draws them."""

    def __init__(self, scheme):
        self.scheme = scheme

    def __call__(self, data, rng, n):
        sampler = self.scheme.sampler().begin()
        data = np.asarray(data)
        sums = [sampler.draw(data.size, (n,), rng).mask @ data for _ in range(STEPS)]
        return np.stack(sums, axis=1) + SIGMA * rng.standard_normal((n, STEPS))


class Ratio:
    """log S, the likelihood ratio of the worst pair."""

    def __call__(self, outputs):
        return np.logaddexp.reduce(as_matrix(outputs) / SIGMA**2, axis=1)

    def __str__(self):
        return "log S"


PAIR = ([1.0, 0.0, 0.0], [0.0, 0.0])


@pytest.mark.slow
def test_an_attack_shows_most_of_the_lower_end():
    lower, upper = epsilon_bounds(
        noise_multiplier=SIGMA,
        sampling_rate=1 / STEPS,
        steps=STEPS,
        delta=DELTA,
        sampling="balls_in_bins",
    )
    evidence = estimate_epsilon(
        NoisySums(BallsInBins(STEPS)),
        PAIR,
        delta=DELTA,
        confidence=CONFIDENCE,
        max_samples=400_000,
        rng=np.random.default_rng(1),
        statistic=Ratio(),
    )
    assert 0.85 * lower < evidence.epsilon_lower <= upper


@pytest.mark.slow
@pytest.mark.parametrize(("claimed", "refuted"), [(SIGMA, False), (1.3 * SIGMA, True)])
def test_the_claim_stands_and_less_does_not(claimed, refuted):
    """A true claim falls with a probability of 1e-7 at most."""
    verdict = audit(
        NoisySums(BallsInBins(STEPS)),
        PAIR,
        EventClaim(BallsInBinsDpEvent(STEPS, dpa.GaussianDpEvent(claimed))),
        confidence=CONFIDENCE,
        max_samples=100_000,
        rng=np.random.default_rng(2),
        statistic=Ratio(),
    )
    assert (verdict.word is Word.REFUTED) == refuted


def test_a_file_that_trains_with_balls_in_bins():
    """Six local steps begin two epochs of four, in each of two rounds."""
    experiment = Experiment.from_toml(TOML)
    assert experiment.mechanism.sampling == BallsInBins(4)
    assert Experiment.from_json(experiment.to_json()) == experiment
    certificate = experiment.certify(Scope())
    direct = epsilon_bounds(
        noise_multiplier=1.0,
        sampling_rate=0.25,
        steps=16,
        delta=1e-5,
        sampling="balls_in_bins",
    )
    bounds = certificate.bounds(1e-5)
    assert bounds.lower <= direct.upper
    assert direct.lower <= bounds.upper
    verdict = assay(experiment, max_samples=2000, rng=np.random.default_rng(3))
    assert verdict.consistent


def test_replacement_is_refused():
    experiment = Experiment.from_toml(TOML)
    with pytest.raises(UnsupportedEventError, match="a record that becomes another one"):
        experiment.certify(Scope(relation=NeighboringRelation.REPLACE_ONE))
