"""Ordinary DP-SGD, 576 settings per way of sampling: the intervals' widths, and the times.

    python benchmarks/bench_dp_sgd.py [--every K] [--only NAME ...] [--profile K] [--write]

ε(δ) at the default tolerance on the product of σ .5–4, q 1e-4–.1, T 10–1e5 and δ 1e-5–1e-8: under
ADD_OR_REMOVE_ONE and REPLACE_ONE with Poisson sampling, and for batches of fixed size. Printed are
median, 95th percentile and worst of the relative gap and of the time, and the worst settings by
name. Then trade-off curves and calibrations on a sample. `--every 8` takes each eighth setting;
`--only fixed_size` leaves the rest out; `--write` records everything, with versions, in
benchmarks/results/dp_sgd.json. Times are CPU seconds of single runs, first calls included.
"""

import argparse
import itertools
import json
import math
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

# As a script, its neighbours would shadow the packages of the same names.
sys.path = [entry for entry in sys.path if Path(entry).resolve() != Path(__file__).parent]

import dp_accounting as dpa
import numpy as np
from dp_accounting import NeighboringRelation

from accountants import FourierAccountant, calibrate_noise, versions
from accountants.dp_sgd import step_event
from accountants.sampling import SamplingKind

RESULTS = Path(__file__).parent / "results"
NOISE_MULTIPLIERS = (0.5, 1.0, 2.0, 4.0)
RATES = (1e-4, 1e-3, 4e-3, 1e-2, 3e-2, 1e-1)
STEPS = (10, 100, 1_000, 10_000, 30_000, 100_000)
DELTAS = (1e-5, 1e-6, 1e-7, 1e-8)
SETTINGS = tuple(itertools.product(NOISE_MULTIPLIERS, RATES, STEPS, DELTAS))
ALPHAS = (0.0, 1e-6, 1e-3, 0.01, 0.05, 0.25, 0.5, 0.9, 1.0)
TARGETS = (0.5, 2.0, 8.0)


class Kind(NamedTuple):
    """A relation and a way of sampling."""

    relation: NeighboringRelation
    sampling: SamplingKind

    def event(self, sigma: float, rate: float) -> dpa.DpEvent:
        """One step."""
        return step_event(sigma, rate, self.sampling, self.relation)


KINDS = {
    "add_or_remove": Kind(NeighboringRelation.ADD_OR_REMOVE_ONE, "poisson"),
    "replace": Kind(NeighboringRelation.REPLACE_ONE, "poisson"),
    "fixed_size": Kind(NeighboringRelation.REPLACE_ONE, "fixed_size"),
}


def quantiles(values: Sequence[float]) -> dict[str, float]:
    median, p95, worst = np.quantile(np.asarray(values, dtype=float), [0.5, 0.95, 1.0]).tolist()
    return {"median": median, "p95": p95, "worst": worst}


def timed(compute: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    value = compute()
    return value, time.process_time() - start


def epsilons(kind: Kind, settings: Sequence[tuple[float, float, int, float]]) -> dict[str, Any]:
    """ε(δ) of every setting."""
    rows = []
    for sigma, rate, steps, delta in settings:

        def answer(s: float = sigma, q: float = rate, t: int = steps, d: float = delta) -> Any:
            return FourierAccountant(kind.relation).compose(kind.event(s, q), t).epsilon_answer(d)

        found, seconds = timed(answer)
        lower, upper = found.bounds
        gap = found.relative_gap if math.isfinite(upper) else math.inf
        rows.append(
            {
                "setting": [sigma, rate, steps, delta],
                "bounds": [lower, upper],
                "gap": gap,
                "seconds": seconds,
                "engine": found.engine,
            }
        )
    return summary(rows)


def trade_offs(kind: Kind, settings: Sequence[tuple[float, float, int, float]]) -> dict[str, Any]:
    """Trade-off curves at `ALPHAS`; the gap is absolute, of numbers in [0, 1]."""
    rows = []
    for sigma, rate, steps in sorted({setting[:3] for setting in settings}):
        accountant = FourierAccountant(kind.relation).compose(kind.event(sigma, rate), steps)
        curve, seconds = timed(lambda a=accountant: a.trade_off(ALPHAS))
        gap = float(np.max(curve.upper - curve.lower))
        rows.append({"setting": [sigma, rate, steps], "gap": gap, "seconds": seconds})
    return summary(rows)


def calibrations(kind: Kind, settings: Sequence[tuple[float, float, int, float]]) -> dict[str, Any]:
    """Noise for ε targets; the gap is how far below the target the certified ε stays, relative."""
    rows = []
    for (_, rate, steps, delta), target in zip(settings, itertools.cycle(TARGETS), strict=False):

        def calibrate(
            q: float = rate, t: int = steps, d: float = delta, e: float = target
        ) -> float:
            return calibrate_noise(
                target_epsilon=e,
                delta=d,
                sampling_rate=q,
                steps=t,
                relation=kind.relation,
                sampling=kind.sampling,
            )

        sigma, seconds = timed(calibrate)
        accountant = FourierAccountant(kind.relation).compose(kind.event(sigma, rate), steps)
        gap = 1.0 - accountant.get_epsilon_bounds(delta).upper / target
        row = {"setting": [target, rate, steps, delta], "sigma": sigma}
        rows.append(row | {"gap": gap, "seconds": seconds})
    return summary(rows)


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    widest = max(rows, key=lambda row: row["gap"])
    slowest = max(rows, key=lambda row: row["seconds"])
    return {
        "count": len(rows),
        "gap": quantiles([row["gap"] for row in rows]),
        "seconds": quantiles([row["seconds"] for row in rows]),
        "total_seconds": sum(row["seconds"] for row in rows),
        "widest": widest["setting"],
        "slowest": slowest["setting"],
        "rows": rows,
    }


def show(name: str, question: str, found: dict[str, Any]) -> None:
    gap, seconds = found["gap"], found["seconds"]
    print(
        f"{name}, {question} ({found['count']}): gap median {gap['median']:.1e}, "
        f"p95 {gap['p95']:.1e}, worst {gap['worst']:.1e} at {found['widest']}; "
        f"seconds median {seconds['median']:.4f}, p95 {seconds['p95']:.3f}, "
        f"worst {seconds['worst']:.3f} at {found['slowest']}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--every", type=int, default=1, help="take each K-th setting only")
    parser.add_argument("--only", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument(
        "--profile", type=int, default=37, help="each K-th for trade-off and calibration; 0: none"
    )
    parser.add_argument("--write", action="store_true", help="record the results")
    options = parser.parse_args()
    results: dict[str, Any] = {
        "versions": versions.installed(),
        "command": "python benchmarks/" + " ".join([Path(sys.argv[0]).name, *sys.argv[1:]]),
        "date": time.strftime("%Y-%m-%d"),
    }
    print(f"{results['versions']}\n")
    for name in options.only:
        kind = KINDS[name]
        found = {"epsilon": epsilons(kind, SETTINGS[:: options.every])}
        show(name, "epsilon", found["epsilon"])
        if options.profile:
            for question, compute in (("trade_off", trade_offs), ("calibrate", calibrations)):
                found[question] = compute(kind, SETTINGS[:: options.profile])
                show(name, question, found[question])
        results[name] = found
    if options.write:
        RESULTS.mkdir(exist_ok=True)
        text = json.dumps(results, indent=None, default=str).replace('{"setting"', '\n{"setting"')
        (RESULTS / "dp_sgd.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
