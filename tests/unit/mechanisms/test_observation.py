"""What an adversary sees: which releases, in which order, of how many independent runs."""

import dataclasses
import itertools

import numpy as np
import pytest
from dp_accounting import NeighboringRelation
from mechanism_cases import CLIENTS, experiments

from mechanisms import (
    AGGREGATE,
    MESSAGES,
    BallsInBins,
    ParameterPerturbation,
    Scope,
    colluding,
    worst_case,
)
from mechanisms.observation import seen

EXPERIMENTS = experiments(rounds=2)
PERTURBATION = EXPERIMENTS["perturbation"]


def data_of(experiment):
    """Extreme records, under a relation that the experiment has an answer for."""
    sampling = getattr(experiment.mechanism, "sampling", None)
    relation = (
        NeighboringRelation.REPLACE_SPECIAL
        if isinstance(sampling, BallsInBins)
        else NeighboringRelation.REPLACE_ONE
    )
    return worst_case(experiment, Scope(relation=relation)).first


@pytest.mark.parametrize(
    ("view", "numbers"),
    # Two rounds; two natural parameters of one coordinate; three clients, one sum.
    [(MESSAGES, 2 * 2 * 3), (AGGREGATE, 2 * 2 * 1), (colluding(1), 2 * 2 * 2)],
)
def test_numbers_of_each_view(view, numbers):
    data = data_of(PERTURBATION)
    draws = PERTURBATION.sampler(Scope(view=view))(data, np.random.default_rng(0), 5)
    assert draws.shape == (5, numbers)
    assert np.isfinite(draws).all()
    # Independent runs: no two rows are alike.
    assert len(np.unique(draws, axis=0)) == 5


def test_sums_are_the_sums_of_the_messages():
    data = data_of(PERTURBATION)
    draws = [
        PERTURBATION.sampler(Scope(view=view))(data, np.random.default_rng(7), 4)
        for view in (MESSAGES, AGGREGATE, colluding(1))
    ]
    messages = draws[0].reshape(4, 2, CLIENTS, 2)
    sums = draws[1].reshape(4, 2, 2)
    both = draws[2].reshape(4, 2, 2, 2)
    np.testing.assert_allclose(messages.sum(axis=2), sums, rtol=1e-12)
    # The last client colludes; its message comes first, then the round's sum.
    np.testing.assert_array_equal(both[:, :, 0], messages[:, :, -1])
    np.testing.assert_array_equal(both[:, :, 1], sums)


@pytest.mark.parametrize("name", list(EXPERIMENTS))
def test_a_batch_of_runs_has_the_law_of_single_runs(name):
    """Means of 600 batched and 300 single runs agree within 7 standard errors per number.

    A normal exceeds 7 standard errors with probability 3e-12; fewer than 10,000 are compared.
    """
    experiment = experiments(rounds=1)[name]
    data = data_of(experiment)
    draw = experiment.sampler(Scope())
    batch = draw(data, np.random.default_rng(1), 600)
    single = np.concatenate([draw(data, np.random.default_rng(100 + k), 1) for k in range(300)])
    error = np.hypot(batch.std(axis=0) / np.sqrt(600), single.std(axis=0) / np.sqrt(300))
    difference = np.abs(batch.mean(axis=0) - single.mean(axis=0))
    assert (difference <= 7 * error + 1e-9 * np.abs(batch).max()).all()


def test_a_transcript_without_values_shows_nothing():
    with pytest.raises(ValueError, match="must hold values"):
        seen(PERTURBATION.transcript(), MESSAGES, CLIENTS, 1)


@pytest.mark.parametrize("n", [0, -1, 2.5, True])
def test_draws_are_counted(n):
    data = data_of(PERTURBATION)
    with pytest.raises((ValueError, TypeError), match="`n`"):
        PERTURBATION.sampler(Scope())(data, np.random.default_rng(0), n)


def test_a_guarded_repetition_that_fails_leaves_the_others_alone():
    """Noise drives some of the runs' precisions below zero; those change nothing, the rest learn.

    One run's failure must not show in another's draws: whatever else is in the batch, a run that
    goes on has messages that differ from silence.
    """
    from mechanisms import GuardedSolver
    from pvi import ExactSolver

    mechanism = ParameterPerturbation(
        clip_norm=1.0, noise_multiplier=2.0, damping=0.5, precision_floor=0.1
    )
    guarded = dataclasses.replace(
        PERTURBATION,
        mechanism=mechanism,
        prior=dataclasses.replace(PERTURBATION.prior, variance=1.0),
        solver=GuardedSolver(ExactSolver()),
        rounds=3,
    )
    data = data_of(guarded)
    draws = guarded.sampler(Scope())(data, np.random.default_rng(3), 200)
    assert np.isfinite(draws).all()
    for one, other in itertools.combinations(range(5), 2):
        assert not np.array_equal(draws[one], draws[other])
