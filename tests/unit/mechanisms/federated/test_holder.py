"""A holder gives what its owner allows, within the budget, and is where its last answer left it."""

import dataclasses
import os
import signal
import socket
import stat
import threading

import numpy as np
import pytest
from federated_tools import RUN, SEED, SIZE, Owner, optimisation, permit, perturbation, server

from mechanisms import (
    CentralNoise,
    FixedSize,
    NoNoise,
    ParameterPerturbation,
    ReleaseNoise,
    Scope,
    epsilon_bounds,
)
from mechanisms.federated import Holder, Permission, Seal, SealError, local_socket, new_key
from mechanisms.federated import engagement as engagements
from mechanisms.federated import holder as holders
from mechanisms.federated.courier_app import doors
from mechanisms.federated.messages import (
    Engage,
    Question,
    Refusal,
    Standing,
    Statement,
    bundle,
    unbundle,
)
from pvi import (
    SGD,
    Acknowledgement,
    CheckpointError,
    Client,
    ExactSolver,
    GradientSolver,
    LinearRegression,
    MeanFieldGaussian,
    Revision,
    Shard,
    Update,
    WireError,
    Withdrawal,
)
from pvi.generator_state import pinned

COMMON = {"clip_norm": 1.0, "noise_multiplier": 4.0}
CLIPPED_WIDELY = ParameterPerturbation(clip_norm=1.5, noise_multiplier=4.0)
FIXED = dataclasses.replace(optimisation().mechanism, sampling=FixedSize(2, SIZE))
LONG = GradientSolver(rule=SGD(learning_rate=0.1), steps=200_000)


def refusal(found, kind):
    assert isinstance(found, Refusal), found
    assert found.kind == kind
    return found.reason


@pytest.mark.parametrize("make", [optimisation, perturbation])
def test_updates_are_those_of_the_client_in_this_process(tmp_path, make):
    experiment, own = make(clients=1), Owner(tmp_path)
    assert own.engage(experiment) == Standing(client=0, sequence=0, revisions=0, pending=False)
    there, here = server(experiment), server(experiment)
    twin = experiment.build_client(0, own.records).client
    for number in (1, 2, 3):
        there.round = here.round = number
        (update,) = own.ask(there.snapshot(0))
        mine = twin.propose(here.snapshot(0), pinned(SEED)(0, number))
        assert np.array_equal(update.change.vector, mine.change.vector)
        assert (update.sequence, update.round) == (number, number)
        own.start()  # as a new process, each time
        (answer,) = there.receive(update)
        assert own.ask(answer)[0].sequence == number
        twin.acknowledge(here.receive(mine)[0])
    assert np.array_equal(there.posterior.vector, here.posterior.vector)
    assert own.paid == 3


def test_a_repeated_ask_costs_nothing_again(tmp_path):
    experiment, own = optimisation(clients=1), Owner(tmp_path, trial_seed=None)
    experiment = dataclasses.replace(
        experiment, mechanism=dataclasses.replace(experiment.mechanism, noise=ReleaseNoise())
    )
    own.engage(experiment)
    there = server(experiment)
    first = own.ask(there.snapshot(0))[0]
    for _ in range(3):
        own.start()
        again = own.ask(there.snapshot(0), there.snapshot(0))
        assert all(np.array_equal(one.change.vector, first.change.vector) for one in again)
    assert own.paid == 1


def test_two_holders_of_one_seed_draw_other_noise_where_it_is_the_systems(tmp_path):
    releasing = dataclasses.replace(optimisation().mechanism, noise=ReleaseNoise())
    experiment = optimisation(clients=1, mechanism=releasing)
    changes = []
    for name in "ab":
        own = Owner(tmp_path / name, trial_seed=None)
        own.engage(experiment)
        changes.append(own.ask(server(experiment).snapshot(0))[0].change.vector)
    # Two draws of 2^32 steps and more to a deviation agree with probability below 1e-9 each; all
    # eight coordinates' steps would have to.
    assert not np.array_equal(*changes)


