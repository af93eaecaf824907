"""A coordinator's rounds are those of one process, whoever of them dies or is missing."""

import dataclasses
import itertools
import os
import signal

import numpy as np
import pytest
from dp_accounting import NeighboringRelation
from federated_tools import SEED, Owner, in_process, optimisation, perturbation, shards
from mechanism_cases import CLIENTS, experiments

from mechanisms import (
    AGGREGATE,
    CentralNoise,
    FedAvgPerturbation,
    Prior,
    Scope,
    UnsupportedEventError,
)
from mechanisms.federated import Coordinator, HolderRefusedError, InProcess
from mechanisms.federated import coordinator_state as states
from mechanisms.federated.ledger import charge_of
from mechanisms.progress import (
    ClientStatus,
    EpsilonSpent,
    HeldOutScore,
    RoundEnded,
    RunBegan,
    RunEnded,
    Traffic,
)
from pvi import Asynchronous, CheckpointError, Sequential, Shard, Synchronous

WORDS = [
    "dp_optimisation",
    "parameter_perturbation",
    "local_averaging",
    "virtual_clients",
    "central_noise",
    "federated_averaging",
    "noise_splitting",
]
ALLOWING = {
    "mechanisms": WORDS,
    "least_noise": 0.1,
    "budget": {
        "epsilon": 1000.0,
        "delta": 1e-3,
        "relation": "REPLACE_ONE",
        "view": "aggregate",
    },
}


def owners(folder, experiment, records, **changes):
    return [
        Owner(folder / str(m), m, records[m], **ALLOWING | changes)
        for m in range(experiment.clients)
    ]


class Faithful:
    """Carries everything, to holders that may be replaced while it goes."""

    def __init__(self, owners):
        self.owners = owners
        self.carried = []

    def exchange(self, asked):
        self.carried.append(dict(asked))
        return {m: self.owners[m].holder.answer(content) for m, content in asked.items()}


def coordinate(experiment, own, courier=None, **keywords):
    return Coordinator(
        experiment,
        {m: one.seal for m, one in enumerate(own)},
        Faithful(own) if courier is None else courier,
        **{"rng": np.random.default_rng(SEED)} | keywords,
    )


def factors(own, run):
    return [one.holder._engagement(run).client.factor for one in own]


def assert_is_the_product(coordinator, own):
    product = coordinator.server.prior
    for factor in factors(own, coordinator.run_name):
        product = product * factor
    assert np.allclose(coordinator.posterior.vector, product.vector, rtol=1e-12, atol=1e-12)


SCHEDULES = {
    "synchronous": Synchronous(),
    "sequential": Sequential(shuffle=True),
    "asynchronous": Asynchronous(rates=(1.0, 2.0, 3.0), updates=4),
    "asynchronous, stale": Asynchronous(rates=(1.0, 2.0, 3.0), updates=4, stale=True),
}
LINE = [Shard(inputs=np.ones((8, 1)), targets=np.linspace(-1, m, 8)) for m in range(CLIENTS)]
SCOPE = Scope(relation=NeighboringRelation.REPLACE_ONE, view=AGGREGATE)


def has_a_price(experiment):
    """Whether `project` answers for a client's second message."""
    try:
        charge_of(experiment, 0, SCOPE)
    except UnsupportedEventError:
        return False
    return True


def cases():
    """Every mechanism under every schedule that it has; those by identity become ones by position.

    A file with an owner's records does not say to which part each belongs.
    """
    for name, experiment in experiments(rounds=3).items():
        if experiment.parts != 1:
            experiment = dataclasses.replace(experiment, assignment="position")
        averages = isinstance(experiment.mechanism, FedAvgPerturbation)
        for word, schedule in SCHEDULES.items():
            if word == "synchronous" or not averages:
                yield f"{name}; {word}", dataclasses.replace(experiment, schedule=schedule)


PRICED = {name: experiment for name, experiment in cases() if has_a_price(experiment)}
UNPRICED = {name: experiment for name, experiment in cases() if name not in PRICED}


