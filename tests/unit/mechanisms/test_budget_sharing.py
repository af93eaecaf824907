"""One budget, many hands: threads, processes that are killed, old copies put back."""

import contextlib
import copy
import fcntl
import json
import os
import pickle
import shutil
import subprocess
import sys
import threading

import dp_accounting as dpa
import pytest
import state_tools
from state_tools import EVENT, STEPS, TERMS, affordable

from mechanisms import Budget, BudgetExceededError, BudgetFileError, Charge, durable

HARNESS = state_tools.__file__


def spend_all(budgets, client=0):
    """Spends from all budgets at once until none grants any more; the number of grants."""
    granted = []

    def spend(budget):
        while True:
            try:
                budget.spend(client, EVENT)
            except BudgetExceededError:
                return
            granted.append(1)

    threads = [threading.Thread(target=spend, args=(budget,)) for budget in budgets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(granted)


def test_what_is_affordable_is_right_to_begin_with():
    """T releases of multiplier 6 are one of 6/√T; ε(1e-5) by the textbook's formula."""
    from mechanism_tools import gaussian_epsilon

    assert gaussian_epsilon(affordable() ** 0.5 / 6.0, 1e-5) <= 2.0
    assert gaussian_epsilon((affordable() + 1) ** 0.5 / 6.0, 1e-5) > 2.0


@pytest.mark.parametrize("in_file", [False, True])
def test_threads_together_get_what_one_would_get(tmp_path, in_file):
    budget = Budget(**TERMS, path=tmp_path / "budget.json" if in_file else None)
    assert spend_all([budget] * 8) == affordable()
    assert budget.ledger(0) == ((EVENT, affordable()),)


def test_two_budgets_of_one_file_share_it(tmp_path):
    first = Budget(**TERMS, path=tmp_path / "budget.json")
    second = Budget.load(tmp_path / "budget.json")
    assert spend_all([first, second]) == affordable()
    assert first.ledger(0) == second.ledger(0) == ((EVENT, affordable()),)
    assert first.epsilon_upper(0) == second.epsilon_upper(0) <= 2.0
    assert not second.admits(0, EVENT)
    (tmp_path / "link").symlink_to(tmp_path / "budget.json")
    assert not Budget.load(tmp_path / "link").admits(0, EVENT)


def run_schedules(first, count):
    done = subprocess.run(
        [sys.executable, HARNESS, str(first), str(count)],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"},
    )
    found = json.loads(done.stdout)
    assert found["killed processes"] > count // 4
    assert found["grants reported"] > count
    for failure in ("lost entries", "overspent", "not spendable any more"):
        assert found[failure] == 0, found


def test_killed_processes_lose_nothing_and_overspend_nothing():
    """Every step of three bookings, before and after it, in processes of eight threads."""
    run_schedules(0, 2 * 3 * STEPS)


@pytest.mark.slow
def test_many_killed_processes_lose_nothing_and_overspend_nothing():
    run_schedules(10_000, 500)


def test_a_booking_that_dies_at_any_step_is_whole_or_not_there(tmp_path, monkeypatch):
    """As the next reader sees it; raised instead of killed, at each step of three bookings."""
    for point in range(1, 3 * STEPS + 1):
        path = tmp_path / f"{point}.json"
        budget, steps, granted = Budget(**TERMS, path=path), iter(range(1, 100)), 0
        with monkeypatch.context() as patch:
            for name in ("fsync", "replace", "pwrite"):
                real = getattr(os, name)

                def step(*arguments, _real=real, _steps=steps, _point=point):
                    if next(_steps) == _point:
                        raise KeyboardInterrupt
                    return _real(*arguments)

                patch.setattr(os, name, step)
            with contextlib.suppress(KeyboardInterrupt):
                while granted < 3:
                    budget.spend(0, EVENT)
                    granted += 1
        assert granted == (point - 1) // STEPS
        in_file = sum(count for _, count in Budget.load(path).ledger(0))
        assert granted <= in_file <= granted + 1
        assert sum(count for _, count in budget.ledger(0)) == in_file
        budget.spend(0, EVENT)  # whoever is left can go on
        assert sum(count for _, count in Budget.load(path).ledger(0)) == in_file + 1


# ----------------------------------------------------------------------------- going back


def copied(tmp_path, name):
    for suffix in ("", ".lock"):
        shutil.copy(tmp_path / f"budget.json{suffix}", tmp_path / f"{name}{suffix}")


def test_an_old_copy_grants_nothing(tmp_path):
    path = tmp_path / "budget.json"
    budget = Budget(**TERMS, path=path)
    budget.spend(0, EVENT)
    shutil.copy(path, tmp_path / "old")
    budget.spend(0, EVENT)
    newest = path.read_bytes()
    shutil.copy(tmp_path / "old", path)
    for attempt in (
        lambda: budget.spend(0, EVENT),
        lambda: budget.admits(0, EVENT),
        lambda: budget.epsilon_upper(0),
        lambda: Budget.load(path),
    ):
        with pytest.raises(BudgetFileError, match="older"):
            attempt()
    path.write_bytes(newest)
    budget.spend(0, EVENT)
    assert Budget.load(path).ledger(0) == ((EVENT, 3),)


def test_an_old_copy_with_its_lock_is_seen_by_who_remembers(tmp_path):
    """Others spend from it until it looks newer; whoever booked what it lacks still refuses."""
    path = tmp_path / "budget.json"
    budget = Budget(**TERMS, path=path)
    copied(tmp_path, "old")
    budget.spend(0, EVENT)
    for suffix in ("", ".lock"):
        shutil.copy(tmp_path / f"old{suffix}", tmp_path / f"budget.json{suffix}")
    stranger = Budget.load(path)  # cannot be seen: nothing here remembers
    stranger.spend(1, EVENT)
    stranger.spend(1, EVENT)
    with pytest.raises(BudgetFileError, match="no longer holds booking 1"):
        budget.spend(0, EVENT)


def test_another_budget_in_its_place_is_refused(tmp_path):
    path = tmp_path / "budget.json"
    budget = Budget(**TERMS, path=path)
    budget.spend(0, EVENT)
    path.unlink()
    with pytest.raises(BudgetFileError, match="is gone"):
        budget.spend(0, EVENT)
    with pytest.raises(BudgetFileError, match="its lock has seen booking 1"):
        Budget(target_epsilon=50.0, delta=1e-5, path=path)
    (tmp_path / "budget.json.lock").unlink()
    other = Budget(target_epsilon=50.0, delta=1e-5, path=path)
    with pytest.raises(BudgetFileError, match="another file"):
        budget.spend(0, EVENT)
    other.spend(0, EVENT)


def test_a_lock_that_cannot_be_read_is_no_mark(tmp_path):
    path = tmp_path / "budget.json"
    budget = Budget(**TERMS, path=path)
    budget.spend(0, EVENT)
    for content in (b"", b"\x00" * 200, b"one two three", b"abc \xb2"):
        (tmp_path / "budget.json.lock").write_bytes(content)
        assert Budget.load(path).ledger(0) == budget.ledger(0) != ()


def test_whoever_waited_at_a_deleted_lock_takes_its_successor(tmp_path, monkeypatch):
    """Else it would be inside together with those who come later."""
    path, lock = tmp_path / "budget.json", tmp_path / "budget.json.lock"
    locking, deleted = fcntl.flock, []

    def late(handle, operation):
        locking(handle, operation)
        if not deleted:
            deleted.append(lock.unlink())

    monkeypatch.setattr(fcntl, "flock", late)
    with durable.exclusive(path) as mark:
        assert deleted
        assert os.path.samestat(lock.stat(), os.fstat(mark.handle))


# ------------------------------------------------------------------------- copies, groups, files


def test_a_budget_without_a_file_cannot_be_copied():
    budget = Budget(**TERMS)
    for make in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot be copied"):
            make(budget)


def test_a_copy_of_a_budget_with_a_file_is_the_same_budget(tmp_path):
    budget = Budget(**TERMS, path=tmp_path / "budget.json")
    other = pickle.loads(pickle.dumps(budget))
    other.spend(0, EVENT)
    assert budget.ledger(0) == ((EVENT, 1),)


def test_a_forked_process_cannot_spend_what_its_parent_would_not_see():
    budget = Budget(**TERMS)
    budget._store._process += 1  # as a child sees it
    with pytest.raises(BudgetFileError, match="the process that made it"):
        budget.spend(0, EVENT)


def test_a_group_pays_together_or_not_at_all(tmp_path):
    budget = Budget(**TERMS, limits={1: (0.5, 1e-5)}, path=tmp_path / "budget.json")
    before = (tmp_path / "budget.json").read_bytes()
    assert budget.book([Charge(0, EVENT), Charge(1, EVENT), Charge(2, EVENT)]) == {1}
    assert (tmp_path / "budget.json").read_bytes() == before
    assert budget.book([Charge(0, EVENT), Charge(2, EVENT)]) == frozenset()
    assert (budget.ledger(0), budget.ledger(1)) == (((EVENT, 1),), ())
    assert budget.books.generation == 1


def test_a_client_that_occurs_twice_pays_twice():
    budget = Budget(**TERMS)
    assert budget.book([Charge(0, EVENT, affordable()), Charge(0, EVENT)]) == {0}
    assert budget.ledger(0) == ()


@pytest.mark.parametrize(
    "charge", [(-1, EVENT), (0, EVENT, 0), (0, EVENT, 1, -0.1), (0, EVENT, 1, 1.1)]
)
def test_impossible_charges_are_refused(charge):
    with pytest.raises(ValueError, match="must be"):
        Charge(*charge)


def test_terms_cannot_be_changed_afterwards():
    budget = Budget(**TERMS, limits={0: (1.0, 1e-6)})
    budget.limits[0] = (100.0, 1e-6)
    assert budget.limit(0) == (1.0, 1e-6)
    with pytest.raises(AttributeError):
        budget.target_epsilon = 100.0


def test_every_cut_and_every_flipped_bit_is_refused_by_name():
    text = state_tools.spent_budget().to_json().encode()
    for end in range(0, len(text), 7):
        with pytest.raises(BudgetFileError):
            Budget.from_json(text[:end])
    for bit in range(3, 8 * len(text), 61):
        content = state_tools.flipped(text, bit)
        with contextlib.suppress(BudgetFileError):
            assert Budget.from_json(content).to_json().encode() == text


@pytest.mark.parametrize("text", ["{}", "[]", "[" * 100_000, "NaN", "", "\x00", '{"format": 1}'])
def test_other_texts_are_refused_by_name(text):
    with pytest.raises(BudgetFileError):
        Budget.from_json(text)


def test_a_forged_checksum_does_not_help_a_wrong_content():
    """Each field in turn holds something else; the checksum is right every time."""
    from mechanisms.books import _checksum

    body = json.loads(state_tools.spent_budget().to_json())
    junk = [None, True, -1, 1.5, "x", [], {}, [[]], {"0": 1}, {"x": []}, {"0": [[1, 2]]}]
    for name in set(body) - {"checksum", "adaptive", "generation", "format", "version"}:
        for value in junk:
            forged = dict(body, **{name: value})
            facts = {k: v for k, v in forged.items() if k not in ("checksum", "format", "version")}
            forged["checksum"] = _checksum(facts)
            try:
                Budget.from_json(json.dumps(forged)).epsilon_upper(0)
            except BudgetFileError:
                continue
            assert (name, value) in [
                ("target_epsilon", 1.5),
                ("identity", "x"),
                *[(empty, {}) for empty in ("limits", "spent", "distances", "receipts")],
                *[("distances", {"0": 1})],
            ]


def test_an_event_that_no_file_can_hold_is_not_granted(tmp_path):
    """What cannot be written down must not be spent."""
    budget = Budget(**TERMS, path=tmp_path / "budget.json")

    class Strange(dpa.GaussianDpEvent):
        pass

    with pytest.raises((ValueError, dpa.UnsupportedEventError)):
        budget.spend(0, Strange(6.0))
    assert budget.ledger(0) == Budget.load(tmp_path / "budget.json").ledger(0) == ()
