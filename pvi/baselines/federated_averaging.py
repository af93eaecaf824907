"""Federated averaging of point estimates, with gradient descent or Adam (TUM 5.2.3)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from pvi.models.protocol import PointModel
from pvi.shard import Shard
from pvi.solvers.local import Context
from pvi.solvers.rules import Rule, State
from pvi.validate import FloatArray, at_least, finite_array, generator

AlterWeights: TypeAlias = Callable[[FloatArray, Context], FloatArray]
"""Alters a client's change of weights (..., d) before it is sent."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AveragingResult:
    """Weights after the last round, (..., d), and after each round, (rounds, ..., d)."""

    weights: FloatArray
    history: FloatArray


def federated_averaging(
    model: PointModel,
    shards: Sequence[Shard],
    *,
    rule: Rule,
    rounds: int,
    local_steps: int,
    rng: np.random.Generator,
    start: FloatArray | None = None,
    regularisation: float = 0.0,
    persistent: bool = False,
    alter: AlterWeights | None = None,
    weights: Sequence[float] | None = None,
) -> AveragingResult:
    """Averages locally trained weights by n_k/n, round after round.

    Each client descends (1/n_k) Σ −log p(t | x, w) + ½ regularisation/n · ‖w‖² with full batches,
    so that one local step of plain gradient descent per round is gradient descent on the pooled
    data. TUM's learning rate 0.5/√t is `SGD(learning_rate=lambda t: 0.5 / t**0.5)` with
    `persistent=True`.

    Args:
        model: a likelihood with per-record scores.
        shards: the clients' data.
        rule: SGD for gradient descent, or Adam.
        rounds: rounds of communication.
        local_steps: E, local steps per round.
        rng: for the `alter` hook; the training itself is deterministic.
        start: initial weights; zeros if not given.
        regularisation: strength of the squared penalty.
        persistent: whether a client's rule keeps its state between rounds.
        alter: alters each client's change of weights before it is sent.
        weights: the shares of the clients in the average, positive; n_k/n if not given.

    Example:
        >>> from pvi import SGD, LinearRegression
        >>> shards = [Shard(inputs=[[1.0]], targets=[y]) for y in (1.0, 2.0, 3.0)]
        >>> result = federated_averaging(
        ...     LinearRegression(dimension=1, noise_std=1.0), shards,
        ...     rule=SGD(learning_rate=0.5), rounds=60, local_steps=1,
        ...     rng=np.random.default_rng(0),
        ... )
        >>> result.weights.round(6)
        array([2.])
    """
    at_least("rounds", rounds, 1)
    at_least("local_steps", local_steps, 1)
    if not shards:
        raise ValueError("shards is empty; at least one is needed")
    if not 0.0 <= regularisation < np.inf:
        raise ValueError(f"regularisation is {regularisation!r}; it must be at least 0")
    sizes = np.array([shard.size for shard in shards], dtype=np.float64)
    shares = sizes / sizes.sum() if weights is None else finite_array("weights", weights)
    if shares.shape != sizes.shape or not (shares > 0).all():
        raise ValueError(f"weights are {weights}; there must be {len(shards)}, all above 0")
    current = np.zeros(model.dimension) if start is None else finite_array("start", start)
    states: list[State] = [{} for _ in shards]
    history = []
    for number in range(1, rounds + 1):
        average = np.zeros(())
        for k, shard in enumerate(shards):
            state = states[k] if persistent else {}
            local = current
            for _ in range(local_steps):
                gradient = model.scores(local, shard).mean(axis=-2)
                gradient = gradient - regularisation / sizes.sum() * local
                step, state = rule.step(gradient, state)
                local = local + step
            states[k] = state
            change = local - current
            if alter is not None:
                context = Context(client=k, round=number, rng=generator(rng))
                change = alter(change, context)
            average = average + shares[k] * change
        current = current + average
        history.append(current)
    return AveragingResult(weights=current, history=np.stack(history))
