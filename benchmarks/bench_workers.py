"""Audits on workers: `python benchmarks/bench_workers.py`, recorded in `results/workers.json`.

Section `slow`: a mechanism that sleeps a tenth of a second a draw, on 1 and on 8 dask workers, each
a process on this machine; the verdicts must be equal. Section `data`: a pair of 16 MB on a pool of
two processes and on two dask workers, against the same audit in this process.
"""

import argparse
import datetime
import json
import os
import platform
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)

import numpy as np

from accountants import versions
from audits import GaussianClaim, Verdict, audit

RESULTS = ROOT / "benchmarks" / "results" / "workers.json"
SECONDS_A_DRAW, DRAWS, WORKERS = 0.1, 400, 8


def sleeping(data: float, rng: np.random.Generator) -> float:
    time.sleep(SECONDS_A_DRAW)
    return data + float(rng.normal())


def first_of_many(data: np.ndarray, rng: np.random.Generator, n: int) -> np.ndarray:
    return data[0] + rng.normal(size=n)


@contextmanager
def dask_workers(count: int) -> Iterator[Executor]:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(count)
        # What a worker imports first is no part of an audit.
        client.run(__import__, "audits")
        yield client.get_executor()


def timed(
    mechanism: Any, pair: Any, draws: int, executor: Executor | None
) -> tuple[float, Verdict]:
    began = time.perf_counter()
    verdict = audit(
        mechanism,
        pair,
        GaussianClaim(1.0),
        confidence=1 - 1e-9,
        max_samples=draws,
        rng=np.random.default_rng(1),
        executor=executor,
    )
    return time.perf_counter() - began, verdict


def slow() -> dict[str, Any]:
    found: dict[int, tuple[float, Verdict]] = {}
    for count in (1, WORKERS):
        with dask_workers(count) as executor:
            found[count] = timed(sleeping, (1.0, 0.0), DRAWS, executor)
            print(f"{count} workers: {found[count][0]:.1f} s", flush=True)
    assert found[1][1] == found[WORKERS][1]
    return {
        "seconds_a_draw": SECONDS_A_DRAW,
        "draws_per_side": DRAWS,
        "seconds_by_workers": {str(count): round(one[0], 2) for count, one in found.items()},
        "speed_up": round(found[1][0] / found[WORKERS][0], 2),
        "verdicts_equal": True,
    }


def data() -> dict[str, Any]:
    pair = (np.ones(2_000_000), np.zeros(2_000_000))  # 16 MB each
    seconds, verdict = timed(first_of_many, pair, 2000, None)
    found = {"this process": round(seconds, 2)}
    with ProcessPoolExecutor(2) as pool:
        pool.submit(int).result()
        again = timed(first_of_many, pair, 2000, pool)
    assert again[1] == verdict
    found["two processes"] = round(again[0], 2)
    with dask_workers(2) as executor:
        again = timed(first_of_many, pair, 2000, executor)
    assert again[1] == verdict
    found["two dask workers"] = round(again[0], 2)
    print(found)
    return {"megabytes_a_side": 16, "draws_per_side": 2000, "seconds": found}


SECTIONS = {"slow": slow, "data": data}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], help="default: all")
    chosen = parser.parse_args().sections or list(SECTIONS)
    record = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in chosen:
        record[name] = SECTIONS[name]() | {
            "date": datetime.date.today().isoformat(),
            "cores": os.cpu_count(),
            "load_average": round(os.getloadavg()[1], 1),
            "python": platform.python_version(),
            "versions": versions.installed("distributed"),
        }
    RESULTS.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
