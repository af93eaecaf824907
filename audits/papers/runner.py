"""Running a study: in parallel, with a progress bar, going on where a killed run was.

A job whose line is in the journal whole, with the same function and arguments, is not run again; so
a study that was killed loses the jobs in flight and nothing else.
"""

import io
import platform
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, TextIO, TypeVar

from accountants import versions
from accountants.files import write_atomically
from accountants.seals import read_sealed, write_sealed
from audits.papers.journal import Entry, Journal, only_one
from audits.papers.study import Job, Result, Results, Study, Table
from audits.testing.dispatch import WorkerLostError, completed

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
    return _results(_run_jobs(jobs, journal, executor=executor, stream=stream))


def _results(entries: Mapping[str, Entry]) -> dict[str, Result]:
    return {key: entry["result"] for key, entry in entries.items()}


def _run_jobs(
    jobs: Sequence[Job], file: Path, *, executor: Executor | None, stream: TextIO | None
) -> dict[str, Entry]:
    """The journal's entries of all jobs by key, in the jobs' order."""
    keys = [job.key for job in jobs]
    if len(set(keys)) != len(keys):
        raise ValueError(f"`jobs` must have different keys, got {sorted(keys)}.")
    journal = Journal(file, stream or sys.stderr)
    found = journal.entries(jobs)
    _show(len(found), len(jobs), "", stream)
    for job, result, seconds in _finished([job for job in jobs if job.key not in found], executor):
        found[job.key] = journal.add(job, result, seconds)
        _show(len(found), len(jobs), f"{job.key} {seconds:.1f} s", stream)
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

    One process at a time: a second run of the study in the same folder is refused.

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
    with only_one(folder / f".{stem}.lock"):
        entries = _run_jobs(
            jobs, folder / f"{stem}.journal.jsonl", executor=executor, stream=stream
        )
        record = {
            "study": study.name,
            "summary": study.summary,
            "command": f"dp-assay study {study.name} --seeds {count}" + " --quick" * quick,
            "seeds": list(range(count)),
            "settings": repr(settings),
            "versions": versions.installed("torch"),
            "python": platform.python_version(),
            "job_cpu_seconds": round(sum(entry["seconds"] for entry in entries.values())),
        }
        return _write(study, quick, folder, record, _results(entries))


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
    with only_one(folder / f".{stem}.lock"):
        record = read_sealed(file)
        if record["settings"] != repr(settings):
            raise ValueError(f"{file.name} must be of the present settings; run the study again.")
        jobs = study.jobs(settings, record["seeds"])
        lacking = [job for job in jobs if job.key not in record["results"]]
        results = dict(record["results"])
        if lacking:
            now = versions.installed("torch")
            if any(now.get(name) != version for name, version in record["versions"].items()):
                raise ValueError(
                    f"{file.name} must be of the present versions; run the study again."
                )
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
    return write_sealed(folder / f"{stem}.json", record)


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
        image = io.BytesIO()
        with mpl.rc_context({"savefig.dpi": 110}):
            figure.savefig(image, bbox_inches="tight", metadata={"Software": None})
        write_atomically(folder / names[-1], image.getvalue())
    return names


def _finished(
    jobs: Sequence[Job], executor: Executor | None
) -> Iterator[tuple[Job, Result, float]]:
    if executor is None:
        for job in jobs:
            yield job, *_timed(job)
        return
    try:
        for job, (result, seconds) in completed(executor, _timed, jobs):
            yield job, result, seconds
    except WorkerLostError as error:
        raise ChildProcessError(
            "A worker was lost, perhaps for want of memory. What is finished is kept: give the "
            "same command again, with fewer workers if it happens again."
        ) from error


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
