"""Plans: `dp-assay plan` in a process of its own, which can be ended if it takes too long."""

import json
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_AT_ONCE = threading.BoundedSemaphore(2)
_PATIENCE = 120.0
_TICK = 0.2
_MOST_BYTES = 4_000_000


class PlanError(ValueError):
    """The experiment cannot be planned; the message says what to change."""


@dataclass(frozen=True, slots=True)
class Planned:
    """An experiment that can be run.

    Attributes:
      name: For people.
      costs: By scope, its certificate or why there is none, as `dp-assay plan --json` has them.
    """

    name: str
    costs: list[dict[str, Any]]


def plan(
    experiment: str,
    patience: float = _PATIENCE,
    unwanted: Callable[[], bool] = lambda: False,
) -> Planned:
    """What an experiment's file will cost in each scope.

    Args:
      experiment: The file, TOML.
      patience: Seconds that it may take.
      unwanted: Asked several times a second whether nobody waits for it any more.

    Raises:
      PlanError: It is no experiment, its plan takes too long, or nobody wants it.
    """
    given_up = time.monotonic() + patience

    def check() -> None:
        if unwanted():
            raise PlanError("Nobody waits for this plan any more.")
        if time.monotonic() > given_up:
            raise PlanError(
                f"The plan took longer than {patience:g} seconds. Fewer rounds or scopes take "
                "less, and so does a machine that does less."
            )

    while not _AT_ONCE.acquire(timeout=_TICK):
        check()
    try:
        code, answer, said = _asked(experiment, check)
    finally:
        _AT_ONCE.release()
    if code != 0:
        words = said.decode("utf-8", errors="replace").strip() or "The plan was ended."
        raise PlanError(words.removeprefix("dp-assay: "))
    if len(answer) > _MOST_BYTES:
        raise PlanError("The plan is too long for a page. Fewer rounds or scopes make it shorter.")
    found = json.loads(answer)
    return Planned(found["name"] or "experiment", found["plan"])


def _asked(experiment: str, check: Callable[[], None]) -> tuple[int, bytes, bytes]:
    """Exit code, output and messages of the command; it is ended if `check` raises."""
    with tempfile.TemporaryDirectory(prefix="dp-assay-") as folder:
        file = Path(folder) / "experiment.toml"
        file.write_text(experiment, encoding="utf-8", errors="replace")
        with subprocess.Popen(
            [sys.executable, "-m", "audits", "plan", str(file), "--json"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        ) as process:
            try:
                while True:
                    check()
                    try:
                        answer, said = process.communicate(timeout=_TICK)
                    except subprocess.TimeoutExpired:
                        continue
                    return process.returncode, answer, said
            finally:
                process.kill()


def facts(experiment: str) -> dict[str, Any]:
    """An experiment's file as a table; it has been planned, so it is one."""
    return tomllib.loads(experiment)
