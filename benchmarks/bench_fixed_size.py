"""Fixed size, replace-one, tight: widths and seconds at four settings and at twenty random ones.

    python benchmarks/bench_fixed_size.py             # all; about half an hour of one core
    python benchmarks/bench_fixed_size.py --only 3    # only so many settings; the others are kept

Writes `benchmarks/results/fixed_size.json` after each setting.
"""

import argparse
import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
from dp_accounting import NeighboringRelation

from accountants import epsilon_bounds

PATH = Path(__file__).parent / "results" / "fixed_size.json"
# σ, q, T, δ, and what the lower end must reach.
ASKED = (
    (8.0, 0.1, 200, 1e-5, 1.423),
    (1.0, 0.01, 1000, 1e-5, 13.43),
    (2.0, 0.05, 1000, 1e-5, 11.01),
    (0.8, 0.001, 10_000, 1e-6, 15.31),
)
RANDOM = 20


def settings() -> list[tuple[float, float, int, float, float | None]]:
    """The four, and twenty whose noise suits their rate and steps: ε neither tiny nor huge."""
    rng = np.random.default_rng(20261119)
    found: list[tuple[float, float, int, float, float | None]] = []
    while len(found) < RANDOM:
        rate, steps = 10.0 ** rng.uniform(-3.0, -0.5), int(10.0 ** rng.uniform(0.5, 3.0))
        noise = float(np.exp(rng.uniform(math.log(0.7), math.log(8.0))))
        delta = float(10.0 ** rng.uniform(-9.0, -3.0))
        # About the ε of the central limit theorem, others at −C: keep what people train with.
        if 0.05 < 2.0 * rate * math.sqrt(steps) / noise < 2.0:
            found.append((round(noise, 2), round(rate, 4), steps, float(f"{delta:.1e}"), None))
    return sorted([*ASKED, *found], key=lambda setting: setting[2])


def measured(noise: float, rate: float, steps: int, delta: float) -> dict[str, Any]:
    """Both answers, the fast one and the tight one."""
    asked = {
        "noise_multiplier": noise,
        "sampling_rate": rate,
        "steps": steps,
        "delta": delta,
        "sampling": "fixed_size",
        "relation": NeighboringRelation.REPLACE_ONE,
    }
    fast = epsilon_bounds(**asked)
    start = time.process_time()
    lower, upper = epsilon_bounds(**asked, tight=True)
    return {
        "noise_multiplier": noise,
        "sampling_rate": rate,
        "steps": steps,
        "delta": delta,
        "fast": list(fast),
        "lower": lower,
        "upper": upper,
        "relative_width": (upper - lower) / upper,
        "cpu_seconds": time.process_time() - start,
    }


def main() -> None:
    """Measures what has not been measured yet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", type=int, help="how many settings at most")
    parser.add_argument("--again", action="store_true", help="forget what was measured")
    arguments = parser.parse_args()
    rows = [] if arguments.again or not PATH.exists() else json.loads(PATH.read_text())["settings"]
    known = {tuple(row[k] for k in ("noise_multiplier", "sampling_rate", "steps")) for row in rows}
    waiting = [setting for setting in settings() if setting[:3] not in known]
    for *setting, floor in waiting[: arguments.only]:
        row = measured(*setting) | {"asked_lower": floor}
        print(row, flush=True)
        rows.append(row)
        PATH.write_text(json.dumps({"settings": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
