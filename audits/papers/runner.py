"""Running a study: in parallel, with a progress bar, going on where a killed run was.

Each finished job is one line of a journal, written at once. A job whose line is there, with the
same function and arguments, is not run again; so a study that was killed loses the jobs in flight
and nothing else.
"""

import concurrent.futures
import json
import platform
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from pathlib import Path
from typing import Any, TextIO, TypeVar

from accountants import versions
from audits.papers.study import Job, Result, Results, Study, Table

Settings = TypeVar("Settings")


def run_jobs(
    jobs: Sequence[Job],
    journal: Path,
    *,
    executor: Executor | None = None,
    stream: TextIO | None = None,
) -> dict[str, Result]:
    """The results of all jobs by key, in the jobs' order.

    Args:
      jobs: With different keys.
      journal: Where results are kept as they come in; what is there already is used.
      executor: Where jobs run; in this process if `None`.
      stream: Where progress is shown; standard error if `None`.

    Raises:
      ChildProcessError: A worker was lost; finished jobs are in the journal.
    """
    keys = [job.key for job in jobs]
    if len(set(keys)) != len(keys):
        raise ValueError(f"`jobs` must have different keys, got {sorted(keys)}.")
    found = {key: entry["result"] for key, entry in _entries(journal, jobs).items()}
    waiting = [job for job in jobs if job.key not in found]
    journal.parent.mkdir(parents=True, exist_ok=True)
    with journal.open("a", encoding="utf-8") as lines:
        if lines.tell() and not journal.read_bytes().endswith(b"\n"):
            lines.write("\n")  # After the line that a killed run did not finish.
        done = len(found)
        _show(done, len(jobs), "", stream)
        for job, result, seconds in _finished(waiting, executor):
            entry = {"key": job.key, "fingerprint": job.fingerprint, "seconds": round(seconds, 2)}
            # Through text at once: what is used is what a resumed study would read.
            text = json.dumps(entry | {"result": result})
            lines.write(text + "\n")
            lines.flush()
            found[job.key] = json.loads(text)["result"]
            done += 1
            _show(done, len(jobs), f"{job.key} {seconds:.1f} s", stream)
    return {key: found[key] for key in keys}


def run_study(
    study: Study[Any],
    *,
    seeds: int | None = None,
    quick: bool = False,
    folder: Path,
    executor: Executor | None = None,
    stream: TextIO | None = None,
) -> dict[str, Any]:
    """Runs what is not done yet, writes NAME.json and the figures into `folder`, returns the JSON.

    Args:
      study: One of `STUDIES`.
      seeds: How many; the study's own number if `None`.
      quick: With the settings for tests.
      folder: For the journal, the record and the figures.
      executor: As in `run_jobs`.
      stream: As in `run_jobs`.
    """
    count = seeds if seeds is not None else (1 if quick else study.seeds)
    if count < 1:
        raise ValueError(f"`seeds` must be at least 1, got {count!r}.")
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"`folder` must be a folder, got the file {str(folder)!r}.")
    settings, stem = _version(study, quick)
    jobs = study.jobs(settings, range(count))
    journal = folder / f"{stem}.journal.jsonl"
    results = run_jobs(jobs, journal, executor=executor, stream=stream)
    record = {
        "study": study.name,
        "summary": study.summary,
        "command": f"dp-assay study {study.name} --seeds {count}" + (" --quick" if quick else ""),
        "seeds": list(range(count)),
        "settings": repr(settings),
        "versions": versions.installed("torch"),
        "python": platform.python_version(),
        "job_cpu_seconds": round(
            sum(entry["seconds"] for entry in _entries(journal, jobs).values())
        ),
    }
    return _write(study, quick, folder, record, results)


