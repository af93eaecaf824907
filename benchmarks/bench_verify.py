"""How the independent checker does: a thousand fresh certificates, and a thousand forged ones.

python benchmarks/bench_verify.py JOURNAL --workers 2    # resumes; writes results/verify.json

Settings are drawn over all covered events and certified at the default tolerance, so that the
checker did not choose the interval. Each certificate is checked, and then a forgery of it, whose
statement is false whatever the interval's width: an end moved by a relative 1e-6 past the
interval's other end, half the δ, the event twice, another relation, or an edit under the old
checksum.
"""

import argparse
import collections
import concurrent.futures
import datetime
import json
import math
import time
from pathlib import Path

import dp_accounting as dpa
import numpy as np
from dp_accounting import NeighboringRelation
from dp_accounting.dp_event import (
    ComposedDpEvent,
    DiscreteLaplaceDpEvent,
    LaplaceDpEvent,
    MixtureOfGaussiansDpEvent,
    RandomizedResponseDpEvent,
    SampledWithoutReplacementDpEvent,
    SelfComposedDpEvent,
)

from accountants import BallsInBinsDpEvent, FourierAccountant, seals, versions
from accountants.verify import verify

RESULT = Path(__file__).parent / "results" / "verify.json"
ADD, ONE, ZERO = "ADD_OR_REMOVE_ONE", "REPLACE_ONE", "REPLACE_SPECIAL"
ANY = (ADD, ONE, ZERO)


class Drawn:
    """Parameters at random."""

    def __init__(self, number):
        self.rng = np.random.default_rng([18, number])

    def log(self, low, high):
        """Uniform in the logarithm, three digits."""
        return float(f"{math.exp(self.rng.uniform(math.log(low), math.log(high))):.3g}")

    def count(self, low, high):
        """A whole number, likewise."""
        return int(self.log(low, high))

    def one(self, values):
        """One of them."""
        return values[int(self.rng.integers(len(values)))]

    def poisson(self, low=1e-4, high=0.5):
        """One sampled step."""
        noise = dpa.GaussianDpEvent(self.log(0.5, 8.0))
        return dpa.PoissonSampledDpEvent(self.log(low, high), noise)


def times(event, count):
    return SelfComposedDpEvent(event, int(count))


def gaussian(draw):
    return times(dpa.GaussianDpEvent(draw.log(0.3, 100.0)), draw.count(1, 1000)), draw.one(ANY)


def sampled(draw):
    return times(draw.poisson(), draw.count(50, 1e5)), draw.one(ANY)


def sampled_very_often(draw):
    return times(draw.poisson(1e-6, 1e-3), draw.count(1e6, 1e9)), draw.one((ADD, ONE))


def sampled_once(draw):
    return draw.poisson(), draw.one(ANY)


def sampled_a_few_times(draw):
    return times(draw.poisson(0.02, 0.5), draw.count(2, 20)), draw.one((ADD, ONE))


def fixed_size(draw):
    size = draw.count(100, 1e6)
    event = SampledWithoutReplacementDpEvent(
        size, max(1, int(size * draw.log(1e-3, 0.4))), dpa.GaussianDpEvent(draw.log(1.0, 10.0))
    )
    return times(event, draw.one((1, draw.count(50, 3000)))), ONE


def laplace(draw):
    return times(LaplaceDpEvent(draw.log(1.0, 50.0)), draw.count(1, 1000)), draw.one(ANY)


def discrete_laplace(draw):
    event = DiscreteLaplaceDpEvent(draw.log(0.02, 1.0), draw.count(1, 6))
    return times(event, draw.count(1, 50)), draw.one(ANY)


def responses(draw):
    event = RandomizedResponseDpEvent(draw.log(0.1, 0.98), draw.count(2, 50))
    return times(event, draw.count(1, 200)), draw.one((ONE, ZERO))


def mixture(draw):
    weights = draw.rng.dirichlet([8.0, 1.0, 1.0]).tolist()
    event = MixtureOfGaussiansDpEvent(draw.log(1.0, 8.0), [0.0, 1.0, 2.0], weights)
    return times(event, draw.count(20, 2000)), draw.one((ADD, ZERO))


def balls_in_bins(draw):
    event = BallsInBinsDpEvent(2, dpa.GaussianDpEvent(draw.log(0.5, 10.0)))
    return times(event, draw.count(1, 30)), draw.one((ADD, ZERO))


def composed(draw):
    parts = [
        times(draw.poisson(1e-3, 0.1), draw.count(100, 1000)),
        times(dpa.GaussianDpEvent(draw.log(3.0, 20.0)), draw.count(1, 5)),
        times(LaplaceDpEvent(draw.log(3.0, 20.0)), draw.count(1, 3)),
        times(DiscreteLaplaceDpEvent(draw.log(0.05, 0.3), 1), draw.count(1, 3)),
    ]
    chosen = draw.rng.permutation(4)[: draw.count(2, 4)]
    return ComposedDpEvent([parts[k] for k in sorted(chosen)]), draw.one((ADD, ZERO))


