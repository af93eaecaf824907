"""A standing attack on the certified intervals: random questions, judged in ball arithmetic.

    python benchmarks/attack_accountants.py --cases 20000        (goes on where it stopped)
    python benchmarks/attack_accountants.py --case 4711          (one case, in this process)
    python benchmarks/attack_accountants.py --known              (those that once failed)
    python benchmarks/attack_accountants.py --summarise JOURNAL  (of any code; attacks nothing)

Case n is the same in every run. Each case has 20 s of processor time and 4 GB in a worker process.
Finished cases are kept in a journal, which says of which code the answers are: a journal of other
accountants or other cases is refused, and answers that another oracle judged are judged again. The
summary is benchmarks/results/attack.json: one segment per code, of which a run replaces its own and
leaves the others, and the totals over all. The words are explained in tests/quality/attack.py.
"""

import argparse
import collections
import hashlib
import json
import math
import multiprocessing
import os
import sys
import time
from collections.abc import Iterable
from multiprocessing import connection as connections
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
QUALITY = ROOT / "tests" / "quality"
sys.path = [entry for entry in sys.path if Path(entry).resolve() != HERE]
sys.path[:0] = [str(ROOT), str(QUALITY)]
os.environ.setdefault("OMP_NUM_THREADS", "1")

from attack import FAILURES, attack, judged, limit_memory
from attack_cases import KNOWN, SEED, random_case

import accountants
from accountants import versions

RESULTS = HERE / "results" / "attack.json"
PATIENCE = 900.0  # seconds of wall time after which a worker that says nothing is replaced


def _digest(files: Iterable[Path]) -> str:
    found = hashlib.sha256()
    for file in sorted(files):
        found.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return found.hexdigest()[:16]


def code() -> dict[str, str]:
    """What the answers depend on, and what the verdicts do."""
    package = Path(accountants.__file__).parent
    return {
        "accountants": _digest(package.rglob("*.py")),
        "cases": _digest([QUALITY / "attack_cases.py"]),
        "oracle": _digest([*QUALITY.glob("oracle*.py"), QUALITY / "attack.py"]),
    }


class Journal:
    """Records by number, one JSON line each, below a line that says of which code they are.

    Args:
      path: The file; it is begun if there is none.
      any_code: Whether the records may be of other code than this, to be summed up only.
    """

    def __init__(self, path: Path, *, any_code: bool = False) -> None:
        self.path, self.records = path, {}
        if not any_code and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(_header()) + "\n", encoding="utf-8")
        first, *lines = path.read_text(encoding="utf-8").splitlines()
        self.header = _header() | json.loads(first)
        self.code = self.header["code"] if any_code else code()
        for name in ("accountants", "cases"):
            if self.header["code"].get(name) != self.code[name]:
                sys.exit(f"{path} holds answers of other {name}; move it away or name another one.")
        for line in lines:
            record = json.loads(line)
            self.records[int(record["name"])] = record

    def todo(self, number: int) -> dict | int | None:
        """What a worker is given: a number to attack, a record to judge again, or nothing."""
        record = self.records.get(number)
        if record is None:
            return number
        return record if record["oracle"] != self.code["oracle"] and "lower" in record else None

    def add(self, record: dict) -> None:
        """Keeps a record; the last of a number counts."""
        record["oracle"] = self.code["oracle"]
        self.records[int(record["name"])] = record
        with self.path.open("a", encoding="utf-8") as out:
            out.write(json.dumps(record) + "\n")

    def segment(self) -> dict:
        """Counts, and the failures in full."""
        records = [self.records[number] for number in sorted(self.records)]
        words = collections.Counter(record["word"] for record in records)
        seconds = {
            name: round(sum(record.get(name, 0.0) for record in records), 1)
            for name in ("seconds", "oracle_seconds")
        }
        return {
            **self.header,
            "code": self.code,
            "date": time.strftime("%Y-%m-%d", time.localtime(self.path.stat().st_mtime)),
            "first_case": min(self.records, default=None),
            "last_case": max(self.records, default=None),
            "cases": len(records),
            "words": dict(sorted(words.items())),
            "processor_seconds": seconds,
            "slowest_answer": max((record.get("seconds", 0.0) for record in records), default=0.0),
            "failures": [record for record in records if record["word"] in FAILURES],
        }


def _header() -> dict:
    """What a journal says of itself: of which code, which libraries, which cases."""
    return {"code": code(), "versions": versions.installed("python-flint"), "seed": SEED}


def segments(path: Path) -> list[dict]:
    """Those of a summary, or the one that a summary without segments is."""
    if not path.exists():
        return []
    found = json.loads(path.read_text(encoding="utf-8"))
    if "segments" in found:
        return found["segments"]
    each = found.get("processor_seconds_per_case", {})
    kept = ("code", "versions", "seed", "cases", "words", "slowest_answer", "failures")
    seconds = {name: round(value * found["cases"], 1) for name, value in each.items()}
    return [{name: found[name] for name in kept} | {"processor_seconds": seconds}]


