"""The closed-form accountants against their peers, in one run.

    python benchmarks/bench_accountants.py

Prints a Markdown table. Times are the least of several runs, caches cleared in between; ratios are
peer time over ours, measured side by side: the machine's speed cancels, its noise mostly.
"""

import functools
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path

# As a script, its neighbours would shadow the packages of the same names.
sys.path = [entry for entry in sys.path if Path(entry).resolve() != Path(__file__).parent]

import dp_accounting as dpa
from absl import logging as absl_logging

from accountants import MomentsAccountant, RenyiAccountant, moments, renyi_divergence, versions
from accountants import subsampled_gaussian as engine

SETTINGS = [
    (1.0, 0.01, 1_000, 1e-5),
    (1.0, 0.01, 10_000, 1e-5),
    (5.0, 0.02, 2_500, 1e-4),
    (2.0, 0.1, 500, 1e-5),
    (10.0, 0.5, 1_000_000, 1e-5),
]
REPEATS = 7


def clear_caches() -> None:
    engine._log_moment.cache_clear()
    moments._log_moments_of_loss.cache_clear()
    renyi_divergence._fixed_size_log_moments.cache_clear()


def measure(compute: Callable[[], float]) -> tuple[float, float]:
    """The value, and the least time of `REPEATS` runs."""
    best, value = math.inf, math.nan
    for _ in range(REPEATS):
        clear_caches()
        start = time.perf_counter()
        value = compute()
        best = min(best, time.perf_counter() - start)
    return value, best


def epsilon(make: Callable[[], dpa.PrivacyAccountant], event: dpa.DpEvent, delta: float) -> float:
    return float(make().compose(event).get_epsilon(delta))


def main() -> None:
    absl_logging.set_verbosity(absl_logging.ERROR)
    print(
        f"ε upper bounds and times in one process, {versions.installed()}; Poisson, "
        "add or remove one\n"
    )
    print("| σ, q, T, δ | Rényi ε | ms | moments ε | ms | peer RDP ε | ms | peer ÷ Rényi time |")
    print("|---|---|---|---|---|---|---|---|")
    for sigma, rate, steps, delta in SETTINGS:
        step = dpa.PoissonSampledDpEvent(rate, dpa.GaussianDpEvent(sigma))
        event = dpa.SelfComposedDpEvent(step, steps)
        makers = (RenyiAccountant, MomentsAccountant, dpa.rdp.RdpAccountant)
        cells = [measure(functools.partial(epsilon, make, event, delta)) for make in makers]
        row = " | ".join(f"{value:.6g} | {1e3 * seconds:.2f}" for value, seconds in cells)
        print(
            f"| {sigma}, {rate}, {steps:g}, {delta:g} | {row} | {cells[2][1] / cells[0][1]:.1f} |"
        )


if __name__ == "__main__":
    main()
