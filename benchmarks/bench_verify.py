"""How the independent checker does: fresh certificates, and forged ones, resealed.

python benchmarks/bench_verify.py JOURNAL --seconds 600    # resumes; writes results/verify.json

Each known answer's setting is certified anew at the default tolerance (so the checker did not
choose the interval); then four forgeries of it: either end moved by a relative 1e-6 past the known
interval, another δ, half the event more.
"""

import argparse
import collections
import json
import time
from pathlib import Path

import numpy as np
from dp_accounting import NeighboringRelation

from accountants import FourierAccountant, codec, known_answers, seals, versions
from accountants.verify import verify

RESULT = Path(__file__).parent / "results" / "verify.json"


def forgeries(body, answer):
    """(what was changed, changes)."""
    delta, low, high = (answer[k] for k in ("delta", "epsilon_lower", "epsilon_upper"))
    twice = {"type": "SelfComposedDpEvent", "event": body["event"], "count": 2}
    yield "upper end", {"points": [[delta, 0.0, low * (1 - 1e-6)]]}
    yield "lower end", {"points": [[delta, high * (1 + 1e-6), high * 1.1]]}
    # Not at `high`: beyond the largest loss every δ is true.
    yield "delta", {"points": [[delta / 2, 0.0, low * (1 - 1e-6)]]}
    yield "event", {"event": twice, "points": [[delta, 0.0, high]]}


def timed(text):
    start = time.process_time()
    word = verify(text).word
    return {"word": word, "seconds": time.process_time() - start}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("journal", type=Path)
    parser.add_argument("--seconds", type=float, default=600.0)
    given = parser.parse_args()
    lines = given.journal.read_text("utf-8").splitlines() if given.journal.exists() else []
    found = {row["key"]: row for row in map(json.loads, lines)}
    end = time.monotonic() + given.seconds
    answers = known_answers.load()
    for number in (k for start in range(7) for k in range(start, len(answers), 7)):
        if time.monotonic() > end:
            break
        answer = answers[number]
        if answer["relative_width"] > 1e-9:
            continue
        relation = NeighboringRelation[answer["neighboring_relation"]]
        accountant = FourierAccountant(relation).compose(codec.decode_event(answer["event"]))
        text = accountant.certify([answer["delta"]]).to_json()
        body = json.loads(text)
        jobs = [("true", text)]
        for name, changes in forgeries(body, answer):
            jobs.append((name, json.dumps(seals.sealed(body | changes))))
        for name, one in jobs:
            key = f"{number} {name}"
            if key not in found:
                found[key] = {"key": key, "kind": name, **timed(one)}
                with given.journal.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(found[key]) + "\n")
    rows = list(found.values())
    words, result = collections.defaultdict(collections.Counter), {}
    for row in rows:
        words["certificates" if row["kind"] == "true" else "forged"][row["word"]] += 1
    for name, counter in words.items():
        mine = [r["seconds"] for r in rows if (r["kind"] == "true") == (name == "certificates")]
        result[name] = {
            "words": dict(counter),
            "median_cpu_seconds": round(float(np.median(mine)), 3),
            "p95_cpu_seconds": round(float(np.quantile(mine, 0.95)), 3),
        }
    result["versions"] = versions.installed("python-flint")
    RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
