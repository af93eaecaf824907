"""Balls in bins: widths and seconds over a grid of settings, and a plot beside Poisson sampling.

    python benchmarks/bench_allocation.py            # measures and draws
    python benchmarks/bench_allocation.py --redraw   # draws what was measured
    python benchmarks/bench_allocation.py --draws 10000000   # only sets draws beside the intervals

Writes `benchmarks/results/allocation.json` and `benchmarks/results/allocation.png`. The peer's
intervals, `peer` in the JSON, are kept from run to run: PLD-accounting (Feldman and Shenfeld, ICML
2026) was run by hand in an environment of its own, by `gaussian_allocation_epsilon_range`.
"""

import argparse
import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np

from accountants import epsilon_bounds
from accountants.fourier import allocation
from accountants.fourier.grid import engine

RESULTS = Path(__file__).parent / "results"
SIGMAS = (0.5, 1.0, 3.0, 10.0)
EPOCHS = ((100, 10), (1000, 1), (1000, 100), (10_000, 1), (10_000, 100))
DELTAS = (1e-5, 1e-10)
CURVE, CURVE_STEPS, CURVE_DELTA = (0.5, 0.6, 0.7, 0.85, 1.0, 1.25, 1.5, 2.0, 3.0), 1000, 1e-5


# Steps, σ, epochs, ε of draws, and the direction: where δ is about 1e-5 and far below.
DRAWN = (
    (100, 1.0, 1, 0.9, "remove"),
    (100, 1.0, 1, 0.35, "add"),
    (10, 0.7, 3, 7.0, "remove"),
    (10, 0.7, 3, 13.0, "remove"),
)
BATCH = 20_000


def drawn(draws: int) -> list[dict[str, Any]]:
    """δ(ε) by tilted draws beside the interval, and by how many standard errors they are apart.

    To remove, one step of each epoch is N(m, 1) with m near the least noise that shows it, and the
    weight is that of the mixture over which step it is; to add, all steps lean down a little.
    """
    rows = []
    for steps, sigma, epochs, epsilon, direction in DRAWN:
        rng = np.random.default_rng(20261119)
        total = squares = 0.0
        for _ in range(-(-draws // BATCH)):
            value = _tilted_draws(rng, steps, sigma, epochs, epsilon, direction)
            total, squares = total + float(np.sum(value)), squares + float(np.sum(value**2))
        count = -(-draws // BATCH) * BATCH
        mean = total / count
        error = math.sqrt((squares / count - mean**2) / count)
        side = 0 if direction == "remove" else 1
        above = allocation.laws_from_above(steps, sigma, epochs)[side]
        below = allocation.laws_from_below(steps, sigma, epochs)[side]
        lower = engine.delta_bounds([(below, 1)], epsilon).lower
        upper = engine.delta_bounds([(above, 1)], epsilon).upper
        row = {
            "steps_per_epoch": steps,
            "noise_multiplier": sigma,
            "epochs": epochs,
            "epsilon": epsilon,
            "direction": direction,
            "draws": count,
            "delta_drawn": mean,
            "standard_error": error,
            "lower": lower,
            "upper": upper,
            "errors_outside": max(lower - mean, mean - upper, 0.0) / error,
        }
        print(row, flush=True)
        rows.append(row)
    return rows


def _tilted_draws(
    rng: np.random.Generator,
    steps: int,
    sigma: float,
    epochs: int,
    epsilon: float,
    direction: str,
) -> np.ndarray:
    log_ratio, log_weight = np.zeros(BATCH), np.zeros(BATCH)
    for _ in range(epochs):
        y = rng.standard_normal((BATCH, steps))
        if direction == "remove":
            shift = max(1.0 / sigma, sigma * (epsilon / epochs + math.log(steps)))
            y[:, 0] += shift
            mixture = np.mean(np.exp(shift * y - 0.5 * shift**2), axis=1)
            log_weight -= np.log(mixture)
        else:
            shift = epsilon * sigma / epochs
            y -= shift
            log_weight += shift * np.sum(y, axis=1) + 0.5 * steps * shift**2
        log_ratio += np.log(np.mean(np.exp(y / sigma - 0.5 / sigma**2), axis=1))
    if direction == "remove":
        return np.exp(log_weight) * np.maximum(np.exp(log_ratio) - math.exp(epsilon), 0.0)
    return np.exp(log_weight) * np.maximum(-np.expm1(epsilon + log_ratio), 0.0)


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
    """ε over σ, and how it compares with Poisson sampling: there a percent can be seen."""
    from matplotlib import pyplot as plt

    rows, peer = results["curve"], results["peer"]
    sigmas = [row["noise_multiplier"] for row in rows]
    poisson = {row["noise_multiplier"]: row["poisson"] for row in rows}
    figure, (above, below) = plt.subplots(
        2, 1, figsize=(6.4, 6.4), sharex=True, layout="constrained"
    )
    above.plot(sigmas, [row["upper"] for row in rows], label="balls in bins, certified")
    above.plot(sigmas, list(poisson.values()), "--", label="Poisson, same rate")
    below.plot(sigmas, [row["upper"] / row["poisson"] for row in rows], marker=".")
    below.axhline(1.0, color="C1", linestyle="--")
    for index, row in enumerate(peer["rows"]):
        same = poisson[row["noise_multiplier"]]
        below.vlines(
            row["noise_multiplier"],
            row["lower"] / same,
            row["upper"] / same,
            colors="black",
            linewidth=3,
            zorder=3,
            label=f"PLD-accounting {peer['version']}, both ends" if index == 0 else None,
        )
    above.set(
        xscale="log",
        yscale="log",
        ylabel=f"ε at δ = {CURVE_DELTA:g}",
        title=f"One epoch of {CURVE_STEPS} steps",
    )
    below.set(xlabel="noise multiplier σ", ylabel="ε / ε of Poisson sampling")
    above.legend()
    below.legend()
    figure.savefig(RESULTS / "allocation.png", dpi=110)


def main() -> None:
    """Measures unless told not to, then draws."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--redraw", action="store_true")
    parser.add_argument("--draws", type=int, help="Monte Carlo only: how many draws each")
    arguments = parser.parse_args()
    path = RESULTS / "allocation.json"
    results = json.loads(path.read_text()) if path.exists() else {}
    results.setdefault("peer", {"version": "", "rows": []})
    if arguments.draws:
        results |= {"drawn": drawn(arguments.draws)}
        path.write_text(json.dumps(results, indent=1) + "\n")
        return
    if not arguments.redraw:
        results |= {"settings": measured(), "curve": curves()}
        path.write_text(json.dumps(results, indent=1) + "\n")
    draw(results)


if __name__ == "__main__":
    main()
