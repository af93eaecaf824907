"""Runs in processes of their own: each ends with the numbers of a run that nobody touched."""

import fcntl
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from audits.cli.main import main
from audits.dashboard.federation import commands, invite
from audits.dashboard.made_up import write_made_up
from audits.dashboard.process import RunFolder
from audits.dashboard.runner import MOST_TRIES, Runner
from audits.dashboard.settings import Settings, offered
from audits.dashboard.store import Store
from mechanisms import durable
from mechanisms.progress import EpsilonSpent, RoundEnded, from_json

EXAMPLE = (Path(__file__).parents[4] / "docs" / "experiment.toml").read_text(encoding="utf-8")


@pytest.fixture
def tmp_path():
    """A path so short that sockets fit in."""
    with tempfile.TemporaryDirectory(prefix="dp") as folder:
        yield Path(folder)


@pytest.fixture
def kept(tmp_path):
    """A store, and runners that tend only when they are told to."""
    store = Store(tmp_path / "store.sqlite")
    runner = Runner(store, tmp_path / "runs", at_once=1)
    yield store, runner
    runner.end()
    store.close()


def described(store, rounds=5, **settings):
    text = EXAMPLE.replace("rounds = 5", f"rounds = {rounds}")
    run = store.add(name="a", experiment=text, plan=[])
    assert store.start(run, {"seed": 3, "made_up": 20} | settings)
    return run


def tend_until(runner, condition, patience=90):
    given_up = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < given_up, "it takes too long"
        runner.tend()
        time.sleep(0.05)


def state(store, run):
    return store.entry(run).state


def ended(store, run):
    return lambda: state(store, run) in ("finished", "failed")


def rounds_told(store, run):
    events = [from_json(line) for _, line in store.told(run)]
    return {event.round for event in events if isinstance(event, RoundEnded)}


def undisturbed(tmp_path, store, run, capsys):
    """What the command itself says of the same experiment and records, in this process."""
    folder = RunFolder(tmp_path / "alone")
    folder.make()
    entry = store.entry(run)
    folder.experiment.write_text(entry.experiment, encoding="utf-8")
    arguments = Settings.of(entry.settings).arguments(folder)
    assert main(arguments) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.slow
def test_a_run_that_is_killed_ends_as_if_it_had_not_been(kept, tmp_path, capsys):
    """SIGKILL of the run's process in the middle, then a pause, then another runner."""
    store, runner = kept
    run = described(store, rounds=150)
    folder = runner.folder_of(run)
    tend_until(runner, lambda: len(rounds_told(store, run)) >= 3)
    os.kill(durable.holder(folder.checkpoint), signal.SIGKILL)
    tend_until(runner, lambda: not folder.is_alive())
    before = len(rounds_told(store, run))
    assert before < 150
    tend_until(runner, lambda: len(rounds_told(store, run)) > before)
    store.move(run, ["going"], "pausing")
    tend_until(runner, lambda: state(store, run) == "paused")
    assert not folder.is_alive()
    assert len(rounds_told(store, run)) < 150
    assert store.move(run, ["paused"], "going")
    other = Runner(store, tmp_path / "runs", at_once=1)
    tend_until(other, ended(store, run))
    other.end()
    entry = store.entry(run)
    assert entry.state == "finished", entry.message
    assert rounds_told(store, run) == set(range(1, 151))
    assert entry.answer == undisturbed(tmp_path, store, run, capsys)


def test_a_runner_finds_the_process_that_another_one_left(kept, tmp_path):
    """As if the dashboard had been killed: its run goes on, and no second one is started."""
    store, runner = kept
    run = described(store, rounds=5)
    runner.tend()  # the process exists and may not have reached its checkpoint's lock yet
    heir = Runner(store, tmp_path / "runs", at_once=1)
    for _ in range(5):
        heir.tend()
    assert store.entry(run).tries == 1
    tend_until(heir, ended(store, run))
    assert state(store, run) == "finished"
    heir.end()


@pytest.mark.slow
def test_only_so_many_go_at_once_and_each_gets_its_turn(kept):
    store, runner = kept
    runs = [described(store, rounds=2) for _ in range(3)]
    seen = set()
    tend_until(
        runner,
        lambda: (
            seen.add(sum(runner.folder_of(run).is_alive() for run in runs))
            or all(ended(store, run)() for run in runs)
        ),
    )
    assert [state(store, run) for run in runs] == ["finished"] * 3
    assert max(seen) == 1


def test_bad_input_is_not_tried_again_and_says_what_is_wrong(kept, tmp_path):
    store, runner = kept
    run = described(store, data=str(tmp_path / "missing.csv"))
    tend_until(runner, ended(store, run))
    entry = store.entry(run)
    assert entry.state == "failed"
    assert "missing.csv" in entry.message
    assert entry.tries <= 1


