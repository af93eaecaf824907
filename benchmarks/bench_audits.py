"""Power, false alarms and time of the audits: `python benchmarks/bench_audits.py [SECTION ...]`.

Writes `benchmarks/results/audits.json`; a section that is not asked for keeps its last figures.
"""

import argparse
import datetime
import json
import os
import platform
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
ROOT = Path(__file__).resolve().parent.parent
# This file's own folder goes: it would hide the package of the same name.
sys.path[0] = str(ROOT / "tests" / "quality")

import dp_accounting as dpa
import numpy as np
from scipy import stats
from true_mechanisms import TRUE, gaussian

from accountants import versions
from audits import (
    Claim,
    EventClaim,
    PointClaim,
    audit,
)
from audits.estimators.white_box import audit_noise

SEED = 20240607
RESULTS = ROOT / "benchmarks" / "results" / "audits.json"


def one_true(name: str, confidence: float, draws: int, seeds: list[int]) -> list[bool]:
    """Whether each of some audits of a true claim cried wolf."""
    case = TRUE[name]
    claim = case.claim()
    return [
        audit(
            case.mechanism,
            case.pair,
            claim,
            confidence=confidence,
            max_samples=draws,
            rng=np.random.default_rng([SEED, seed]),
        ).refuted
        for seed in seeds
    ]


def false_alarms(pool: ProcessPoolExecutor, runs: int) -> Iterator[dict[str, Any]]:
    """Audits of true claims at 95%, looked at after every draw and stopped when it pleases.

    Rounds of 1,000 runs of each mechanism, with the figures so far after each round.
    """
    alarms, done = dict.fromkeys(TRUE, 0), 0
    while done < runs:
        size = min(1000, runs - done)
        for name in TRUE:
            batches = [
                list(range(i, min(done + size, i + 50))) for i in range(done, done + size, 50)
            ]
            found = pool.map(partial(one_true, name, 0.95, 200), batches)
            alarms[name] += sum(sum(batch) for batch in found)
        done += size
        p_values = {
            name: float(stats.binomtest(count, done, 0.05, alternative="greater").pvalue)
            for name, count in alarms.items()
        }
        yield {
            name: {
                "runs": done,
                "alarms": alarms[name],
                "rate": alarms[name] / done,
                "p_value_of_more_than_5_percent": p_values[name],
                "within_target": p_values[name] > 1e-6,
                "draws_per_side": 200,
            }
            for name in TRUE
        }


def one_false(
    claim: Claim, sigma: float, steps: int, draws: int, seed: int
) -> tuple[int, int, bool, float]:
    pair = (float(np.sqrt(steps)), 0.0)
    start = time.perf_counter()
    verdict = audit(
        partial(gaussian, sigma=sigma),
        pair,
        claim,
        max_samples=draws,
        rng=np.random.default_rng([SEED, 1, seed]),
    )
    seconds = time.perf_counter() - start
    return verdict.evidence.samples, verdict.evidence.drawn, verdict.refuted, seconds


def summary(rows: list[tuple[int, int, bool, float]]) -> dict[str, Any]:
    samples, drawn, refuted, seconds = (np.array(column) for column in zip(*rows, strict=True))
    reached = np.where(refuted, samples, np.inf)
    return {
        "repetitions": len(rows),
        "refuted": float(refuted.mean()),
        "samples_per_side_median": float(np.quantile(reached, 0.5, method="higher")),
        "samples_per_side_95": float(np.quantile(reached, 0.95, method="higher")),
        "drawn_per_side_median": float(np.median(drawn)),
        "seconds_median": float(np.median(seconds)),
    }


def power(pool: ProcessPoolExecutor, runs: int) -> Iterator[dict[str, Any]]:
    """Draws until conviction at 99%."""
    table = {}
    cases = {
        "noise too small by √2, curve": (EventClaim(dpa.GaussianDpEvent(1.0)), 2**-0.5, 1, 20_000),
        "3 steps claimed, 4 done": (
            EventClaim(dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(1.0), 3)),
            1.0,
            4,
            50_000,
        ),
        "noise too small by √2, point": (
            PointClaim(4.377, delta=1e-5),
            2**-0.5,
            1,
            2_000_000,
        ),
    }
    for name, (claim, sigma, steps, draws) in cases.items():
        repetitions = runs if "point" not in name else max(1, runs // 4)
        claim.region()
        rows = list(pool.map(partial(one_false, claim, sigma, steps, draws), range(repetitions)))
        table[name] = summary(rows)
        yield table


def one_white_box(seed: int) -> int:
    verdict = audit_noise(
        lambda rng, n: np.asarray(rng.normal(scale=2**-0.5, size=n)),
        noise_multiplier=1.0,
        rng=np.random.default_rng([SEED, 2, seed]),
    )
    return verdict.evidence.samples if verdict.refuted else 10**9


def white_box(pool: ProcessPoolExecutor, runs: int) -> Iterator[dict[str, Any]]:
    """Draws until conviction when the noise itself is in view."""
    draws = np.array(list(pool.map(one_white_box, range(runs), chunksize=20)))
    yield {
        "repetitions": runs,
        "draws_median": float(np.median(draws)),
        "draws_95": float(np.quantile(draws, 0.95)),
    }


SECTIONS = {"white_box": white_box, "power": power, "false_alarms": false_alarms}


def provenance() -> dict[str, Any]:
    return {
        "date": datetime.date.today().isoformat(),
        "seed": SEED,
        "command": "python benchmarks/bench_audits.py " + " ".join(sys.argv[1:]),
        "python": platform.python_version(),
        "versions": versions.installed(),
    }


def record(section: str, entry: dict[str, Any]) -> None:
    RESULTS.parent.mkdir(exist_ok=True)
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    results[section] = entry
    RESULTS.write_text(json.dumps(results, indent=2, ensure_ascii=False, sort_keys=True) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", default=list(SECTIONS), choices=[*SECTIONS, []])
    parser.add_argument("--runs", type=int, default=500, help="repetitions for power")
    parser.add_argument("--alarm-runs", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    with ProcessPoolExecutor(options.workers) as pool:
        for name in options.sections or SECTIONS:
            runs = options.alarm_runs if name == "false_alarms" else options.runs
            for figures in SECTIONS[name](pool, runs):
                print(json.dumps({name: figures}, ensure_ascii=False), flush=True)
                record(name, {"figures": figures} | provenance())


if __name__ == "__main__":
    main()
