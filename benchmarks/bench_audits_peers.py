"""Ten flaws, our audit and others on the same draws: `bench_audits_peers.py WHEEL`.

jax-privacy's `auditing.py` needs only dp-accounting, numpy and scipy, so neither JAX nor an
installation is needed: `pip download --no-deps jax-privacy` gives the wheel. The others are
re-implemented in `peer_tests.py`, which says what is theirs; dp_auditorium is not on PyPI. Writes
`benchmarks/results/audits_peers.json` after every flaw, and goes on from there if started again.
"""

import argparse
import datetime
import importlib.util
import json
import os
import platform
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
ROOT = Path(__file__).resolve().parent.parent
# This file's own folder goes: `audits.py` there would hide the package of the same name.
sys.path[0] = str(ROOT / "tests" / "quality")

sys.path.insert(1, str(ROOT / "benchmarks"))

import dp_accounting as dpa
import numpy as np
from peer_tests import PEERS
from scipy import stats
from true_mechanisms import TRUE, gaussian

from accountants import versions
from audits import Claim, EventClaim, GaussianClaim, PointClaim, audit
from audits.testing.draws import PROBE

SEED = 20240608
DELTA, LEVEL = 1e-5, 0.05
RESULTS = ROOT / "benchmarks" / "results" / "audits_peers.json"
PROBED = 2 * PROBE  # Draws of a side that our audit looks at before it tests.
CURVE = EventClaim(dpa.GaussianDpEvent(1.0))


def clipped_geometric(data: int, rng: np.random.Generator, n: int) -> np.ndarray:
    rate = 1.0 - np.exp(-1.5)
    return np.clip(data + rng.geometric(rate, n) - rng.geometric(rate, n), 0, 3)


Draw = Callable[[float, np.random.Generator, int], Any]
FLAWS: dict[str, tuple[Draw, Claim]] = {
    "Gaussian noise too small by √2": (lambda d, r, n: gaussian(d, r, n, 2**-0.5), CURVE),
    "Gaussian noise too small by 2": (lambda d, r, n: gaussian(d, r, n, 0.5), CURVE),
    "Gaussian noise cut off at 2.5 σ": (
        lambda d, r, n: d + stats.truncnorm.rvs(-2.5, 2.5, size=n, random_state=r),
        CURVE,
    ),
    "uniform noise for Gaussian": (lambda d, r, n: d + r.uniform(-1.75, 1.75, n), CURVE),
    "4 steps for 3": (
        lambda d, r, n: 2.0 * d + r.normal(size=n),
        EventClaim(dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(1.0), 3)),
    ),
    "Laplace ε = 1.5 for 1": (lambda d, r, n: d + r.laplace(scale=1 / 1.5, size=n), PointClaim(1)),
    "Laplace ε = 2 for 1": (lambda d, r, n: d + r.laplace(scale=0.5, size=n), PointClaim(1)),
    "randomised response ε = 1.5 for 1": (
        lambda d, r, n: np.where(r.random(n) < 1 / (1 + np.exp(-1.5)), d, 1 - d),
        PointClaim(1),
    ),
    "geometric ε = 1.5 for 1, clipped": (clipped_geometric, PointClaim(1)),
    "spread instead of mean": (
        lambda d, r, n: r.normal(scale=1.0 + 2.0 * d, size=n),
        GaussianClaim(1.0),
    ),
}


