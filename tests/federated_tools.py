"""Shared by the tests of federations: owners' folders, and what asks them."""

import dataclasses

import numpy as np
import tomli_w

from mechanisms import (
    AllRecords,
    DPOptimisation,
    Experiment,
    ParameterPerturbation,
    Poisson,
    Prior,
    Scope,
)
from mechanisms.federated import Holder, Permission, Seal, new_key
from mechanisms.federated.messages import Engage, Question, bundle, unbundle
from pvi import SGD, ExactSolver, LinearRegression, Server, Shard
from pvi.generator_state import pinned

RUN = "a run"
SEED = 5
SIZE = 6


def optimisation(clients=3, rounds=3, **changes):
    """A small experiment in which every message is made of noisy steps."""
    mechanism = DPOptimisation(
        clip_norm=1.0,
        noise_multiplier=4.0,
        steps=2,
        rule=SGD(learning_rate=0.05),
        sampling=Poisson(0.5),
        damping=0.5,
    )
    return dataclasses.replace(
        Experiment(
            name="small",
            mechanism=mechanism,
            model=LinearRegression(dimension=2, noise_std=1.0),
            clients=clients,
            rounds=rounds,
            delta=1e-5,
            prior=Prior(variance=1.0),
        ),
        **changes,
    )


def perturbation(clients=3, rounds=3, **changes):
    """A small experiment in which whole changes are clipped; so precise a prior stays proper."""
    mechanism = ParameterPerturbation(
        clip_norm=1.0, noise_multiplier=4.0, **changes.pop("mechanism", {})
    )
    return dataclasses.replace(
        optimisation(clients, rounds),
        mechanism=mechanism,
        prior=Prior(variance=1e-4),
        **{"solver": ExactSolver()} | changes,
    )


def shards(clients=3):
    """Each client's records."""
    rng = np.random.default_rng(1)
    return [
        Shard(inputs=rng.normal(size=(SIZE, 2)), targets=rng.normal(size=SIZE) + m)
        for m in range(clients)
    ]


def permit(folder, **changes):
    """Writes an owner's permission and key, and gives the permission's path."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "seal.key").exists():
        new_key(folder / "seal.key")
    body = {
        "format": "dp-assay/permission",
        "version": 1,
        "data": "records.csv",
        "coordinator": "the tests",
        "key": "seal.key",
        "mechanisms": ["dp_optimisation", "parameter_perturbation"],
        "most_clip_norm": 1.0,
        "least_noise": 4.0,
        "trial_seed": SEED,
        "budget": {"epsilon": 8.0, "delta": 1e-5},
    } | changes
    body = {name: value for name, value in body.items() if value is not None}
    (folder / "permission.toml").write_text(tomli_w.dumps(body), encoding="utf-8")
    return folder / "permission.toml"


class Owner:
    """A holder in this process, with the seal of whoever asks."""

    def __init__(self, folder, number=0, records=None, **changes):
        self.folder, self.number = folder, number
        self.records = shards(number + 1)[number] if records is None else records
        self.path = permit(folder, **changes)
        self.seal = Seal.load(folder / "seal.key")
        self.start()

    def start(self):
        """As a new process would."""
        self.holder = Holder(Permission.load(self.path), self.records)

    def ask(self, *messages, run=RUN):
        """The messages that come back."""
        asked = self.seal.ask(bundle(messages, run=run))
        found = unbundle(self.seal.open_answer(asked, self.holder.answer(asked)))
        assert found.run == run
        return found.message

    def engage(self, experiment, run=RUN):
        """What the holder says to that."""
        return self.ask(Engage(client=self.number, experiment=experiment.to_json()), run=run)[0]

    @property
    def paid(self):
        """How many messages have been paid for."""
        return sum(sum(own.values()) for own in self.holder.budget.books.receipts.values())


def server(experiment):
    """The engine's server before the first round."""
    found = Server(experiment.setting().prior, experiment.clients)
    found.round = 1
    return found


def in_process(experiment, records):
    """The same run in this process, whose clients have the trial's randomness each."""
    run = experiment.build(records, np.random.default_rng(SEED))
    engine = run.averaging if hasattr(run, "averaging") else run.federation
    engine.client_rng = pinned(SEED)
    run.run(experiment.rounds)
    return run


__all__ = [
    "RUN",
    "SEED",
    "SIZE",
    "AllRecords",
    "Owner",
    "Question",
    "Scope",
    "bundle",
    "in_process",
    "optimisation",
    "permit",
    "perturbation",
    "server",
    "shards",
]
