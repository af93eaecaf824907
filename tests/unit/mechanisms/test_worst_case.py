"""The worst case attains the shift that `project` accounts for, in every scope that it answers.

Measured without noise: how far the pair moves what is seen along the stated direction, over the
standard deviation of the noise in that direction, against the shift that accountants read from the
event. None of the two comes from the other.
"""

import dataclasses
import math

import dp_accounting as dpa
import numpy as np
import pytest
from dp_accounting import NeighboringRelation, UnsupportedEventError
from mechanism_cases import SCOPES, SIGMA, experiments

from mechanisms import MESSAGES, NoNoise, Scope, Shuffled, project, worst_case
from pvi import LogisticRegression

EXPERIMENTS = experiments()
REPLACE = NeighboringRelation.REPLACE_ONE


def answered():
    for name, experiment in EXPERIMENTS.items():
        for scope in SCOPES:
            try:
                event = project(experiment.transcript(), scope)
            except UnsupportedEventError:
                continue
            if isinstance(event, dpa.GaussianDpEvent):
                yield pytest.param(experiment, scope, event, id=f"{name}; {scope}")


def seen_without_noise(experiment, scope, data):
    silent = dataclasses.replace(experiment.mechanism, noise=NoNoise())
    quiet = dataclasses.replace(experiment, mechanism=silent)
    return quiet.sampler(scope)(data, np.random.default_rng(0), 1)[0]


def noise_std(experiment, scope, direction):
    """Of 20,000 runs without data to speak of; known to 1% (7 standard errors: 1e-11)."""
    data = worst_case(experiment, scope).second
    draws = experiment.sampler(scope)(data, np.random.default_rng(1), 20_000) @ direction
    return draws.std(ddof=1)


@pytest.mark.parametrize(("experiment", "scope", "event"), list(answered()))
def test_the_shift_is_attained(experiment, scope, event):
    found = worst_case(experiment, scope)
    direction = np.array(found.direction)
    first, second = (
        seen_without_noise(experiment, scope, data) for data in (found.first, found.second)
    )
    moved = abs((first - second) @ direction) / noise_std(experiment, scope, direction)
    factor = 2.0 if scope.relation is REPLACE else 1.0
    accounted = factor / event.noise_multiplier
    own = experiment.mechanism.contributions(experiment.layout)[found.client]
    shown = (own.summed or scope.view == MESSAGES) and not isinstance(own.sampling, Shuffled)
    if shown:
        assert moved == pytest.approx(accounted, rel=0.036)
    else:  # Sums of messages that protect themselves, or a step that may lack the record.
        assert moved <= accounted * 1.036


def test_fixed_size_batches_have_the_others_at_the_far_end():
    experiment = EXPERIMENTS["optimisation, FixedSize(batch_size=2, size=8)"]
    scope = Scope(relation=REPLACE)
    found = worst_case(experiment, scope)
    targets = found.first[found.client].shards[0].targets
    assert targets[0] == -targets[1]
    assert (targets[1:] == targets[1]).all()
    seen = experiment.sampler(scope)
    silent = dataclasses.replace(experiment.mechanism, noise=NoNoise())
    quiet = dataclasses.replace(experiment, mechanism=silent).sampler(scope)
    direction = np.array(found.direction)
    first, second = (
        quiet(data, np.random.default_rng(2), 4_000) @ direction
        for data in (found.first, found.second)
    )
    levels = np.unique(first.round(9))
    assert np.unique(second.round(9)).size == 1  # The batch's sum is known without the unit,
    assert levels.size == 2  # and the unit moves it by 2C if it is drawn:
    # in a quarter of the batches, within 7 standard errors (1e-11).
    drawn = (np.abs(first - second[0]) > 1e-9).mean()
    assert abs(drawn - 0.25) < 7 * math.sqrt(0.25 * 0.75 / 4_000)
    noise = (seen(found.second, np.random.default_rng(3), 20_000) @ direction).std(ddof=1)
    assert np.ptp(levels) / noise == pytest.approx(2.0 / SIGMA, rel=0.036)


def test_other_models_have_extreme_records_or_need_a_pair():
    experiment = EXPERIMENTS["perturbation"]
    logistic = dataclasses.replace(experiment, model=LogisticRegression(dimension=1))
    record = worst_case(logistic, Scope()).first[0].shards[0]
    assert set(record.targets) == {-1.0, 1.0}
    unknown = dataclasses.replace(experiment, model=Unknown(dimension=1, noise_std=1.0))
    with pytest.raises(TypeError, match="`pair` must be given for this model"):
        worst_case(unknown, Scope())


@dataclasses.dataclass(frozen=True, kw_only=True)
class Unknown:
    """A model of which nobody has said what its extreme records are."""

    dimension: int
    noise_std: float

    def gradients(self, q, shard, rng=None):
        raise NotImplementedError

    expected_log_likelihood = gradients