def load_peer(wheel: Path) -> ModuleType:
    """jax-privacy's auditing module out of its wheel, without the package around it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(zipfile.ZipFile(wheel).extract("jax_privacy/auditing.py", folder))
        spec = importlib.util.spec_from_file_location("jax_privacy_auditing", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["jax_privacy_auditing"] = module
        spec.loader.exec_module(module)
    return module


def verdicts(
    peer: ModuleType, first: np.ndarray, second: np.ndarray, claim: Claim, seed: int
) -> dict[str, bool]:
    """Which methods call the claim false; the others get the draws that our test gets."""
    ours = audit(
        replay(first, second),
        (0, 1),
        claim,
        confidence=1 - LEVEL,
        max_samples=len(first) - PROBED,
        rng=np.random.default_rng(0),
        chunk_size=len(first),
    )
    first, second = first[PROBED:], second[PROBED:]
    delta = claim.delta if isinstance(claim, PointClaim) else DELTA
    epsilon = claim.epsilon_upper(delta) if delta else claim.epsilon
    found = {"dp-assay": ours.refuted}
    auditor, split = peer.CanaryScoreAuditor(first, second), peer.Split(seed=0)
    bound = auditor.epsilon_clopper_pearson(LEVEL, delta, threshold_strategy=split)
    found["jax-privacy Clopper-Pearson"] = bool(bound > epsilon)
    if delta:
        found["jax-privacy Gaussian"] = bool(auditor.epsilon_from_gdp(LEVEL, delta) > epsilon)
    for name, test in PEERS.items():
        rng = np.random.default_rng([SEED, seed])
        answer = test(first, second, claim, LEVEL, rng)
        if answer is not None:
            found[name] = bool(answer)
    return found


def replay(first: np.ndarray, second: np.ndarray) -> Callable[..., np.ndarray]:
    """A mechanism that hands out recorded draws in order, the probe's first."""
    position = [0, 0]

    def mechanism(side: int, _: np.random.Generator, n: int) -> np.ndarray:
        start, position[side] = position[side], position[side] + n
        return (first, second)[side][start : start + n]

    return mechanism


def row(
    peer: ModuleType, mechanism: Draw, pair: tuple[Any, Any], claim: Claim, size: int, runs: int
) -> dict[str, float]:
    """The share of runs in which each method calls the claim false."""
    found = []
    for run in range(runs):
        rng = np.random.default_rng([SEED, size, run])
        first, second = (np.asarray(mechanism(d, rng, size + PROBED), float) for d in pair)
        found.append(verdicts(peer, first, second, claim, run))
    return {name: float(np.mean([one[name] for one in found])) for name in found[0]}


def record(
    file: Path,
    same: dict[str, Any],
    sizes: list[int],
    shares: Callable[[Draw, tuple[Any, Any], Claim, int], dict[str, float]],
    **facts: str,
) -> None:
    """The shares of each flaw and two true claims, written after each; goes on where it stopped.

    Args:
      file: The record.
      same: Setting and versions; a record of others is begun anew.
      sizes: Draws per side.
      shares: Of one case, by method.
      facts: What else the record says.
    """
    results = json.loads(file.read_text()) if file.exists() else {}
    if {name: results.get(name) for name in same} != same:
        results = {"figures": {}}
    cases = {name: (draw, (1.0, 0.0), claim) for name, (draw, claim) in FLAWS.items()} | {
        f"true claim: {name}": (TRUE[name].mechanism, TRUE[name].pair, TRUE[name].claim())
        for name in ("Gaussian", "Laplace, pure")
    }
    for size in sizes:
        for name, case in cases.items():
            table = results["figures"].setdefault(name, {})
            if str(size) in table:
                continue
            table[str(size)] = shares(*case, size)
            print(name, size, table[str(size)], flush=True)
            results |= {
                "what": f"share of {same['setting']['runs']} runs that call the claim false at "
                f"{1 - LEVEL:.0%}, by draws per side; every flaw's claim is false",
                "date": datetime.date.today().isoformat(),
                **same,
                **facts,
            }
            file.write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 300, 1_000, 5_000])
    options = parser.parse_args()
    peer = load_peer(options.wheel)
    record(
        RESULTS,
        {
            "setting": {"runs": options.runs, "level": LEVEL, "seed": SEED},
            "versions": {"jax-privacy": options.wheel.name.split("-")[1]} | versions.installed(),
        },
        options.sizes,
        lambda draw, pair, claim, size: row(peer, draw, pair, claim, size, options.runs),
        command=f"python benchmarks/bench_audits_peers.py {options.wheel.name} "
        f"--runs {options.runs}",
        python=platform.python_version(),
    )


if __name__ == "__main__":
    main()
