"""A standing attack on the certified intervals: random questions, judged in ball arithmetic.

    python benchmarks/attack_accountants.py --cases 20000 --jobs 2
    python benchmarks/attack_accountants.py --case 4711          (one case, in this process)
    python benchmarks/attack_accountants.py --known              (those that once failed)

Case n is the same in every run. Each case has 20 s of processor time and 4 GB in a worker process;
finished cases are kept in a journal, so that an interrupted attack goes on where it stopped. The
summary is benchmarks/results/attack.json. The words are explained in tests/quality/attack.py.
"""

import argparse
import collections
import json
import multiprocessing
import os
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path = [entry for entry in sys.path if Path(entry).resolve() != HERE]
sys.path.insert(0, str(HERE.parent / "tests" / "quality"))
os.environ.setdefault("OMP_NUM_THREADS", "1")

from attack import FAILURES, attack, limit_memory
from attack_cases import KNOWN, SEED, random_case

from accountants import versions

RESULTS = HERE / "results" / "attack.json"
PATIENCE = 900.0  # seconds of wall time after which a worker that says nothing is replaced


def _work(connection) -> None:
    limit_memory()
    while (number := connection.recv()) is not None:
        connection.send(attack(random_case(number)))


class _Worker:
    """A process that attacks one case at a time."""

    def __init__(self) -> None:
        self.connection, theirs = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=_work, args=(theirs,), daemon=True)
        self.process.start()
        self.number, self.since = -1, 0.0

    def give(self, number: int) -> None:
        self.number, self.since = number, time.monotonic()
        self.connection.send(number)

    def lost(self) -> bool:
        return not self.process.is_alive() or time.monotonic() - self.since > PATIENCE

    def record_of_loss(self) -> dict:
        word = "slow" if self.process.is_alive() else "memory"
        self.process.kill()
        self.process.join()
        return random_case(self.number).to_json() | {"word": word, "reason": "the process was lost"}


def run(numbers: list[int], jobs: int, journal: Path) -> None:
    """Attacks the cases of these numbers and appends a line each to the journal."""
    waiting = collections.deque(numbers)
    workers = [_Worker() for _ in range(min(jobs, len(numbers)))]
    for worker in workers:
        worker.give(waiting.popleft())
    words: collections.Counter[str] = collections.Counter()
    begin, done = time.monotonic(), 0
    with journal.open("a", encoding="utf-8") as out:
        while workers:
            ready = multiprocessing.connection.wait([w.connection for w in workers], timeout=1.0)
            for index, worker in enumerate(list(workers)):
                if worker.connection in ready and worker.connection.poll():
                    try:
                        record = worker.connection.recv()
                    except EOFError:
                        record = worker.record_of_loss()
                        worker = workers[index] = _Worker()
                elif worker.lost():
                    record = worker.record_of_loss()
                    worker = workers[index] = _Worker()
                else:
                    continue
                out.write(json.dumps(record) + "\n")
                out.flush()
                words[record["word"]] += 1
                done += 1
                if waiting:
                    worker.give(waiting.popleft())
                else:
                    worker.number = -2
                pace = (time.monotonic() - begin) / done
                print(
                    f"\r{done}/{len(numbers)} {pace:.2f} s each {dict(words)}", end="", flush=True
                )
            finished = [worker for worker in workers if worker.number == -2]
            for worker in finished:
                worker.connection.send(None)
                workers.remove(worker)
    print()


def summarise(journal: Path) -> dict:
    """Counts, and the failures in full."""
    records = {}
    for line in journal.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        records[int(record["name"])] = record
    words = collections.Counter(record["word"] for record in records.values())
    times = [record["oracle_seconds"] for record in records.values() if "oracle_seconds" in record]
    return {
        "what": "random questions to the accountants, judged in ball arithmetic",
        "command": f"python benchmarks/attack_accountants.py --cases {max(records) + 1}",
        "seed": SEED,
        "cases": len(records),
        "versions": versions.installed("python-flint"),
        "words": dict(sorted(words.items())),
        "oracle_seconds_per_case": round(sum(times) / max(1, len(times)), 3),
        "failures": [records[n] for n in sorted(records) if records[n]["word"] in FAILURES],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--case", type=int, help="one case, in this process")
    parser.add_argument("--known", action="store_true", help="the cases that once failed")
    parser.add_argument("--journal", type=Path, default=Path("build/attack.jsonl"))
    parser.add_argument("--output", type=Path, default=RESULTS)
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
    arguments.journal.parent.mkdir(parents=True, exist_ok=True)
    done = set()
    if arguments.journal.exists():
        lines = arguments.journal.read_text(encoding="utf-8").splitlines()
        done = {int(json.loads(line)["name"]) for line in lines}
    numbers = [
        n for n in range(arguments.first, arguments.first + arguments.cases) if n not in done
    ]
    if numbers:
        run(numbers, arguments.jobs, arguments.journal)
    summary = summarise(arguments.journal)
    arguments.output.write_text(json.dumps(summary, indent=1, ensure_ascii=False) + "\n", "utf-8")
    print({key: value for key, value in summary.items() if key != "failures"})


if __name__ == "__main__":
    main()
