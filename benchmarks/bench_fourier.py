"""The Fourier accountant against its peers, in one process.

    python benchmarks/bench_fourier.py [--quick] [--random N] [--write]

Prints Markdown tables: times (least of several runs), ratios and certified relative gaps on the
named settings; a random sample by regime; scaling in the number of steps and of distinct events;
the curve and the calibration. `--write` records them, with versions, in
benchmarks/results/fourier.json and draws the Pareto plot (time against gap) beside it. Ratios are
peer time over ours in one run.
"""

import argparse
import json
import math
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

# As a script, its neighbours would shadow the packages of the same names.
sys.path = [entry for entry in sys.path if Path(entry).resolve() != Path(__file__).parent]

import dp_accounting as dpa
import numpy as np
from absl import logging as absl_logging

from accountants import FourierAccountant, calibrate_noise, epsilon_curve, versions

RESULTS = Path(__file__).parent / "results"
NAMED = [
    (1.0, 0.01, 1_000, 1e-5),
    (1.0, 0.01, 10_000, 1e-5),
    (0.8, 0.001, 100_000, 1e-6),
    (5.0, 0.02, 2_500, 1e-4),
    (2.0, 0.1, 500, 1e-5),
    (0.5, 0.005, 2_000, 1e-6),
    (10.0, 0.5, 1_000_000, 1e-5),
    (1.0, 1.0, 100, 1e-5),
    (1.0, 0.01, 1_000, 1e-10),
    (1.0, 0.01, 1_000, 1e-15),
    (1.0, 0.01, 1_000, 1e-20),
    (1.0, 0.01, 1_000, 1e-50),
    (1.0, 1e-4, 10_000_000, 1e-6),
]
# prv-accountant needs minutes or all memory beyond this.
PRV_MAX_STEPS = 100_000


def step(sigma: float, rate: float) -> dpa.DpEvent:
    gaussian = dpa.GaussianDpEvent(sigma)
    return gaussian if rate == 1.0 else dpa.PoissonSampledDpEvent(rate, gaussian)


def measure(compute: Callable[[], Any], repeats: int) -> tuple[Any, float]:
    """The last value, and the least time."""
    best, value = math.inf, None
    for _ in range(repeats):
        start = time.perf_counter()
        value = compute()
        best = min(best, time.perf_counter() - start)
    return value, best


def ours(sigma: float, rate: float, steps: int, delta: float, tolerance: float) -> Any:
    accountant = FourierAccountant(tolerance=tolerance).compose(step(sigma, rate), steps)
    return accountant.epsilon_answer(delta)


def pld(sigma: float, rate: float, steps: int, delta: float) -> float:
    return float(dpa.pld.PLDAccountant().compose(step(sigma, rate), steps).get_epsilon(delta))


def prv(sigma: float, rate: float, steps: int, delta: float) -> tuple[float, float]:
    import prv_accountant

    mechanism = prv_accountant.PoissonSubsampledGaussianMechanism(
        sampling_probability=rate, noise_multiplier=sigma
    )
    accountant = prv_accountant.PRVAccountant(
        prvs=[mechanism], max_self_compositions=[steps], eps_error=0.01, delta_error=delta / 1000
    )
    lower, _, upper = accountant.compute_epsilon(delta, [steps])
    return float(lower), float(upper)


def attempt(compute: Callable[[], Any], repeats: int) -> tuple[Any, float]:
    """`measure`, or the error's name where a peer gives up."""
    try:
        return measure(compute, repeats)
    except Exception as error:
        return type(error).__name__, math.nan


def named_settings(repeats: int, peer_repeats: int) -> list[dict[str, Any]]:
    rows = []
    for setting in NAMED:
        _, rate, steps, _ = setting
        loose, loose_time = measure(lambda s=setting: ours(*s, 1e-6), repeats)
        tight, tight_time = measure(lambda s=setting: ours(*s, 1e-10), repeats)
        peer, peer_time = attempt(lambda s=setting: pld(*s), peer_repeats)
        if rate < 1.0 and steps <= PRV_MAX_STEPS:
            other, other_time = attempt(lambda s=setting: prv(*s), 1)
        else:
            other, other_time = "not run", math.nan
        rows.append(
            {
                "setting": setting,
                "epsilon": list(tight.bounds),
                "engine": tight.engine,
                "gap_1e-6": loose.relative_gap,
                "gap_1e-10": tight.relative_gap,
                "ms_1e-6": 1e3 * loose_time,
                "ms_1e-10": 1e3 * tight_time,
                "dp_accounting": peer,
                "dp_accounting_ms": 1e3 * peer_time,
                "dp_accounting_ratio": peer_time / loose_time,
                "prv": other,
                "prv_ms": 1e3 * other_time,
                "prv_ratio": other_time / loose_time,
            }
        )
    return rows


