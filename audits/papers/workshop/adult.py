"""Adult among clients: shards, a test set, and how good a posterior is on it.

The test set is the one that the papers' public code makes: all records in the order of numpy's
legacy shuffle with seed 0, the first ones for training. Then differences from a published figure
are not those of another test set, whose standard error is 0.36 points at 85% of 9768 records.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

import pvi
from audits.papers.workshop.published import ADULT_RECORDS, TRAINING
from pvi.data import Dataset, Split, load_adult, split

Source = Literal["adult", "synthetic"]
_SHUFFLE_SEED = 0
_POSITIVE_SHARE = 0.24


@dataclass(frozen=True, slots=True, kw_only=True)
class AdultSetting:
    """Where records come from, and how they are divided.

    Attributes:
      source: "adult", or "synthetic": generated records with Adult's share of the rarer class, for
        tests that must not need a download.
      records: How many records; Adult's own number is the only one for Adult.
      columns: How many features; likewise.
      training: How many of the records are for training.
      clients: M, half of them small.
      division_seed: Which records go to which client; the same for every repetition of a study.
    """

    source: Source = "adult"
    records: int = ADULT_RECORDS
    columns: int = 108
    training: int = TRAINING
    clients: int = 10
    division_seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """How good a posterior is on the test set.

    Attributes:
      accuracy: In per cent.
      log_likelihood: Mean over test records, by the probit approximation (Workshop eq. 11).
    """

    accuracy: float
    log_likelihood: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AdultClients:
    """The clients' data, the model, and the test set."""

    shards: tuple[pvi.Shard, ...]
    model: pvi.LogisticRegression
    prior: pvi.MeanFieldGaussian
    test_features: NDArray[np.float64]
    test_labels: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        data: Dataset,
        clients: Sequence[NDArray[np.intp]],
        test: NDArray[np.intp],
        *,
        prior_variance: float,
    ) -> "AdultClients":
        """From the rows of `data` that each client holds, and those of the test set."""
        labels = data.labels.astype(np.int64)
        model = pvi.LogisticRegression(dimension=data.features.shape[-1], nodes=16)
        return cls(
            shards=tuple(
                pvi.Shard.from_classes(data.features[rows], labels[rows]) for rows in clients
            ),
            model=model,
            prior=pvi.MeanFieldGaussian.from_mean_variance(
                np.zeros(model.dimension), np.full(model.dimension, prior_variance)
            ),
            test_features=data.features[test],
            test_labels=labels[test],
        )

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many records each client holds."""
        return tuple(shard.size for shard in self.shards)

    def score(self, posterior: pvi.MeanFieldGaussian) -> Score:
        """Accuracy and mean log-likelihood on the test set."""
        positive = self.model.predict(posterior, self.test_features)
        truth = np.where(self.test_labels == 1, positive, 1.0 - positive)
        return Score(
            accuracy=float(100.0 * np.mean((positive > 0.5) == (self.test_labels == 1))),
            log_likelihood=float(np.mean(np.log(truth))),
        )


@functools.lru_cache(maxsize=4)
def divided_adult(
    setting: AdultSetting, *, rho: float, kappa: float, prior_variance: float
) -> AdultClients:
    """Loads the records and divides them between clients (Workshop Appendix C), once a process."""
    data = _records(setting)
    train, test = _published_holdout(setting)
    parts = _divide(data.labels[train].astype(np.int64), setting, rho, kappa)
    clients = [train[rows] for rows in parts.clients]
    return AdultClients.of(data, clients, test, prior_variance=prior_variance)


def shares_of_positives(
    setting: AdultSetting, *, rho: float, kappa: float
) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Each client's number of records, and which fraction of them is positive."""
    train, _ = _published_holdout(setting)
    labels = _records(setting).labels[train].astype(np.int64)
    parts = _divide(labels, setting, rho, kappa)
    return parts.sizes, parts.shares(labels, 1)


@functools.lru_cache(maxsize=1)
def _records(setting: AdultSetting) -> Dataset:
    if setting.source == "synthetic":
        return _generated(setting.records, setting.columns)
    data = load_adult()
    if data.features.shape != (setting.records, setting.columns):
        raise ValueError(
            f"`records` and `columns` must be {data.features.shape} for Adult, got "
            f"{(setting.records, setting.columns)}."
        )
    return data


def _published_holdout(setting: AdultSetting) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    # The legacy generator on purpose: it is the one that the published order is from.
    order = np.random.RandomState(_SHUFFLE_SEED).permutation(setting.records)
    return order[: setting.training], order[setting.training :]


def _divide(labels: NDArray[np.int64], setting: AdultSetting, rho: float, kappa: float) -> Split:
    rng = np.random.default_rng(setting.division_seed)
    return split(labels, setting.clients, rho=rho, kappa=kappa, rng=rng)


def _generated(records: int, columns: int) -> Dataset:
    """Records of a logistic model whose threshold gives exactly Adult's share of positives."""
    rng = np.random.default_rng(0)
    features = np.concatenate(
        [np.ones((records, 1)), rng.standard_normal((records, columns - 1))], axis=1
    )
    score = features[:, 1:] @ rng.standard_normal(columns - 1) + rng.logistic(size=records)
    highest = np.argsort(score)[records - round(_POSITIVE_SHARE * records) :]
    labels = np.zeros(records, dtype=np.int64)
    labels[highest] = 1
    return Dataset(features=features, labels=labels)
