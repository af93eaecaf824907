"""Data and likelihoods of the study: one half of Adult to learn from, the other half to test on."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.special import expit

from accountants.arrays import FloatArray
from pvi import LogisticRegression, MeanFieldGaussian, Model, Shard
from pvi.data import Dataset, load_adult, logistic_data
from pvi.data.splits import Split, holdout, split

Part: TypeAlias = Literal["test", "validation"]
_PREDICTIVE_SAMPLES = 100  # TMLR Appendix B.
_LEAST_PROBABILITY = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Division:
    """How records fall to clients: a row of TMLR's Tables 2 and 3."""

    name: str
    rho: float
    kappa: float

    def of(self, data: Dataset, clients: int, rng: np.random.Generator) -> Split:
        """Which record belongs to whom."""
        return split(data.labels, clients, rho=self.rho, kappa=self.kappa, rng=rng)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where records come from.

    Attributes:
      generated: How many records to generate; Adult itself if 0.
      columns: Of the generated records, with the bias.
      seed: For what is the same in all runs: which half is for testing, and generated records.
      validation: How many records of the training half choose hyperparameters.
    """

    generated: int = 0
    columns: int = 109
    seed: int = 2023
    validation: int = 4421


class Halves(NamedTuple):
    """Records to learn from, and records to predict."""

    learn: Dataset
    predict: Dataset


@functools.cache
def _records(source: Source) -> Dataset:
    if not source.generated:
        return load_adult(bias=True)
    rng = np.random.default_rng(source.seed)
    theta = rng.normal(size=source.columns) / np.sqrt(source.columns) * 3.0
    theta[0] = -1.5  # About as unequal classes as Adult's.
    return logistic_data(theta=theta, size=source.generated, rng=rng)


@functools.cache
def load(source: Source, part: Part, *, bias: bool) -> Halves:
    """The halves for reported runs, or a cut of the training half for the search.

    Records of the test half are never seen by the search. A network has biases of its own.
    """
    data = _records(source)
    if not bias:
        data = Dataset(features=data.features[:, 1:], labels=data.labels)
    rng = np.random.default_rng(source.seed)
    train, test = holdout(len(data), len(data) // 2, rng)
    if part == "test":
        return Halves(data.take(train), data.take(test))
    cut = source.validation
    return Halves(data.take(train[cut:]), data.take(train[:cut]))


def divide(
    data: Dataset, division: Division, clients: int, rng: np.random.Generator
) -> list[Shard]:
    """The clients' shards."""
    found = division.of(data, clients, rng)
    return [Shard.from_classes(data.features[rows], data.labels[rows]) for rows in found.clients]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Likelihood:
    """A model, its standard normal prior, where to begin, and how to predict.

    Attributes:
      model: What the engine optimises.
      prior: p.
      initial_mean: Draws a mean to begin with; the prior is the beginning if `None`.
      predict: From q, features and a generator to P(class 1), averaged over 100 draws of θ.
      local_batch: How many records of a part enter a local step, which is free where only the
        part's change is released; all if `None`.
    """

    model: Model
    prior: MeanFieldGaussian
    initial_mean: Callable[[np.random.Generator], FloatArray] | None
    predict: Callable[[MeanFieldGaussian, FloatArray, np.random.Generator], FloatArray]
    local_batch: int | None = None


def likelihood(kind: Literal["logistic", "bnn"], columns: int, hidden: int) -> Likelihood:
    """One of TMLR's two; `bnn` needs torch."""
    if kind == "logistic":
        regression = LogisticRegression(dimension=columns, nodes=12)

        def predict(
            q: MeanFieldGaussian, features: FloatArray, rng: np.random.Generator
        ) -> FloatArray:
            weights = q.sample(rng, _PREDICTIVE_SAMPLES)
            return np.asarray(expit(features @ weights.T).mean(axis=-1))

        return Likelihood(
            model=regression, prior=_standard(columns), initial_mean=None, predict=predict
        )
    from pvi.models.bnn import BayesianNeuralNetwork

    network = BayesianNeuralNetwork(inputs=columns, hidden=hidden)
    return Likelihood(
        model=network,
        prior=_standard(network.dimension),
        initial_mean=network.initial_mean,
        predict=functools.partial(network.predict_sampled, samples=_PREDICTIVE_SAMPLES),
        local_batch=8,  # A network's gradients are a hundred times as expensive.
    )


def _standard(dimension: int) -> MeanFieldGaussian:
    return MeanFieldGaussian.from_mean_variance(np.zeros(dimension), np.ones(dimension))


def score(
    own: Likelihood, q: MeanFieldGaussian, data: Dataset, rng: np.random.Generator
) -> tuple[float, float]:
    """Accuracy in per cent, and the mean log-likelihood."""
    chance = own.predict(q, data.features, rng)
    hit = np.where(data.labels == 1, chance, 1.0 - chance)
    log_likelihood = np.log(np.maximum(hit, _LEAST_PROBABILITY)).mean()
    return float(100.0 * (hit > 0.5).mean()), float(log_likelihood)
