"""Small federations of the real mechanisms, for specimens whose flaw is partitioned VI's own.

Data are a tuple of clients, each the targets of its records. Each record has the input 1, so that
in linear regression with one weight and noise of variance 100 a client's likelihood has the natural
parameters (Σ targets, number of records)/100: its pull is along the first of them. Batch axes of
the prior are independent draws.
"""

from typing import TypeAlias

import dp_accounting as dpa
import numpy as np
from dp_accounting import NeighboringRelation

from accountants.arrays import FloatArray
from audits.claims import Claim, EventClaim
from mechanisms import (
    SERVER,
    CentralNoise,
    Layout,
    NoiseSplitting,
    ParameterPerturbation,
    Scope,
    Setting,
    Transcript,
    View,
    project,
)
from pvi import ExactSolver, LinearRegression, MeanFieldGaussian, Shard

REPLACE = NeighboringRelation.REPLACE_ONE
FAR = 1e9
"""A target so large that the clipped change points along it, whatever else happens."""

NOISE_STD = 10.0

# So precise a prior that noise on precisions, of the order of 10, leaves every posterior proper.
_PRIOR_PRECISION = 1e4

ClientTargets: TypeAlias = tuple[tuple[float, ...], ...]


Federated: TypeAlias = NoiseSplitting | ParameterPerturbation | CentralNoise


def transcript_of(
    mechanism: Federated, data: ClientTargets, rng: np.random.Generator, n: int, rounds: int
) -> Transcript:
    """The releases of n independent runs at once."""
    prior = MeanFieldGaussian(
        natural_mean=np.zeros((n, 1)), precision=np.full((n, 1), _PRIOR_PRECISION)
    )
    shards = [
        Shard(inputs=np.ones((len(targets), 1)), targets=np.array(targets)) for targets in data
    ]
    run = mechanism.build(
        Setting(
            model=LinearRegression(dimension=1, noise_std=NOISE_STD),
            prior=prior,
            solver=ExactSolver(),
        ),
        shards,
        rng,
    )
    run.run(rounds)
    return run.transcript


def messages(transcript: Transcript, n: int) -> FloatArray:
    """What an observer of messages sees: (n, releases · 2)."""
    return _stack([r.value for r in transcript if r.sender != SERVER], n)


def sums(transcript: Transcript, n: int) -> FloatArray:
    """What an observer of the aggregator sees: (n, rounds · 2)."""
    return _stack([r.value for r in transcript if r.sender == SERVER], n)


def _stack(values: list[FloatArray | None], n: int) -> FloatArray:
    rows = [np.broadcast_to(value, (n, 2)) for value in values if value is not None]
    return np.concatenate(rows, axis=1)


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
    event = project(mechanism.plan(Layout(clients=clients), rounds=rounds), scope)
    if sensitivity != 1.0:
        single, count = event, 1
        if isinstance(event, dpa.SelfComposedDpEvent):
            single, count = event.event, event.count
        assert isinstance(single, dpa.GaussianDpEvent)
        scaled = dpa.GaussianDpEvent(single.noise_multiplier / sensitivity)
        event = dpa.SelfComposedDpEvent(scaled, count)
    return EventClaim(event, relation=REPLACE)
