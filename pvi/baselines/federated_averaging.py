"""Federated averaging of point estimates, with gradient descent or Adam (TUM 5.2.3)."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from pvi.models.protocol import PointModel
from pvi.shard import Shard
from pvi.solvers.local import Context
from pvi.solvers.rules import Rule, State
from pvi.validate import FloatArray, at_least, finite_array, generator

AlterWeights: TypeAlias = Callable[[FloatArray, Context], FloatArray]
"""Alters a client's change of weights (..., d) before it is sent."""


AfterAveraging: TypeAlias = Callable[[FloatArray, int], None]
"""Told the weighted sum of the clients' changes (..., d) and the number of the round it closes."""


class FederatedAveraging:
    """Averages locally trained weights by n_k/n, round after round.

    Each client descends (1/n_k) Σ −log p(t | x, w) + ½ regularisation/n · ‖w‖² with full batches,
    so that one local step of plain gradient descent per round is gradient descent on the pooled
    data. TUM's learning rate 0.5/√t is `SGD(learning_rate=lambda t: 0.5 / t**0.5)` with
    `persistent=True`.

    Args:
      model: A likelihood with per-record scores.
      shards: The clients' data.
      rule: SGD for gradient descent, or Adam.
      local_steps: E, local steps per round.
      rng: For the `alter` hook; the training itself is deterministic.
      start: Initial weights; zeros if not given.
      regularisation: Strength of the squared penalty.
      persistent: Whether a client's rule keeps its state between rounds.
      alter: Alters each client's change of weights before it is sent.
      weights: The shares of the clients in the average, positive; n_k/n if not given.
      after_round: Told what each round added.

    Attributes:
      weights: The present weights, (..., d).

    >>> from pvi import SGD, LinearRegression
    >>> shards = [Shard(inputs=[[1.0]], targets=[y]) for y in (1.0, 2.0, 3.0)]
    >>> averaging = FederatedAveraging(
    ...     LinearRegression(dimension=1, noise_std=1.0), shards,
    ...     rule=SGD(learning_rate=0.5), local_steps=1, rng=np.random.default_rng(0),
    ... )
    >>> averaging.run(60)
    >>> averaging.weights.round(6)
    array([2.])
    """

    def __init__(
        self,
        model: PointModel,
        shards: Sequence[Shard],
        *,
        rule: Rule,
        local_steps: int,
        rng: np.random.Generator,
        start: FloatArray | None = None,
        regularisation: float = 0.0,
        persistent: bool = False,
        alter: AlterWeights | None = None,
        weights: Sequence[float] | None = None,
        after_round: AfterAveraging | None = None,
    ) -> None:
        at_least("local_steps", local_steps, 1)
        if not shards:
            raise ValueError("shards is empty; at least one is needed")
        if not 0.0 <= regularisation < np.inf:
            raise ValueError(f"regularisation is {regularisation!r}; it must be at least 0")
        sizes = np.array([shard.size for shard in shards], dtype=np.float64)
        shares = sizes / sizes.sum() if weights is None else finite_array("weights", weights)
        if shares.shape != sizes.shape or not (shares > 0).all():
            raise ValueError(f"weights are {weights}; there must be {len(shards)}, all above 0")
        self.weights = np.zeros(model.dimension) if start is None else finite_array("start", start)
        self._model, self._shards, self._shares = model, tuple(shards), shares
        self._rule, self._local_steps, self._persistent = rule, local_steps, persistent
        self._penalty = regularisation / float(sizes.sum())
        self._alter, self._after_round, self._rng = alter, after_round, generator(rng)
        self._states: list[State] = [{} for _ in shards]
        self._history: list[FloatArray] = []

    @property
    def history(self) -> FloatArray:
        """The weights after each round so far, (rounds, ..., d)."""
        return np.stack(self._history)

    def run(self, rounds: int) -> None:
        """Makes `rounds` more rounds."""
        for _ in range(at_least("rounds", rounds, 1)):
            number = len(self._history) + 1
            total = np.zeros(())
            for client, share in enumerate(self._shares):
                total = total + share * self._change(client, number)
            if self._after_round is not None:
                self._after_round(total, number)
            self.weights = self.weights + total
            self._history.append(self.weights)

    def _change(self, client: int, number: int) -> FloatArray:
        """What a client sends."""
        state = self._states[client] if self._persistent else {}
        local = self.weights
        for _ in range(self._local_steps):
            gradient = self._model.scores(local, self._shards[client]).mean(axis=-2)
            step, state = self._rule.step(gradient - self._penalty * local, state)
            local = local + step
        self._states[client] = state
        change = local - self.weights
        if self._alter is None:
            return change
        return self._alter(change, Context(client=client, round=number, rng=self._rng))
