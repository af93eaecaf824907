"""What is said beside an answer, on standard error: where files went, how far a job has come."""

import os
import sys
from pathlib import Path


def wrote(*files: str | os.PathLike[str]) -> None:
    """Says where files are, in the same words everywhere."""
    for file in files:
        print(f"wrote {Path(file)}", file=sys.stderr)


def step(index: int, total: int, name: str) -> None:
    """One of several steps: a line for each on a terminal, and one in all anywhere else."""
    if sys.stderr.isatty() or index == 1:
        more = "" if total == 1 or sys.stderr.isatty() else " and so on"
        print(f"[{index}/{total}] {name}{more}", file=sys.stderr)
