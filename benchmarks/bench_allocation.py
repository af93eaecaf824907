"""Balls in bins: widths and seconds over a grid of settings, and a plot beside Poisson sampling.

    python benchmarks/bench_allocation.py            # measures and draws
    python benchmarks/bench_allocation.py --redraw   # draws what was measured

Writes `benchmarks/results/allocation.json` and `benchmarks/results/allocation.png`. The peer's
intervals, `peer` in the JSON, are kept from run to run: PLD-accounting (Feldman and Shenfeld, ICML
2026) was run by hand in an environment of its own, by `gaussian_allocation_epsilon_range`.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

from accountants import epsilon_bounds

RESULTS = Path(__file__).parent / "results"
SIGMAS = (0.5, 1.0, 3.0, 10.0)
EPOCHS = ((100, 10), (1000, 1), (1000, 100), (10_000, 1), (10_000, 100))
DELTAS = (1e-5, 1e-10)
CURVE, CURVE_STEPS, CURVE_DELTA = (0.5, 0.6, 0.7, 0.85, 1.0, 1.25, 1.5, 2.0, 3.0), 1000, 1e-5


def measured() -> list[dict[str, Any]]:
    """Width and CPU seconds of each setting, both ends, both directions."""
    rows = []
    for sigma in SIGMAS:
        for steps, epochs in EPOCHS:
            for delta in DELTAS:
                start = time.process_time()
                lower, upper = epsilon_bounds(
                    noise_multiplier=sigma,
                    sampling_rate=1 / steps,
                    steps=steps * epochs,
                    delta=delta,
                    sampling="balls_in_bins",
                )
                row = {
                    "noise_multiplier": sigma,
                    "steps_per_epoch": steps,
                    "epochs": epochs,
                    "delta": delta,
                    "lower": lower,
                    "upper": upper,
                    "relative_width": (upper - lower) / upper,
                    "cpu_seconds": time.process_time() - start,
                }
                print(row, flush=True)
                rows.append(row)
    return rows


def curves() -> list[dict[str, float]]:
    """One epoch's ε under both samplings at the same rate."""
    found = []
    for sigma in CURVE:
        asked = {
            "noise_multiplier": sigma,
            "sampling_rate": 1 / CURVE_STEPS,
            "steps": CURVE_STEPS,
            "delta": CURVE_DELTA,
        }
        bins = epsilon_bounds(**asked, sampling="balls_in_bins")
        poisson = epsilon_bounds(**asked)
        found.append(
            {
                "noise_multiplier": sigma,
                "lower": bins.lower,
                "upper": bins.upper,
                "poisson": poisson.upper,
            }
        )
    return found


def draw(results: dict[str, Any]) -> None:
    """ε over σ."""
    from matplotlib import pyplot as plt

    rows = results["curve"]
    sigmas = [row["noise_multiplier"] for row in rows]
    figure, axes = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
    axes.plot(sigmas, [row["upper"] for row in rows], label="balls in bins, certified")
    axes.plot(sigmas, [row["poisson"] for row in rows], "--", label="Poisson, same rate")
    for index, row in enumerate(results["peer"]["rows"]):
        axes.vlines(
            row["noise_multiplier"],
            row["lower"],
            row["upper"],
            colors="black",
            linewidth=4,
            label=f"PLD-accounting {results['peer']['version']}" if index == 0 else None,
        )
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="noise multiplier σ",
        ylabel="ε at δ = 1e-5",
        title=f"One epoch of {CURVE_STEPS} steps",
    )
    axes.legend()
    figure.savefig(RESULTS / "allocation.png", dpi=110)


def main() -> None:
    """Measures unless told not to, then draws."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--redraw", action="store_true")
    path = RESULTS / "allocation.json"
    results = json.loads(path.read_text()) if path.exists() else {}
    results.setdefault("peer", {"version": "", "rows": []})
    if not parser.parse_args().redraw:
        results |= {"settings": measured(), "curve": curves()}
        path.write_text(json.dumps(results, indent=1) + "\n")
    draw(results)


if __name__ == "__main__":
    main()
