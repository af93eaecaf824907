"""Adult under a trusted aggregator: discrete shares of noise beside continuous central noise.

python benchmarks/bench_discrete_shares.py --seeds 8       # writes results/discrete_shares.json

TMLR's virtual clients (Figure 1: ten clients, logistic regression, ε = 1, the study's chosen
settings), trained with each client's share continuous, so that their sum has the law of central
noise, and again with exact discrete Gaussian shares from the operating system. Both are calibrated
to the same certified ε; the discrete ones' slack is in it.
"""

import argparse
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from accountants import seals, versions
from audits.papers.tmlr.adult.data import Source, divide, likelihood, load, score
from audits.papers.tmlr.adult.grids import FIGURE_1
from audits.papers.tmlr.adult.methods import DELTA, METHODS, mechanism, parts_of
from audits.papers.tmlr.adult.settings import DIVISIONS
from mechanisms import Layout, Partition, ReleaseNoise, Setting, SimulationNoise, epsilon_bounds
from pvi import Adam, FullBatch, GradientSolver, StackedSolver

RESULT = Path(__file__).parent / "results" / "discrete_shares.json"
METHOD = METHODS["virtual, trusted aggr."]
NOISES = {"continuous": SimulationNoise(), "discrete": ReleaseNoise()}


def calibrated(tuning, parts, noise):
    """σ whose certified ε is at most the target, by bisection, and that ε."""

    def upper(sigma):
        own = replace(mechanism(METHOD, tuning, sigma), noise=noise)
        layout = Layout(
            clients=len(parts), parts=tuple(parts), assignment="position", dimension=109
        )
        plan = own.plan(layout, rounds=tuning.rounds)
        return epsilon_bounds(plan, METHOD.scope, DELTA).upper

    low, high = 1.0, 200.0
    while high / low > 1.0 + 1e-6:
        middle = (low * high) ** 0.5
        low, high = (low, middle) if upper(middle) <= FIGURE_1.target_epsilon else (middle, high)
    return high, upper(high)


def accuracy(name, seed):
    tuning = next(grid.tuning for grid in FIGURE_1.grids if grid.method == METHOD.name)
    learn, predict = load(Source(), "test", bias=True)
    own = likelihood("logistic", learn.features.shape[-1], 0)
    shards = divide(learn, DIVISIONS[0], FIGURE_1.clients, np.random.default_rng((seed, 0)))
    parts = parts_of(METHOD, tuning, [shard.size for shard in shards])
    sigma, epsilon = calibrated(tuning, parts, NOISES[name])
    solver = GradientSolver(
        rule=Adam(learning_rate=tuning.learning_rate),
        steps=tuning.steps,
        sampler=FullBatch(),
        persistent=False,
    )
    setting = Setting(model=own.model, prior=own.prior, solver=StackedSolver(solver))
    data = [Partition.by_position(s, count) for s, count in zip(shards, parts, strict=True)]
    noisy = replace(mechanism(METHOD, tuning, sigma), noise=NOISES[name])
    run = noisy.build(setting, data, np.random.default_rng((seed, 1)), keep_values=False)
    began = time.process_time()
    run.run(tuning.rounds)
    seconds = time.process_time() - began
    hit, log_likelihood = score(own, run.posterior, predict, np.random.default_rng(seed))
    return {
        "noise": name,
        "seed": seed,
        "noise_multiplier": sigma,
        "epsilon_upper": epsilon,
        "accuracy": hit,
        "log_likelihood": log_likelihood,
        "cpu_seconds": seconds,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seeds", type=int, default=8)
    seeds = range(parser.parse_args().seeds)
    rows = []
    for seed in seeds:
        for name in NOISES:
            rows.append(accuracy(name, seed))
            print(rows[-1], flush=True)
    by_name = {
        name: np.array([row["accuracy"] for row in rows if row["noise"] == name]) for name in NOISES
    }
    apart = by_name["discrete"] - by_name["continuous"]
    content = {
        "what": __doc__.split("\n", 1)[0],
        "command": f"python benchmarks/bench_discrete_shares.py --seeds {len(seeds)}",
        "rows": rows,
        "mean_accuracy": {name: float(found.mean()) for name, found in by_name.items()},
        "mean_difference": float(apart.mean()),
        "standard_error": float(apart.std(ddof=1) / np.sqrt(apart.size)),
        "versions": versions.installed(),
    }
    seals.write_sealed(RESULT, content)
    print({key: value for key, value in content.items() if key != "rows"})


if __name__ == "__main__":
    main()
