"""Small federations of the real mechanisms, for specimens whose flaw is partitioned VI's own.

Data are a tuple of clients, each the targets of its records. Each record has the input 1, so that
in linear regression with one weight and noise of variance 100 a client's likelihood has the natural
parameters (Σ targets, number of records)/100: its pull is along the first of them. Batch axes of
the prior are independent draws.
"""

from dataclasses import dataclass
from typing import TypeAlias

import dp_accounting as dpa
import numpy as np
from dp_accounting import NeighboringRelation

from accountants.arrays import FloatArray
from audits.claims import Claim, EventClaim
from mechanisms import (
    CentralNoise,
    Experiment,
    NoiseSplitting,
    ParameterPerturbation,
    Prior,
    Scope,
    View,
    project,
)
from pvi import ExactSolver, LinearRegression, Shard

REPLACE = NeighboringRelation.REPLACE_ONE
FAR = 1e9
"""A target so large that the clipped change points along it, whatever else happens."""

NOISE_STD = 10.0

# So precise a prior that noise on precisions, of the order of 10, leaves every posterior proper.
_PRIOR_VARIANCE = 1e-4

ClientTargets: TypeAlias = tuple[tuple[float, ...], ...]


Federated: TypeAlias = NoiseSplitting | ParameterPerturbation | CentralNoise


def federation(mechanism: Federated, *, clients: int, rounds: int) -> Experiment:
    """The experiment that the specimens run."""
    return Experiment(
        mechanism=mechanism,
        model=LinearRegression(dimension=1, noise_std=NOISE_STD),
        clients=clients,
        rounds=rounds,
        delta=1e-5,
        prior=Prior(variance=_PRIOR_VARIANCE),
        solver=ExactSolver(),
    )


def shards(data: ClientTargets) -> list[Shard]:
    """The clients' data."""
    return [Shard(inputs=np.ones((len(targets), 1)), targets=np.array(targets)) for targets in data]


@dataclass(frozen=True, slots=True)
class Watched:
    """What is seen of a mechanism's rounds in a view: (n, releases · 2)."""

    mechanism: Federated
    rounds: int
    view: View

    def __call__(self, data: ClientTargets, rng: np.random.Generator, n: int) -> FloatArray:
        """The draws."""
        experiment = federation(self.mechanism, clients=len(data), rounds=self.rounds)
        scope = Scope(relation=REPLACE, view=self.view)
        return experiment.sampler(scope)(shards(data), rng, n)


def certified_claim(
    mechanism: Federated, *, clients: int, rounds: int, view: View, sensitivity: float = 1.0
) -> Claim:
    """What `project` proves of a mechanism about one replaced record, in this view.

    Args:
      mechanism: A sound mechanism.
      clients: M.
      rounds: T.
      view: What the adversary sees.
      sensitivity: How far one record moves a message at most, in units of the 2C that clipping
        allows; less than 1 where the data are bounded to begin with.
    """
    scope = Scope(relation=REPLACE, unit="record", view=view)
    event = project(federation(mechanism, clients=clients, rounds=rounds).transcript(), scope)
    if sensitivity != 1.0:
        single, count = event, 1
        if isinstance(event, dpa.SelfComposedDpEvent):
            single, count = event.event, event.count
        assert isinstance(single, dpa.GaussianDpEvent)
        scaled = dpa.GaussianDpEvent(single.noise_multiplier / sensitivity)
        event = dpa.SelfComposedDpEvent(scaled, count)
    return EventClaim(event, relation=REPLACE)
