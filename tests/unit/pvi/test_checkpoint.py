"""A run that is saved and resumed goes on bit for bit."""

import json
import zipfile

import numpy as np
import pytest

import pvi
from pvi import (
    Adam,
    Asynchronous,
    Client,
    Federation,
    FixedSizeSampling,
    GradientSolver,
    LogisticRegression,
    MeanFieldGaussian,
    Shard,
    Synchronous,
    VirtualShards,
    WholeShard,
)

MODEL = LogisticRegression(dimension=2)
PRIOR = MeanFieldGaussian.from_mean_variance(np.zeros(2), np.ones(2))


def build(schedule=None, bit_generator=np.random.PCG64, virtual=True, clients=3, prior=PRIOR):
    rng = np.random.default_rng(1)
    solver = GradientSolver(
        rule=Adam(learning_rate=0.05), steps=3, sampler=FixedSizeSampling(batch_size=3)
    )
    members = []
    for m in range(clients):
        inputs = rng.normal(size=(8, 2))
        shard = Shard(inputs=inputs, targets=np.sign(rng.normal(size=8) + inputs[:, 0]))
        strategy = (
            VirtualShards(model=MODEL, shards=shard.partition(2), solver=solver)
            if virtual and m == 0
            else WholeShard(model=MODEL, shard=shard, solver=solver)
        )
        members.append(Client(m, strategy, damping=0.5))
    generator = np.random.Generator(bit_generator(5))
    return Federation(prior, members, schedule or Synchronous(), rng=generator)


@pytest.mark.parametrize(
    "schedule",
    [Synchronous(), Asynchronous(rates=(1, 2, 3)), Asynchronous(rates=(1, 2, 3), stale=True)],
)
@pytest.mark.parametrize("bit_generator", [np.random.PCG64, np.random.MT19937, np.random.Philox])
def test_resumed_run_is_the_uninterrupted_run(tmp_path, schedule, bit_generator):
    whole = build(schedule, bit_generator)
    whole.run(9)

    half = build(schedule, bit_generator)
    half.run(4)
    pvi.save(tmp_path / "run.npz", half)
    resumed = build(schedule, bit_generator)
    resumed.run(2)  # whatever it was at
    pvi.restore(tmp_path / "run.npz", resumed)
    resumed.run(5)

    np.testing.assert_array_equal(resumed.posterior.vector, whole.posterior.vector)
    np.testing.assert_array_equal(resumed.history.posterior, whole.history.posterior)
    np.testing.assert_array_equal(resumed.history.round, whole.history.round)
    for ours, theirs in zip(resumed.clients, whole.clients, strict=True):
        np.testing.assert_array_equal(ours.factor.vector, theirs.factor.vector)
        assert len(ours.state) == len(theirs.state)
        for own, other in zip(ours.state, theirs.state, strict=True):
            assert own.solver.keys() == other.solver.keys()
            for name, value in own.solver.items():
                np.testing.assert_array_equal(value, other.solver[name])
            assert (own.factor is None) == (other.factor is None)
            if own.factor is not None:
                np.testing.assert_array_equal(own.factor.vector, other.factor.vector)
        assert ours.sequence == theirs.sequence
    assert resumed.rng.random() == whole.rng.random()


def test_an_unresolved_update_survives(tmp_path):
    run = build()
    run.run(1)
    update = run.clients[2].propose(run.server.snapshot(2), run.rng)
    pvi.save(tmp_path / "run.npz", run)
    other = build()
    pvi.restore(tmp_path / "run.npz", other)
    again = other.clients[2].retry()
    assert (again.sequence, again.round) == (update.sequence, update.round)
    np.testing.assert_array_equal(again.change.vector, update.change.vector)
    other.clients[2].acknowledge(other.server.receive(again)[0])
    run.clients[2].acknowledge(run.server.receive(update)[0])
    np.testing.assert_array_equal(other.clients[2].factor.vector, run.clients[2].factor.vector)
    assert int(other.clients[2].state[0].solver["count"]) == 6


def test_the_file_holds_plain_arrays_only(tmp_path):
    run = build()
    run.run(1)
    pvi.save(tmp_path / "run.npz", run)
    with np.load(tmp_path / "run.npz", allow_pickle=False) as file:
        assert {file[name].dtype.kind for name in file.files} == {"f", "i", "U"}
        assert json.loads(str(file["meta"]))["format"] == "pvi-federation-2"
    with zipfile.ZipFile(tmp_path / "run.npz") as archive:
        assert archive.testzip() is None
    assert [path.name for path in tmp_path.iterdir()] == ["run.npz"]


def test_files_that_do_not_fit_are_refused(tmp_path):
    run = build()
    run.run(1)
    path = tmp_path / "run.npz"
    pvi.save(path, run)
    with pytest.raises(ValueError, match="holds 3 clients; the federation has 2"):
        pvi.restore(path, build(clients=2))
    with pytest.raises(ValueError, match="another prior"):
        pvi.restore(path, build(prior=MeanFieldGaussian.from_mean_variance([0, 0], [1.0, 2.0])))
    with pytest.raises(ValueError, match="PCG64 generator"):
        pvi.restore(path, build(bit_generator=np.random.Philox))
    np.savez(tmp_path / "other.npz", a=np.zeros(1))
    with pytest.raises(ValueError, match="has format None"):
        pvi.restore(tmp_path / "other.npz", build())