def test_the_budget_is_never_exceeded_and_says_so(tmp_path):
    """σ = 4, so a shift of 2C is a multiplier of 2: μ = √T/2, and ε(5, 1e-5) is the closed form."""
    experiment = perturbation(clients=1, rounds=50)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "experiment.json").write_text(experiment.to_json(), encoding="utf-8")
    limit = epsilon_bounds(perturbation(clients=1, rounds=5).transcript(), Scope(), 1e-5).upper
    own = Owner(
        tmp_path / "own",
        experiment="experiment.json",
        client=0,
        budget={"epsilon": limit * (1 + 1e-9), "delta": 1e-5},
    )
    own.engage(experiment)
    there, answers = server(experiment), []
    for _ in range(8):
        (found,) = own.ask(there.snapshot(0))
        answers.append(found)
        if isinstance(found, Update):
            there.receive(found)
    assert [type(found) for found in answers] == [Update] * 5 + [Refusal] * 3
    refusal(answers[-1], "budget")
    (statement,) = own.ask(Question(client=0))
    assert isinstance(statement, Statement)
    assert statement.messages == own.paid == 5
    assert statement.spent <= statement.limit
    assert statement.costs[0] == pytest.approx(limit, rel=1e-6)
    found = own.holder.certificate().bounds(1e-5)
    assert found.upper == pytest.approx(limit, rel=1e-6)
    assert own.holder.refusals == {"budget": 3}


def test_updates_that_are_voided_are_paid_for_all_the_same(tmp_path):
    """A hostile coordinator voids each update and asks again, under ever new numbers."""
    experiment = perturbation(clients=1)
    own = Owner(tmp_path, budget={"epsilon": 6.0, "delta": 1e-5})
    own.engage(experiment)
    there, got = server(experiment), 0
    for _ in range(30):
        (found,) = own.ask(there.snapshot(0))
        if isinstance(found, Refusal):
            break
        got += 1
        there.withdraw(Withdrawal(client=0, sequence=found.sequence))
    refusal(found, "budget")
    assert 0 < got == own.paid
    assert own.holder.budget.epsilon_upper(0) <= 6.0
    assert not np.any(own.holder._engagements[RUN].client.factor.vector)


def test_a_new_run_name_brings_no_new_budget(tmp_path):
    experiment = perturbation(clients=1)
    own = Owner(tmp_path, budget={"epsilon": 6.0, "delta": 1e-5})
    got = 0
    for number in range(30):
        own.engage(experiment, run=f"run {number}")
        (found,) = own.ask(server(experiment).snapshot(0), run=f"run {number}")
        got += isinstance(found, Update)
    refusal(found, "budget")
    assert 0 < got == own.paid < 30


@pytest.mark.parametrize(
    ("experiment", "word"),
    [
        (dataclasses.replace(perturbation(), mechanism=CLIPPED_WIDELY), "clip_norm"),
        (perturbation(mechanism={"noise": NoNoise()}), "noise_multiplier"),
        (perturbation(mechanism={"trusted_aggregator": True}), "noise_multiplier"),
        (dataclasses.replace(perturbation(), mechanism=CentralNoise(**COMMON)), "mechanism"),
        (perturbation(solver=LONG), "steps"),
        (perturbation(model=LinearRegression(dimension=3, noise_std=1.0)), "columns"),
        (dataclasses.replace(optimisation(), mechanism=FIXED), "fixed size"),
    ],
)
def test_what_goes_beyond_the_permission_is_refused(tmp_path, experiment, word):
    own = Owner(tmp_path)
    assert word in refusal(own.engage(experiment), "permission")
    assert not list((tmp_path / "state" / "runs").iterdir())
    assert "engage first" in refusal(own.ask(server(perturbation()).snapshot(0))[0], "protocol")
    assert own.paid == 0


def test_a_simulations_noise_is_for_trials_only(tmp_path):
    assert "ReleaseNoise" in refusal(
        Owner(tmp_path, trial_seed=None).engage(optimisation()), "permission"
    )


def test_only_the_experiment_that_the_owner_has_read(tmp_path):
    experiment = optimisation()
    tmp_path.joinpath("read.json").write_text(experiment.to_json(), encoding="utf-8")
    own = Owner(tmp_path, experiment="read.json", client=1)
    refusal(own.engage(optimisation(rounds=2)), "permission")
    refusal(own.engage(experiment), "permission")  # as client 0
    own.number = 1
    assert isinstance(own.engage(experiment), Standing)
    assert not own.holder.budget.adaptive
    assert Owner(tmp_path / "other").holder.budget.adaptive


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"format": "dp-assay/experiment"}', "9" * 5000, "[" * 10_000]
)
def test_what_is_no_experiment_is_refused(tmp_path, text):
    own = Owner(tmp_path)
    refusal(own.ask(Engage(client=0, experiment=text))[0], "permission")


