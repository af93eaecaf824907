"""Running a study: results once each, resumption, redrawing, and the tables' cost column."""

import dataclasses
import errno
import io
import json
import math
import os
import signal
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from accountants.seals import DamagedError, sealed, write_sealed
from audits.papers.journal import BusyError
from audits.papers.studies import (
    COST_COLUMN,
    STUDIES,
    Cost,
    Job,
    Row,
    Study,
    Table,
    load_study,
    recorded,
    redraw_study,
    run_jobs,
    run_study,
)
from audits.testing.workers import process_pool
from mechanisms import Layout, ParameterPerturbation, Scope

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


def test_a_lost_worker_is_said_and_loses_nothing_that_is_finished(tmp_path: Path) -> None:
    journal = tmp_path / "j.jsonl"
    run_jobs(jobs_for(1), journal, stream=io.StringIO())
    jobs = [*jobs_for(1), Job(key="lost", function=os._exit, arguments=(1,))]
    with (
        process_pool(1) as pool,
        pytest.raises(ChildProcessError, match="same command again"),
    ):
        run_jobs(jobs, journal, executor=pool, stream=io.StringIO())
    CALLS.clear()
    assert run_jobs(jobs_for(1, 2), journal, stream=io.StringIO()).keys() == {"n=1", "n=2"}
    assert CALLS == [2]


class LosesOne(ThreadPoolExecutor):
    """Loses its first job as a dask cluster does."""

    lost = False

    def submit(self, function, /, *arguments, **keywords):  # type: ignore[no-untyped-def]
        if self.lost:
            return super().submit(function, *arguments, **keywords)
        self.lost = True
        gone: Future[object] = Future()
        gone.set_exception(type("KilledWorker", (Exception,), {})("gone"))
        return gone


def test_a_job_that_a_cluster_loses_is_done_again(tmp_path: Path) -> None:
    with LosesOne(2) as pool:
        found = run_jobs(
            jobs_for(1, 2, 3), tmp_path / "j.jsonl", executor=pool, stream=io.StringIO()
        )
        assert pool.lost
    assert found == {f"n={n}": {"square": n * n} for n in (1, 2, 3)}
    assert sorted(CALLS) == [1, 2, 3]


