"""10,000 flipped bits and cuts in journals and records: `python benchmarks/soak_flips.py`.

A damaged journal must give the results that a whole one gives, with the damaged jobs done again and
nothing else; a damaged record must be refused, or hold every value that it held
(a flip in white space). Writes `benchmarks/results/flips.json`; exit code 1 if one was silent.
"""

import argparse
import collections
import datetime
import io
import json
import platform
import random
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)  # this file's own folder goes
RESULTS = ROOT / "benchmarks" / "results" / "flips.json"
SEED = 20261118

from accountants import versions
from accountants.files import write_atomically
from accountants.seals import DamagedError, unsealed
from audits.papers.runner import run_jobs
from audits.papers.study import Job

CALLS: list[int] = []


def result_of(seed: int) -> dict[str, object]:
    """Numbers of all kinds, texts and lists, as studies have them."""
    CALLS.append(seed)
    draws = random.Random(seed)
    return {
        "epsilon": draws.gammavariate(1.0, 3.0),
        "curve": [draws.gauss(0.0, 1e-5) for _ in range(6)],
        "rounds": draws.randrange(1000),
        "converged": draws.random() < 0.5,
        "note": "ε at δ = 1e-05" if seed % 2 else None,
    }


def damaged(content: bytes, chance: random.Random) -> bytes:
    """One to three flips; in one of ten cases a cut instead."""
    if chance.random() < 0.1:
        return content[: chance.randrange(len(content))]
    found = bytearray(content)
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        found[chance.randrange(len(found))] ^= 1 << chance.randrange(8)
    return bytes(found)


def journal_outcome(file: Path, whole: bytes, truth: object, chance: random.Random) -> str:
    jobs = [Job(key=f"seed={n}", function=result_of, arguments=(n,)) for n in range(8)]
    file.write_bytes(damaged(whole, chance))
    CALLS.clear()
    said = io.StringIO()
    if run_jobs(jobs, file, stream=said) != truth:
        return "silent"
    if CALLS and "warning: line " not in said.getvalue():
        # A cut at the end of a line leaves nothing to warn of: the rest is just not done.
        return "done again" if whole.startswith(_without_rest(file, whole)) else "silent"
    return "done again" if CALLS else "harmless"


def _without_rest(file: Path, whole: bytes) -> bytes:
    """The lines that were there before the jobs were done again."""
    lines = file.read_bytes().split(b"\n")
    return b"\n".join(lines[: max(0, len(lines) - 1 - len(CALLS))])


def record_outcome(whole: bytes, truth: object, chance: random.Random) -> str:
    try:
        found = unsealed(damaged(whole, chance), "the record")
    except DamagedError:
        return "refused"
    return "harmless" if json.dumps(found) == json.dumps(truth) else "silent"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    chance = random.Random(given.seed)
    counts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    records = {
        str(file.relative_to(ROOT)): file.read_bytes()
        for folder in ("audits/papers", "audits/papers/recorded", "audits/specimens")
        for file in sorted((ROOT / folder).glob("*.json"))
    }
    truths = {name: unsealed(content, name) for name, content in records.items()}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "journal.jsonl"
        jobs = [Job(key=f"seed={n}", function=result_of, arguments=(n,)) for n in range(8)]
        truth = run_jobs(jobs, file, stream=io.StringIO())
        whole = file.read_bytes()
        for number in range(given.count):
            if number % 2:
                counts["journal"][journal_outcome(file, whole, truth, chance)] += 1
                continue
            name = chance.choice(list(records))
            counts[name][record_outcome(records[name], truths[name], chance)] += 1
    silent = sum(counter["silent"] for counter in counts.values())
    summary = {
        "what": "Flipped bits and cuts in journals and records, and what became of them",
        "command": "python benchmarks/soak_flips.py " + " ".join(sys.argv[1:]),
        "date": datetime.date.today().isoformat(),
        "seed": given.seed,
        "python": platform.python_version(),
        "versions": versions.installed(),
        "damages": given.count,
        "silent": silent,
        "outcomes": {name: dict(sorted(counts[name].items())) for name in sorted(counts)},
    }
    write_atomically(given.output, json.dumps(summary, indent=1, ensure_ascii=False) + "\n")
    print(f"{given.count} damages, {silent} silent")
    return 1 if silent else 0


if __name__ == "__main__":
    sys.exit(main())