def some(cases, every):
    """One in `every` by default, the others among the slow tests."""
    return [
        pytest.param(
            *([case] if isinstance(case, str) else case),
            marks=[pytest.mark.slow] if number % every else [],
        )
        for number, case in enumerate(cases)
    ]


@pytest.mark.parametrize("name", some(PRICED, every=7))
def test_the_posterior_is_that_of_one_process_bit_for_bit(tmp_path, name):
    experiment = PRICED[name]
    own = owners(tmp_path, experiment, LINE)
    coordinator = coordinate(experiment, own, checkpoint=tmp_path / "checkpoint")
    coordinator.run()
    here = in_process(experiment, LINE)
    assert np.array_equal(coordinator.estimate, here.estimate)
    if not coordinator.averages:
        assert np.array_equal(coordinator.posterior.vector, here.posterior.vector)
        mine = [client.factor.vector for client in here.federation.clients]
        theirs = [factor.vector for factor in factors(own, coordinator.run_name)]
        assert np.array_equal(mine, theirs)
    counted = [(one.sender, one.round, one.source) for one in coordinator.transcript]
    assert counted == [(one.sender, one.round, one.source) for one in here.transcript]
    for one, statement in coordinator.statements.items():
        assert statement.messages == own[one].paid
        assert statement.spent <= statement.limit


def test_most_cases_have_a_price():
    assert len(PRICED) >= 40
    assert {name.split(",")[0].split(";")[0] for name in UNPRICED} <= {
        "LocalAveraging",
        "VirtualClients",
        "central noise",
        "noise splitting",
        "averaging",
        "optimisation",
    }


@pytest.mark.parametrize("name", list(UNPRICED)[::4])
def test_what_has_no_proven_price_is_refused(tmp_path, name):
    own = owners(tmp_path, UNPRICED[name], LINE)
    with pytest.raises(HolderRefusedError):
        coordinate(UNPRICED[name], own).run()
    assert not any(one.paid for one in own)


@pytest.mark.parametrize("make", [optimisation, perturbation])
def test_q_is_the_prior_times_what_holders_have_committed(tmp_path, make):
    experiment = make()
    own = owners(tmp_path, experiment, shards())
    coordinator = coordinate(experiment, own)
    coordinator.run()
    assert_is_the_product(coordinator, own)
    assert [one.paid for one in own] == [3, 3, 3]


def central(**changes):
    mechanism = CentralNoise(clip_norm=1.0, noise_multiplier=4.0, **changes)
    return dataclasses.replace(perturbation(), mechanism=mechanism)


RESUMED = {
    "optimisation": optimisation(),
    "perturbation": perturbation(),
    "asynchronous": perturbation(schedule=SCHEDULES["asynchronous, stale"]),
    "resets": central(memory="resets", precision_floor=1.0),
}


@pytest.mark.parametrize(
    ("when", "name"), some(itertools.product(["before", "after"], RESUMED), every=5)
)
def test_a_coordinator_killed_at_any_save_goes_on_where_it_was(tmp_path, name, when):
    """Each process dies at its second save; the run is the same as if none had."""
    experiment, records = RESUMED[name], shards()
    own = owners(tmp_path, experiment, records)
    file = tmp_path / "checkpoint"
    deaths = 0
    for _ in range(200):
        child = os.fork()
        if not child:
            for one in own:
                one.start()
            saves = []
            write = states.write_atomically

            def dying(path, content, saves=saves, write=write):
                saves.append(path)
                if len(saves) == 2 and when == "before":
                    os.kill(os.getpid(), signal.SIGKILL)
                write(path, content)
                if len(saves) == 2:
                    os.kill(os.getpid(), signal.SIGKILL)

            states.write_atomically = dying
            coordinate(experiment, own, checkpoint=file, run="the run").run()
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code == 0:
            break
        assert code == -signal.SIGKILL
        deaths += 1
        if when == "before":  # would die there for ever: the next one lives a little longer
            for one in own:
                one.start()
            coordinator = coordinate(experiment, own, checkpoint=file, run="the run")
            write, states.write_atomically = states.write_atomically, _twice(states)
            try:
                coordinator.run()
            except Dead:
                pass
            else:
                break
            finally:
                states.write_atomically = write
    assert deaths >= 2
    for one in own:
        one.start()
    coordinator = coordinate(experiment, own, checkpoint=file, run="the run")
    coordinator.run()
    here = in_process(experiment, records)
    assert np.array_equal(coordinator.posterior.vector, here.posterior.vector)
    mine = [client.factor.vector for client in here.federation.clients]
    assert np.array_equal(mine, [factor.vector for factor in factors(own, "the run")])
    per_client = [sum(r.sender == m for r in here.transcript) for m in range(3)]
    assert [one.paid for one in own] == per_client