def summary(found: list[dict]) -> dict:
    """The totals, and the segments below them."""
    words: collections.Counter[str] = collections.Counter()
    for segment in found:
        words.update(segment["words"])
    return {
        "what": "random questions to the accountants, judged in ball arithmetic",
        "command": "python benchmarks/attack_accountants.py",
        "cases": sum(segment["cases"] for segment in found),
        "words": dict(sorted(words.items())),
        "wrong": sum(words[word] for word in ("wrong lower", "wrong upper", "crossed")),
        "nan": words["nan"],
        "infinite where a finite bound exists": words["infinite"],
        "over 20 s": words["slow"],
        "slowest_answer": max((segment["slowest_answer"] for segment in found), default=0.0),
        "segments": found,
    }


def record_segment(segment: dict, path: Path) -> dict:
    """Writes the summary with this segment in place of an earlier one of the same code."""

    def is_other(other: dict) -> bool:
        names = ("accountants", "cases")
        return any(other["code"][name] != segment["code"][name] for name in names)

    total = summary([*filter(is_other, segments(path)), segment])
    path.write_text(json.dumps(total, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return total


def _work(connection) -> None:
    limit_memory()
    while (task := connection.recv()) is not None:
        connection.send(attack(random_case(task)) if isinstance(task, int) else judged(task))


class _Worker:
    """A process that attacks one case at a time."""

    def __init__(self) -> None:
        self.connection, theirs = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=_work, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()
        self.task, self.since = None, 0.0

    def give(self, task: dict | int) -> None:
        self.task, self.since = task, time.monotonic()
        self.connection.send(task)

    def record(self) -> dict | None:
        """What came out of the task, or None as long as nothing did."""
        try:
            if self.connection.poll():
                return self.connection.recv()
        except EOFError:
            return self._lost("memory")
        return self._lost("slow") if time.monotonic() - self.since > PATIENCE else None

    def _lost(self, word: str) -> dict:
        self.process.kill()
        self.process.join()
        self.__init__()
        case = random_case(self.task) if isinstance(self.task, int) else None
        record = case.to_json() if case else self.task
        return record | {"word": word, "reason": "the process was lost"}


def run(tasks: list[dict | int], jobs: int, seconds: float, journal: Journal) -> None:
    """Does these tasks, begins none after so many seconds; adds a record each to the journal."""
    waiting = collections.deque(tasks)
    workers = [_Worker() for _ in range(min(jobs, len(tasks)))]
    busy = []
    words: collections.Counter[str] = collections.Counter()
    begin, done = time.monotonic(), 0
    while waiting or busy:
        if time.monotonic() - begin > seconds:
            waiting.clear()
        while waiting and workers:
            worker = workers.pop()
            worker.give(waiting.popleft())
            busy.append(worker)
        connections.wait([worker.connection for worker in busy], timeout=1.0)
        for worker in list(busy):
            record = worker.record()
            if record is None:
                continue
            journal.add(record)
            busy.remove(worker)
            workers.append(worker)
            words[record["word"]] += 1
            done += 1
        if done:
            pace = (time.monotonic() - begin) / done
            print(f"\r{done}/{len(tasks)} {pace:.2f} s each {dict(words)}", end="", flush=True)
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=math.inf, help="stop after so long")
    parser.add_argument("--case", type=int, help="one case, in this process")
    parser.add_argument("--known", action="store_true", help="the cases that once failed")
    parser.add_argument("--journal", type=Path, default=Path("build/attack.jsonl"))
    parser.add_argument("--output", type=Path, default=RESULTS)
    parser.add_argument("--summarise", type=Path, metavar="JOURNAL", help="sum up a journal only")
    arguments = parser.parse_args()
    if arguments.case is not None:
        print(json.dumps(attack(random_case(arguments.case)), indent=1))
        return
    if arguments.known:
        for case in KNOWN:
            record = attack(case)
            shown = [record.get(key) for key in ("lower", "upper", "seconds", "reason")]
            print(f"{record['word']:12} {case.name}: {shown} {record.get('verdicts')}", flush=True)
        return
    if arguments.summarise is not None:
        journal = Journal(arguments.summarise, any_code=True)
    else:
        journal = Journal(arguments.journal)
        numbers = range(arguments.first, arguments.first + arguments.cases)
        tasks = [task for number in numbers if (task := journal.todo(number)) is not None]
        try:
            run(tasks, arguments.jobs, arguments.seconds, journal)
        except KeyboardInterrupt:
            print()
    total = record_segment(journal.segment(), arguments.output)
    print({key: value for key, value in total.items() if key != "segments"})


if __name__ == "__main__":
    main()
