"""What the checks of the Thesis's data-set level algorithms share."""

import numpy as np
from dp_accounting import GaussianDpEvent, NeighboringRelation
from scipy import stats

from accountants.arrays import FloatArray
from mechanisms import Scope, Transcript, View, project
from pvi import LinearRegression, MeanFieldGaussian, Shard

MODEL = LinearRegression(dimension=1, noise_std=1.0)


def shard(inputs: list[float], targets: list[float]) -> Shard:
    """Records with one input each."""
    return Shard(inputs=np.array(inputs)[:, None], targets=np.array(targets))


# Two clients with few records, and a prior so firm that noise cannot make q improper.
SHARDS = [shard([1.0, 2.0], [3.0, -1.0]), shard([0.5], [4.0])]
PRIOR = MeanFieldGaussian(natural_mean=np.zeros(1), precision=np.array([1e6]))
TRIALS = 2000


def client_scope(view: View) -> Scope:
    """A client that contributes zero instead."""
    return Scope(relation=NeighboringRelation.REPLACE_SPECIAL, unit="client", view=view)


def multiplier(plan: Transcript, view: View) -> float:
    """The noise multiplier of a plan with one round."""
    event = project(plan, client_scope(view))
    assert isinstance(event, GaussianDpEvent)
    return float(event.noise_multiplier)


def plausible_variance(samples: FloatArray, variance: float) -> bool:
    """Whether (n−1)s²/σ² lies within the central 1 − 1e-9 of χ², for each column."""
    count = len(samples)
    scaled = (count - 1) * samples.var(axis=0, ddof=1) / variance
    low, high = stats.chi2.ppf([5e-10, 1.0 - 5e-10], count - 1)
    return bool(((scaled > low) & (scaled < high)).all())


def variance_interval(samples: FloatArray) -> tuple[float, float]:
    """Confidence bounds, error 1e-9, of the variance that all columns of normal draws share."""
    degrees = samples.shape[1] * (len(samples) - 1)
    sum_of_squares = (len(samples) - 1) * samples.var(axis=0, ddof=1).sum()
    return (
        float(sum_of_squares / stats.chi2.isf(5e-10, degrees)),
        float(sum_of_squares / stats.chi2.ppf(5e-10, degrees)),
    )
