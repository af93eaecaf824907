"""Hundreds of command lines that go wrong: `python benchmarks/soak_commands.py [--count 600]`.

Bad options, damaged and hostile files, code that ends its process, closed streams, signals at any
time, no permission, full disks, odd locales. Of every command line are checked: the exit code, that
no traceback is shown, that JSON is whole, that nothing half-written and no process is left behind.

Cases follow from the seed alone. Each is a process of its own with its own session, folder and
streams; most are forked from this one, which saves loading the libraries, and those where the
interpreter's start matters are started afresh. A run that was killed goes on where it was. Writes
`benchmarks/results/commands.json`; exit code 1 if anything was not as it must be.
"""

import argparse
import collections
import datetime
import json
import os
import platform
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")
ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT / "benchmarks" / "soak")
RESULTS = ROOT / "benchmarks" / "results" / "commands.json"
SEED = 20261118

from families import FAMILIES, all_cases
from processes import run_case

from accountants import versions
from accountants.files import write_atomically


def run_shard(cases: list[Any], journal: Path, done: set[str]) -> None:
    """Runs the cases that are not done, one after the other; a line of the journal for each."""
    for case in cases:
        if case.name in done:
            continue
        with tempfile.TemporaryDirectory(prefix="soak-") as folder:
            began = time.monotonic()
            found = run_case(case, Path(folder))
            seconds = round(time.monotonic() - began, 2)
        line = {"name": case.name, "family": case.family, "seconds": seconds} | found
        with journal.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(line) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, help="how many, spread over the families; default all")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--families", nargs="*", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--only", nargs="*", help="cases by name, such as signals/3")
    parser.add_argument("--forked", action="store_true", help="leave out fresh interpreters")
    parser.add_argument("--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    cases = [case for case in all_cases(given.seed) if case.family in given.families]
    if given.forked:
        cases = [case for case in cases if not case.fresh]
    if given.only:
        cases = [case for case in cases if case.name in given.only]
    if given.count is not None and given.count < len(cases):
        cases = [cases[i * len(cases) // given.count] for i in range(given.count)]
    journal = given.output.with_suffix(f".{given.seed}.jsonl")
    journal.parent.mkdir(parents=True, exist_ok=True)
    done = {row["name"] for row in read(journal)}
    children = []
    for number in range(given.workers):
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                run_shard(cases[number :: given.workers], journal, done)
                code = 0
            finally:
                sys.stderr.flush()
                os._exit(code)
        children.append(child)
    broken = [child for child in children if os.waitpid(child, 0)[1]]
    rows = {row["name"]: row for row in read(journal)}
    found = [rows[case.name] for case in cases if case.name in rows]
    wrong = [row for row in found if row["wrong"]]
    summary = {
        "what": "Command lines under attack: exit codes, tracebacks, files and processes left over",
        "command": "python benchmarks/soak_commands.py " + " ".join(sys.argv[1:]),
        "date": datetime.date.today().isoformat(),
        "seed": given.seed,
        "python": platform.python_version(),
        "versions": versions.installed("matplotlib"),
        "commands": len(found),
        "fresh_interpreters": sum(case.fresh for case in cases),
        "by_family": dict(collections.Counter(row["family"] for row in found)),
        "by_exit_code": dict(
            sorted(collections.Counter(str(row["code"]) for row in found).items())
        ),
        "seconds": round(sum(row["seconds"] for row in found)),
        "wrong": wrong,
    }
    write_atomically(given.output, json.dumps(summary, indent=1, ensure_ascii=False) + "\n")
    print(f"{len(found)} of {len(cases)} command lines, {len(wrong)} not as they must be")
    for row in wrong:
        print(json.dumps(row, ensure_ascii=False))
    if not wrong and not broken and len(found) == len(cases):
        journal.unlink()
        return 0
    return 1


def read(journal: Path) -> list[dict[str, Any]]:
    """What is done; a line that was cut short is done again."""
    rows = []
    for line in journal.read_text(encoding="utf-8").splitlines() if journal.exists() else []:
        try:
            rows.append(json.loads(line))
        except ValueError:
            continue
    return rows


if __name__ == "__main__":
    sys.exit(main())