def test_an_experiment_that_would_take_days_to_plan_is_refused_at_once(tmp_path):
    text = optimisation().to_json().replace('"rounds": 3', '"rounds": 3000000')
    assert "at most" in refusal(
        Owner(tmp_path).ask(Engage(client=0, experiment=text))[0], "permission"
    )


def test_a_run_cannot_become_another(tmp_path):
    own = Owner(tmp_path)
    own.engage(optimisation())
    own.start()
    assert isinstance(own.engage(optimisation()), Standing)
    refusal(own.engage(optimisation(rounds=2)), "protocol")
    refusal(own.engage(perturbation()), "protocol")
    own.number = 1
    refusal(own.engage(optimisation()), "protocol")


def test_messages_that_cannot_follow_are_refused_and_cost_nothing(tmp_path):
    experiment, own = optimisation(clients=1), Owner(tmp_path)
    own.engage(experiment)
    there = server(experiment)
    first = there.snapshot(0)
    (update,) = own.ask(first)
    (answer,) = there.receive(update)
    own.ask(answer)
    own.start()
    q = there.posterior
    improper = MeanFieldGaussian(natural_mean=[0.0, 0.0], precision=[1.0, -1.0])
    share = MeanFieldGaussian.unit(2)
    hostile = [
        first,  # replayed
        dataclasses.replace(there.snapshot(0), client=1),
        dataclasses.replace(there.snapshot(0), resolved=0),
        dataclasses.replace(there.snapshot(0), resolved=2),
        dataclasses.replace(there.snapshot(0), posterior=improper),
        dataclasses.replace(there.snapshot(0), posterior=MeanFieldGaussian.unit(2)),
        dataclasses.replace(there.snapshot(0), posterior=q.broadcast_to((2,))),
        dataclasses.replace(
            there.snapshot(0), posterior=MeanFieldGaussian.from_mean_variance([0.0], [1.0])
        ),
        Acknowledgement(client=1, sequence=2, applied=True),
        Revision(client=0, number=1, sequence=1, kind="reset", share=share),
        Question(client=2),
        update,
        Withdrawal(client=0, sequence=1),
    ]
    factor = own.holder._engagement(RUN).client.factor.vector
    for message in hostile:
        refusal(own.ask(message)[0], "protocol")
    assert own.ask(Acknowledgement(client=0, sequence=9, applied=True))[0].sequence == 1
    assert np.array_equal(own.holder._engagement(RUN).client.factor.vector, factor)
    assert own.paid == 1
    refusal(own.ask(there.snapshot(0), run="another run")[0], "protocol")
    assert own.paid == 1


def test_what_comes_after_a_refusal_is_not_read(tmp_path):
    own = Owner(tmp_path)
    experiment = optimisation(clients=1)
    own.engage(experiment)
    found = own.ask(Question(client=4), server(experiment).snapshot(0))
    assert len(found) == 1
    assert own.paid == 0


@pytest.mark.parametrize("natural_mean", [1e99, -1e60, 1e101, 1e300])
@pytest.mark.parametrize("precision", [1e-99, 1.0, 1e99, 1e-200, 1e300])
@pytest.mark.parametrize("make", [optimisation, perturbation])
def test_wild_posteriors_get_an_answer_that_says_nothing(tmp_path, make, natural_mean, precision):
    """The same kind of answer for tame and for huge records, so that no failure tells."""
    experiment = make(clients=1)
    kinds = set()
    wild = MeanFieldGaussian(natural_mean=[natural_mean, 1.0], precision=[precision, 1.0])
    snapshot = dataclasses.replace(server(experiment).snapshot(0), posterior=wild)
    for number, size in enumerate((0.0, 1.0, 1e150, 1e300)):
        records = Shard(inputs=np.full((2, 2), size), targets=np.full(2, -size))
        own = Owner(tmp_path / str(number), records=records)
        own.engage(experiment)
        kinds.add(type(own.ask(snapshot)[0]))
    assert len(kinds) == 1


