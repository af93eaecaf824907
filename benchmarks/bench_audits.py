"""Power, false alarms and time of the audits: `python benchmarks/bench_audits.py [SECTION ...]`.

Writes `benchmarks/results/audits.json`; a section that is not asked for keeps its last figures. The
long sections record after every batch, and go on from there if they are started again with the same
seed, draws and versions. `--cases` takes some of their cases only.
"""

import argparse
import datetime
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
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
from true_mechanisms import ACCEPTED, TRUE, gaussian
from zoo_domains import DOMAINS

from accountants import gaussian as gaussian_curve
from accountants import versions
from audits import (
    Claim,
    EventClaim,
    PointClaim,
    Word,
    audit,
    clopper_pearson,
    estimate_epsilon,
    hunt,
)
from audits.estimators.white_box import audit_noise
from audits.specimens import SPECIMENS
from audits.testing.auditor import Run
from audits.testing.draws import PROBE, Draws
from audits.testing.progress import Progress

SEED = 20240607
RESULTS = Path(os.environ.get("RESULTS", ROOT / "benchmarks" / "results" / "audits.json"))


DELTA = 1e-5
BATCH = 50
PROBED = 2 * PROBE  # Draws of a side that are looked at before any is bet on.


def resumed(section: str, setting: dict[str, Any]) -> dict[str, Any]:
    """The figures that an earlier start left behind, if it had the same setting and versions."""
    if not RESULTS.exists():
        return {}
    entry = json.loads(RESULTS.read_text()).get(section, {})
    same = entry.get("setting") == setting and entry.get("versions") == versions.installed()
    return dict(entry["figures"]) if same else {}


class NoBound:
    """In place of the bound of ε, which has no say in the verdict and takes a third of the time."""

    def update(self, *scores: Any) -> None:
        """Nothing."""


def one_true(name: str, confidence: float, draws: int, seeds: list[int]) -> list[bool]:
    """Whether each of some audits of a true claim cried wolf: `audit`, but for its bound of ε."""
    case = TRUE[name]
    region, found = case.claim().region(), []
    for seed in seeds:
        drawn_from = int(np.random.default_rng([SEED, seed]).integers(2**63))
        run = Run(Draws(case.mechanism, case.pair, drawn_from), region, confidence, DELTA, None)
        run.bound = NoBound()
        run.to_the_end(draws, Progress(draws, False))
        found.append(run.test.crossed is not None and not run.sampler.repeated)
    return found


def in_batches(
    pool: ProcessPoolExecutor, work: Callable[[list[int]], list[Any]], done: int, runs: int
) -> Iterator[list[Any]]:
    """Results of seeds done, …, runs − 1, two batches per worker at a time."""
    width = 2 * BATCH * pool._max_workers
    for start in range(done, runs, width):
        stop = min(runs, start + width)
        batches = [list(range(i, min(stop, i + BATCH))) for i in range(start, stop, BATCH)]
        yield [row for batch in pool.map(work, batches) for row in batch]


def one_hunted(name: str, confidence: float, draws: int, seeds: list[int]) -> list[bool]:
    """Whether each of some hunts for a flaw in a sound mechanism found one."""
    case = ACCEPTED[name]
    claim = case.claim()
    return [
        hunt(
            case.mechanism,
            claim,
            domain=case.domain,
            confidence=confidence,
            max_samples=draws,
            seconds=3600.0,
            rng=np.random.default_rng([SEED, 5, seed]),
        ).refuted
        for seed in seeds
    ]


def alarms(
    pool: ProcessPoolExecutor,
    section: str,
    one: Callable[[str, float, int, list[int]], list[bool]],
    cases: dict[str, int],
    draws: int,
) -> Iterator[dict[str, Any]]:
    """True claims at 95%, looked at after every draw and stopped when it pleases."""
    figures = resumed(section, {"draws": draws})
    for name, wanted in cases.items():
        found = figures.get(name, {"runs": 0, "alarms": 0})
        work = partial(one, name, 0.95, draws)
        before = time.perf_counter()
        for rows in in_batches(pool, work, found["runs"], wanted):
            now = time.perf_counter()
            runs, count = found["runs"] + len(rows), found["alarms"] + sum(rows)
            p_value = float(stats.binomtest(count, runs, 0.05, alternative="greater").pvalue)
            found = {
                "runs": runs,
                "alarms": count,
                "rate": count / runs,
                "p_value_of_more_than_5_percent": p_value,
                "within_target": p_value > 1e-6,
                "draws_per_side": draws,
                "wall_seconds": found.get("wall_seconds", 0.0) + now - before,
            }
            before = now
            figures[name] = found
            yield {"figures": figures, "setting": {"draws": draws}}


