"""Runs that are watched: what is told, that watching changes nothing, and going on after an end."""

import dataclasses
import json
import typing

import numpy as np
import pytest
from mechanism_cases import CLIENTS, SIZE, experiments
from mechanism_tools import gaussian_epsilon

from mechanisms import (
    AGGREGATE,
    MESSAGES,
    Budget,
    Experiment,
    ParameterPerturbation,
    Partition,
    Prior,
    Scope,
    durable,
    progress,
)
from mechanisms.observed import held_out_score, observed_run
from mechanisms.progress import (
    EpsilonSpent,
    HeldOutScore,
    PosteriorSummary,
    RoundBegan,
    RoundEnded,
    RunBegan,
    RunEnded,
    Traffic,
    from_json,
    to_json,
)
from mechanisms.progress_file import ProgressWriter, read_progress
from mechanisms.transcript_file import public_json
from pvi import CheckpointError, ExactSolver, LinearRegression, LogisticRegression, Shard

ROUNDS = 3
CASES = {
    name: experiment
    for name, experiment in experiments(ROUNDS).items()
    if name.startswith(("optimisation, BallsInBins", "optimisation, adaptive", "central noise, re"))
    or name in ("averaging, by size", "LocalAveraging, joint noise, resets", "perturbation")
}
EXAMPLES = [
    RunBegan(name="a “b”", clients=2, rounds=3, round=1),
    RoundBegan(round=1),
    RoundEnded(round=1, clients=(0, 1), change=0.5, seconds=None, note="n"),
    progress.ClientStatus(client=1, status="retried", round=2),
    PosteriorSummary(round=1, dimension=2, mean=(1.0, -2.0), std=(0.5, 0.25)),
    HeldOutScore(round=1, records=10, measure="accuracy", value=0.75),
    Traffic(round=1, client=0, sent=32, received=16, kind="wire"),
    EpsilonSpent(round=1, client=0, scope="s", delta=1e-5, spent=None, limit=2.0),
    RunEnded(round=3),
]


def data_of(experiment):
    rng = np.random.default_rng(7)
    return [
        Shard(inputs=rng.standard_normal((SIZE, 1)), targets=rng.standard_normal(SIZE))
        for _ in range(experiment.clients)
    ]


def data_for(experiment):
    return [
        Partition.by_identity(shard, [k % 2 for k in range(SIZE)], experiment.parts)
        if experiment.parts != 1
        else shard
        for shard in data_of(experiment)
    ]


def perturbed(**changes):
    given = {
        "mechanism": ParameterPerturbation(clip_norm=1.0, noise_multiplier=4.0),
        "model": LinearRegression(dimension=1, noise_std=1.0),
        "prior": Prior(variance=1e-3),
        "clients": CLIENTS,
        "rounds": ROUNDS,
        "delta": 1e-5,
        "solver": ExactSolver(),
    }
    return Experiment(**(given | changes))


def watched(experiment, **more):
    told = []
    run = observed_run(
        experiment, data_of(experiment), np.random.default_rng(1), observer=told.append, **more
    )
    return run, told


def test_there_is_an_example_of_each_event():
    assert [type(one) for one in EXAMPLES] == list(typing.get_args(progress.ProgressEvent))


@pytest.mark.parametrize("event", EXAMPLES, ids=lambda event: type(event).__name__)
def test_an_event_survives_its_line(event):
    assert from_json(to_json(event)) == event
    assert "\n" not in to_json(event)


@pytest.mark.parametrize("event", EXAMPLES, ids=lambda event: type(event).__name__)
def test_what_no_event_can_say_is_refused(event):
    """Every field in turn gets values of other types and out of range."""
    body = json.loads(to_json(event))
    for field in dataclasses.fields(event):
        for wrong in ({}, [[]], -1.5, True, 10**400, "\0" * 3 if field.name != "name" else 0):
            if field.name in ("note", "scope") and isinstance(wrong, str):
                continue
            with pytest.raises((ValueError, TypeError)):
                from_json(json.dumps(body | {field.name: wrong}))
        with pytest.raises(ValueError, match="must have"):
            from_json(json.dumps({k: v for k, v in body.items() if k != field.name}))
    with pytest.raises(ValueError, match="must have"):
        from_json(json.dumps(body | {"screened": 1}))
    with pytest.raises(ValueError, match="event"):
        from_json(json.dumps(body | {"event": "__init__"}))


