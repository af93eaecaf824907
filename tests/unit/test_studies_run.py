"""Running a study: results once each, resumption, and the tables' cost column."""

import io
import json
import math
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mechanisms import ParameterPerturbation, Scope
from pvi.studies import COST_COLUMN, Cost, Job, Row, Table, load_study, run_jobs

CALLS: list[int] = []


def square(value: int) -> dict[str, int]:
    CALLS.append(value)
    if value < 0:
        raise RuntimeError("killed")
    return {"square": value * value}


def jobs_for(*values: int) -> list[Job]:
    return [Job(key=f"n={value}", function=square, arguments=(value,)) for value in values]


@pytest.fixture(autouse=True)
def fresh_calls() -> None:
    CALLS.clear()


def test_results_come_in_the_order_of_the_jobs_whatever_finishes_first(tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        found = run_jobs(
            jobs_for(3, 1, 2), tmp_path / "j.jsonl", executor=pool, stream=io.StringIO()
        )
    assert list(found.items()) == [
        ("n=3", {"square": 9}),
        ("n=1", {"square": 1}),
        ("n=2", {"square": 4}),
    ]


def test_a_killed_run_goes_on_where_it_was(tmp_path: Path) -> None:
    journal = tmp_path / "j.jsonl"
    with pytest.raises(RuntimeError, match="killed"):
        run_jobs(jobs_for(1, 2, -1, 3), journal, stream=io.StringIO())
    with journal.open("a") as lines:
        lines.write('{"key": "n=3", "fing')  # A line cut short by the kill.
    CALLS.clear()
    found = run_jobs(jobs_for(1, 2, 3), journal, stream=io.StringIO())
    assert CALLS == [3]
    assert found == {f"n={n}": {"square": n * n} for n in (1, 2, 3)}
    # The cut line must not swallow the one that came after it.
    CALLS.clear()
    run_jobs(jobs_for(1, 2, 3), journal, stream=io.StringIO())
    assert CALLS == []


def test_a_result_of_other_arguments_is_not_used(tmp_path: Path) -> None:
    journal = tmp_path / "j.jsonl"
    run_jobs([Job(key="n", function=square, arguments=(2,))], journal, stream=io.StringIO())
    found = run_jobs([Job(key="n", function=square, arguments=(3,))], journal, stream=io.StringIO())
    assert found == {"n": {"square": 9}}


def test_keys_must_differ(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="different keys"):
        run_jobs(jobs_for(1, 1), tmp_path / "j.jsonl", stream=io.StringIO())


def test_unknown_study_lists_the_known() -> None:
    with pytest.raises(ValueError, match="workshop-table5"):
        load_study("table6")


def test_the_printed_cost_contains_the_certified_interval() -> None:
    plan = ParameterPerturbation(clip_norm=1.0, noise_multiplier=4.0).plan(clients=2, rounds=3)
    cost = Cost.of(plan, Scope(), 1e-5, sampling="all records")
    lower, upper = json.loads(str(cost).split(" at ")[0])
    assert lower <= cost.lower <= cost.upper <= upper
    assert upper - lower < 3e-4
    assert str(cost).endswith("add/remove one record; all records; messages")


def test_every_table_ends_with_the_cost() -> None:
    table = Table(title="T", columns=("a",), rows=(Row(cells=("1",), cost=Cost.without_noise()),))
    assert table.headings[-1] == COST_COLUMN
    assert table.lines == (("1", "∞ (no noise)"),)
    assert math.isinf(table.rows[0].cost.upper)
    with pytest.raises(ValueError, match="1 cells"):
        Table(title="T", columns=("a",), rows=(Row(cells=(), cost=Cost.without_noise()),))


_KILLED = """
import os, signal, sys, time
from pvi.studies import worker_pool
if __name__ == "__main__":
    with worker_pool(1) as pool:
        print(pool.submit(os.getpid).result(), flush=True)
        pool.submit(time.sleep, 600)
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_workers_end_when_the_study_is_killed(tmp_path: Path) -> None:
    """A worker holds the pipe open for as long as it lives: `run` returns when it is gone."""
    script = tmp_path / "killed.py"
    script.write_text(_KILLED)
    shown = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=60, check=False
    )
    assert shown.returncode == -signal.SIGKILL
    assert shown.stdout.strip().isdigit()
