"""An experiment plans what it runs, and refuses what it could not run."""

import dataclasses

import numpy as np
import pytest
from dp_accounting import UnsupportedEventError
from mechanism_cases import CLIENTS, SCOPES, SIZE, experiments

from accountants import epsilon_bounds
from mechanisms import (
    AGGREGATE,
    CentralNoise,
    DPOptimisation,
    Experiment,
    FedAvgPerturbation,
    LocalAveraging,
    ParameterPerturbation,
    Partition,
    Prior,
    Scope,
    cost_by_scope,
)
from pvi import (
    SGD,
    Asynchronous,
    ExactSolver,
    LinearRegression,
    Sequential,
    Shard,
    Synchronous,
)

RNG = np.random.default_rng(20)
MODEL = LinearRegression(dimension=1, noise_std=1.0)


def make(mechanism=None, **changes):
    given = {
        "mechanism": mechanism or ParameterPerturbation(clip_norm=1.0, noise_multiplier=2.0),
        "model": MODEL,
        "prior": Prior(variance=1e-3),
        "clients": CLIENTS,
        "rounds": 2,
        "delta": 1e-5,
        "solver": ExactSolver(),
    }
    return Experiment(**(given | changes))


def shards(sizes=(SIZE,) * CLIENTS):
    return [
        Shard(inputs=RNG.standard_normal((size, 1)), targets=RNG.standard_normal(size))
        for size in sizes
    ]


def facts(transcript):
    return [
        (release.sender, release.round, release.group, release.source) for release in transcript
    ]


def data_for(experiment):
    if experiment.parts == 1 or experiment.assignment == "position":
        return shards()
    labels = np.arange(SIZE) % experiment.parts
    return [Partition.by_identity(shard, labels, experiment.parts) for shard in shards()]


@pytest.mark.parametrize("name", list(experiments()))
def test_the_plan_is_what_the_run_releases(name):
    experiment = experiments(rounds=2)[name]
    run = experiment.run(data_for(experiment), np.random.default_rng(0))
    assert facts(run.transcript) == facts(experiment.transcript())
    planned = {cost.scope: cost for cost in experiment.plan()}
    for cost in cost_by_scope(run.transcript, experiment.scopes, experiment.delta):
        assert cost == planned[cost.scope]


SIGMA_OF_ONE_MESSAGE = 1.0
"""One message has sensitivity 2C under add-or-remove, as a part may turn around, and σ = 2."""


@pytest.mark.parametrize(
    ("schedule", "messages"),
    [
        (Synchronous(), 4),
        (Sequential(), 4),
        (Sequential(order=(2, 0, 1)), 4),
        # Any one client may be the one that reports each time.
        (Asynchronous(rates=(1.0, 2.5, 4.0), updates=2), 8),
    ],
    ids=str,
)
def test_the_plan_knows_the_schedule(schedule, messages):
    experiment = make(schedule=schedule, rounds=4)
    run = experiment.run(shards(), np.random.default_rng(0))
    planned = [release.sender for release in experiment.transcript()]
    made = [release.sender for release in run.transcript]
    for client in range(CLIENTS):
        assert made.count(client) <= planned.count(client) == messages
    repeated = epsilon_bounds(
        noise_multiplier=SIGMA_OF_ONE_MESSAGE / np.sqrt(messages),
        sampling_rate=1.0,
        steps=1,
        delta=1e-5,
    )
    (cost,) = experiment.plan()
    assert cost.certificate.bounds(1e-5).upper == pytest.approx(repeated.upper, rel=1e-6)


def test_cost_by_scope_gives_the_reason_where_there_is_no_proof():
    scopes = tuple(SCOPES)
    remembering = CentralNoise(clip_norm=1.0, noise_multiplier=2.0, memory="remembers")
    experiment = make(remembering, scopes=scopes)
    costs = experiment.plan()
    assert [cost.scope for cost in costs] == list(scopes)
    for cost in costs:
        if cost.certificate is None:
            with pytest.raises(UnsupportedEventError) as caught:
                experiment.certify(cost.scope)
            assert str(caught.value) == cost.refusal != ""
        else:
            assert cost.refusal == ""
    assert any(cost.certificate is None for cost in costs)
    assert any(cost.certificate is not None for cost in costs)


