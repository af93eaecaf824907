"""The dashboard's memory: nothing twice, nothing lost, no state out of turn."""

import sqlite3
import stat
import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audits.dashboard.store import STATES, Store

MOVES = {
    "described": {"going"},
    "going": {"pausing", "finished", "failed"},
    "pausing": {"paused", "finished"},
    "paused": {"going"},
    "failed": {"going"},
    "finished": set(),
}


@pytest.fixture
def store(tmp_path):
    made = Store(tmp_path / "store.sqlite")
    yield made
    made.close()


def described(store, **more):
    return store.add(**({"name": "a", "experiment": "x = 1", "plan": [{"scope": "s"}]} | more))


def test_an_entry_comes_back_as_it_was_put_in(store):
    run = described(store, name="“é”\n<b>", form={"k": "v"})
    entry = store.entry(run)
    assert (entry.name, entry.experiment) == ("“é”\n<b>", "x = 1")
    assert (entry.plan, entry.form, entry.settings) == ([{"scope": "s"}], {"k": "v"}, {})
    assert (entry.state, entry.answer, entry.told, entry.tries) == ("described", None, 0, 0)
    assert [one.id for one in store.entries()] == [run]
    assert store.entries(["going"]) == []


def test_it_is_for_its_owner_alone_and_outlives_its_process(tmp_path):
    file = tmp_path / "store.sqlite"
    first = Store(file)
    run = described(first)
    first.tell(run, ["one"], 4, progressed=True)
    first.close()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    again = Store(file)
    assert again.told(run) == [(0, "one")]
    assert again.entry(run).told == 4
    again.close()


def test_other_files_are_refused(tmp_path):
    (tmp_path / "a").write_text("no database " * 100)
    with pytest.raises(ValueError, match="must be a dashboard's store"):
        Store(tmp_path / "a")
    other = sqlite3.connect(tmp_path / "b")
    other.execute("create table t (x)")
    other.close()
    with pytest.raises(ValueError, match="version 0"):
        Store(tmp_path / "b")


def test_a_run_is_started_once_however_many_ask(store):
    run = described(store)
    won = []
    threads = [
        threading.Thread(target=lambda k=k: won.append(store.start(run, {"seed": k})))
        for k in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == [False] * 7 + [True]


@settings(max_examples=25)
@given(st.lists(st.sampled_from(STATES), max_size=8))
def test_only_the_moves_that_are_asked_for_happen(states):
    """Against a model: a move from another state changes nothing."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "store.sqlite")
        run = described(store)
        here = "described"
        for state in states:
            before = [one for one, targets in MOVES.items() if state in targets]
            assert store.move(run, before, state, "why") is (here in before)
            here = state if here in before else here
            assert store.entry(run).state == here
        store.close()


def test_events_are_numbered_in_order_and_read_in_parts(store):
    run, other = described(store), described(store)
    store.tell(run, ["a", "b"], 2, progressed=False)
    store.tell(other, ["x"], 1, progressed=False)
    store.tell(run, ["c"], 3, progressed=True)
    assert store.told(run) == [(0, "a"), (1, "b"), (2, "c")]
    assert store.told(run, after=0, most=1) == [(1, "b")]
    assert store.told(other) == [(0, "x")]


def test_a_failed_telling_leaves_no_trace(store):
    run = described(store)
    with pytest.raises(sqlite3.Error):
        store.tell(run, ["a", object()], 9, progressed=True)
    assert store.told(run) == []
    assert store.entry(run).told == 0
    with pytest.raises(sqlite3.IntegrityError):  # of a run that is gone
        store.tell(run + 1, ["a"], 1, progressed=False)


def test_progress_resets_the_tries(store):
    run = described(store)
    store.try_again(run, 2)
    store.tell(run, [], 1, progressed=False)
    assert store.entry(run).tries == 2
    store.tell(run, [], 2, progressed=True)
    assert store.entry(run).tries == 0


def test_what_goes_is_not_removed(store):
    run = described(store)
    store.start(run, {})
    assert not store.remove(run)
    store.move(run, ["going"], "failed", "why")
    store.tell(run, ["a"], 1, progressed=False)
    assert store.remove(run)
    assert store.told(run) == []
    assert described(store) > run  # a number is never given twice
    for gone in (run, 10**30):
        with pytest.raises(KeyError):
            store.entry(gone)
