"""Federated training of a default model (TUM), with and without noise, and its measures."""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from scipy import optimize
from scipy.special import log_expit, logit
from scipy.stats import rankdata

from accountants.arrays import FloatArray
from audits.papers.study import Result
from mechanisms import FedAvgPerturbation
from pvi import SGD, Adam, FederatedAveraging, LogisticRegression, Rule, Shard, State
from pvi.data import Dataset, credit_data, holdout

Optimiser: TypeAlias = Literal["GD", "Adam"]

# A public guess, in place of TUM's exact counts of defaults (6.2), which would be a release.
NOMINAL_DEFAULT_RATE = 0.03
TEST_SHARE = 0.2
REGULARISATION = 1.0  # TUM 7.2, for logistic regression.


@dataclass(frozen=True, slots=True)
class BalancedLogistic:
    """Logistic regression whose classes weigh the same (TUM 6.2), by the nominal default rate.

    Weighting moves the intercept by −logit(rate): `calibrated` takes that back.
    """

    dimension: int

    def log_likelihood(self, weights: FloatArray, shard: Shard) -> FloatArray:
        """Gives the weighted log P(t | x, weights) of each record."""
        return _class_weight(shard) * self._plain.log_likelihood(weights, shard)

    def scores(self, weights: FloatArray, shard: Shard) -> FloatArray:
        """Gives each record's gradient of the above."""
        return _class_weight(shard)[:, None] * self._plain.scores(weights, shard)

    @property
    def _plain(self) -> LogisticRegression:
        return _logistic(self.dimension)


@functools.cache
def _logistic(dimension: int) -> LogisticRegression:
    return LogisticRegression(dimension=dimension)


