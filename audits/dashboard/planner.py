"""Plans: `dp-assay plan` in a process of its own, which can be ended if it takes too long."""

import json
import subprocess
import sys
import tempfile
import threading
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_AT_ONCE = threading.BoundedSemaphore(2)
_PATIENCE = 60.0
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


def plan(experiment: str, patience: float = _PATIENCE) -> Planned:
    """What an experiment's file will cost in each scope.

    Raises:
      PlanError: It is no experiment, or its plan takes too long.
    """
    if not _AT_ONCE.acquire(timeout=patience):
        raise PlanError("Other plans are being made. Try again in a minute.")
    try:
        with tempfile.TemporaryDirectory(prefix="dp-assay-") as folder:
            file = Path(folder) / "experiment.toml"
            file.write_text(experiment, encoding="utf-8", errors="replace")
            done = subprocess.run(
                [sys.executable, "-m", "audits", "plan", str(file), "--json"],
                capture_output=True,
                stdin=subprocess.DEVNULL,
                timeout=patience,
                start_new_session=True,
            )
    except subprocess.TimeoutExpired:
        raise PlanError(
            f"The plan took longer than {patience:g} seconds. Fewer rounds or scopes take less."
        ) from None
    finally:
        _AT_ONCE.release()
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", errors="replace").strip() or "The plan was ended."
        raise PlanError(said.removeprefix("dp-assay: "))
    if len(done.stdout) > _MOST_BYTES:
        raise PlanError("The plan is too long for a page. Fewer rounds or scopes make it shorter.")
    found = json.loads(done.stdout)
    return Planned(found["name"] or "experiment", found["plan"])


def facts(experiment: str) -> dict[str, Any]:
    """An experiment's file as a table; it has been planned, so it is one."""
    return tomllib.loads(experiment)
