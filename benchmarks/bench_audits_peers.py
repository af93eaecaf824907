"""Our audit and jax-privacy's on the same draws: `python benchmarks/bench_audits_peers.py [WHEEL]`.

Optional. jax-privacy's `auditing.py` needs only dp-accounting, numpy and scipy, so neither JAX nor
an installation is needed: `pip download --no-deps jax-privacy` gives the wheel. Adds the section
"side_by_side" to `benchmarks/results/audits.json`.
"""

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

import numpy as np
from true_mechanisms import TRUE, gaussian

from accountants import versions
from audits import (
    Claim,
    audit,
)

SEED = 20240608
SIZES = (100, 300, 1_000, 10_000, 100_000)
DELTA, LEVEL = 1e-5, 0.05
RESULTS = ROOT / "benchmarks" / "results" / "audits.json"


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
    peer: ModuleType, first: np.ndarray, second: np.ndarray, claim: Claim, epsilon: float
) -> dict[str, bool]:
    """Which of the three methods calls the claim false on these draws."""
    auditor = peer.CanaryScoreAuditor(first, second)
    split = peer.Split(seed=0)
    ours = audit(
        replay(first, second),
        (0, 1),
        claim,
        confidence=1 - LEVEL,
        max_samples=len(first),
        rng=np.random.default_rng(0),
        chunk_size=len(first),
    )
    bound = auditor.epsilon_clopper_pearson(LEVEL, DELTA, threshold_strategy=split)
    return {
        "dp-assay": ours.refuted,
        "jax-privacy Clopper-Pearson": bool(bound > epsilon),
        "jax-privacy Gaussian": bool(auditor.epsilon_from_gdp(LEVEL, DELTA) > epsilon),
    }


def replay(first: np.ndarray, second: np.ndarray) -> Callable[..., np.ndarray]:
    """A mechanism that hands out recorded draws in order."""
    position = [0, 0]

    def mechanism(side: int, _: np.random.Generator, n: int) -> np.ndarray:
        start, position[side] = position[side], position[side] + n
        return (first, second)[side][start : start + n]

    return mechanism


def case(
    peer: ModuleType,
    mechanism: Callable[..., Any],
    pair: tuple[Any, Any],
    claim: Claim,
    epsilon: float,
    repetitions: int,
    number: int,
) -> dict[str, dict[str, float]]:
    table: dict[str, dict[str, float]] = {}
    for size in SIZES:
        found = []
        for repetition in range(max(5, repetitions if size < 10_000 else repetitions // 5)):
            rng = np.random.default_rng([SEED, number, size, repetition])
            first, second = (np.asarray(mechanism(data, rng, size), dtype=float) for data in pair)
            found.append(verdicts(peer, first, second, claim, epsilon))
        table[str(size)] = {
            name: float(np.mean([row[name] for row in found])) for name in found[0]
        } | {"repetitions": len(found)}
    return table


def main() -> None:
    wheels = sorted(Path().glob("jax_privacy-*.whl"))
    wheel = Path(sys.argv[1]) if len(sys.argv) > 1 else wheels[-1] if wheels else None
    if wheel is None:
        sys.exit("`WHEEL` must be given: pip download --no-deps jax-privacy")
    peer = load_peer(wheel)
    gaussian_claim = TRUE["Gaussian"].claim()
    figures: dict[str, Any] = {
        "false claim, Gaussian noise too small by √2": case(
            peer,
            lambda data, rng, n: gaussian(data, rng, n, 2**-0.5),
            (1.0, 0.0),
            gaussian_claim,
            4.3771780957,
            100,
            0,
        )
    }
    true = {
        "Gaussian": 4.3771780957,
        "Laplace": 1.0,
        "randomised response": float(np.log(3.0)),
    }
    for number, (name, epsilon) in enumerate(true.items(), start=1):
        entry = TRUE[name]
        figures[f"true claim, {name}"] = case(
            peer, entry.mechanism, entry.pair, entry.claim(), epsilon, 100, number
        )
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    results["side_by_side"] = {
        "figures": figures,
        "what": f"share of runs that call the claim false at {1 - LEVEL:.0%}, by draws per side",
        "date": datetime.date.today().isoformat(),
        "seed": SEED,
        "command": f"python benchmarks/bench_audits_peers.py {wheel.name}",
        "python": platform.python_version(),
        "versions": {"jax-privacy": wheel.name.split("-")[1]} | versions.installed(),
    }
    RESULTS.write_text(json.dumps(results, indent=2, ensure_ascii=False, sort_keys=True) + "\n")
    print(json.dumps(figures, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
