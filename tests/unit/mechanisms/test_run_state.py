"""A private run that is saved and resumed has forgotten nothing: releases, costs, payments."""

import copy
import dataclasses
import math
import shutil

import numpy as np
import pytest
import state_tools
from mechanism_cases import SCOPES, experiments
from mechanism_tools import gaussian_epsilon

import pvi
from mechanisms import (
    AllRecords,
    Budget,
    BudgetFileError,
    DPOptimisation,
    ParameterPerturbation,
    ReleaseNoise,
    Scope,
    Setting,
    SimulationNoiseWarning,
    epsilon_bounds,
)
from mechanisms.primitives import noise
from pvi import (
    SGD,
    CheckpointError,
    ExactSolver,
    LinearRegression,
    MeanFieldGaussian,
    Packed,
    Sequential,
    Shard,
)
from pvi.archive import decode, encode

MODEL = LinearRegression(dimension=1, noise_std=1.0)
PRIOR = MeanFieldGaussian(natural_mean=[0.0], precision=[1e6])
SETTING = Setting(model=MODEL, prior=PRIOR, solver=ExactSolver())
PERTURBATION = ParameterPerturbation(clip_norm=1.0, noise_multiplier=4.0)
RELEASING = dataclasses.replace(PERTURBATION, noise=ReleaseNoise())


def start(mechanism=PERTURBATION, *, clients=2, budget=None, setting=SETTING, seed=0):
    shards = [Shard(inputs=[[1.0]], targets=[float(m)]) for m in range(clients)]
    return mechanism.build(setting, shards, np.random.default_rng(seed), budget=budget)


def test_the_cost_of_a_resumed_run_is_that_of_all_its_rounds(tmp_path):
    """σ = 4 under add or remove is a multiplier of 2 a round: μ = √8/2 after eight rounds."""
    run = start()
    run.run(4)
    run.save(tmp_path / "run")
    resumed = start(seed=9)
    resumed.restore(tmp_path / "run")
    resumed.run(4)
    found = epsilon_bounds(resumed.transcript, Scope(), 1e-5)
    truth = gaussian_epsilon(math.sqrt(8) / 2, 1e-5)
    assert found.lower <= truth <= found.upper
    assert found.upper == pytest.approx(truth, rel=1e-9)


def test_the_engine_alone_carries_the_transcript_too(tmp_path):
    run = start()
    run.run(3)
    pvi.save(tmp_path / "run", run.federation)
    resumed = start()
    pvi.restore(tmp_path / "run", resumed.federation)
    assert len(resumed.transcript) == len(run.transcript) == 9


@pytest.mark.parametrize("offset", range(0, 99, 9))
def test_a_cut_changes_nothing(tmp_path, offset):
    """A ninth of all mechanisms × schedules, each cut in its middle."""
    for number, (name, experiment) in enumerate(state_tools.settings()):
        if offset <= number < offset + 2:
            assert state_tools.same_after_a_cut(
                experiment, tmp_path, rounds=3, cut=1 + number % 2, seed=number, scopes=SCOPES[:1]
            ), name


@pytest.mark.slow
def test_two_hundred_cuts_change_nothing():
    assert state_tools.cuts(200, seed=2)["different"] == 0


def test_an_adaptive_norm_goes_on_where_it_was(tmp_path):
    experiment = experiments()["optimisation, adaptive"]
    run, resumed = (
        experiment.build(state_tools.data(experiment), np.random.default_rng(seed))
        for seed in (1, 2)
    )
    run.run(3)
    before = [hook.memory["norm"] for hook in run._hooks]
    assert before != [1.0] * 3
    run.save(tmp_path / "run")
    resumed.restore(tmp_path / "run")
    assert [hook.memory["norm"] for hook in resumed._hooks] == before


# ------------------------------------------------------------------------------ refusals


def test_a_bare_engines_file_is_refused(tmp_path):
    """An engine that knows nothing of privacy saved it; its releases are in no transcript."""
    run = start()
    run.federation.companion = None
    run.run(2)
    pvi.save(tmp_path / "bare", run.federation)
    private = start()
    with pytest.raises(CheckpointError, match="saved with nothing beside the engine"):
        private.restore(tmp_path / "bare")
    assert private.federation.server.round == 0
    start_again = start()
    start_again.run(1)
    start_again.save(tmp_path / "private")
    with pytest.raises(CheckpointError, match="one would be lost"):
        pvi.restore(tmp_path / "private", run.federation)
    assert run.federation.server.round == 2


def test_a_run_that_has_released_something_is_not_rewound(tmp_path):
    run = start()
    run.run(1)
    run.save(tmp_path / "run")
    run.run(1)
    with pytest.raises(CheckpointError, match="has made 6 releases, which would be forgotten"):
        run.restore(tmp_path / "run")
    assert len(run.transcript) == 6