def test_a_run_that_always_dies_is_given_up(kept, monkeypatch):
    store, runner = kept
    run = described(store)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    tend_until(runner, ended(store, run))
    assert state(store, run) == "failed"
    assert MOST_TRIES == 3


def test_settings_that_cannot_be_met_fail_the_run(kept):
    store, runner = kept
    run = described(store, seed=-1)
    runner.tend()
    assert "`seed` must" in store.entry(run).message
    assert state(store, run) == "failed"


@pytest.mark.slow
def test_ending_the_runner_ends_its_processes_and_removing_deletes_their_files(kept, tmp_path):
    store, runner = kept
    run = described(store, rounds=100_000)
    tend_until(runner, lambda: rounds_told(store, run))
    assert not runner.remove(run)
    runner.end()
    assert not runner.folder_of(run).is_alive()
    assert state(store, run) == "going"  # the next one goes on
    store.move(run, ["going"], "failed")
    assert runner.remove(run)
    assert not (tmp_path / "runs" / str(run)).exists()


def test_who_asks_whether_a_run_is_alive_is_not_taken_for_a_failure(kept, monkeypatch):
    """Pages ask all the time, and hold the lock for a moment when they do."""
    store, runner = kept
    run = described(store)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    folder = runner.folder_of(run)
    folder.make()
    with (folder.path / "process.lock").open("w") as asking:
        fcntl.flock(asking, fcntl.LOCK_SH)
        for _ in range(MOST_TRIES + 1):
            folder.start([])
            runner.tend()
        assert store.entry(run).tries == 0
    tend_until(runner, lambda: store.entry(run).tries == 1)


@pytest.mark.slow
def test_a_run_over_holders_goes_on_after_its_coordinator_was_killed(kept, tmp_path):
    """Two holders, each a process with its own records, budget and noise."""
    store, runner = kept
    text = EXAMPLE.replace("clients = 5", "clients = 2").replace("colluders = 2", "colluders = 1")
    text = text.replace("damping = 0.3", 'damping = 0.3\nnoise = { kind = "release" }')
    run = store.add(name="two holders", experiment=text, plan=[])
    settings = {"where": "holders"}
    folder = runner.folder_of(run)
    invite(folder, text, Settings.of(settings))
    holders = []
    try:
        for line in commands(folder, Settings.of(settings)):
            words = shlex.split(line)[1:]
            made = write_made_up(tmp_path, folder.experiment, 20, 0)[
                1
            ]  # the held-out: one client's
            rows = [row.partition(",")[2] for row in made.read_text().splitlines()]
            Path(words[1]).with_name("records.csv").write_text("\n".join(rows) + "\n")
            holders.append(
                subprocess.Popen(
                    [sys.executable, "-m", "audits", *words, "--idle", "200"],
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
        assert all(one.stdout.readline().startswith("answering") for one in holders)
        assert store.start(run, settings)
        tend_until(runner, lambda: rounds_told(store, run))
        if (process := durable.holder(folder.federation / "checkpoint")) is not None:
            os.kill(process, signal.SIGKILL)
        tend_until(runner, ended(store, run), patience=200)
    finally:
        for one in holders:
            one.terminate()
        for one in holders:
            one.communicate(timeout=60)
    entry = store.entry(run)
    assert entry.state == "finished", entry.message
    assert rounds_told(store, run) == set(range(1, 6))
    reported = [from_json(line) for _, line in store.told(run)]
    spent = [e for e in reported if isinstance(e, EpsilonSpent) and e.limit is not None]
    assert {e.client for e in spent if e.reporter == "holder"} == {0, 1}
    assert all(e.spent <= e.limit for e in spent)


def test_settings_become_words_that_cannot_be_taken_for_options(tmp_path):
    folder = RunFolder(tmp_path)
    given = Settings(data="--json", target="--seed", client="-c", limit=2.0).arguments(folder)
    assert "--data=--json" in given
    assert "--target=--seed" in given
    assert "--limit=2.0" in given
    assert not any(word.startswith("--held-out") for word in given)


@pytest.mark.parametrize(
    "wrong", [{"seed": -1}, {"limit": 0.0}, {"made_up": 0}, {"made_up": 10**9}, {"target": 3}]
)
def test_settings_refuse_what_no_run_could_do(wrong):
    with pytest.raises((ValueError, TypeError), match="must be"):
        Settings(**wrong)


def test_only_tables_are_offered(tmp_path):
    for name in ("b.csv", "a.npz", "c.txt", "d.csv.bak"):
        (tmp_path / name).touch()
    (tmp_path / "folder.csv").mkdir()
    assert offered(tmp_path) == ["a.npz", "b.csv"]
    assert offered(tmp_path / "missing") == []
