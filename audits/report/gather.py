"""Runs everything that the report shows, in parallel, into plain data."""

import datetime
import platform
import time
from collections.abc import Callable, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass
from typing import Any

import numpy as np

from accountants import FourierAccountant, gaussian, versions
from audits import telling
from audits.claims import Claim, EventClaim, GaussianClaim
from audits.report import accounting
from audits.testing.workers import process_pool
from audits.wording import finite

_MORE_PACKAGES = ("prv-accountant", "matplotlib", "torch")
_PATH_POINTS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """All that the report shows, as plain data.

    Attributes:
      command: What makes the same report.
      seed: Of the audits.
      date: Of the run, UTC.
      seconds: How long the runs took together.
      versions: Of Python and the packages; "not installed" where one is missing.
      readings: ε of one set of numbers under each reading of it.
      crosschecks: One per named setting.
      curves: By name.
      specimens: As `dp-assay zoo --json`, with explanations and paths.
      lints: Likewise.
      claims: As `dp-assay claims --json`.
      studies: The records by name, `None` where there is none.
    """

    command: str
    seed: int
    date: str
    seconds: float
    versions: dict[str, str]
    readings: list[dict[str, Any]]
    crosschecks: list[dict[str, Any]]
    curves: dict[str, dict[str, Any]]
    specimens: list[dict[str, Any]]
    lints: list[dict[str, Any]]
    claims: list[dict[str, Any]]
    studies: dict[str, dict[str, Any] | None]

    @property
    def unexpected(self) -> list[str]:
        """What came out otherwise than it must."""
        return [
            *(f"cross-check: {one['setting']}" for one in self.crosschecks if _odd(one)),
            *(f"specimen: {one['name']}" for one in self.specimens if _odd(one)),
            *(f"lint: {one['name']}" for one in self.lints if _odd(one)),
        ]


def gather(
    *,
    command: str,
    seed: int = 0,
    workers: int = 1,
    specimens: Sequence[str] | None = None,
    claims: Sequence[str] | None = None,
    settings: Sequence[int] | None = None,
) -> Contents:
    """Runs the cross-checks, the curves, the zoo and the fast claims.

    Args:
      command: What makes the same report.
      seed: Of the audits.
      workers: Processes.
      specimens: Names; all by default.
      claims: Ids; all by default. Slow ones are answered from their record.
      settings: Which of `accounting.SETTINGS`; all by default.
    """
    from audits.papers import CLAIMS
    from audits.papers.studies import STUDIES, recorded
    from audits.specimens import LINTS, SPECIMENS

    began = time.perf_counter()
    chosen = range(len(accounting.SETTINGS)) if settings is None else settings
    names = list(SPECIMENS) if specimens is None else list(specimens)
    ids = list(CLAIMS) if claims is None else list(claims)
    found = _run_all(
        [
            # What takes longest comes first.
            *(_Task(f"cross-check {i}", accounting.check, (i,)) for i in chosen),
            _Task("readings", accounting.readings, ()),
            _Task("curves by sampling", accounting.curves_by_sampling, ()),
            _Task("curves over δ", accounting.curves_over_delta, ()),
            _Task("curves over steps", accounting.curves_over_steps, ()),
            *(_Task(f"specimen: {name}", examined, (name, seed)) for name in names),
            *(_Task(f"lint: {name}", linted, (name,)) for name in LINTS),
            *(_Task(f"claim: {name}", claimed, (name,)) for name in ids),
        ],
        workers,
    )
    return Contents(
        command=command,
        seed=seed,
        date=datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        seconds=time.perf_counter() - began,
        versions={"Python": platform.python_version()}
        | dict.fromkeys(_MORE_PACKAGES, "not installed")
        | versions.installed(*_MORE_PACKAGES),
        readings=found["readings"],
        crosschecks=[found[f"cross-check {i}"] for i in chosen],
        curves={name: found[f"curves {name}"] for name in ("over steps", "by sampling", "over δ")},
        specimens=[found[f"specimen: {name}"] for name in names],
        lints=[found[f"lint: {name}"] for name in LINTS],
        claims=[found[f"claim: {name}"] for name in ids],
        studies={name: recorded(name) for name in STUDIES},
    )


def examined(name: str, seed: int) -> dict[str, Any]:
    """One specimen as plain data; the same seed gives what `dp-assay zoo --seed` gives."""
    from audits.specimens import SPECIMENS
    from audits.specimens.examine import REPORTED_DELTA, as_json, run_zoo

    specimen = SPECIMENS[name]
    (one,) = run_zoo([specimen], np.random.default_rng(seed))
    (row,) = as_json([one])["specimens"]
    for side, verdict in (("flawed", one.flawed), ("repaired", one.repaired)):
        path = verdict.evidence.wealth_path
        stride = max(1, len(path) // _PATH_POINTS)
        row[side]["path"] = [*path[::stride], *path[-1:]]
    return row | {
        "explanation": specimen.explanation,
        "certified": certified(specimen.claim, REPORTED_DELTA),
    }


def certified(claim: Claim, delta: float) -> dict[str, float | None] | None:
    """The certified interval of the ε that a claimed curve has at δ, where there is one."""
    match claim:
        case GaussianClaim(mu=mu) if mu > 0.0:
            bounds = gaussian.epsilon_bounds(mu, delta)
        case EventClaim(accountant=FourierAccountant() as accountant):
            bounds = accountant.get_epsilon_bounds(delta)
        case _:
            return None
    return {"lower": finite(bounds.lower), "upper": finite(bounds.upper)}


def linted(name: str) -> dict[str, Any]:
    """One lint as plain data."""
    from audits.specimens import LINTS
    from audits.specimens.examine import as_json

    (row,) = as_json([], [LINTS[name]])["lints"]
    return row | {"explanation": LINTS[name].explanation}


def claimed(name: str) -> dict[str, Any]:
    """One claim as plain data."""
    from audits.papers import as_json, run_claims

    (row,) = as_json(run_claims([name]))["claims"]
    return row


@dataclass(frozen=True, slots=True)
class _Task:
    label: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]


def _run_all(tasks: Sequence[_Task], workers: int) -> dict[str, Any]:
    found: dict[str, Any] = {}

    def keep(task: _Task, result: Any) -> None:
        found[task.label] = result
        telling.step(len(found), len(tasks), task.label)

    if workers == 1:
        for task in tasks:
            keep(task, task.function(*task.arguments))
        return found
    with process_pool(workers) as pool:
        futures = {pool.submit(task.function, *task.arguments): task for task in tasks}
        for future in as_completed(futures):
            keep(futures[future], future.result())
    return found


def _odd(one: dict[str, Any]) -> bool:
    return not one["as_expected"]