@pytest.mark.parametrize("name", CASES)
def test_watching_changes_nothing_and_neither_does_an_end_in_between(name, tmp_path):
    experiment = CASES[name]
    data = data_for(experiment)
    plain = experiment.run(data, np.random.default_rng(1))
    told, broken = [], []

    def dies(event):
        broken.append(event)
        if isinstance(event, RoundEnded) and event.round == 2:
            raise KeyboardInterrupt

    file = tmp_path / "checkpoint"
    with pytest.raises(KeyboardInterrupt):
        observed_run(experiment, data, np.random.default_rng(1), observer=dies, checkpoint=file)
    # Another generator: the checkpoint brings the first one's state.
    run = observed_run(
        experiment, data, np.random.default_rng(99), observer=told.append, checkpoint=file
    )
    assert np.array_equal(run.estimate, plain.estimate)
    assert len(run.transcript) == len(plain.transcript)
    for ours, theirs in zip(run.transcript, plain.transcript, strict=True):
        assert (ours.sender, ours.round, ours.group) == (theirs.sender, theirs.round, theirs.group)
        assert np.array_equal(ours.value, theirs.value)
    assert told[0] == RunBegan(name=experiment.name, clients=CLIENTS, rounds=ROUNDS, round=2)
    # The round that was saved and perhaps not told of is told again, but for its time.
    again = next(event for event in told if isinstance(event, RoundEnded))
    assert again == dataclasses.replace(broken[-1], seconds=None)
    assert [event.round for event in told if isinstance(event, RoundEnded)] == [2, 3]
    assert told[-1] == RunEnded(round=ROUNDS)
    finished = file.read_bytes()
    run = observed_run(experiment, data, np.random.default_rng(5), checkpoint=file)
    assert run.round == ROUNDS
    assert file.read_bytes() == finished


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    watched(perturbed(rounds=1), checkpoint=tmp_path / "file")
    other = ParameterPerturbation(clip_norm=1.0, noise_multiplier=5.0)
    with pytest.raises(CheckpointError, match="other noise"):
        watched(perturbed(mechanism=other), checkpoint=tmp_path / "file")


def test_what_is_spent_is_the_textbooks_epsilon():
    """A record may turn its part around, 2C against noise of 4C: after t rounds μ = √t/2."""
    _, told = watched(perturbed())
    spent = [event for event in told if isinstance(event, EpsilonSpent)]
    assert [(event.round, event.client) for event in spent] == [
        (t, m) for t in range(1, ROUNDS + 1) for m in range(CLIENTS)
    ]
    for event in spent:
        exact = gaussian_epsilon(np.sqrt(event.round) / 2, 1e-5)
        assert exact * (1 - 1e-9) <= event.spent <= exact * (1 + 1e-6)
        assert (event.limit, event.left, event.reporter) == (None, None, "run")


def test_a_limit_is_kept_and_told():
    """Two rounds fit into what two rounds cost and a bit; the third is nobody's."""
    limit = gaussian_epsilon(np.sqrt(2) / 2, 1e-5) * 1.01
    _, told = watched(perturbed(), budget=Budget(target_epsilon=limit, delta=1e-5))
    ended = [event for event in told if isinstance(event, RoundEnded)]
    assert [event.clients for event in ended] == [(0, 1, 2), (0, 1, 2), ()]
    assert [event.note for event in ended[:2]] == ["", ""]
    assert "leaves out clients [0, 1, 2]" in ended[2].note
    last = [event for event in told if isinstance(event, EpsilonSpent)][-1]
    assert last.limit == limit
    assert 0.0 < last.left == limit - last.spent < 0.02 * limit


