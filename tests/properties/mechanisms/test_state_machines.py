"""Whatever happens to budgets' files and saved runs, nothing is lost and nothing overspent.

Two machines. In the first, several holders of one budget spend, load it again, and put old copies
of its file back. In the second, a run with a budget's file goes on, is saved, dies and is resumed
from any earlier save. The machines' own count of what was granted and sent is the oracle.
"""

import shutil
import tempfile
from collections import Counter
from pathlib import Path

import dp_accounting as dpa
import numpy as np
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from mechanism_tools import gaussian_epsilon

from mechanisms import (
    Budget,
    BudgetExceededError,
    BudgetFileError,
    ParameterPerturbation,
    ReleaseNoise,
    Setting,
)
from pvi import (
    Asynchronous,
    CheckpointError,
    ExactSolver,
    LinearRegression,
    MeanFieldGaussian,
    Sequential,
    Shard,
    Synchronous,
)

EVENT = dpa.GaussianDpEvent(4.0)
PICK = st.integers(0, 10_000)


def epsilon(releases, multiplier):
    """ε(1e-5) of that many releases, by the textbook's formula."""
    return gaussian_epsilon(releases**0.5 / multiplier, 1e-5) if releases else 0.0


class SharedBudget(RuleBasedStateMachine):
    """Grants per client never exceed what one holder alone could have got."""

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.path = self.folder / "budget.json"
        self.holders = [Budget(target_epsilon=2.0, delta=1e-5, path=self.path)]
        self.granted = Counter()
        self.copies = [self.path.read_bytes()]

    def teardown(self):
        shutil.rmtree(self.folder)

    def newest_is_there(self):
        return self.path.read_bytes() == self.copies[-1]

    @rule(pick=PICK, client=st.integers(0, 1), count=st.integers(1, 2))
    def spend(self, pick, client, count):
        holder = self.holders[pick % len(self.holders)]
        try:
            holder.spend(client, EVENT, count)
        except BudgetExceededError:
            assert self.newest_is_there()
            assert epsilon(self.granted[client] + count, 4.0) > 2.0
        except BudgetFileError:
            assert not self.newest_is_there()
        else:
            self.granted[client] += count
            self.copies.append(self.path.read_bytes())

    @rule()
    def load(self):
        try:
            self.holders.append(Budget.load(self.path))
        except BudgetFileError:
            assert not self.newest_is_there()

    @rule(pick=PICK)
    def put_back(self, pick):
        self.path.write_bytes(self.copies[pick % len(self.copies)])

    @precondition(lambda self: not self.newest_is_there())
    @rule()
    def repair(self):
        self.path.write_bytes(self.copies[-1])

    @invariant()
    def nothing_is_overspent(self):
        for count in self.granted.values():
            assert epsilon(count, 4.0) <= 2.0

    @invariant()
    def nothing_is_lost(self):
        if self.newest_is_there():
            for client, count in self.granted.items():
                assert self.holders[0].ledger(client) == ((EVENT, count),)


class InterruptedRun(RuleBasedStateMachine):
    """What was sent is in the transcript of whoever resumes, and fits the budget."""

    clients = 2

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.path = self.folder / "budget.json"
        self.run = None

    def teardown(self):
        shutil.rmtree(self.folder)

    def build(self, budget):
        prior = MeanFieldGaussian(natural_mean=[0.0], precision=[1e6])
        model = LinearRegression(dimension=1, noise_std=1.0)
        mechanism = ParameterPerturbation(clip_norm=1.0, noise_multiplier=4.0, noise=ReleaseNoise())
        return mechanism.build(
            Setting(model=model, prior=prior, solver=ExactSolver(), schedule=self.schedule),
            [Shard(inputs=[[1.0]], targets=[float(m)]) for m in range(self.clients)],
            np.random.default_rng(0),
            budget=budget,
        )

    @precondition(lambda self: self.run is None)
    @rule(
        schedule=st.sampled_from(
            [
                Synchronous(),
                Sequential(shuffle=True),
                Asynchronous(rates=(1.0, 2.0), updates=2, stale=True),
            ]
        )
    )
    def begin(self, schedule):
        self.schedule = schedule
        self.run = self.build(Budget(target_epsilon=4.0, delta=1e-5, path=self.path))
        self.sent = Counter()
        self.saves = []
        self.save()

    @precondition(lambda self: self.run is not None)
    @rule(rounds=st.integers(1, 2))
    def go_on(self, rounds):
        self.run.run(rounds, callbacks=[lambda event: self.sent.update(event.clients)])

    @precondition(lambda self: self.run is not None)
    @rule()
    def save(self):
        path = self.folder / f"run-{len(self.saves)}"
        self.run.save(path)
        self.saves.append(path)

    @precondition(lambda self: self.run is not None)
    @rule(pick=PICK)
    def die_and_resume(self, pick):
        self.run = self.build(Budget.load(self.path))
        self.run.restore(self.saves[pick % len(self.saves)])

    @precondition(lambda self: self.run is not None and self.run.transcript)
    @rule(pick=PICK)
    def rewind(self, pick):
        before = self.run.transcript
        try:
            self.run.restore(self.saves[pick % len(self.saves)])
        except CheckpointError:
            assert self.run.transcript == before
        else:
            raise AssertionError("a run with releases was rewound")

    @invariant()
    def nothing_is_lost_or_overspent(self):
        if self.run is None:
            return
        told = Counter(release.sender for release in self.run.transcript)
        for client in range(self.clients):
            booked = sum(count for _, count in Budget.load(self.path).ledger(client))
            assert self.sent[client] <= told[client] == booked
            # One release has multiplier 4/2 under add or remove.
            assert epsilon(booked, 2.0) <= 4.0


def test_shared_budgets():
    run_state_machine_as_test(
        SharedBudget,
        settings=settings(
            max_examples=15, stateful_step_count=20, deadline=None, phases=[Phase.generate]
        ),
    )


def test_interrupted_runs():
    run_state_machine_as_test(
        InterruptedRun,
        settings=settings(
            max_examples=12, stateful_step_count=15, deadline=None, phases=[Phase.generate]
        ),
    )