@pytest.mark.parametrize("saved_with", [True, False])
def test_a_budget_cannot_be_dropped_or_added(tmp_path, saved_with):
    budgets = [Budget(target_epsilon=9.0, delta=1e-5), None]
    run = start(budget=budgets[not saved_with])
    run.run(1)
    run.save(tmp_path / "run")
    other = start(budget=budgets[saved_with])
    with pytest.raises(CheckpointError, match="spending would be lost"):
        other.restore(tmp_path / "run")
    assert other.transcript == ()


def test_a_run_with_other_facts_is_refused(tmp_path):
    """Or what was released after the save would be counted with the wrong noise."""
    run = start()
    run.run(1)
    run.save(tmp_path / "run")
    for other in (
        dataclasses.replace(PERTURBATION, noise_multiplier=8.0),
        dataclasses.replace(PERTURBATION, clip_norm=2.0),
        RELEASING,
    ):
        with pytest.raises(CheckpointError, match="other noise, clipping or sampling"):
            start(other).restore(tmp_path / "run")


def test_a_sampling_scheme_of_ones_own_cannot_be_saved(tmp_path):
    run = start()
    run.run(1)

    @dataclasses.dataclass(frozen=True)
    class Own(AllRecords):
        pass

    source = dataclasses.replace(run.transcript[0].source, clips="record", summed=False)
    run.recorder.releases[0] = dataclasses.replace(
        run.transcript[0], source=dataclasses.replace(source, sampling=Own())
    )
    with pytest.raises(CheckpointError, match="`sampling` must be one of"):
        run.save(tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


JUNK = [None, True, -1, 0.5, "x", [], {}, [None], [[]], [[1, 2]], [[1, 0, 99]], 10**30]


@pytest.mark.parametrize(
    "place",
    [
        "sources",
        "transcript",
        "transcript/releases",
        "transcript/sources",
        "group",
        "screened",
        "budget",
        "payer",
    ],
)
def test_no_fact_can_be_replaced_by_anything(tmp_path, place):
    """The checksum is right every time; what is refused leaves the run as it was."""
    run = start(budget=Budget(target_epsilon=9.0, delta=1e-5))
    run.run(2)
    run.save(tmp_path / "run")
    whole = decode("federation", (tmp_path / "run").read_bytes())
    for junk in JUNK:
        facts = copy.deepcopy(whole.facts)
        inner = facts["companion"]
        *above, last = place.split("/")
        for name in above:
            inner = inner[name]
        inner[last] = junk
        (tmp_path / "run").write_bytes(encode("federation", Packed(facts, whole.arrays)))
        other = start(budget=Budget(target_epsilon=9.0, delta=1e-5))
        before = state_tools.state(other)
        if (place, junk) in [("group", 10**30), ("payer", "x")]:
            continue  # a number and a name like any other
        with pytest.raises(CheckpointError):
            other.restore(tmp_path / "run")
        assert state_tools.state(other)[0] == before[0]
        assert other.transcript == ()


# ------------------------------------------------------------------------------- budgets


def test_a_budget_without_a_file_is_saved_with_its_run(tmp_path):
    """σ = 4: the budget covers the same rounds in all, wherever the run is cut."""

    def rounds(transcript):
        return sum(release.sender == 0 for release in transcript)

    whole = start(budget=Budget(target_epsilon=5.0, delta=1e-5))
    whole.run(20)
    half = start(budget=Budget(target_epsilon=5.0, delta=1e-5))
    half.run(2)
    half.save(tmp_path / "run")
    resumed = start(budget=Budget(target_epsilon=5.0, delta=1e-5))
    resumed.restore(tmp_path / "run")
    resumed.run(20)
    assert rounds(resumed.transcript) == rounds(whole.transcript)
    assert gaussian_epsilon(math.sqrt(rounds(resumed.transcript)) / 2, 1e-5) <= 5.0
    assert gaussian_epsilon(math.sqrt(rounds(resumed.transcript) + 1) / 2, 1e-5) > 5.0
    for other in (
        Budget(target_epsilon=5.5, delta=1e-5),
        Budget(target_epsilon=5.0, delta=1e-6),
        Budget(target_epsilon=5.0, delta=1e-5, adaptive=True),
    ):
        with pytest.raises(CheckpointError, match="other limits"):
            start(budget=other).restore(tmp_path / "run")
    used = Budget(target_epsilon=5.0, delta=1e-5)
    start(budget=used).run(1)
    with pytest.raises(CheckpointError, match="or another"):
        start(budget=used).restore(tmp_path / "run")


def test_what_was_released_after_the_save_is_in_the_transcript(tmp_path):
    """The budget's file knows of a round that the saved run does not: it counts, without values."""
    path = tmp_path / "budget.json"
    run = start(RELEASING, budget=Budget(target_epsilon=5.0, delta=1e-5, path=path))
    run.run(2)
    run.save(tmp_path / "run")
    run.run(1)  # and dies
    truth = epsilon_bounds(run.transcript, Scope(), 1e-5)
    resumed = start(RELEASING, budget=Budget.load(path))
    resumed.restore(tmp_path / "run")
    assert epsilon_bounds(resumed.transcript, Scope(), 1e-5) == truth
    assert [r.value is None for r in resumed.transcript] == [False] * 6 + [True] * 3
    resumed.run(20)
    sent = sum(release.sender == 0 for release in resumed.transcript)
    assert gaussian_epsilon(math.sqrt(sent) / 2, 1e-5) <= 5.0
    assert gaussian_epsilon(math.sqrt(sent + 1) / 2, 1e-5) > 5.0
    assert epsilon_bounds(resumed.transcript, Scope(), 1e-5).upper <= 5.0
    # Again: nothing is counted twice.
    resumed.save(tmp_path / "again")
    third = start(RELEASING, budget=Budget.load(path))
    third.restore(tmp_path / "again")
    assert len(third.transcript) == len(resumed.transcript)


def test_an_older_budget_is_refused(tmp_path):
    path = tmp_path / "budget.json"
    run = start(RELEASING, budget=Budget(target_epsilon=5.0, delta=1e-5, path=path))
    for suffix in ("", ".lock"):
        shutil.copy(f"{path}{suffix}", f"{tmp_path / 'old'}{suffix}")
    run.run(2)
    run.save(tmp_path / "run")
    for suffix in ("", ".lock"):
        shutil.copy(f"{tmp_path / 'old'}{suffix}", f"{path}{suffix}")
    late = start(RELEASING, budget=Budget.load(path))
    with pytest.raises(CheckpointError, match=r"saved at booking 2 .* is at 0"):
        late.restore(tmp_path / "run")
    start(RELEASING, budget=Budget.load(path)).run(2)  # now it looks as new as it was
    with pytest.raises(CheckpointError, match="an older one, or another"):
        start(RELEASING, budget=Budget.load(path)).restore(tmp_path / "run")


def test_a_budget_that_refuses_late_leaves_the_run_as_it_was(tmp_path, monkeypatch):
    """Somebody spends from it between the checks and the end of `restore`."""
    run = start(budget=Budget(target_epsilon=5.0, delta=1e-5))
    run.run(2)
    run.save(tmp_path / "run")
    resumed = start(budget=Budget(target_epsilon=5.0, delta=1e-5))

    def refuse(*_):
        raise BudgetFileError("used")

    monkeypatch.setattr(Budget, "adopt", refuse)
    with pytest.raises(BudgetFileError, match="used"):
        resumed.restore(tmp_path / "run")
    assert resumed.transcript == ()
    assert resumed.federation.server.round == 0
    assert np.array_equal(resumed.posterior.vector, PRIOR.vector)


def test_an_exhausted_budget_is_said():
    run = start(budget=Budget(target_epsilon=2.5, delta=1e-5))
    report = run.run(4)
    assert report.reason == "the budget leaves out clients [0, 1]: nobody updates"
    assert report.history.notes == ("", *[report.reason] * 3)
    assert not report.converged
    assert run.federation.run(1, tolerance=1.0).converged is False


def test_clients_that_are_left_out_are_named():
    budget = Budget(target_epsilon=50.0, delta=1e-5, limits={1: (2.5, 1e-5)})
    sequential = dataclasses.replace(SETTING, schedule=Sequential())
    report = start(budget=budget, clients=3, setting=sequential).run(2)
    assert report.reason == "the budget leaves out clients [1]"
    assert start().run(2).reason == "rounds"


# ------------------------------------------------------------------------------ simulation


def test_simulated_noise_with_a_budgets_file_is_said_once(tmp_path, recwarn):
    noise._say_once.cache_clear()
    budget = Budget(target_epsilon=5.0, delta=1e-5, path=tmp_path / "budget.json")
    with pytest.warns(SimulationNoiseWarning, match="use noise=ReleaseNoise"):
        start(budget=budget)
    optimisation = DPOptimisation(
        clip_norm=1.0, noise_multiplier=1.0, steps=1, rule=SGD(learning_rate=0.1)
    )
    start(optimisation, budget=budget, setting=Setting(model=MODEL, prior=PRIOR))
    noise._say_once.cache_clear()
    start(RELEASING, budget=Budget.load(tmp_path / "budget.json"))
    start(budget=Budget(target_epsilon=5.0, delta=1e-5))
    assert not recwarn.list
