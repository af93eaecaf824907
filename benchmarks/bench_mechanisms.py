"""Times 100,000 repetitions of a small run of every mechanism, in one call each.

    OMP_NUM_THREADS=1 .venv/bin/python benchmarks/bench_mechanisms.py [trials]

Two-dimensional linear regression, 5 clients of 10 records, 5 rounds; `DPOptimisation` makes 5 local
steps per round. The target is 20 s each on two cores.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path

# As a script, this file would shadow the package of the same name.
sys.path = [entry for entry in sys.path if Path(entry).resolve() != Path(__file__).parent]

import numpy as np

from mechanisms import (
    AllRecords,
    CentralNoise,
    DPOptimisation,
    FedAvgPerturbation,
    FixedSize,
    LocalAveraging,
    NoiseSplitting,
    ParameterPerturbation,
    Partition,
    Poisson,
    Setting,
    VirtualClients,
)
from pvi import SGD, ExactSolver, LinearRegression, MeanFieldGaussian, Shard

CLIENTS, RECORDS, ROUNDS, STEPS = 5, 10, 5, 5
MODEL = LinearRegression(dimension=2, noise_std=1.0)


def shards() -> list[Shard]:
    rng = np.random.default_rng(1)
    return [
        Shard(inputs=rng.normal(size=(RECORDS, 2)), targets=rng.normal(size=RECORDS))
        for _ in range(CLIENTS)
    ]


def runs(trials: int) -> dict[str, Callable[[], object]]:
    data = shards()
    parts = [Partition.by_position(shard, 2) for shard in data]
    prior = MeanFieldGaussian.from_mean_variance(np.zeros(2), np.full(2, 0.01))
    prior = prior.broadcast_to((trials,))
    common = {"clip_norm": 1.0, "noise_multiplier": 1.0, "precision_floor": 1.0}
    gradient = {
        "clip_norm": 1.0,
        "noise_multiplier": 1.0,
        "steps": STEPS,
        "rule": SGD(learning_rate=1e-3),
    }

    def parameter(mechanism: object, pieces: object) -> Callable[[], object]:
        def run() -> object:
            built = mechanism.build(
                Setting(model=MODEL, prior=prior, solver=ExactSolver()),
                pieces,
                np.random.default_rng(0),
            )
            return built.run(ROUNDS)

        return run

    def local(mechanism: DPOptimisation) -> Callable[[], object]:
        return lambda: mechanism.build(
            Setting(model=MODEL, prior=prior), data, np.random.default_rng(0)
        ).run(ROUNDS)

    def averaging() -> object:
        mechanism = FedAvgPerturbation(
            clip_norm=1.0,
            noise_multiplier=1.0,
            rule=SGD(learning_rate=0.1),
            local_steps=STEPS,
        )
        setting = Setting(model=MODEL, prior=prior)
        return mechanism.build(setting, data, np.random.default_rng(0)).run(ROUNDS)

    joint = common | {"trusted_aggregator": True}
    return {
        "DPOptimisation, all records": local(DPOptimisation(**gradient, sampling=AllRecords())),
        "DPOptimisation, Poisson": local(DPOptimisation(**gradient, sampling=Poisson(0.3))),
        "DPOptimisation, fixed size": local(
            DPOptimisation(**gradient, sampling=FixedSize(3, RECORDS))
        ),
        "ParameterPerturbation": parameter(ParameterPerturbation(**common), data),
        "LocalAveraging": parameter(LocalAveraging(**common), parts),
        "LocalAveraging, resets": parameter(LocalAveraging(**joint, memory="resets"), parts),
        "VirtualClients": parameter(VirtualClients(**common), parts),
        "VirtualClients, remembers": parameter(VirtualClients(**common, memory="remembers"), parts),
        "CentralNoise": parameter(CentralNoise(**common), data),
        "CentralNoise, resets": parameter(CentralNoise(**common, memory="resets"), data),
        "NoiseSplitting": parameter(NoiseSplitting(**common), data),
        "FedAvgPerturbation": averaging,
    }


def main() -> None:
    trials = int(float(sys.argv[1])) if len(sys.argv) > 1 else 100_000
    print(f"{trials:,} repetitions, {CLIENTS} clients, {ROUNDS} rounds")
    for name, run in runs(trials).items():
        began = time.perf_counter()
        run()
        print(f"{name:30s} {time.perf_counter() - began:7.2f} s", flush=True)


if __name__ == "__main__":
    main()
