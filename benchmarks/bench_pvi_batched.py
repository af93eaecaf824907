"""100,000 repetitions of a 5-client, 2-dimensional, 10-round synchronous run in one call.

Run: python benchmarks/bench_pvi_batched.py [repetitions]. Target: 10 s on 2 cores (issue 4).
"""

import sys
import time

import numpy as np

import pvi


def federation(shards: list[pvi.Shard], shape: tuple[int, ...], damping: float) -> pvi.Federation:
    model = pvi.LinearRegression(dimension=2, noise_std=3.0)
    prior = pvi.MeanFieldGaussian.from_mean_variance(np.zeros(2), np.ones(2)).broadcast_to(shape)
    clients = [
        pvi.Client(
            m,
            pvi.WholeShard(model=model, shard=shard, solver=pvi.ExactSolver()),
            damping=damping,
        )
        for m, shard in enumerate(shards)
    ]
    return pvi.Federation(prior, clients, pvi.Synchronous(), rng=np.random.default_rng(0))


def main(repetitions: int = 100_000, records: int = 20) -> None:
    rng = np.random.default_rng(1)
    shards = []
    for _ in range(5):
        column = rng.normal(size=(repetitions, records, 1))
        inputs = np.concatenate([np.ones_like(column), column], axis=-1)
        noise = 3.0 * rng.normal(size=(repetitions, records))
        shards.append(pvi.Shard(inputs=inputs, targets=inputs @ [-1.0, 2.0] + noise))
    began = time.perf_counter()
    posterior = federation(shards, (repetitions,), 0.2).run(10).posterior
    seconds = time.perf_counter() - began

    sample = rng.choice(repetitions, size=200, replace=False)
    began = time.perf_counter()
    worst = 0.0
    for index in sample:
        single = [pvi.Shard(inputs=s.inputs[index], targets=s.targets[index]) for s in shards]
        alone = federation(single, (), 0.2).run(10).posterior
        worst = max(worst, float(np.abs(alone.vector - posterior[int(index)].vector).max()))
    loop = (time.perf_counter() - began) / len(sample) * repetitions
    print(f"{repetitions} repetitions, one call: {seconds:.2f} s")
    print(f"as a loop, extrapolated from {len(sample)}: {loop:.0f} s")
    print(f"largest difference of natural parameters on those {len(sample)}: {worst:.1e}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
