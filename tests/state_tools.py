"""Saved state under attack: budgets shared by threads and processes that are killed, runs that are
cut, files with a bit flipped. Used by tests, and by `benchmarks/soak_state.py` for the long runs.

As a program: `python state_tools.py FIRST COUNT` runs that many budget schedules and prints a JSON
summary. It forks, so it must be a process of its own, without other threads.
"""

import dataclasses
import functools
import json
import os
import random
import signal
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path

import dp_accounting as dpa
import numpy as np
from mechanism_cases import CLIENTS, SCOPES, SIZE, experiments

import pvi
from mechanisms import (
    Budget,
    BudgetExceededError,
    BudgetFileError,
    Partition,
    UnsupportedEventError,
    budget,
    epsilon_bounds,
)
from pvi import Asynchronous, Sequential, Shard, Synchronous

EVENT = dpa.GaussianDpEvent(6.0)
TERMS = {"target_epsilon": 2.0, "delta": 1e-5}

# ------------------------------------------------------------------- budgets that are killed


@functools.cache
def affordable():
    """How many releases of EVENT the budget covers, counted by one thread in one process."""
    alone = Budget(**TERMS)
    while alone.admits(0, EVENT):
        alone.spend(0, EVENT)
    ((_, count),) = alone.ledger(0)
    return count


def remember_costs():
    """Lets forked processes look costs up instead of computing them again and again."""
    compute, known = budget._epsilon, {}

    def looked_up(terms, books, client):
        ledger = books.ledger(client)
        if len(ledger) != 1 or ledger[0][0] != EVENT:
            return compute(terms, books, client)
        if ledger[0][1] not in known:
            known[ledger[0][1]] = compute(terms, books, client)
        return known[ledger[0][1]]

    budget._epsilon = looked_up
    affordable()


STEPS = 4
"""Steps of one booking towards the disk: the content, the name, the folder, the lock's mark."""


class Death:
    """Kills this process at its `point`-th step, before or after it; never for point 0."""

    def __init__(self):
        self.point, self.after, self.made, self.lock = 0, False, 0, threading.Lock()
        for name in ("fsync", "replace", "pwrite"):
            setattr(os, name, functools.partial(self.step, getattr(os, name)))

    def step(self, real, *arguments):
        with self.lock:
            self.made += 1
            due = self.made == self.point
        if due and not self.after:
            os.kill(os.getpid(), signal.SIGKILL)
        result = real(*arguments)
        if due:
            os.kill(os.getpid(), signal.SIGKILL)
        return result