def _class_weight(shard: Shard) -> FloatArray:
    rate = NOMINAL_DEFAULT_RATE
    return np.where(shard.targets > 0.0, 0.5 / rate, 0.5 / (1.0 - rate))


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """How updates are hidden.

    Attributes:
      clip_norm: C.
      noise_multiplier: σ/C in TUM's notation.
      aggregator: "none": each client's noise protects its own message. "sizes" or "equal": a
        trusted aggregator adds up messages with noise shares, weighted by n_k/n or equally.
    """

    clip_norm: float
    noise_multiplier: float
    aggregator: Literal["none", "sizes", "equal"] = "none"

    def mechanism(self, clients: int) -> FedAvgPerturbation:
        """The mechanism for so many clients."""
        return FedAvgPerturbation(
            clip_norm=self.clip_norm,
            noise_multiplier=self.noise_multiplier,
            weights=(1.0 / clients,) * clients if self.aggregator == "equal" else None,
            trusted_aggregator=self.aggregator != "none",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A way to train.

    Attributes:
      optimiser: The rule, at the server for one local step (its input is then the average of the
        clients' gradients), at the clients for more (the server then averages).
      local_steps: E.
      learning_rate: At the first round.
      decay: Whether it falls as 1/√t with the round.
      noise: None for exact messages.
    """

    optimiser: Optimiser
    local_steps: int = 1
    learning_rate: float
    decay: bool = True
    noise: Noise | None = None

    def rule(self, number: int) -> Rule:
        """The optimiser with its learning rate of a round."""
        rate = self.learning_rate / math.sqrt(number) if self.decay else self.learning_rate
        return Adam(learning_rate=rate) if self.optimiser == "Adam" else SGD(learning_rate=rate)


@dataclass(frozen=True, slots=True)
class Split:
    """Training data of each client, and the test data of all."""

    train: tuple[Shard, ...]
    test: Shard


def split(records: int, seed: int) -> Split:
    """A new draw of the data; a random fifth of each client's records is for testing."""
    rng = np.random.default_rng([7, seed])
    train, test = [], []
    for part in credit_data(rng=rng, records=records):
        rows, others = holdout(len(part), len(part) - round(TEST_SHARE * len(part)), rng)
        train.append(_shard(part.take(rows)))
        test.append(_shard(part.take(others)))
    return Split(tuple(train), Shard.concatenate(test))


def _shard(part: Dataset) -> Shard:
    return Shard.from_classes(part.with_bias().features, part.labels)


def train(
    method: Method, records: int, rounds: int, seeds: Sequence[int], targets: Sequence[float]
) -> Result:
    """Trains on each seed's data and noise, and measures on its test data after every round.

    Returns:
      `rounds` (at most 25) and at these `low`, `auc`, `high`: least, mean and largest AUC over the
      seeds; the `final` measures, one list over seeds each; `reached`: for each AUC target the
      first round of each seed with at least that AUC, None if there is none.
    """
    histories, finals = [], []
    for seed in seeds:
        data = split(records, seed)
        weights = _weights(method, data.train, rounds, np.random.default_rng([8, seed]))
        histories.append([auc(data.test.inputs @ w, data.test.targets) for w in weights])
        finals.append(measures(weights[-1], data.test))
    curves = np.array(histories)
    kept = sorted({max(1, round(rounds * i / 25)) for i in range(1, 26)})
    shown = curves[:, [number - 1 for number in kept]]
    return {
        "rounds": kept,
        "low": _rounded(shown.min(axis=0)),
        "auc": _rounded(shown.mean(axis=0)),
        "high": _rounded(shown.max(axis=0)),
        "final": _columns(finals),
        "reached": {
            f"{target:g}": [_first(curve, target) for curve in curves] for target in targets
        },
    }


def train_centrally(records: int, seeds: Sequence[int]) -> Result:
    """The optimum on all training data in one place: the yardstick."""
    finals = []
    for seed in seeds:
        data = split(records, seed)
        finals.append(measures(_optimum(Shard.concatenate(list(data.train))), data.test))
    return {"final": _columns(finals)}


def _optimum(shard: Shard) -> FloatArray:
    model = BalancedLogistic(shard.inputs.shape[-1])

    def loss(weights: FloatArray) -> tuple[float, FloatArray]:
        value = -model.log_likelihood(weights, shard).mean()
        slope = -model.scores(weights, shard).mean(axis=0)
        penalty = REGULARISATION / shard.size
        return float(value + 0.5 * penalty * weights @ weights), slope + penalty * weights

    found = optimize.minimize(loss, np.zeros(model.dimension), jac=True, method="L-BFGS-B")
    return np.asarray(found.x)


def _weights(
    method: Method, shards: tuple[Shard, ...], rounds: int, rng: np.random.Generator
) -> list[FloatArray]:
    """The weights after each round.

    Rounds are run one at a time: what the server does with the average of a round is
    post-processing, and Adam at the server needs no more than that.
    """
    model = BalancedLogistic(shards[0].inputs.shape[-1])
    mechanism = None if method.noise is None else method.noise.mechanism(len(shards))
    at_server = method.local_steps == 1
    weights, history = np.zeros(model.dimension), []
    state: State = {}
    for number in range(1, rounds + 1):
        local = SGD(learning_rate=1.0) if at_server else method.rule(number)
        if mechanism is None:
            training = FederatedAveraging(
                model,
                shards,
                rule=local,
                local_steps=method.local_steps,
                rng=rng,
                start=weights,
                regularisation=REGULARISATION,
            )
            moved = training.run(1)
        else:
            moved = mechanism.run(
                model=model,
                data=shards,
                rule=local,
                rounds=1,
                local_steps=method.local_steps,
                rng=rng,
                start=weights,
                regularisation=REGULARISATION,
                keep_values=False,
            ).weights
        if at_server:
            step, state = method.rule(number).step(moved - weights, state)
            weights = weights + step
        else:
            weights = moved
        history.append(weights)
    return history


def measures(weights: FloatArray, test: Shard) -> dict[str, float]:
    """AUC, log-loss of the calibrated probabilities, balanced accuracy and accuracy.

    Both accuracies are those of the threshold at which the balanced classes are equally likely.
    """
    score = test.inputs @ weights
    calibrated = score + logit(NOMINAL_DEFAULT_RATE)
    right = (score > 0.0) == (test.targets > 0.0)
    hits = [float(right[test.targets == label].mean()) for label in (-1.0, 1.0)]
    return {
        "auc": auc(score, test.targets),
        "log_loss": float(-log_expit(test.targets * calibrated).mean()),
        "balanced_accuracy": sum(hits) / 2.0,
        "accuracy": float(right.mean()),
    }


def auc(score: FloatArray, targets: FloatArray) -> float:
    """The chance that a random default scores above a random other record; ties count one half.

    >>> auc(np.array([0.1, 0.4, 0.35, 0.8]), np.array([-1.0, -1.0, 1.0, 1.0]))
    0.75
    """
    positive = targets > 0.0
    defaults, others = int(positive.sum()), int((~positive).sum())
    if not defaults or not others:
        raise ValueError(f"`targets` must hold both classes, got {defaults} and {others} records.")
    ranks = rankdata(score)[positive].sum()
    return float((ranks - defaults * (defaults + 1) / 2.0) / (defaults * others))


def _first(curve: FloatArray, target: float) -> int | None:
    reached = np.flatnonzero(curve >= target)
    return int(reached[0]) + 1 if reached.size else None


def _columns(finals: list[dict[str, float]]) -> dict[str, list[float]]:
    return {name: [float(f"{row[name]:.5g}") for row in finals] for name in finals[0]}


def _rounded(values: FloatArray) -> list[float]:
    return [float(f"{value:.4f}") for value in values]