def test_numbers_of_a_round():
    held_out = Shard(inputs=[[1.0], [2.0]], targets=[1.0, 0.0])
    run, told = watched(perturbed(rounds=1), held_out=held_out)
    kinds = [type(event).__name__ for event in told]
    assert kinds == [
        "RunBegan",
        *["ClientStatus"] * CLIENTS,
        "PosteriorSummary",
        "RoundBegan",
        "RoundEnded",
        "PosteriorSummary",
        "HeldOutScore",
        *["Traffic"] * CLIENTS,
        *["EpsilonSpent"] * CLIENTS,
        "RunEnded",
    ]
    score = next(event for event in told if isinstance(event, HeldOutScore))
    (mean,) = run.estimate
    assert score.value == pytest.approx(np.sqrt(((mean - 1) ** 2 + (2 * mean) ** 2) / 2), rel=1e-12)
    traffic = next(event for event in told if isinstance(event, Traffic))
    assert (traffic.sent, traffic.received, traffic.kind) == (16, 16, "payload")  # two numbers
    before, after = [event for event in told if isinstance(event, PosteriorSummary)]
    precision = [1 / s.std[0] ** 2 for s in (before, after)]
    natural = [s.mean[0] * p for s, p in zip((before, after), precision, strict=True)]
    moved = [(abs(b - a), 1 + abs(b)) for a, b in (natural, precision)]
    change = next(event for event in told if isinstance(event, RoundEnded)).change
    assert change == pytest.approx(max(up / down for up, down in moved), rel=1e-6)


def test_accuracy_is_the_share_of_classes_predicted_rightly():
    experiment = perturbed(model=LogisticRegression(dimension=1), solver=ExactSolver())
    held_out = Shard(inputs=[[1.0], [-1.0], [2.0], [0.0]], targets=[1.0, 1.0, 1.0, -1.0])
    score = held_out_score(experiment, np.array([3.0]), held_out, round=1)
    assert (score.measure, score.value, score.records) == ("accuracy", 0.5, 4)


def test_held_out_records_must_fit():
    with pytest.raises(ValueError, match="1 columns"):
        watched(perturbed(), held_out=Shard(inputs=[[1.0, 2.0]], targets=[1.0]))
    logistic = perturbed(model=LogisticRegression(dimension=1))
    with pytest.raises(ValueError, match=r"-1 and \+1"):
        watched(logistic, held_out=Shard(inputs=[[1.0]], targets=[0.5]))


def test_a_torn_line_is_passed_over_and_a_growing_one_waited_for(tmp_path):
    file = tmp_path / "progress"
    assert read_progress(file) == ([], 0)
    with ProgressWriter(file) as write:
        write(EXAMPLES[0])
    line = to_json(EXAMPLES[1])
    with file.open("a") as torn:
        torn.write(line[:-4])
    found, offset = read_progress(file)
    assert found == [EXAMPLES[0]]
    assert read_progress(file, offset) == ([], offset)
    with ProgressWriter(file) as write:
        write(EXAMPLES[2])
    found, offset = read_progress(file, offset)
    assert found == [EXAMPLES[2]]
    assert offset == file.stat().st_size


@pytest.mark.parametrize("view", [MESSAGES, AGGREGATE])
def test_messages_are_published_only_where_every_scope_shows_them(view):
    run, _ = watched(perturbed(rounds=1))
    found = json.loads(public_json(run.transcript, (Scope(), Scope(view=view))))
    senders = [release["sender"] for release in found["releases"]]
    assert senders == [0, 1, 2, "server"]
    values = [release["value"] for release in found["releases"]]
    assert values[-1] == run.transcript[-1].value.tolist()
    assert [value is None for value in values[:-1]] == [view is AGGREGATE] * CLIENTS
    assert found["sources"][0]["noise_std"] == 4.0


def test_who_is_at_a_file_can_be_asked_for(tmp_path):
    file = tmp_path / "file"
    assert durable.holder(file) is None
    with durable.exclusive(file) as mark:
        mark.write("process", 4711)
        assert durable.holder(file) == 4711
        with pytest.raises(BlockingIOError), durable.exclusive(file, patience=0.05):
            pass
    assert durable.holder(file) is None
    with durable.exclusive(file, patience=0.05):
        pass