def test_no_flipped_bit_changes_a_result(tmp_path: Path) -> None:
    """Each line is used whole or its job is done again, with a warning; 400 flips, all bits."""
    journal = tmp_path / "j.jsonl"
    truth = run_jobs(jobs_for(1, 2, 3), journal, stream=io.StringIO())
    whole = journal.read_bytes()
    rng = np.random.default_rng(20)
    for place in rng.choice(8 * len(whole), size=400, replace=False).tolist():
        damaged = bytearray(whole)
        damaged[place // 8] ^= 1 << (place % 8)
        journal.write_bytes(damaged)
        CALLS.clear()
        said = io.StringIO()
        assert run_jobs(jobs_for(1, 2, 3), journal, stream=said) == truth
        assert len(CALLS) in (0, 1, 2), place  # 0: the end of the last line; 2: of another
        assert bool(CALLS) <= ("warning: line " in said.getvalue()), place
        CALLS.clear()
        assert run_jobs(jobs_for(1, 2, 3), journal, stream=io.StringIO()) == truth
        assert CALLS == [], place


@pytest.mark.parametrize(
    "line",
    [
        '{"key": "n=1", "fingerprint": FINGERPRINT, "seconds": 0.0, "result": {"square": 7}}',
        '{"key": "n=1", "fingerprint": FINGERPRINT, "result": {"square": 7}, "sha256": null}',
        '{"key": "n=1", "fingerprint": FINGERPRINT, "result": {"square": 7}, "sha256": "00"}',
        "[" * 100_000,
        "1" * 10_000,
        "null",
        "\x00\x00",
        "\udcff\udcfe",
    ],
    ids=["older format", "null", "another's", "deep", "long", "no object", "NUL", "no UTF-8"],
)
def test_a_line_without_its_checksum_is_done_again(tmp_path: Path, line: str) -> None:
    journal = tmp_path / "j.jsonl"
    text = line.replace("FINGERPRINT", json.dumps(jobs_for(1)[0].fingerprint))
    journal.write_bytes(text.encode("utf-8", "surrogateescape") + b"\n")
    said = io.StringIO()
    assert run_jobs(jobs_for(1), journal, stream=said) == {"n=1": {"square": 1}}
    assert CALLS == [1]
    assert said.getvalue().startswith("warning: line 1 of j.jsonl must ")


def test_a_second_run_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    inside: list[str] = []

    def nested(values: tuple[int, ...], results: object) -> list[Table]:
        for again in (run_study, redraw_study):
            with pytest.raises(BusyError, match="by one run of this study at a time") as refused:
                again(squares(), folder=tmp_path, stream=io.StringIO())
            inside.append(str(refused.value))
        run_study(squares(), quick=True, folder=tmp_path, stream=io.StringIO())  # other files
        return []

    run_study(squares(), folder=tmp_path, stream=io.StringIO())
    run_study(dataclasses.replace(squares(), tables=nested), folder=tmp_path, stream=io.StringIO())
    assert len(inside) == 2
    assert ".squares.lock" in inside[0]
    run_study(squares(), folder=tmp_path, stream=io.StringIO())


def test_a_damaged_record_is_not_redrawn(tmp_path: Path) -> None:
    run_study(squares(), folder=tmp_path, stream=io.StringIO())
    file = tmp_path / "squares.json"
    whole = file.read_bytes()
    for damaged in (whole.replace(b": 9", b": 8"), whole[:-20], b"", b"\xff" + whole, b"{}"):
        file.write_bytes(damaged)
        with pytest.raises(DamagedError, match=r"squares\.json must"):
            redraw_study(squares(), folder=tmp_path, stream=io.StringIO())
        assert file.read_bytes() == damaged
    file.write_bytes(whole)
    redraw_study(squares(), folder=tmp_path, stream=io.StringIO())


def test_a_record_is_old_or_new_whatever_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_study(squares(), folder=tmp_path, stream=io.StringIO())
    before = (tmp_path / "squares.json").read_bytes()

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        redraw_study(squares("second"), folder=tmp_path, stream=io.StringIO())
    assert (tmp_path / "squares.json").read_bytes() == before
    names = {file.name for file in tmp_path.iterdir()}
    assert names == {"squares.json", "squares.journal.jsonl", ".squares.lock"}


def test_a_result_of_other_arguments_is_not_used(tmp_path: Path) -> None:
    journal = tmp_path / "j.jsonl"
    run_jobs([Job(key="n", function=square, arguments=(2,))], journal, stream=io.StringIO())
    found = run_jobs([Job(key="n", function=square, arguments=(3,))], journal, stream=io.StringIO())
    assert found == {"n": {"square": 9}}


def test_keys_must_differ(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="different keys"):
        run_jobs(jobs_for(1, 1), tmp_path / "j.jsonl", stream=io.StringIO())


def squares(title: str = "first") -> Study[tuple[int, ...]]:
    """A study whose settings are the numbers that it squares."""
    return Study(
        name="squares",
        summary="Squares.",
        settings=(2, 3),
        quick=(1,),
        seeds=1,
        jobs=lambda values, seeds: jobs_for(*values),
        tables=lambda values, results: [
            Table(
                title=title,
                columns=("square",),
                rows=tuple(
                    Row(cells=(str(result["square"]),), cost=Cost.without_noise())
                    for result in results.values()
                ),
            )
        ],
        figures=lambda values, results: {},
    )


def test_tables_are_made_again_without_running_anything(tmp_path: Path) -> None:
    before = run_study(squares(), folder=tmp_path, stream=io.StringIO())
    CALLS.clear()
    after = redraw_study(squares("second"), folder=tmp_path, stream=io.StringIO())
    assert CALLS == []
    assert [table["title"] for table in after["tables"]] == ["second"]
    assert json.loads((tmp_path / "squares.json").read_text(encoding="utf-8")) == after
    assert sealed(after | {"tables": before["tables"]}) == before


def test_redrawing_runs_only_what_the_record_lacks(tmp_path: Path) -> None:
    run_study(squares(), folder=tmp_path, stream=io.StringIO())
    CALLS.clear()
    longer = dataclasses.replace(squares(), jobs=lambda values, seeds: jobs_for(5, *values))
    found = redraw_study(longer, folder=tmp_path, stream=io.StringIO())
    assert CALLS == [5]
    assert [row[0] for row in found["tables"][0]["rows"]] == ["25", "4", "9"]
    # Not with other packages: one record has one set of versions.
    file = tmp_path / "squares.json"
    write_sealed(file, found | {"versions": {"numpy": "1.0"}})
    longest = dataclasses.replace(squares(), jobs=lambda values, seeds: jobs_for(5, 6, *values))
    with pytest.raises(ValueError, match="present versions"):
        redraw_study(longest, folder=tmp_path, stream=io.StringIO())


def test_only_a_record_of_the_same_settings_is_redrawn(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"must hold squares\.json"):
        redraw_study(squares(), folder=tmp_path, stream=io.StringIO())
    run_study(squares(), folder=tmp_path, stream=io.StringIO())
    other = dataclasses.replace(squares(), settings=(2, 4))
    with pytest.raises(ValueError, match="present settings"):
        redraw_study(other, folder=tmp_path, stream=io.StringIO())


def test_a_study_needs_a_folder_and_a_seed(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(ValueError, match="`folder` must be a folder"):
        run_study(squares(), folder=file, stream=io.StringIO())
    for seeds in (0, -3):
        with pytest.raises(ValueError, match="`seeds` must be at least 1"):
            run_study(squares(), seeds=seeds, folder=tmp_path, stream=io.StringIO())
    assert CALLS == []


@pytest.mark.parametrize("name", STUDIES)
def test_recorded_tables_and_notes_are_those_of_the_recorded_results(name: str) -> None:
    """A note that speaks of other runs than the table's is worse than none."""
    study, record = load_study(name), recorded(name)
    assert record is not None
    for table, written in zip(
        study.tables(study.settings, record["results"]), record["tables"], strict=True
    ):
        assert table.title == written["title"]
        assert list(table.headings) == written["columns"]
        assert [list(line) for line in table.lines] == written["rows"]
        assert table.note == written["note"]


def test_unknown_study_lists_the_known() -> None:
    with pytest.raises(ValueError, match="workshop-table5"):
        load_study("table6")


def test_the_printed_cost_contains_the_certified_interval() -> None:
    plan = ParameterPerturbation(clip_norm=1.0, noise_multiplier=4.0).plan(
        Layout(clients=2), rounds=3
    )
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
from accountants.seals import DamagedError, sealed, write_sealed
from audits.testing.workers import process_pool
if __name__ == "__main__":
    with process_pool(1) as pool:
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