OPTIMISATION = DPOptimisation(
    clip_norm=1.0, noise_multiplier=2.0, steps=1, rule=SGD(learning_rate=0.1)
)
AVERAGING = FedAvgPerturbation(clip_norm=1.0, noise_multiplier=2.0, rule=SGD(learning_rate=0.1))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rounds": 0}, "`rounds`"),
        ({"rounds": 1.5}, "`rounds`"),
        ({"delta": 0.0}, "`delta`"),
        ({"delta": float("nan")}, "`delta`"),
        ({"clients": 0}, "`clients`"),
        ({"scopes": ()}, "`scopes`"),
        ({"scopes": ("messages",)}, "`scopes`"),
        ({"solver": None}, "solver"),
        ({"mechanism": OPTIMISATION}, "solver"),
        ({"parts": 0}, "`parts`"),
        ({"assignment": "idenity"}, "`assignment`"),
        ({"prior": Prior(mean=(0.0, 1.0))}, "`mean`"),
        ({"mechanism": AVERAGING, "solver": None}, "sizes"),
        ({"mechanism": AVERAGING, "solver": None, "sizes": (1, 2)}, "`sizes`"),
        ({"schedule": Sequential(order=(0, 3))}, "`order`"),
        ({"schedule": Asynchronous(rates=(1.0, 1.0))}, "`rates`"),
    ],
    ids=str,
)
def test_refused_when_made(changes, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make(**changes)


@pytest.mark.parametrize(
    ("changes", "data", "message"),
    [
        ({}, shards((SIZE,) * 2), "3 clients"),
        ({"parts": 2}, shards(), "cut into 2 parts"),
        (
            {"parts": 2},
            [Partition.by_position(shard, 2) for shard in shards()],
            "by identity, as planned",
        ),
        (
            {"mechanism": AVERAGING, "solver": None, "sizes": (SIZE,) * 3},
            shards((SIZE, SIZE, SIZE + 1)),
            "must have 8 records",
        ),
    ],
    ids=["clients", "parts", "assignment", "sizes"],
)
def test_data_of_another_layout_are_refused(changes, data, message):
    mechanism = changes.pop("mechanism", None) or LocalAveraging(
        clip_norm=1.0, noise_multiplier=2.0
    )
    experiment = make(mechanism, **changes)
    with pytest.raises(ValueError, match=message):
        experiment.run(data, np.random.default_rng(0))


def test_plain_shards_are_cut_by_position_where_that_is_planned():
    experiment = make(
        LocalAveraging(clip_norm=1.0, noise_multiplier=2.0), parts=2, assignment="position"
    )
    partitions = experiment.partitions(shards())
    assert [partition.assignment for partition in partitions] == ["position"] * CLIENTS
    assert [len(partition.shards) for partition in partitions] == [2] * CLIENTS


def test_an_experiment_is_a_value():
    experiment = make()
    assert experiment == make()
    assert experiment != make(rounds=3)
    with pytest.raises(dataclasses.FrozenInstanceError):
        experiment.rounds = 3


def test_a_run_of_averaging_goes_on_where_it_stopped():
    """Two rounds and one more are three rounds: the same weights, the same releases."""
    experiment = make(
        AVERAGING, solver=None, sizes=(SIZE,) * CLIENTS, rounds=3, scopes=(Scope(view=AGGREGATE),)
    )
    data = shards()
    whole = experiment.run(data, np.random.default_rng(1))
    halved = experiment.build(data, np.random.default_rng(1))
    halved.run(2)
    halved.run(1)
    np.testing.assert_array_equal(whole.estimate, halved.estimate)
    assert len(whole.transcript) == len(halved.transcript)
    for one, other in zip(whole.transcript, halved.transcript, strict=True):
        np.testing.assert_array_equal(one.value, other.value)
