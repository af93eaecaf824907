"""Ten flaws, our audit and DP-Auditorium's testers on the same draws.

    python benchmarks/bench_audits_auditorium.py differential-privacy/python/dp_auditorium

It is not on PyPI: the folder is of a clone of github.com/google/differential-privacy, the
interpreter one with tensorflow-cpu 2.15, numpy 1.26, scipy, dp-accounting 0.6, etils and absl-py.

Its own code with its own defaults: the hockey-stick tester with its default network, the histogram
tester (20 bins over the range of the draws, which only helps it) and the MMD tester (a Gaussian
kernel of the draws' spread). Each tests one (ε, δ) of the claim: of a curve that at ε = .01, near
total variation, where so few draws say most (ε = 0 it takes for left out), else the claim's own;
both orders of the sides, at half of the level each. Writes
`benchmarks/results/audits_auditorium.json` after every row, and goes on from there.
"""

import argparse
import contextlib
import io
import os
import sys
import types
from collections.abc import Callable
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
ROOT = Path(__file__).resolve().parent.parent
sys.path[:1] = [str(ROOT / "benchmarks"), str(ROOT)]

import numpy as np
from bench_audits_peers import LEVEL, PROBED, SEED, record, replay

from accountants import versions
from audits import Claim, PointClaim, audit

RESULTS = ROOT / "benchmarks" / "results" / "audits_auditorium.json"
Tester = Callable[[np.ndarray, np.ndarray, float, float], bool]


def testers(folder: Path) -> dict[str, Tester]:
    """(first, second, ε, δ) → whether the tester of the library rejects."""
    # The package's own __init__ would import its search for data sets, which is not used here.
    package = types.ModuleType("dp_auditorium")
    package.__path__ = [str(folder / "dp_auditorium")]
    sys.modules["dp_auditorium"] = package
    import tensorflow as tf
    from dp_auditorium.configs import privacy_property
    from dp_auditorium.configs import property_tester_config as configs
    from dp_auditorium.testers import histogram_tester, hockey_stick_tester, mmd_tester

    def rejects(tester, first: np.ndarray, second: np.ndarray) -> bool:
        with contextlib.redirect_stdout(io.StringIO()):
            bounds = [
                tester.estimate_lower_bound(*sides, LEVEL / 2)
                for sides in ((first, second), (second, first))
            ]
        return any(bool(tester.reject_property(bound)) for bound in bounds)

    def promise(epsilon: float, delta: float):
        return privacy_property.ApproximateDp(epsilon=epsilon, delta=delta)

    def hockey_stick(first: np.ndarray, second: np.ndarray, epsilon: float, delta: float) -> bool:
        tf.keras.utils.set_random_seed(SEED)
        config = configs.HockeyStickPropertyTesterConfig(
            training_config=hockey_stick_tester.make_default_hs_training_config(),
            approximate_dp=promise(epsilon, delta),
        )
        model = hockey_stick_tester.make_default_hs_base_model()
        model.build((None, 1))
        return rejects(hockey_stick_tester.HockeyStickPropertyTester(config, model), first, second)

    def histogram(first: np.ndarray, second: np.ndarray, epsilon: float, delta: float) -> bool:
        both = np.concatenate([first, second])
        config = configs.HistogramPropertyTesterConfig(
            test_discrete_mechanism=False,
            histogram_size=20,
            min_value=float(both.min()),
            max_value=float(both.max()),
            approximate_dp=promise(epsilon, delta),
        )
        return rejects(histogram_tester.HistogramTester(config), first, second)

    def mmd(first: np.ndarray, second: np.ndarray, epsilon: float, delta: float) -> bool:
        spread = float(np.std(np.concatenate([first, second]))) or 1.0
        config = configs.MMDPropertyTesterConfig(
            kernel=configs.Kernel.KERNEL_RBF,
            bandwidth=0.5 / spread**2,
            approximate_dp=promise(epsilon, delta),
        )
        return rejects(mmd_tester.MMDPropertyTester(config), first, second)

    return {"hockey stick": hockey_stick, "histogram": histogram, "MMD": mmd}


def point(claim: Claim) -> tuple[float, float]:
    """The (ε, δ) of the claim that is tested."""
    if isinstance(claim, PointClaim):
        return claim.epsilon, claim.delta
    return 0.01, float(claim.delta_upper(0.01))


def row(
    known: dict[str, Tester], draw: Callable, pair: tuple, claim: Claim, size: int, runs: int
) -> dict[str, float]:
    """The share of runs in which each method calls the claim false."""
    found: dict[str, list[bool]] = {}
    for run in range(runs):
        rng = np.random.default_rng([SEED, size, run])
        first, second = (np.asarray(draw(d, rng, size + PROBED), float) for d in pair)
        ours = audit(
            replay(first, second),
            (0, 1),
            claim,
            confidence=1 - LEVEL,
            max_samples=size,
            rng=np.random.default_rng(0),
            chunk_size=len(first),
        )
        found.setdefault("dp-assay", []).append(ours.refuted)
        for name, tester in known.items():
            answer = tester(first[PROBED:], second[PROBED:], *point(claim))
            found.setdefault(f"DP-Auditorium {name}", []).append(answer)
    return {name: float(np.mean(answers)) for name, answers in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="the one that holds the package dp_auditorium")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--sizes", type=int, nargs="+", default=[300, 1_000, 5_000])
    options = parser.parse_args()
    known = testers(options.folder)
    installed = versions.installed("tensorflow-cpu")
    installed["dp_auditorium"] = (options.folder / "VERSION").read_text().split()[-1]
    record(
        RESULTS,
        {
            "setting": {"runs": options.runs, "level": LEVEL, "seed": SEED},
            "versions": installed,
        },
        options.sizes,
        lambda draw, pair, claim, size: row(known, draw, pair, claim, size, options.runs),
    )


if __name__ == "__main__":
    main()
