"""Saved state under long attack: budgets that are killed, runs that are cut, bits that flip.

    OMP_NUM_THREADS=1 nice python benchmarks/soak_state.py [budget] [cuts] [flips]

Writes its part of `benchmarks/results/state.json`. The same attacks, short, are in the test suite
(`tests/state_tools.py` makes them); every number called a failure below must be 0.
"""

import json
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "tests"), str(HERE.parent / "tests" / "quality")]

import state_tools

from accountants.files import write_atomically
from accountants.versions import installed

RESULT = HERE / "results" / "state.json"
SCHEDULES, CUTS, FLIPS, BATCHES = 10_000, 1_000, 10_000, 10
FAILURES = ("lost entries", "overspent", "not spendable any more", "different", "silent")


def budget() -> Iterator[dict[str, int]]:
    """Schedules in processes of their own, because they fork; the totals after each batch."""
    total: dict[str, int] = {}
    size = SCHEDULES // BATCHES
    for first in range(0, SCHEDULES, size):
        command = [sys.executable, state_tools.__file__, str(first), str(size)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        for name, count in json.loads(done.stdout).items():
            fixed = name in ("processes", "threads")
            total[name] = count if fixed else total.get(name, 0) + count
        yield dict(total)


def cuts() -> Iterator[dict[str, int]]:
    """Cut points over all mechanisms and schedules; the totals after each batch."""
    total: dict[str, int] = {}
    for seed in range(BATCHES):
        for name, count in state_tools.cuts(CUTS // BATCHES, seed=seed).items():
            total[name] = count if name == "settings" else total.get(name, 0) + count
        yield dict(total)


def flips() -> Iterator[dict[str, int]]:
    """Bits of budgets and checkpoints."""
    yield state_tools.flips(FLIPS, seed=1)


ATTACKS = {"budget": budget, "cuts": cuts, "flips": flips}


def record(name: str, found: dict[str, int]) -> None:
    recorded = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    recorded[name] = found
    recorded["versions"] = {"python": platform.python_version(), **installed()}
    parts = [part for part in recorded.values() if isinstance(part, dict)]
    recorded["failures"] = sum(part.get(failure, 0) for part in parts for failure in FAILURES)
    write_atomically(RESULT, json.dumps(recorded, indent=2, sort_keys=True) + "\n")


def main() -> None:
    for name in sys.argv[1:] or ATTACKS:
        began = time.time()
        for found in ATTACKS[name]():
            record(name, found | {"seconds": round(time.time() - began)})
            print(name, found, flush=True)


if __name__ == "__main__":
    main()