def redraw_study(
    study: Study[Any],
    *,
    quick: bool = False,
    folder: Path,
    executor: Executor | None = None,
    stream: TextIO | None = None,
) -> dict[str, Any]:
    """Makes tables and figures again from the results in NAME.json; what is trained stays.

    A job that the record lacks is run, by the packages that made the record or not at all.

    Args:
      study: As in `run_study`.
      quick: Whether the record is of the settings for tests.
      folder: Where the record is.
      executor: As in `run_jobs`.
      stream: As in `run_jobs`.
    """
    settings, stem = _version(study, quick)
    file = folder / f"{stem}.json"
    if not file.is_file():
        raise ValueError(f"`folder` must hold {file.name}, got {str(folder)!r}.")
    record = json.loads(file.read_text(encoding="utf-8"))
    if record["settings"] != repr(settings):
        raise ValueError(f"{file.name} must be of the present settings; run the study again.")
    jobs = study.jobs(settings, record["seeds"])
    lacking = [job for job in jobs if job.key not in record["results"]]
    results = dict(record["results"])
    if lacking:
        now = versions.installed("torch")
        if any(now.get(name) != version for name, version in record["versions"].items()):
            raise ValueError(f"{file.name} must be of the present versions; run the study again.")
        journal = folder / f"{stem}.journal.jsonl"
        results |= run_jobs(lacking, journal, executor=executor, stream=stream)
    return _write(study, quick, folder, record, {job.key: results[job.key] for job in jobs})


def _version(study: Study[Settings], quick: bool) -> tuple[Settings, str]:
    """Settings, and the beginning of the files' names."""
    if quick:
        return study.quick, f"{study.name}-quick"
    return study.settings, study.name


def _write(
    study: Study[Any], quick: bool, folder: Path, about: dict[str, Any], results: Results
) -> dict[str, Any]:
    """Tables and figures from the results; the record, as it is written."""
    settings, stem = _version(study, quick)
    record = about | {
        "summary": study.summary,
        "tables": [_as_json(table) for table in study.tables(settings, results)],
        "figures": draw(study, settings, results, folder, stem),
        "results": results,
    }
    text = json.dumps(record, indent=1, ensure_ascii=False)
    (folder / f"{stem}.json").write_text(text + "\n", encoding="utf-8")
    return record


def draw(
    study: Study[Settings], settings: Settings, results: Results, folder: Path, stem: str
) -> list[str]:
    """Saves the figures; their file names. None where matplotlib is not installed."""
    try:
        import matplotlib as mpl
    except ImportError:
        return []
    names = []
    for name, figure in study.figures(settings, results).items():
        names.append(f"{stem}_{name}.png")
        with mpl.rc_context({"savefig.dpi": 110}):
            figure.savefig(folder / names[-1], bbox_inches="tight", metadata={"Software": None})
    return names


def _entries(journal: Path, jobs: Sequence[Job]) -> dict[str, dict[str, Any]]:
    """The lines of the journal that are of these jobs as they are now, by key."""
    if not journal.exists():
        return {}
    wanted = {job.key: job.fingerprint for job in jobs}
    found = {}
    for line in journal.read_text(encoding="utf-8").splitlines():
        try:
            entry = json.loads(line)
        except json.JSONDecodeError:
            continue  # The line that was being written when the run was killed.
        if wanted.get(entry["key"]) == entry["fingerprint"]:
            found[entry["key"]] = entry
    return found


def _finished(
    jobs: Sequence[Job], executor: Executor | None
) -> Iterator[tuple[Job, Result, float]]:
    if executor is None:
        for job in jobs:
            yield job, *_timed(job)
        return
    futures: dict[Future[tuple[Result, float]], Job] = {
        executor.submit(_timed, job): job for job in jobs
    }
    try:
        for future in concurrent.futures.as_completed(futures):
            yield futures[future], *future.result()
    except BrokenExecutor as error:
        raise ChildProcessError(
            "A worker was lost, perhaps for want of memory. What is finished is kept: give the "
            "same command again, with fewer workers if it happens again."
        ) from error
    finally:
        for future in futures:
            future.cancel()


def _timed(job: Job) -> tuple[Result, float]:
    """The result, and the processor's seconds: whoever else is busy there matters little."""
    began = time.process_time()
    return job.run(), time.process_time() - began


def _as_json(table: Table) -> dict[str, Any]:
    return {
        "title": table.title,
        "columns": list(table.headings),
        "rows": [list(line) for line in table.lines],
        "note": table.note,
    }


def _show(done: int, total: int, last: str, stream: TextIO | None) -> None:
    """A bar on a terminal, a line per job elsewhere."""
    stream = stream or sys.stderr
    if stream.isatty():
        width = 24
        full = width * done // max(total, 1)
        end = "\n" if done == total else ""
        stream.write(f"\r\x1b[K[{'#' * full}{'.' * (width - full)}] {done}/{total} {last}{end}")
    else:
        stream.write(f"[{done}/{total}] {last}".rstrip() + "\n")
    stream.flush()