def spend_in_threads(path, threads, attempts, report):
    """The threads of one process share a `Budget`, and say each grant as they get it."""
    shared = Budget.load(path)

    def spend():
        for _ in range(attempts):
            try:
                shared.spend(0, EVENT)
            except BudgetExceededError:
                return
            os.write(report, b"g")

    workers = [threading.Thread(target=spend) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


class Spender:
    """A process that spends when told to, and that may be killed."""

    living = []  # noqa: RUF012

    def __init__(self):
        self.process = 0

    def start(self):
        """Forks, if there is no living process."""
        if self.process:
            return
        orders, self.orders = os.pipe()
        self.answers, answers = os.pipe()
        self.process = os.fork()
        if self.process:
            os.close(orders)
            os.close(answers)
            self.living.append(self)
            return
        for pipe in (self, *self.living):  # so that all end with the process that forked them
            os.close(pipe.orders)
            os.close(pipe.answers)
        try:
            death = Death()
            with os.fdopen(orders) as lines:
                for line in lines:
                    path, threads, attempts, point, after = json.loads(line)
                    death.point, death.after, death.made = point, after, 0
                    spend_in_threads(path, threads, attempts, answers)
                    os.write(answers, b".")
        except BaseException as error:
            os.write(answers, b"!")
            print(repr(error), file=sys.stderr)
        finally:
            os._exit(0)

    def order(self, *order):
        os.write(self.orders, json.dumps(order).encode() + b"\n")

    def answer(self):
        """How many grants it reported, and whether it was killed."""
        said = b""
        while not said.endswith((b".", b"!")):
            more = os.read(self.answers, 4096)
            if not more:
                break
            said += more
        if said.endswith(b"!"):
            raise RuntimeError("a spender failed")
        if killed := not said.endswith(b"."):
            self.stop()
        return said.count(b"g"), killed

    def stop(self):
        self.living.remove(self)
        os.close(self.orders)
        os.close(self.answers)
        os.waitpid(self.process, 0)
        self.process = 0


def budget_schedule(folder, number, spenders, *, threads=8):
    """One schedule: processes share a file; one or two die at a step that `number` determines.

    Returns:
      grants that were reported, grants in the file when all had ended, what could be granted after
      that, and how many processes were killed.
    """
    rng = random.Random(number)
    path = Path(folder) / f"budget-{number}.json"
    Budget(**TERMS, path=path)
    # Every step of the first three bookings, before and after it; among others, a process rarely
    # gets further. `test_budget_sharing` goes through all steps of a lonely one.
    point, after = number % (3 * STEPS) + 1, bool(number // (3 * STEPS) % 2)
    victims = rng.sample(spenders, rng.choice([1, 1, 2]))
    for spender in spenders:
        spender.start()
    for spender in spenders:
        dies = point if spender in victims else 0
        spender.order(str(path), threads, rng.randint(1, 3), dies, after)
    answers = [spender.answer() for spender in spenders]
    left = Budget.load(path)
    in_file = sum(count for _, count in left.ledger(0))
    more = 0
    while left.admits(0, EVENT):
        left.spend(0, EVENT)
        more += 1
    for file in path.parent.glob(path.name + "*"):
        file.unlink()
    return sum(grants for grants, _ in answers), in_file, more, sum(killed for _, killed in answers)


def budget_schedules(first, count, *, processes=4):
    """Many schedules; how often each promise was broken."""
    remember_costs()
    found = Counter(schedules=count, processes=processes, threads=8)
    memory = Path("/dev/shm")
    spenders = [Spender() for _ in range(processes)]
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        for number in range(first, first + count):
            reported, in_file, more, killed = budget_schedule(folder, number, spenders)
            found["killed processes"] += killed
            found["grants reported"] += reported
            found["booked, not reported"] += max(0, in_file - reported)
            found["lost entries"] += max(0, reported - in_file)
            found["overspent"] += in_file + more > affordable()
            found["not spendable any more"] += in_file + more < affordable()
    for spender in spenders:
        if spender.process:
            spender.stop()
    return dict(found)


# ------------------------------------------------------------------------- runs that are cut

SCHEDULES = {
    "synchronous": Synchronous(),
    "sequential": Sequential(shuffle=True),
    "asynchronous": Asynchronous(rates=(1.0, 2.0, 3.0), updates=2),
    "stale": Asynchronous(rates=(1.0, 2.0, 3.0), updates=2, stale=True),
}


def data(experiment):
    """Some records for the experiment's clients."""
    shards = [
        Shard(inputs=np.ones((SIZE, 1)), targets=np.linspace(-1.0, 1.0, SIZE) + m)
        for m in range(CLIENTS)
    ]
    if experiment.parts == 2 and experiment.assignment == "identity":
        return [Partition.by_identity(shard, [i % 2 for i in range(SIZE)], 2) for shard in shards]
    return shards


def settings():
    """Every mechanism with every schedule that it takes."""
    for name, experiment in experiments(rounds=1).items():
        for word, schedule in SCHEDULES.items():
            if "averaging, " in name and word != "synchronous":
                continue
            yield f"{name}, {word}", dataclasses.replace(experiment, schedule=schedule)


def cost(transcript, scope):
    """ε's interval, or the reason why there is none."""
    try:
        return tuple(epsilon_bounds(transcript, scope, 1e-3))
    except UnsupportedEventError as error:
        return str(error)


def same_after_a_cut(experiment, folder, *, rounds, cut, seed, scopes):
    """Whether a run that was saved and resumed after `cut` rounds is the uninterrupted one."""

    def build(own_seed):
        return experiment.build(data(experiment), np.random.default_rng(own_seed))

    whole, first, path = build(seed), build(seed), Path(folder) / "run.checkpoint"
    whole.run(rounds)
    if cut:
        first.run(cut)
    first.save(path)
    second = build(seed + 1)
    second.restore(path)
    if cut < rounds:
        second.run(rounds - cut)
    return (
        np.array_equal(whole.estimate, second.estimate)
        and len(whole.transcript) == len(second.transcript)
        and all(
            (a.round, a.group, a.source) == (b.round, b.group, b.source)
            and np.array_equal(a.value, b.value)
            for a, b in zip(whole.transcript, second.transcript, strict=True)
        )
        and all(cost(whole.transcript, scope) == cost(second.transcript, scope) for scope in scopes)
    )


def cuts(count, seed=0):
    """Random cuts over all settings; how many were not the same afterwards."""
    rng = random.Random(seed)
    everything = list(settings())
    found = Counter(cuts=count, settings=len(everything))
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            name, experiment = everything[number % len(everything)]
            rounds = rng.randint(1, 6)
            same = same_after_a_cut(
                experiment,
                folder,
                rounds=rounds,
                cut=rng.randint(0, rounds),
                seed=rng.randrange(2**32),
                scopes=rng.sample(SCOPES, 2),
            )
            if not same:
                found["different"] += 1
                print("different:", name, file=sys.stderr)
    return {"different": 0, **found}


# ------------------------------------------------------------------- files with a bit flipped


def spent_budget():
    """A budget in which every field of its file has something in it."""
    own = Budget(target_epsilon=9.0, delta=1e-5, limits={1: (3.0, 1e-6)})
    own.spend(0, dpa.PoissonSampledDpEvent(0.25, dpa.GaussianDpEvent(5.0)), 3)
    own.spend(1, dpa.GaussianDpEvent(30.0), distance=1e-12)
    return own


def saved_runs(folder):
    """Checkpoints of a federation and of federated averaging, each with a run to restore into."""
    chosen = experiments(rounds=1)
    for name in ("optimisation, adaptive", "central noise, remembers", "averaging, by size"):
        own = chosen[name]
        run, target = (own.build(data(own), np.random.default_rng(seed)) for seed in (1, 2))
        run.run(3)
        path = Path(folder) / f"{len(name)}.checkpoint"
        run.save(path)
        yield path, run, target


def state(run):
    """All that a checkpoint of the run would hold."""
    engine = run.averaging if hasattr(run, "averaging") else run.federation
    packed = [engine.pack(), engine.companion.pack()]
    return [pvi.archive.encode("state", own) for own in packed]


def flipped(content, bit):
    """The content with one bit turned."""
    altered = bytearray(content)
    altered[bit // 8] ^= 1 << bit % 8
    return bytes(altered)


def flips(count, seed=0):
    """Random bits of budgets and checkpoints; how many changed anything without a word."""
    rng = random.Random(seed)
    found = Counter(flips=count)
    own = spent_budget()
    text = own.to_json()
    with tempfile.TemporaryDirectory() as folder:
        runs = [(path, path.read_bytes(), run, target) for path, run, target in saved_runs(folder)]
        untouched = {id(target): state(target) for *_, target in runs}
        for number in range(count):
            if number % 2:
                content = flipped(text.encode(), rng.randrange(8 * len(text.encode())))
                try:
                    outcome = Budget.from_json(content).to_json() == text
                except BudgetFileError:
                    outcome = None
            else:
                path, whole, run, target = runs[number // 2 % len(runs)]
                path.write_bytes(flipped(whole, rng.randrange(8 * len(whole))))
                try:
                    target.restore(path)
                    outcome = state(target) == state(run)
                except pvi.CheckpointError:
                    outcome = None if state(target) == untouched[id(target)] else False
            found["refused" if outcome is None else "identical" if outcome else "silent"] += 1
    return {"silent": 0, **found}


if __name__ == "__main__":
    print(json.dumps(budget_schedules(int(sys.argv[1]), int(sys.argv[2]))))
