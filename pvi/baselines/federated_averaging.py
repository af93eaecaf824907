"""Federated averaging of point estimates, with gradient descent or Adam (TUM 5.2.3)."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from pvi.archive import Apply, CheckpointError, Companion, Packed
from pvi.generator_state import ClientRandomness, checked_state
from pvi.models.protocol import PointModel
from pvi.shard import Shard
from pvi.solvers.problem import Context
from pvi.solvers.rules import Rule, State
from pvi.validate import (
    FloatArray,
    at_least,
    finite_array,
    flag,
    function,
    generator,
    having,
    instance,
    read_only,
    real,
    sequence,
    shown,
)

AlterWeights: TypeAlias = Callable[[FloatArray, Context], FloatArray]
"""Alters a client's change of weights (..., d) before it is sent."""
AfterAverage: TypeAlias = Callable[[FloatArray, int], None]
"""Is told the average change of a round, as the server applies it, and the round's number."""


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
      start: Initial weights; zeros if not given. Batch axes are repetitions.
      regularisation: Strength of the squared penalty.
      persistent: Whether a client's rule keeps its state between rounds.
      alter: Alters each client's change of weights before it is sent.
      after_round: Called when a round's average has been formed.
      shares: The clients' shares in the average, positive; n_k/n if not given.

    Attributes:
      weights: The current weights, (..., d), read-only.
      round: The number of rounds made.
      companion: What is saved and restored with the training; see `pvi.checkpoint`.
      client_rng: As in `Federation`.

    Example:
      >>> from pvi import SGD, LinearRegression
      >>> training = FederatedAveraging(
      ...     LinearRegression(dimension=1, noise_std=1.0),
      ...     [Shard(inputs=[[1.0]], targets=[y]) for y in (1.0, 2.0, 3.0)],
      ...     rule=SGD(learning_rate=0.5), local_steps=1, rng=np.random.default_rng(0),
      ... )
      >>> training.run(60).round(6)
      array([2.])
      >>> training.history.shape
      (60, 1)
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
        after_round: AfterAverage | None = None,
        shares: Sequence[float] | None = None,
    ) -> None:
        having("model", model, "dimension", "log_likelihood", "scores")
        sequence("shards", shards, Shard, least=1)
        having("rule", rule, "step")
        real("regularisation", regularisation, lower=0.0)
        sizes = np.array([shard.size for shard in shards], dtype=np.float64)
        self._shares = sizes / sizes.sum() if shares is None else finite_array("shares", shares)
        if self._shares.shape != sizes.shape or not (self._shares > 0).all():
            raise ValueError(
                f"`shares` must be {len(shards)} numbers above 0, got {shown(shares)}."
            )
        self._model = model
        self._shards = tuple(shards)
        self._rule = rule
        self._local_steps = at_least("local_steps", local_steps, 1)
        self._rng = generator(rng)
        self._penalty = regularisation / sizes.sum()
        self._persistent = flag("persistent", persistent)
        self._alter = None if alter is None else function("alter", alter)
        self._after_round = None if after_round is None else function("after_round", after_round)
        self._states: list[State] = [{} for _ in shards]
        self._history: list[FloatArray] = []
        first = np.zeros(model.dimension) if start is None else finite_array("start", start)
        if first.ndim == 0 or first.shape[-1] != model.dimension:
            raise ValueError(f"`start` must be {model.dimension} weights, got shape {first.shape}.")
        self.weights = read_only(first)
        self.round = 0
        self.companion: Companion | None = None
        self.client_rng: ClientRandomness | None = None

    @property
    def history(self) -> FloatArray:
        """The weights after each round, (rounds, ..., d)."""
        if not self._history:
            return np.zeros((0, *self.weights.shape))
        return np.stack(self._history)

    @property
    def kind(self) -> str:
        """Its name in a checkpoint."""
        return "averaging"

    def pack(self) -> Packed:
        """Gives the state that `pvi.save` writes."""
        arrays = {"weights": self.weights, "history": self.history}
        for client, state in enumerate(self._states):
            arrays |= {f"state/{client}/{name}": value for name, value in state.items()}
        facts = {
            "round": self.round,
            "rng": self._rng.bit_generator.state,
            "states": [list(state) for state in self._states],
        }
        return Packed(facts, arrays)

    def unpack(self, packed: Packed) -> Apply:
        """Checks a saved state and gives what puts it in place; for `pvi.restore`."""
        facts, arrays = instance("packed", packed, Packed).facts, dict(packed.arrays)
        rounds = at_least("round", facts["round"], 0)
        rng_state = checked_state(facts["rng"], self._rng)
        weights = read_only(finite_array("weights", arrays.pop("weights")))
        history = [read_only(entry) for entry in finite_array("history", arrays.pop("history"))]
        if len(facts["states"]) != len(self._shards):
            raise CheckpointError(
                f"it holds {len(facts['states'])} clients; the training has {len(self._shards)}"
            )
        states = [
            {name: finite_array(name, arrays.pop(f"state/{client}/{name}")) for name in names}
            for client, names in enumerate(facts["states"])
        ]
        shapes = {weights.shape, *(entry.shape for entry in history)}
        if shapes != {self.weights.shape} or len(history) > rounds or arrays:
            raise CheckpointError(f"it has {len(history)} of {rounds} rounds, of shapes {shapes}")
        if history and not np.array_equal(history[-1], weights):
            raise CheckpointError("its weights are not those after its last round")

        def apply() -> None:
            self._rng.bit_generator.state = rng_state
            self.weights, self.round = weights, rounds
            self._states, self._history = list(states), history

        return apply

    def run(self, rounds: int) -> FloatArray:
        """Makes `rounds` more rounds; gives the weights after the last."""
        for _ in range(at_least("rounds", rounds, 1)):
            self.round += 1
            average = np.zeros(())
            for client, share in enumerate(self._shares):
                average = average + share * self._change(client)
            if self._after_round is not None:
                self._after_round(average, self.round)
            self.weights = read_only(self.weights + average)
            self._history.append(self.weights)
        return self.weights

    def _change(self, client: int) -> FloatArray:
        """What the client sends: how its local steps move the weights, altered."""
        change, self._states[client] = descend(
            self._model,
            self._shards[client],
            self.weights,
            self._states[client] if self._persistent else {},
            rule=self._rule,
            steps=self._local_steps,
            penalty=self._penalty,
        )
        if self._alter is None:
            return change
        own = self.client_rng(client, self.round) if self.client_rng else self._rng
        return self._alter(change, Context(client=client, round=self.round, rng=own))


def descend(
    model: PointModel,
    shard: Shard,
    weights: FloatArray,
    state: State,
    *,
    rule: Rule,
    steps: int,
    penalty: float,
) -> tuple[FloatArray, State]:
    """One client's local steps: how they move the weights, and the rule's new state."""
    local = weights
    for _ in range(steps):
        gradient = model.scores(local, shard).mean(axis=-2)
        step, state = rule.step(gradient - penalty * local, state)
        local = local + step
    return local - weights, state