class Dead(BaseException):
    """The end of a process, in this one."""


def _twice(states):
    write, left = states.write_atomically, [2]

    def dying(path, content):
        write(path, content)
        left[0] -= 1
        if not left[0]:
            raise Dead

    return dying


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    experiment = optimisation()
    own = owners(tmp_path, experiment, shards())
    coordinate(experiment, own, checkpoint=tmp_path / "file").run()
    other = optimisation(rounds=4)
    with pytest.raises(CheckpointError, match="another experiment"):
        coordinate(other, own, checkpoint=tmp_path / "file")
    whole = (tmp_path / "file").read_bytes()
    (tmp_path / "file").write_bytes(whole[:-3])
    with pytest.raises(CheckpointError):
        coordinate(experiment, own, checkpoint=tmp_path / "file")


class Losing(Faithful):
    """Some clients' answers are lost in some exchanges."""

    def __init__(self, owners, lost):
        super().__init__(owners)
        self.lost = lost

    def exchange(self, asked):
        found = super().exchange(asked)
        gone = self.lost(len(self.carried))
        return {m: answer for m, answer in found.items() if m not in gone}


def test_with_own_noise_a_round_goes_on_without_the_missing_who_come_later(tmp_path):
    experiment = perturbation(rounds=4)
    own = owners(tmp_path, experiment, shards())
    notes = []
    # One exchange engages; with two attempts, client 1 is silent in the whole of round 2.
    coordinator = coordinate(
        experiment,
        own,
        Losing(own, lambda n: {1} if n in (3, 4) else set()),
        attempts=2,
        observer=lambda event: notes.append(event.note) if isinstance(event, RoundEnded) else None,
    )
    coordinator.run()
    assert notes == ["", "without clients [1]", "", ""]
    assert_is_the_product(coordinator, own)
    assert [one.paid for one in own] == [4, 3, 4]  # the late one was not computed again


@pytest.mark.parametrize(
    "experiment",
    [
        perturbation(rounds=4, mechanism={"trusted_aggregator": True, "memory": "forgets"}),
        perturbation(rounds=4, mechanism={"trusted_aggregator": True, "memory": "resets"}),
    ],
)
def test_with_joint_noise_a_partial_group_is_void(tmp_path, experiment):
    own = owners(tmp_path, experiment, shards())
    ended = []
    coordinator = coordinate(
        experiment,
        own,
        Losing(own, lambda n: {1} if n in (3, 4) else set()),
        attempts=2,
        observer=ended.append,
    )
    coordinator.run()
    ended = [event for event in ended if isinstance(event, RoundEnded)]
    assert [event.change == 0.0 for event in ended] == [False, True, False, False]
    assert "void" in ended[1].note
    assert [one.paid for one in own] == [4, 4, 4]
    assert coordinator.server.applied == [True, True, True]
    groups = {release.group for release in coordinator.transcript if release.sender == -1}
    assert len(groups) == 3


def test_whoever_cannot_pay_is_left_out_and_the_others_go_on(tmp_path):
    experiment = perturbation(rounds=6)
    own = owners(tmp_path, experiment, shards())
    own[2] = Owner(
        tmp_path / "poor",
        2,
        shards()[2],
        **ALLOWING | {"budget": {"epsilon": 2.5, "delta": 1e-3, "relation": "REPLACE_ONE"}},
    )
    coordinator = coordinate(experiment, own)
    coordinator.run()
    assert list(coordinator.left_out) == [2]
    assert 0 < own[2].paid < 6
    assert own[2].holder.budget.epsilon_upper(0) <= 2.5
    assert [own[0].paid, own[1].paid] == [6, 6]
    assert_is_the_product(coordinator, own)


