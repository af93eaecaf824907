"""Seconds and bytes of a round, against dimension and clients; and what the bytes give away.

    python benchmarks/bench_federation.py load     rounds without a network: the protocol's own cost
    python benchmarks/bench_federation.py bytes    1,000 seeded runs, read off the wire, as an assay

Holders are in one process with the coordinator: what is measured is booking, computing, sealing,
and what is forced to the disk; with d = 10^5 mostly the last two. Over Flower a round takes some
seconds more, whatever it holds: nodes poll, and each message starts a process.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import tomli_w

from audits.assay import assay
from mechanisms import DPOptimisation, Experiment, ParameterPerturbation, Prior, Scope
from mechanisms.federated import Coordinator, Holder, InProcess, Permission, Seal, new_key
from mechanisms.federated.messages import unbundle
from pvi import SGD, ExactSolver, LinearRegression, Shard, Update

RESULTS = Path(__file__).parent / "results"
CLIENTS = (5, 20, 50)
DIMENSIONS = (10**2, 10**3, 10**4, 10**5)
ROUNDS = 2
RECORDS = 4


def permission(folder, experiment, client, seed, budget):
    """An owner's folder for a trial of one experiment."""
    folder.mkdir(parents=True)
    new_key(folder / "seal.key")
    body = {
        "format": "dp-assay/permission",
        "version": 1,
        "data": "none.csv",
        "coordinator": "a benchmark",
        "key": "seal.key",
        "mechanisms": ["dp_optimisation", "parameter_perturbation"],
        "most_clip_norm": 1.0,
        "least_noise": 0.5,
        "trial_seed": seed,
        "budget": budget,
        "experiment": "experiment.json",
        "client": client,
    }
    (folder / "experiment.json").write_text(Experiment.to_json(experiment))
    (folder / "permission.toml").write_text(tomli_w.dumps(body))
    return Permission.load(folder / "permission.toml")


class Counting:
    """Carries at once, and counts."""

    def __init__(self, holders):
        self.inner = InProcess({m: one.answer for m, one in enumerate(holders)})
        self.bytes = 0
        self.answers = []

    def exchange(self, asked):
        """All answers."""
        found = self.inner.exchange(asked)
        self.bytes += sum(map(len, asked.values())) + sum(map(len, found.values()))
        self.answers += [(m, asked[m], found[m]) for m in sorted(found)]
        return found


def federation(experiment, shards, folder, seeds, budget, **keywords):
    """A coordinator with all its holders."""
    owners = [
        permission(folder / str(m), experiment, m, seed, budget) for m, seed in enumerate(seeds)
    ]
    holders = [Holder(one, shard) for one, shard in zip(owners, shards, strict=True)]
    courier = Counting(holders)
    seals = {m: Seal.load(one.key) for m, one in enumerate(owners)}
    run = Coordinator(experiment, seals, courier, rng=np.random.default_rng(0), **keywords)
    return run, courier, seals


def measure(clients, dimension):
    """Seconds and bytes of a round."""
    experiment = Experiment(
        mechanism=DPOptimisation(
            clip_norm=1.0, noise_multiplier=4.0, steps=1, rule=SGD(learning_rate=1e-3)
        ),
        model=LinearRegression(dimension=dimension, noise_std=1.0),
        clients=clients,
        rounds=ROUNDS,
        delta=1e-5,
        prior=Prior(variance=1.0),
    )
    rng = np.random.default_rng(0)
    shards = [
        Shard(inputs=rng.normal(size=(RECORDS, dimension)), targets=rng.normal(size=RECORDS))
        for _ in range(clients)
    ]
    ended = []

    def note(event):
        if type(event).__name__ == "RoundEnded":
            ended.append((event.seconds, courier.bytes))

    with tempfile.TemporaryDirectory() as name:
        budget = {"epsilon": 100.0, "delta": 1e-5}
        run, courier, _ = federation(
            experiment,
            shards,
            Path(name),
            range(clients),
            budget,
            checkpoint=Path(name) / "checkpoint",
            observer=note,
        )
        run.run()
    assert run.round == ROUNDS
    seconds = min(one for one, _ in ended)
    return {
        "clients": clients,
        "dimension": dimension,
        "seconds": round(seconds, 4),
        "bytes": ended[1][1] - ended[0][1],
    }