def print_named(rows: list[dict[str, Any]]) -> None:
    print(
        "| σ, q, T, δ | ε | ms (1e-6) | gap | ms (1e-10) | gap | dp-accounting ms | ratio | prv ms"
        " |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        sigma, rate, steps, delta = row["setting"]
        print(
            f"| {sigma:g}, {rate:g}, {steps:g}, {delta:g} | {row['epsilon'][1]:.10g} "
            f"| {row['ms_1e-6']:.2f} | {row['gap_1e-6']:.1e} "
            f"| {row['ms_1e-10']:.2f} | {row['gap_1e-10']:.1e} "
            f"| {row['dp_accounting_ms']:.0f} | {row['dp_accounting_ratio']:.0f} "
            f"| {row['prv_ms']:.0f} |"
        )
    ratios = [row["dp_accounting_ratio"] for row in rows]
    print(
        f"\ndp-accounting's time over ours: median {np.nanmedian(ratios):.0f}, "
        f"least {np.nanmin(ratios):.0f}\n"
    )


def random_settings(count: int, seed: int = 20261116) -> dict[str, Any]:
    """Gaps and times on log-uniform random settings, by regime."""
    rng = np.random.default_rng(seed)

    def draw(low: float, high: float) -> float:
        return float(np.exp(rng.uniform(np.log(low), np.log(high))))

    regimes: dict[str, list[tuple[float, float]]] = {"many steps": [], "elsewhere": []}
    for _ in range(count):
        sigma, rate, steps, delta = (
            draw(0.4, 20),
            draw(1e-5, 1),
            round(draw(1, 1e7)),
            draw(1e-14, 1e-2),
        )
        home = steps * rate**2 >= 0.01 and steps >= 100
        tolerance = 1e-8 if home else 1e-4
        start = time.perf_counter()
        answer = ours(sigma, rate, steps, delta, tolerance)
        seconds = time.perf_counter() - start
        regimes["many steps" if home else "elsewhere"].append((answer.relative_gap, seconds))
    summary = {}
    for name, target in (("many steps", 1e-8), ("elsewhere", 1e-3)):
        gaps, seconds = np.array(regimes[name]).T
        summary[name] = {
            "count": len(gaps),
            "target_gap": target,
            "share_within": float(np.mean(gaps <= target)),
            "gap_quantiles_50_95_100": np.quantile(gaps, [0.5, 0.95, 1.0]).tolist(),
            "ms_quantiles_50_95_100": (1e3 * np.quantile(seconds, [0.5, 0.95, 1.0])).tolist(),
        }
        print(f"random, {name}: {summary[name]}")
    return summary


def scaling(repeats: int) -> dict[str, Any]:
    """Times against the number of steps (T·q² fixed from 100 steps on) and of distinct events."""
    steps_rows = []
    for exponent in range(10):
        steps = 10**exponent
        rate = min(0.1, 0.3 / math.sqrt(steps))
        answer, seconds = measure(lambda t=steps, q=rate: ours(1.0, q, t, 1e-6, 1e-6), repeats)
        steps_rows.append([steps, rate, 1e3 * seconds, answer.relative_gap, answer.engine])
        print(
            f"T = 1e{exponent}, q = {rate:.3g}: {1e3 * seconds:.2f} ms, "
            f"gap {answer.relative_gap:.1e}"
        )
    events_rows = []
    for distinct in (1, 10, 100, 500, 1000):
        event = dpa.ComposedDpEvent(
            [
                dpa.SelfComposedDpEvent(step(sigma, rate), max(1, 5000 // distinct))
                for sigma, rate in zip(
                    np.linspace(0.8, 3, distinct).tolist(),
                    np.linspace(0.005, 0.02, distinct).tolist(),
                    strict=True,
                )
            ]
        )
        answer, seconds = measure(
            lambda e=event: FourierAccountant().compose(e).epsilon_answer(1e-5), min(repeats, 3)
        )
        events_rows.append([distinct, 1e3 * seconds, answer.relative_gap, answer.engine])
        print(f"{distinct} distinct events: {1e3 * seconds:.0f} ms, gap {answer.relative_gap:.1e}")
    return {"steps": steps_rows, "events": events_rows}


def curve_and_calibration(peer: bool) -> dict[str, Any]:
    setting = {"sampling_rate": 0.01, "delta": 1e-5}
    curve, curve_seconds = measure(
        lambda: epsilon_curve(noise_multiplier=1.0, steps=range(1, 1001), **setting), 2
    )
    gap = float(np.max((curve.upper - curve.lower) / curve.upper))
    print(f"ε after each of 1000 steps: {curve_seconds:.2f} s, largest relative gap {gap:.1e}")
    sigma, seconds = measure(
        lambda: calibrate_noise(target_epsilon=1.0, steps=10_000, **setting), 3
    )
    result = {"curve_seconds": curve_seconds, "curve_gap": gap, "sigma": sigma, "seconds": seconds}
    if peer:

        def calibrate_peer() -> float:
            return float(
                dpa.calibrate_dp_mechanism(
                    dpa.pld.PLDAccountant,
                    lambda s: dpa.SelfComposedDpEvent(step(s, 0.01), 10_000),
                    1.0,
                    1e-5,
                )
            )

        peer_sigma, peer_seconds = measure(calibrate_peer, 1)
        result |= {"peer_sigma": peer_sigma, "peer_seconds": peer_seconds}
        result["ratio"] = peer_seconds / seconds
    print(f"calibration: {result}")
    return result


def draw_pareto(rows: list[dict[str, Any]], target: Path) -> None:
    """Time against certified relative gap, one point per setting and accountant."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for key, label in (
        ("1e-6", "dp-assay Fourier, tolerance 1e-6"),
        ("1e-10", "dp-assay Fourier, 1e-10"),
    ):
        axes.loglog(
            [row[f"ms_{key}"] for row in rows],
            [max(row[f"gap_{key}"], 1e-14) for row in rows],
            "o",
            label=label,
        )
    peers = [row for row in rows if isinstance(row["dp_accounting"], float)]
    # It answers inf at tiny δ, and is a rounding error below the exact Gaussian: not drawn.
    finite = [row for row in peers if row["epsilon"][1] < row["dp_accounting"] < math.inf]
    axes.loglog(
        [row["dp_accounting_ms"] for row in finite],
        [max(row["dp_accounting"] / row["epsilon"][0] - 1, 1e-14) for row in finite],
        "s",
        label="dp-accounting PLD (upper only; excess over ours)",
    )
    prv_rows = [row for row in rows if isinstance(row["prv"], list | tuple)]
    axes.loglog(
        [row["prv_ms"] for row in prv_rows],
        [(row["prv"][1] - row["prv"][0]) / row["prv"][1] for row in prv_rows],
        "^",
        label="prv-accountant, eps_error 0.01",
    )
    axes.set_xlabel("time, ms (least of several runs, one process)")
    axes.set_ylabel("relative gap of ε")
    axes.set_title("Left and down is better: the named settings")
    axes.grid(visible=True, which="major", alpha=0.3)
    axes.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2)
    figure.savefig(target, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer repeats, no slow peer runs")
    parser.add_argument("--random", type=int, default=200, help="number of random settings")
    parser.add_argument("--write", action="store_true", help="record the results")
    options = parser.parse_args()
    absl_logging.set_verbosity(absl_logging.ERROR)
    warnings.simplefilter("ignore")
    computed_by = versions.installed("prv-accountant")
    print(f"{computed_by}\n")
    rows = named_settings(3 if options.quick else 7, 1 if options.quick else 2)
    print_named(rows)
    results = {
        "versions": computed_by,
        "command": "python benchmarks/bench_fourier.py --write",
        "date": time.strftime("%Y-%m-%d"),
        "named": rows,
        "random": random_settings(options.random),
        "scaling": scaling(3 if options.quick else 5),
        "curve_and_calibration": curve_and_calibration(peer=not options.quick),
    }
    if options.write:
        RESULTS.mkdir(exist_ok=True)
        text = json.dumps(results, indent=1, default=str)
        (RESULTS / "fourier.json").write_text(text + "\n", encoding="utf-8")
        draw_pareto(rows, RESULTS / "fourier_pareto.png")


if __name__ == "__main__":
    main()
