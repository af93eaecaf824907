"""A run that is saved and resumed goes on bit for bit."""

import hashlib
import json
import os
import pickle
import tracemalloc
import zipfile

import numpy as np
import pytest

import pvi
from pvi import (
    Adam,
    Asynchronous,
    CheckpointError,
    Client,
    FederatedAveraging,
    Federation,
    FixedSizeSampling,
    GradientSolver,
    LogisticRegression,
    MeanFieldGaussian,
    Packed,
    Shard,
    Synchronous,
    VirtualShards,
    WholeShard,
)
from pvi.archive import decode, encode

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


def saved(tmp_path, **arguments):
    """A file of a run that has something of everything, and the run."""
    run = build(Asynchronous(rates=(1, 2, 3), stale=True), **arguments)
    run.run(4)
    run.clients[2].propose(run.server.snapshot(2), run.rng)
    pvi.save(tmp_path / "run", run)
    return tmp_path / "run", run


def content(federation):
    return encode("federation", federation.pack())


def target():
    return build(Asynchronous(rates=(1, 2, 3), stale=True))


def test_a_restored_state_is_the_saved_one(tmp_path):
    path, run = saved(tmp_path)
    other = target()
    pvi.restore(path, other)
    assert content(other) == content(run)
    assert [file.name for file in tmp_path.iterdir()] == ["run"]


def test_an_applied_update_that_its_client_has_not_heard_of_survives(tmp_path):
    run = build()
    run.run(1)
    update = run.clients[1].propose(run.server.snapshot(1), run.rng)
    run.server.receive(update)
    pvi.save(tmp_path / "run", run)
    other = build()
    pvi.restore(tmp_path / "run", other)
    assert content(other) == content(run)
    assert other.clients[1].acknowledge(other.server.receive(other.clients[1].retry())[0])


def test_files_that_do_not_fit_are_refused(tmp_path):
    run = build()
    run.run(1)
    path = tmp_path / "run"
    pvi.save(path, run)
    for other, complaint in (
        (build(clients=2), "holds 3 clients; the federation has 2"),
        (build(prior=MeanFieldGaussian.from_mean_variance([0, 0], [1.0, 2.0])), "another prior"),
        (build(prior=PRIOR.broadcast_to((4,))), "another prior"),
        (build(bit_generator=np.random.Philox), "PCG64 generator"),
        (build(virtual=False), "cut otherwise"),
    ):
        before = content(other)
        with pytest.raises(CheckpointError, match=complaint):
            pvi.restore(path, other)
        assert content(other) == before


@pytest.mark.parametrize("size", [0, 1, 17, 18, 50, 82, 83, 200, -1])
def test_cut_files_are_refused(tmp_path, size):
    path, _ = saved(tmp_path)
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(CheckpointError, match=r"cannot be restored"):
        pvi.restore(path, target())


