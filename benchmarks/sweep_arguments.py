"""Hostile arguments for everything public: how many are refused, and how.

Every public callable is called with hostile values in each argument, with two hostile arguments at
once, and every reader with documents that were tampered with. Calls run in child processes with
limits of time and memory; a journal lets an interrupted sweep go on where it stopped.

    python benchmarks/sweep_arguments.py [--pairs N] [--calls N] [--seed S] [--only PREFIX]
"""

import argparse
import collections
import json
import multiprocessing
import os
import random
import resource
import sys
import tempfile
import time
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "quality"), str(ROOT / "tests")]

import hostile_calls
from hostile_calls import Case, Outcome

from accountants import versions

SECONDS, BYTES = 20.0, 4 * 2**30
BATCH = 200


def worker(conn: Connection, cases: list[tuple[int, Case]], folder: str) -> None:
    """Makes the calls, saying before each which one it is."""
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    os.chdir(folder)
    with open(os.devnull, "w") as nowhere:  # noqa: PTH123
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    known = hostile_calls.all_subjects()
    for number, case in cases:
        conn.send((number, None, 0.0))
        begun = time.perf_counter()
        outcome = hostile_calls.run(case, known)
        conn.send((number, outcome, time.perf_counter() - begun))
    conn.close()


def sweep(cases: list[Case], workers: int, done: dict[str, Any], journal: Any) -> None:
    """Runs the cases that are not done, and writes each to the journal."""
    left = [(i, case) for i, case in enumerate(cases) if str(case) not in done]
    batches = collections.deque(left[i : i + BATCH] for i in range(0, len(left), BATCH))
    context = multiprocessing.get_context("fork")
    running: dict[Any, Any] = {}

    def record(number: int, outcome: Outcome, seconds: float) -> None:
        entry = {
            "kind": outcome.kind,
            "detail": outcome.detail,
            "named": outcome.named,
            "seconds": round(seconds, 3),
        }
        done[str(cases[number])] = entry
        print(json.dumps({"case": str(cases[number]), **entry}), file=journal, flush=True)

    with tempfile.TemporaryDirectory() as folder:
        while batches or running:
            while batches and len(running) < workers:
                batch = batches.popleft()
                ours, theirs = context.Pipe(duplex=False)
                process = context.Process(target=worker, args=(theirs, batch, folder))
                process.start()
                theirs.close()
                running[ours] = [process, batch, None, time.monotonic()]
            for conn in wait(list(running), timeout=1.0):
                slot = running[conn]
                try:
                    number, outcome, seconds = conn.recv()
                except (EOFError, OSError):
                    _finish(slot, record, batches, "died")
                    del running[conn]
                    continue
                slot[2], slot[3] = number, time.monotonic()
                if outcome is not None:
                    record(number, outcome, seconds)
                    slot[2] = None
                    slot[1] = [one for one in slot[1] if one[0] != number]
            for conn, slot in list(running.items()):
                if slot[2] is not None and time.monotonic() - slot[3] > SECONDS:
                    slot[0].kill()
                    _finish(slot, record, batches, "slow")
                    del running[conn]


def _finish(slot: list[Any], record: Any, batches: Any, kind: str) -> None:
    """A process has ended; its current case is at fault, the others wait for the next one."""
    process, batch, current, _ = slot
    process.join()
    if current is not None:
        record(current, Outcome(kind, f"exit code {process.exitcode}"), SECONDS)
        batch = [one for one in batch if one[0] != current]
    if batch:
        batches.appendleft(batch)


def summary(cases: list[Case], done: dict[str, Any], arguments: argparse.Namespace) -> Any:
    """The counts, and every fault."""
    found = [(str(case), done[str(case)]) for case in cases]
    kinds = collections.Counter(entry["kind"] for _, entry in found)
    refused = [entry for _, entry in found if entry["kind"] == "refused"]
    return {
        "calls": len(found),
        "kinds": dict(kinds.most_common()),
        "refusals that name the argument": (
            sum(entry["named"] for entry in refused) / max(1, len(refused))
        ),
        "slowest call, s": max(entry["seconds"] for _, entry in found),
        "seed": arguments.seed,
        "faults by subject": dict(
            collections.Counter(
                case.partition("(")[0]
                for case, entry in found
                if entry["kind"] in hostile_calls.FAULTS
            ).most_common()
        ),
        "faults": sum(entry["kind"] in hostile_calls.FAULTS for _, entry in found),
        "limits": {"seconds": SECONDS, "bytes": BYTES},
        "versions": versions.installed(),
        "every fault": [
            {"case": case, "kind": entry["kind"], "detail": entry["detail"]}
            for case, entry in found
            if entry["kind"] in hostile_calls.FAULTS
        ],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--calls", type=int, default=0, help="so many, at random; 0 for all")
    parser.add_argument("--only", default="", help="subjects whose name begins so")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--journal", default="")
    parser.add_argument("--out", default=str(ROOT / "benchmarks" / "results" / "sweep.json"))
    arguments = parser.parse_args()
    known = hostile_calls.all_subjects()
    cases = hostile_calls.single_cases(known) + hostile_calls.document_cases()
    cases += hostile_calls.pair_cases(known, arguments.pairs, arguments.seed)
    cases = [case for case in dict.fromkeys(cases) if case.subject.startswith(arguments.only)]
    if 0 < arguments.calls < len(cases):
        cases = random.Random(arguments.seed).sample(cases, arguments.calls)
    journal = Path(arguments.journal or tempfile.mkstemp(suffix=".jsonl")[1])
    done = {}
    if journal.exists():
        for line in journal.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            done[entry.pop("case")] = entry
    with journal.open("a", encoding="utf-8") as stream:
        sweep(cases, arguments.workers, done, stream)
    found = summary(cases, done, arguments)
    Path(arguments.out).write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    print(
        json.dumps({key: value for key, value in found.items() if key != "every fault"}, indent=2)
    )


if __name__ == "__main__":
    main()