def false_alarms(
    pool: ProcessPoolExecutor, options: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    cases = dict.fromkeys(options.cases or TRUE, options.alarm_runs)
    yield from alarms(pool, "false_alarms", one_true, cases, 200)


def false_alarms_long(
    pool: ProcessPoolExecutor, options: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    cases = dict.fromkeys(options.cases or TRUE, options.alarm_runs)
    yield from alarms(pool, "false_alarms_long", one_true, cases, options.draws)


def false_alarms_hunt(
    pool: ProcessPoolExecutor, options: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    """Hunts with a domain, each test up to 5,000 draws: so many runs in all, in equal shares."""
    cases = dict.fromkeys(options.cases or ACCEPTED, options.alarm_runs // len(ACCEPTED))
    yield from alarms(pool, "false_alarms_hunt", one_hunted, cases, 5_000)


# ε at δ = 1e-5: closed forms, the Gaussian's by the analytic curve. A geometric's is below 1 by
# about 1e-5 over the probability of its best event.
COVERED = {
    "Gaussian": gaussian_curve.epsilon(1.0, 1e-5),
    "Laplace": 1.0 + 2.0 * float(np.log1p(-1e-5)),
    "randomised response": float(np.log(3.0 - 4e-5)),
    "clamped geometric": 1.0,
    "geometric": 1.0,
}


def one_covered(name: str, confidence: float, draws: int, seeds: list[int]) -> list[bool]:
    """Whether the bound of ε was above the truth at any time, in each of some runs."""
    case = TRUE[name]
    return [
        estimate_epsilon(
            case.mechanism,
            case.pair,
            delta=1e-5,
            confidence=confidence,
            max_samples=draws,
            rng=np.random.default_rng([SEED, 3, seed]),
        ).epsilon_lower
        > COVERED[name]
        for seed in seeds
    ]


def coverage(pool: ProcessPoolExecutor, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Bounds of ε that were wrong at some time up to the horizon; the bound never goes down."""
    setting = {"draws": options.draws}
    figures = resumed("coverage", setting)
    for name in options.cases or COVERED:
        for confidence in (0.95, 0.99):
            key = f"{name}, {confidence:.0%}"
            found = figures.get(key, {"runs": 0, "wrong": 0})
            work = partial(one_covered, name, confidence, options.draws)
            before = time.perf_counter()
            for rows in in_batches(pool, work, found["runs"], options.alarm_runs):
                now = time.perf_counter()
                runs, wrong = found["runs"] + len(rows), found["wrong"] + sum(rows)
                test = stats.binomtest(wrong, runs, 1.0 - confidence, alternative="greater")
                found = {
                    "runs": runs,
                    "wrong": wrong,
                    "p_value_of_more_than_claimed": float(test.pvalue),
                    "wall_seconds": found.get("wall_seconds", 0.0) + now - before,
                }
                before = now
                figures[key] = found
                yield {"figures": figures, "setting": setting}


BOUNDED = {
    "Gaussian": lambda rng, n: (rng.normal(1, 1, n), rng.normal(0, 1, n)),
    "Laplace": lambda rng, n: (rng.laplace(1, 1, n), rng.laplace(0, 1, n)),
    "randomised response": lambda rng, n: (rng.random(n) < 0.75, rng.random(n) < 0.25),
    "disjoint supports": lambda rng, n: (2 + rng.random(n), rng.random(n)),
}


def one_bound(name: str, draws: int, seed: int) -> tuple[float, float]:
    """The anytime bound and Clopper and Pearson's, half of the draws to choose, of equal draws."""
    first, second = BOUNDED[name](np.random.default_rng([SEED, 4, seed]), draws + PROBED)
    sides = {1: iter(np.asarray(first, float)), 0: iter(np.asarray(second, float))}
    own = estimate_epsilon(
        lambda data, rng, n: np.fromiter(sides[data], float, n),
        (1, 0),
        max_samples=draws,
        chunk_size=draws,
        rng=np.random.default_rng(0),
    )
    fixed = clopper_pearson(first[PROBED:], second[PROBED:])
    return own.epsilon_lower, fixed.epsilon_lower


def bounds(pool: ProcessPoolExecutor, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Lower bounds of ε at δ = 1e-5, 99%, beside those of a fixed sample."""
    table = {}
    for name in options.cases or BOUNDED:
        for draws in (1000, 10_000, 100_000):
            runs = min(options.runs, max(10, 1_000_000 // draws))
            rows = np.array(list(pool.map(partial(one_bound, name, draws), range(runs))))
            own, fixed = rows.mean(axis=0).tolist()
            table[f"{name}, {draws}"] = {
                "runs": runs,
                "anytime_mean": own,
                "clopper_pearson_mean": fixed,
                "ratio": own / fixed,
            }
            yield {"figures": table}


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


def power(pool: ProcessPoolExecutor, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Draws until conviction at 99%."""
    table, runs = {}, options.runs
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
        yield {"figures": table}


def one_white_box(seed: int) -> int:
    verdict = audit_noise(
        lambda rng, n: np.asarray(rng.normal(scale=2**-0.5, size=n)),
        noise_multiplier=1.0,
        rng=np.random.default_rng([SEED, 2, seed]),
    )
    return verdict.evidence.samples if verdict.refuted else 10**9


def white_box(pool: ProcessPoolExecutor, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Draws until conviction when the noise itself is in view."""
    runs = options.runs
    draws = np.array(list(pool.map(one_white_box, range(runs), chunksize=20)))
    yield {
        "figures": {
            "repetitions": runs,
            "draws_median": float(np.median(draws)),
            "draws_95": float(np.quantile(draws, 0.95)),
        }
    }


def one_specimen(name: str) -> dict[str, dict[str, Any]]:
    """What hunts say of a flaw and of its twin, told nothing but the claim and the domain."""
    specimen, found = SPECIMENS[name], {}
    specimen.claim.region()
    for side in ("flawed", "repaired"):
        wall, start = time.perf_counter(), time.process_time()
        verdict = hunt(
            getattr(specimen, side),
            specimen.claim,
            domain=DOMAINS[name],
            seconds=120.0,
            rng=np.random.default_rng([SEED, 6]),
        )
        found[side] = {
            "verdict": verdict.word.value,
            "accused": verdict.refuted,
            "expected": getattr(specimen.expected, side).value,
            "draws": verdict.evidence.samples,
            "pair": verdict.evidence.pair,
            "cpu_seconds": time.process_time() - start,
            "seconds": time.perf_counter() - wall,
        }
    return found


def zoo(pool: ProcessPoolExecutor, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Every specimen and its twin hunted at 99%; what is done is kept."""
    figures = resumed("zoo", {})
    figures.pop("in all", None)
    for name in options.cases or DOMAINS:
        if name not in figures:
            figures[name] = pool.submit(one_specimen, name).result()
        sides = [one[side] for one in figures.values() for side in ("flawed", "repaired")]
        false = [one for one in sides if one["expected"] == Word.REFUTED.value]
        sound = [one for one in sides if one["expected"] != Word.REFUTED.value]
        summary = {
            "flaws": len(false),
            "found": sum(one["accused"] for one in false),
            "sound": len(sound),
            "accused": sum(one["accused"] for one in sound),
            "cpu_seconds_to_find_median": float(np.median([one["cpu_seconds"] for one in false])),
            "cpu_seconds_of_sound_median": float(np.median([one["cpu_seconds"] for one in sound])),
            "draws_to_convict_median": float(np.median([one["draws"] for one in false])),
        }
        yield {"figures": figures | {"in all": summary}, "setting": {}}


SECTIONS = {
    "white_box": white_box,
    "power": power,
    "bounds": bounds,
    "false_alarms": false_alarms,
    "false_alarms_long": false_alarms_long,
    "coverage": coverage,
    "false_alarms_hunt": false_alarms_hunt,
    "zoo": zoo,
}


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
    parser.add_argument("--alarm-runs", type=int, default=2_000, help="runs of each true claim")
    parser.add_argument(
        "--draws", type=int, default=20_000, help="the horizon of the long sections"
    )
    parser.add_argument("--cases", nargs="*", help="some of the cases of a section")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    with ProcessPoolExecutor(options.workers) as pool:
        for name in options.sections or SECTIONS:
            for entry in SECTIONS[name](pool, options):
                print(json.dumps({name: entry["figures"]}, ensure_ascii=False), flush=True)
                record(name, entry | provenance())


if __name__ == "__main__":
    main()
