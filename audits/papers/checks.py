"""Running checks, reading what earlier runs recorded, and the JSON of the ledger."""

import functools
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from accountants.seals import read_sealed
from audits.papers.ledger import ClaimEntry, Finding, Standing
from audits.papers.numbers import Number

RECORD = "recorded.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimResult:
    """An entry and what was found.

    Attributes:
      entry: The claim.
      finding: What its check found.
      seconds: How long the check took, now or when it was recorded.
      recorded: Whether the finding comes from `recorded.json` and not from a run now.
    """

    entry: ClaimEntry
    finding: Finding
    seconds: float
    recorded: bool = False


@functools.cache
def records() -> Mapping[str, Any]:
    """What `python -m audits.papers.record` wrote: versions, command, and findings by id."""
    return read_sealed(resources.files("audits.papers").joinpath(RECORD))


def recorded_finding(name: str) -> tuple[Finding, float]:
    """The recorded finding of a claim, and the seconds it took."""
    found = records()["claims"].get(name)
    if found is None:
        return (
            Finding(
                verdict=Standing.NOT_TESTABLE,
                figure="none",
                argument="The check trains a model and has not been run.",
                condition="slow, and no recorded run",
            ),
            0.0,
        )
    return (
        Finding(
            verdict=Standing[found["verdict"]],
            figure=found["figure"],
            argument=found["argument"],
            condition=found["condition"],
            numbers=tuple(Number.from_json(row) for row in found.get("numbers", ())),
        ),
        float(found["seconds"]),
    )


def run_entries(chosen: Iterable[ClaimEntry], *, include_slow: bool) -> list[ClaimResult]:
    """Runs the checks, one after the other."""
    results = []
    for entry in chosen:
        if entry.slow and not include_slow:
            finding, seconds = recorded_finding(entry.id)
            results.append(
                ClaimResult(entry=entry, finding=finding, seconds=seconds, recorded=True)
            )
            continue
        start = time.perf_counter()
        finding = entry.check()
        seconds = time.perf_counter() - start
        results.append(ClaimResult(entry=entry, finding=finding, seconds=seconds))
    return results


def as_json(results: Iterable[ClaimResult]) -> dict[str, list[dict[str, object]]]:
    """The results as `{"claims": [{"id", "paper", "place", "statement", "verdict", …}]}`."""
    return {
        "claims": [
            {
                "id": result.entry.id,
                "paper": result.entry.paper,
                "kind": result.entry.kind,
                "place": result.entry.place,
                "statement": result.entry.statement,
                "check": result.entry.doc,
                "verdict": result.finding.verdict.name,
                "figure": result.finding.figure,
                "argument": result.finding.argument,
                "condition": result.finding.condition,
                "numbers": [number.as_json() for number in result.finding.numbers],
                "slow": result.entry.slow,
                "recorded": result.recorded,
                "seconds": round(result.seconds, 3),
            }
            for result in results
        ]
    }