@pytest.mark.parametrize("error", [ValueError, MemoryError, RuntimeError])
def test_a_solver_that_fails_on_some_data_makes_no_change_there(tmp_path, monkeypatch, error):
    def fail(*_):
        raise error

    monkeypatch.setattr(ExactSolver, "solve", fail)
    experiment = perturbation(clients=1)
    own = Owner(tmp_path)
    own.engage(experiment)
    (found,) = own.ask(server(experiment).snapshot(0))
    noise = 4.0 * pinned(SEED)(0, 1).standard_normal(4)
    assert np.array_equal(found.change.vector, noise)


def test_a_failure_is_paid_for_and_forgotten(tmp_path, monkeypatch):
    experiment = optimisation(clients=1)
    own = Owner(tmp_path)
    own.engage(experiment)

    def fail(*_):
        raise OSError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(engagements, "write_atomically", fail)
        refusal(own.ask(server(experiment).snapshot(0))[0], "failed")
    assert own.paid == 1
    assert own.holder._engagement(RUN).standing.pending is False
    assert isinstance(own.ask(server(experiment).snapshot(0))[0], Update)
    assert own.paid == 2


def test_an_older_state_is_noticed(tmp_path):
    experiment = optimisation(clients=1)
    own = Owner(tmp_path)
    own.engage(experiment)
    (file,) = (tmp_path / "state" / "runs").iterdir()
    there, old = server(experiment), file.read_bytes()
    there.receive(*own.ask(there.snapshot(0)))
    own.ask(there.snapshot(0))
    file.write_bytes(old)
    own.start()
    assert "older state" in refusal(own.ask(there.snapshot(0))[0], "protocol")
    file.write_bytes(old[:-1])
    own.start()
    with pytest.raises(CheckpointError):
        own.ask(there.snapshot(0))


def test_only_the_key_opens_the_door(tmp_path):
    own = Owner(tmp_path / "own")
    new_key(tmp_path / "other.key")
    stranger = Seal.load(tmp_path / "other.key")
    content = bundle([Question(client=0)], run=RUN)
    for asked in (b"", content, stranger.ask(content), own.seal.answer(b"", content)):
        with pytest.raises(SealError):
            own.holder.answer(asked)
    asked = bytearray(own.seal.ask(content))
    for place in range(0, len(asked), 7):
        asked[place] ^= 1
        with pytest.raises(SealError):
            own.holder.answer(bytes(asked))
        asked[place] ^= 1
    answer = own.holder.answer(bytes(asked))
    own.seal.open_answer(bytes(asked), answer)
    with pytest.raises(SealError):  # an answer to something else
        own.seal.open_answer(own.seal.ask(content + b" "), answer)


def test_sealed_rubbish_is_refused(tmp_path):
    own = Owner(tmp_path)
    for content in (b"", b"rubbish", bytes(8), (2**63).to_bytes(8, "big") + b"x"):
        asked = own.seal.ask(content)
        found = unbundle(own.seal.open_answer(asked, own.holder.answer(asked)))
        refusal(found.message[0], "protocol")


def test_a_key_that_others_can_read_is_refused(tmp_path):
    new_key(tmp_path / "key")
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    with pytest.raises(FileExistsError):
        new_key(tmp_path / "key")
    (tmp_path / "key").chmod(0o640)
    with pytest.raises(ValueError, match="chmod 600"):
        Seal.load(tmp_path / "key")


def test_terms_never_change_and_two_do_not_share_a_folder(tmp_path):
    own = Owner(tmp_path)
    changed = permit(tmp_path, budget={"epsilon": 9.0, "delta": 1e-5})
    with pytest.raises(ValueError, match="never change"):
        Holder(Permission.load(changed))
    other = Holder(own.holder.permission)
    with own.holder.alone():
        entered = []

        def enter():
            try:
                with other.alone():
                    entered.append(True)
            except ValueError as error:
                entered.append(str(error))

        thread = threading.Thread(target=enter)
        thread.start()
        thread.join(20)
    assert "no other holder" in entered[0]


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"epsilon": 3.0}, "epsilon"),
        ({"budget": {"epsilon": 1.0}}, "delta"),
        ({"budget": {"epsilon": -1.0, "delta": 1e-5}}, "epsilon"),
        ({"budget": {"epsilon": 1.0, "delta": 1e-5, "view": "nobody"}}, "kind"),
        ({"least_noise": 0.0}, "least_noise"),
        ({"most_clip_norm": "1"}, "most_clip_norm"),
        ({"mechanisms": ["anything"]}, "mechanisms"),
        ({"mechanisms": None}, "mechanisms"),
        ({"client": 0}, "experiment"),
        ({"format": "dp-assay/experiment"}, "format"),
        ({"trial_seed": -1}, "trial_seed"),
        ({"data": 3}, "data"),
    ],
)
def test_a_permission_says_what_is_wrong_with_it(tmp_path, change, word):
    with pytest.raises((ValueError, TypeError), match=word):
        Permission.load(permit(tmp_path, **change))