def load():
    """All sizes, as a record and a plot."""
    found = []
    for dimension in DIMENSIONS:
        for clients in CLIENTS:
            found.append(measure(clients, dimension))
            print(found[-1], flush=True)
    record = {
        "command": "python benchmarks/bench_federation.py load",
        "cores": os.cpu_count(),
        "load_average": round(os.getloadavg()[1], 1),
        "rounds": found,
    }
    (RESULTS / "federation.json").write_text(json.dumps(record, indent=1) + "\n")
    plot(found)


def plot(found):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for clients in CLIENTS:
        own = [one for one in found if one["clients"] == clients]
        across = [one["dimension"] for one in own]
        label = f"{clients} holders"
        axes[0].loglog(across, [one["seconds"] for one in own], marker="o", label=label)
        axes[1].loglog(across, [one["bytes"] for one in own], marker="o", label=label)
    axes[0].set_ylabel("seconds a round")
    axes[1].set_ylabel("bytes a round, both ways")
    for one in axes:
        one.set_xlabel("dimension of θ")
        one.grid(alpha=0.3)
    axes[0].legend()
    figure.savefig(RESULTS / "federation.png", dpi=150)


class OverTheWire(Experiment):
    """An experiment whose draws are the updates that crossed a wire, one federation for each."""

    __slots__ = ()

    def sampler(self, scope):
        """Draws for an adversary who sees messages."""
        return self._draw

    def _draw(self, data, rng, n):
        return np.stack([self._one(data, rng) for _ in range(n)])

    def _one(self, data, rng):
        shards = [partition.shards for partition in data]
        shm = Path("/dev/shm")
        with tempfile.TemporaryDirectory(dir=shm if shm.is_dir() else None) as name:
            run, courier, seals = federation(
                self,
                [Shard(inputs=own.inputs, targets=own.targets) for (own,) in shards],
                Path(name),
                [int(seed) for seed in rng.integers(2**40, size=len(data))],
                {"epsilon": 100.0, "delta": self.delta},
            )
            run.run()
        seen = []
        for m, asked, answer in courier.answers:
            for message in unbundle(seals[m].open_answer(asked, answer)).message:
                if isinstance(message, Update):
                    seen.append(message.change.vector)
        return np.concatenate(seen)


def over_the_wire(runs):
    """The certificate against what crossed the wire; half of the runs on each neighbour."""
    experiment = OverTheWire(
        mechanism=ParameterPerturbation(clip_norm=1.0, noise_multiplier=2.0, precision_floor=1.0),
        model=LinearRegression(dimension=1, noise_std=1.0),
        prior=Prior(variance=1e-3),
        clients=2,
        rounds=2,
        delta=1e-3,
        scopes=(Scope(),),
        solver=ExactSolver(),
    )
    return assay(experiment, max_samples=runs // 2, rng=np.random.default_rng(1), progress=False)


def audit_bytes(runs):
    """Prints the assay and keeps it."""
    began = time.process_time()
    found = over_the_wire(runs)
    print(found.explain())
    record = {
        "command": f"python benchmarks/bench_federation.py bytes --runs {runs}",
        "consistent": found.consistent,
        "cpu_seconds": round(time.process_time() - began, 1),
        "assay": json.loads(found.to_json()),
    }
    (RESULTS / "federation_bytes.json").write_text(json.dumps(record, indent=1) + "\n")
    return 0 if found.consistent else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["load", "bytes"])
    parser.add_argument("--runs", type=int, default=1000)
    given = parser.parse_args()
    os.nice(5)
    if given.what == "bytes":
        return audit_bytes(given.runs)
    return load()


if __name__ == "__main__":
    sys.exit(main())