def test_with_joint_noise_nobody_pays_for_a_group_that_can_only_be_void(tmp_path):
    experiment = perturbation(rounds=6, mechanism={"trusted_aggregator": True, "memory": "forgets"})
    own = owners(tmp_path, experiment, shards())
    poor = dict(ALLOWING["budget"], epsilon=2.5)
    own[2] = Owner(tmp_path / "poor", 2, shards()[2], **ALLOWING | {"budget": poor})
    coordinator = coordinate(experiment, own)
    coordinator.run()
    assert own[0].paid == own[1].paid == own[2].paid + 1 < 6


def test_an_improper_posterior_voids_a_group_and_nothing_more(tmp_path):
    experiment = dataclasses.replace(perturbation(rounds=3), prior=Prior(variance=1.0))
    own = owners(tmp_path, experiment, shards())
    coordinator = coordinate(experiment, own)
    coordinator.run()
    assert coordinator.posterior.is_proper
    assert_is_the_product(coordinator, own)


def test_a_client_that_answers_nonsense_cannot_end_the_run(tmp_path):
    experiment = perturbation()
    own = owners(tmp_path, experiment, shards())

    class Odd(Faithful):
        def exchange(self, asked):
            found = super().exchange(asked)
            return found | {1: os.urandom(100), 7: b"who am I?"}

    coordinator = coordinate(experiment, own, Odd(own), attempts=1)
    coordinator.run()
    assert coordinator.round == 3
    assert coordinator.server.resolved[1] == 0


def test_one_clients_answer_cannot_stand_for_anothers(tmp_path):
    experiment = perturbation()
    own = owners(tmp_path, experiment, shards())

    class Swapping(Faithful):
        def exchange(self, asked):
            found = super().exchange(asked)
            return found | {0: found[1], 1: found[0]} if len(found) == 3 else {}

    coordinator = coordinate(experiment, own, Swapping(own), attempts=1)
    coordinator.run()
    assert coordinator.server.resolved[:2] == [0, 0]


def test_an_observer_is_told_what_holders_say(tmp_path):
    experiment = perturbation()
    own = owners(tmp_path, experiment, shards())
    events = []
    held_out = shards(4)[3]
    coordinate(experiment, own, observer=events.append, held_out=held_out).run()
    assert isinstance(events[0], RunBegan)
    assert isinstance(events[-1], RunEnded)
    assert sum(isinstance(event, RoundEnded) for event in events) == 3
    assert sum(isinstance(event, HeldOutScore) for event in events) == 3
    spent = [event for event in events if isinstance(event, EpsilonSpent)]
    assert {event.reporter for event in spent} == {"holder"}
    last = {event.client: event for event in spent if event.limit is not None}
    for m, one in enumerate(own):
        assert last[m].spent == one.holder.budget.epsilon_upper(0)
    assert {event.status for event in events if isinstance(event, ClientStatus)} == {
        "pending",
        "online",
    }
    traffic = [event for event in events if isinstance(event, Traffic)]
    assert all(event.kind == "wire" and event.sent > 0 < event.received for event in traffic)


def test_a_holder_that_does_not_take_part_is_named(tmp_path):
    experiment = perturbation()
    own = owners(tmp_path, experiment, shards())
    own[1] = Owner(tmp_path / "strict", 1, shards()[1], **ALLOWING | {"least_noise": 5.0})
    with pytest.raises(HolderRefusedError, match=r"client 1 .*noise_multiplier"):
        coordinate(experiment, own).run()


def test_seals_must_be_those_of_all_clients(tmp_path):
    own = owners(tmp_path, perturbation(), shards())
    with pytest.raises(ValueError, match="seals"):
        Coordinator(perturbation(), {0: own[0].seal}, InProcess({}), rng=np.random.default_rng(0))