STEPS = {
    "before it is booked": (holders.Budget, "book"),
    "booked": (engagements.Engagement, "update"),
    "while it is computed": (Client, "propose"),
    "before it is saved": (engagements, "write_atomically"),
    "saved, and not yet answered": (Seal, "answer"),
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("make", [optimisation, perturbation])
def test_a_holder_killed_at_any_step_loses_and_doubles_nothing(tmp_path, step, make):
    experiment, own = make(clients=1), Owner(tmp_path)
    own.engage(experiment)
    there = server(experiment)
    for number in (1, 2, 3):
        child = os.fork()
        if not child:
            target, name = STEPS[step]
            setattr(target, name, lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))
            own.start()
            own.ask(there.snapshot(0))
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        own.start()
        (update,) = own.ask(there.snapshot(0))
        assert update.sequence == number
        there.receive(update)
    own.ask(there.snapshot(0))  # tells of the last one's fate, and asks for one more
    client = own.holder._engagement(RUN).client
    product = there.prior * client.factor
    assert np.allclose(there.posterior.vector, product.vector, rtol=1e-12, atol=0.0)
    lost = 3 if step in ("booked", "while it is computed", "before it is saved") else 0
    assert own.paid == 4 + lost
    twin = experiment.build_client(0, own.records).client
    here = server(experiment)
    for number in (1, 2, 3):
        mine = twin.propose(here.snapshot(0), pinned(SEED)(0, number))
        twin.acknowledge(here.receive(mine)[0])
    assert np.array_equal(here.posterior.vector, there.posterior.vector)


def test_the_socket_carries_questions_and_answers(tmp_path):
    done = threading.Event()
    path = tmp_path / "holder.sock"

    def answer(asked):
        if asked == b"stranger":
            raise SealError("who?")
        return asked[::-1]

    thread = threading.Thread(
        target=local_socket.serve, args=(path, answer), kwargs={"stopped": done.is_set}
    )
    thread.start()
    try:
        for _ in range(200):
            if path.exists():
                break
            done.wait(0.02)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        large = os.urandom(3 * 2**20 + 1)
        assert doors.ask(path, large) == large[::-1]
        with pytest.raises(doors.DoorError):
            doors.ask(path, b"stranger")
        assert doors.ask(path, b"") == b""
    finally:
        done.set()
        thread.join(10)
    assert not path.exists()
    with pytest.raises(doors.DoorError):
        doors.ask(path, b"")


def test_a_socket_ends_when_idle_and_does_not_wait_for_a_trickle(tmp_path):
    path = tmp_path / "holder.sock"
    thread = threading.Thread(
        target=local_socket.serve,
        args=(path, bytes),
        kwargs={"idle": 1.0, "patience": 0.3},
    )
    thread.start()
    for _ in range(200):
        if path.exists():
            break
        threading.Event().wait(0.02)
    with socket.socket(socket.AF_UNIX) as guest:
        guest.connect(os.fspath(path))
        guest.sendall((2**40).to_bytes(8, "big"))
        assert guest.recv(1) == b""  # too long: shown the door
    with socket.socket(socket.AF_UNIX) as guest:
        guest.connect(os.fspath(path))
        guest.sendall(b"\0\0\0")
        guest.settimeout(5)
        assert guest.recv(1) == b""  # too slow
    thread.join(10)
    assert not thread.is_alive()
    path.write_text("not a socket")
    with pytest.raises(ValueError, match="free or a socket"):
        local_socket.serve(path, bytes)


def test_bundles_are_of_one_run():
    one = bundle([Question(client=0)], run="a")
    assert unbundle(one) == ("a", (Question(client=0),))
    with pytest.raises(WireError):
        unbundle(one + bundle([Question(client=0)], run="b"))
    with pytest.raises(WireError):
        bundle([Question(client=0)] * 65, run="a")
    with pytest.raises(WireError):
        unbundle(one[:-1])