def test_archives_of_other_kinds_are_refused_unread(tmp_path):
    """A zip file that unpacks to a gigabyte, a pickle, the older format."""
    with zipfile.ZipFile(tmp_path / "bomb", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("posterior.npy", bytes(2**26))
    (tmp_path / "pickle").write_bytes(pickle.dumps(build))
    np.savez(tmp_path / "old.npz", a=np.zeros(1))
    tracemalloc.start()
    for name in ("bomb", "pickle", "old.npz"):
        with pytest.raises(CheckpointError, match="another file"):
            pvi.restore(tmp_path / name, target())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**22


@pytest.mark.parametrize("shape", [[2**40], [2**31, 2**31], [-1], [1.0], [True], "8", None, [[1]]])
def test_a_header_cannot_ask_for_more_than_there_is(tmp_path, shape):
    header = {"kind": "federation", "facts": {}, "arrays": [["prior", "<f8", shape]]}
    body = json.dumps(header).encode() + b"\n" + bytes(64)
    digest = hashlib.sha256(body).hexdigest().encode()
    (tmp_path / "forged").write_bytes(b"pvi-checkpoint-3\n" + digest + b"\n" + body)
    with pytest.raises(CheckpointError):
        pvi.restore(tmp_path / "forged", target())


def forge(path, alter):
    """Alters the saved state; the checksum is right again afterwards."""
    facts, arrays = decode("federation", path.read_bytes())
    facts, arrays = json.loads(json.dumps(facts)), dict(arrays)
    alter(facts["engine"], arrays)
    path.write_bytes(encode("federation", Packed(facts, arrays)))


def refused(path, complaint):
    other = target()
    other.run(1)
    before = content(other)
    with pytest.raises(CheckpointError, match=complaint):
        pvi.restore(path, other)
    assert content(other) == before


def test_no_array_can_be_altered_dropped_or_reshaped(tmp_path):
    """Each array of the file in turn, the checksum right every time; the target stays as it was."""
    path, _ = saved(tmp_path)
    whole = path.read_bytes()
    names = decode("federation", whole).arrays.keys()
    assert len(names) > 20
    for name in names:
        for alter in (
            lambda array: np.full(array.shape, np.nan),
            lambda array: np.full(array.shape, np.inf),
            lambda array: array[..., None] if "solver" not in name else array * np.nan,  # noqa: B023
            lambda array: None,
        ):

            def change(facts, arrays, _name=name, _alter=alter):
                arrays[_name] = _alter(arrays[_name].astype(float))
                if arrays[_name] is None:
                    del arrays[_name]

            path.write_bytes(whole)
            forge(path, change)
            refused(path, "cannot be restored")


@pytest.mark.parametrize("name", ["posterior", "offset", "client/1/factor", "drift", "prior"])
def test_q_must_be_what_it_is_made_of(tmp_path, name):
    path, _ = saved(tmp_path)

    def nudge(facts, arrays):
        arrays[f"engine/{name}"] = np.nextafter(arrays[f"engine/{name}"], np.inf) + 1e-12

    forge(path, nudge)
    refused(path, "product of what it is made of|another prior")


def test_a_file_with_something_more_is_refused(tmp_path):
    path, _ = saved(tmp_path)
    forge(path, lambda facts, arrays: arrays.update({"engine/more": np.zeros(2)}))
    refused(path, "belong to nothing")


JUNK = [None, True, -1, 0.5, "x", [], {}, [None], [-1, -1, -1], [[]], 10**30, [10**30] * 3]


@pytest.mark.parametrize(
    "place", ["round", "resolved", "applied", "last", "updates", "rng", "clients", "held", "notes"]
)
def test_no_fact_can_be_replaced_by_anything(tmp_path, place):
    path, _ = saved(tmp_path)
    whole = path.read_bytes()
    for junk in JUNK:
        path.write_bytes(whole)
        forge(path, lambda facts, arrays, _junk=junk: facts.update({place: _junk}))
        refused(path, "cannot be restored")


@pytest.mark.parametrize("where", ["sequence", "state", "pending"])
def test_no_fact_of_a_client_can_be_replaced_by_anything(tmp_path, where):
    path, _ = saved(tmp_path)
    whole = path.read_bytes()
    for junk in JUNK:
        for client in (0, 2):
            path.write_bytes(whole)

            def change(facts, arrays, _junk=junk, _client=client):
                facts["clients"][_client][where] = _junk

            if where == "pending" and junk is None and client == 0:
                continue  # it has none
            forge(path, change)
            refused(path, "cannot be restored")


def test_a_generators_position_beyond_its_buffer_is_refused(tmp_path):
    """numpy would read other memory."""
    for kind, place in ((np.random.MT19937, ("state", "pos")), (np.random.Philox, ("buffer_pos",))):
        run = build(bit_generator=kind)
        run.run(1)
        pvi.save(tmp_path / "run", run)

        def move(facts, arrays, _place=place):
            inner = facts["rng"]
            for name in _place[:-1]:
                inner = inner[name]
            inner[_place[-1]] = 100_000

        forge(tmp_path / "run", move)
        with pytest.raises(CheckpointError):
            pvi.restore(tmp_path / "run", build(bit_generator=kind))


def test_what_no_file_can_hold_is_refused_before_anything_is_written(tmp_path):
    run = build()
    run.clients[0].state = (
        pvi.PartState(solver={"thing": np.array(["text"])}),
        *run.clients[0].state[1:],
    )
    with pytest.raises(CheckpointError, match="its type is"):
        pvi.save(tmp_path / "run", run)
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_save_leaves_the_older_file(tmp_path, monkeypatch):
    path, run = saved(tmp_path)
    before = path.read_bytes()
    run.server.receive(run.clients[2].retry())

    def full(handle):
        raise OSError("no space")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="no space"):
            pvi.save(path, run)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    pvi.save(path, run)
    assert path.read_bytes() != before


def averaging(**changes):
    shards = [Shard(inputs=[[1.0, 0.5]], targets=[1.0]), Shard(inputs=[[0.5, 1.0]], targets=[-1.0])]
    arguments = {"rule": Adam(learning_rate=0.1), "local_steps": 2, "persistent": True} | changes
    return FederatedAveraging(MODEL, shards, rng=np.random.default_rng(0), **arguments)


def test_federated_averaging_is_resumed_too(tmp_path):
    whole, half, resumed = averaging(), averaging(), averaging()
    whole.run(7)
    half.run(3)
    pvi.save(tmp_path / "run", half)
    pvi.restore(tmp_path / "run", resumed)
    np.testing.assert_array_equal(resumed.run(4), whole.weights)
    np.testing.assert_array_equal(resumed.history, whole.history)
    with pytest.raises(CheckpointError, match="checkpoint of a 'averaging'; a 'federation'"):
        pvi.restore(tmp_path / "run", build())
    other = averaging(start=np.zeros((5, 2)))
    with pytest.raises(CheckpointError, match="shapes"):
        pvi.restore(tmp_path / "run", other)
    assert other.round == 0


def test_averaged_weights_cannot_be_overwritten():
    training = averaging()
    training.run(1)
    with pytest.raises(ValueError, match="read-only"):
        training.weights[:] = 0.0


def test_what_only_its_owner_may_read_stays_so(tmp_path):
    """A checkpoint is as private as the data, and it is replaced at each save."""
    pvi.save(tmp_path / "run", build())
    (tmp_path / "run").chmod(0o600)
    pvi.save(tmp_path / "run", build())
    assert (tmp_path / "run").stat().st_mode & 0o777 == 0o600