FAMILIES = (
    gaussian, sampled, sampled_very_often, sampled_once, sampled_a_few_times, fixed_size, laplace,
    discrete_laplace, responses, mixture, composed, balls_in_bins,
)  # fmt: skip


def certificate(number):
    """(family, the certificate's text); ε is positive and finite."""
    draw, family = Drawn(number), FAMILIES[number % len(FAMILIES)]
    while True:
        event, relation = family(draw)
        delta = draw.log(1e-12, 1e-3)
        accountant = FourierAccountant(NeighboringRelation[relation]).compose(event)
        made = accountant.certify([delta])
        ((_, lower, upper),) = made.points
        if lower > 1e-3 and upper < 500.0:
            return family.__name__, made.to_json()


def forgeries(body):
    """(what was changed, the text): each states what is false."""
    ((delta, lower, upper),) = body["points"]
    relation, event = body["neighboring_relation"], body["event"]
    twice = {"type": "SelfComposedDpEvent", "event": event, "count": 2}
    yield "upper end", {"points": [[delta, 0.0, lower * (1 - 1e-6)]]}
    yield "lower end", {"points": [[delta, upper * (1 + 1e-6), upper * 1.1]]}
    yield "delta", {"points": [[delta / 2, 0.0, lower]]}
    yield "event", {"event": twice, "points": [[delta, 0.0, lower]]}
    words = json.dumps(event)
    if relation == ONE and not any(word in words for word in ("WithoutReplacement", "Randomized")):
        # One record more or less costs less than a replaced one.
        points = [[delta, lower, upper * 1.1]]
        yield "relation", {"neighboring_relation": ADD, "points": points}
    elif relation != ONE and not any(word in words for word in ("Mixture", "BallsInBins")):
        yield "relation", {"neighboring_relation": ONE, "points": [[delta, 0.0, lower]]}
    yield "checksum", None  # an edit that keeps the old one


def checked(text):
    start = time.process_time()
    try:
        word = verify(text).word
    except ValueError as reason:
        word = "REFUSED" if "sha256" in str(reason) else f"error: {reason}"
    return {"word": word, "seconds": round(time.process_time() - start, 4)}


def examine(number):
    """The record of one setting: the certificate, and one forgery of it."""
    start = time.process_time()
    family, text = certificate(number)
    made = round(time.process_time() - start, 4)
    body = json.loads(text)
    forged = list(forgeries(body))
    kind, changes = forged[number // len(FAMILIES) % len(forged)]
    edited = body | (changes or {"points": [[*body["points"][0][:2], 1000.0]]})
    other = json.dumps(edited if changes is None else seals.sealed(edited))
    return {
        "number": number, "family": family, "seconds_to_certify": made, "true": checked(text),
        "forged": {"kind": kind} | checked(other),
        "setting": [body["event"], body["neighboring_relation"], body["points"]],
    }  # fmt: skip


def summary(rows):
    """What is recorded."""
    result = {}
    for name in ("true", "forged"):
        words = collections.Counter(row[name]["word"] for row in rows)
        seconds = [row[name]["seconds"] for row in rows]
        result[name] = {
            "words": dict(words),
            "median_cpu_seconds": round(float(np.median(seconds)), 3),
            "p95_cpu_seconds": round(float(np.quantile(seconds, 0.95)), 3),
            "slowest_cpu_seconds": max(seconds),
        }
    result["forged"]["by_kind"] = {
        kind: dict(
            collections.Counter(r["forged"]["word"] for r in rows if r["forged"]["kind"] == kind)
        )
        for kind in sorted({row["forged"]["kind"] for row in rows})
    }
    result["true"]["by_family"] = {
        family: dict(collections.Counter(r["true"]["word"] for r in rows if r["family"] == family))
        for family in sorted({row["family"] for row in rows})
    }
    result["not_as_they_should_be"] = [
        row for row in rows
        if row["true"]["word"] != "VERIFIED" or row["forged"]["word"] not in ("REFUTED", "REFUSED")
    ]  # fmt: skip
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("journal", type=Path)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=1)
    given = parser.parse_args()
    lines = given.journal.read_text("utf-8").splitlines() if given.journal.exists() else []
    found = {row["number"]: row for row in map(json.loads, lines)}
    waiting = [number for number in range(given.count) if number not in found]
    with concurrent.futures.ProcessPoolExecutor(given.workers) as pool:
        for row in pool.map(examine, waiting):
            found[row["number"]] = row
            with given.journal.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
    rows = [found[number] for number in sorted(found) if number < given.count]
    result = {
        "date": datetime.date.today().isoformat(),
        "command": f"python benchmarks/bench_verify.py JOURNAL --count {given.count}",
        "versions": versions.installed("python-flint"),
        "settings": len(rows),
    } | summary(rows)
    RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
