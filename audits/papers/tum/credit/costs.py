"""What federated averaging with noise costs, and the noise that a target needs."""

import functools
import math

import numpy as np
from dp_accounting import NeighboringRelation

from accountants import Bounds, calibrate_noise
from audits.papers.study import Cost
from audits.papers.tum.credit.training import TEST_SHARE, Noise
from mechanisms import AGGREGATE, Layout, Scope, epsilon_bounds
from pvi import SGD
from pvi.data.credit import client_sizes

CLIENTS = 14
RECORD = Scope(relation=NeighboringRelation.REPLACE_ONE)
RECORD_IN_SUM = Scope(relation=NeighboringRelation.REPLACE_ONE, view=AGGREGATE)
CLIENT = Scope(relation=NeighboringRelation.REPLACE_SPECIAL, unit="client")
CLIENT_IN_SUM = Scope(relation=NeighboringRelation.REPLACE_SPECIAL, unit="client", view=AGGREGATE)
SAMPLING = "all records"


def training_sizes(records: int) -> tuple[int, ...]:
    """The clients' numbers of training records: constants of the generator, public."""
    return tuple(n - round(TEST_SHARE * n) for n in client_sizes(records, CLIENTS, 40.0))


@functools.cache
def bounds(noise: Noise, records: int, rounds: int, scope: Scope, delta: float) -> Bounds:
    """The certified interval of ε for the worst client."""
    layout = Layout(clients=CLIENTS, sizes=training_sizes(records))
    plan = noise.mechanism(CLIENTS, SGD(learning_rate=1.0)).plan(layout, rounds=rounds)
    return epsilon_bounds(plan, scope, delta)


def cost(noise: Noise | None, records: int, rounds: int, scope: Scope, delta: float) -> Cost:
    """The same as a table's last column; infinite without noise."""
    if noise is None:
        return Cost.without_noise()
    return Cost.from_bounds(bounds(noise, records, rounds, scope, delta), scope, delta, SAMPLING)


@functools.cache
def calibrated(
    epsilon: float, delta: float, rounds: int, clip_norm: float, records: int, noise: str
) -> Noise:
    """The least noise with which a record's ε is at most `epsilon` after so many rounds.

    Args:
      epsilon: For one record replaced.
      delta: δ.
      rounds: Of communication.
      clip_norm: C.
      records: Of all clients together.
      noise: "none": who sees all messages; "sizes" or "equal": who sees a trusted aggregator's
        averages, weighted by n_k/n or equally.
    """
    # One record moves a projected update by 2C: half of the multiplier counts.
    multiplier = 2.0 * calibrate_noise(target_epsilon=epsilon, delta=delta, steps=rounds)
    if noise == "none":
        return Noise(clip_norm=clip_norm, noise_multiplier=multiplier)
    if noise == "equal":
        return Noise(clip_norm=clip_norm, noise_multiplier=multiplier, aggregator="equal")
    if noise != "sizes":
        raise ValueError(f"`noise` must be 'none', 'sizes' or 'equal', got {noise!r}.")
    # Shares σC/√M, weighted by w: the largest client is hidden by σC·√(Σw²)/√M over w_max.
    sizes = np.array(training_sizes(records), dtype=np.float64)
    shares = sizes / sizes.sum()
    factor = math.sqrt(CLIENTS) * shares.max() / float(np.linalg.norm(shares))
    return Noise(clip_norm=clip_norm, noise_multiplier=multiplier * factor, aggregator="sizes")
