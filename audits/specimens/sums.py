"""Clipped sums with Gaussian noise: what the small mechanisms of the zoo are made of.

Data are arrays (records, dimension); a draw is one row of the output. The clip norm C is 1.
"""

import functools
import math
from collections.abc import Callable, Sequence

import dp_accounting as dpa
import numpy as np
from dp_accounting import NeighboringRelation

from accountants import FourierAccountant, gaussian
from accountants.arrays import FloatArray
from audits.claims import Claim, EventClaim
from audits.pairs import Pair
from mechanisms import clip_rows

ADD_OR_REMOVE = NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = NeighboringRelation.REPLACE_ONE

GAUSSIAN_TWIN = (
    "The twin is the Gaussian mechanism on a sum of sensitivity C: Balle and Wang 2018, Theorem 8."
)


def clipped_sum(data: FloatArray) -> FloatArray:
    """Σ of the records, each clipped to norm 1."""
    total: FloatArray = clip_rows(data, 1.0).rows.sum(axis=0)
    return total


def normals(rng: np.random.Generator, n: int, dimension: int, std: float) -> FloatArray:
    """Noise for n draws."""
    return rng.normal(scale=std, size=(n, dimension))


def poisson_batches(rng: np.random.Generator, n: int, records: int, rate: float) -> FloatArray:
    """For each draw, 1 for the records in its batch and 0 for the others."""
    return (rng.random((n, records)) < rate).astype(np.float64)


def gaussian_claim(
    multiplier: float = 1.0, *, steps: int = 1, relation: NeighboringRelation = ADD_OR_REMOVE
) -> Claim:
    """The curve of `steps` Gaussian releases."""
    event: dpa.DpEvent = dpa.GaussianDpEvent(multiplier)
    return EventClaim(
        event if steps == 1 else dpa.SelfComposedDpEvent(event, steps), relation=relation
    )


def shifted(standard_deviations: float) -> Callable[[float], float]:
    """The proof for outputs that the pair moves by so many standard deviations of normal noise."""
    return functools.partial(_shift_costs, standard_deviations)


def _shift_costs(mu: float, delta: float) -> float:
    return gaussian.epsilon_bounds(mu, delta).lower


def amounts_to(
    event: dpa.DpEvent, relation: NeighboringRelation = ADD_OR_REMOVE
) -> Callable[[float], float]:
    """The proof for a mechanism that is an event in truth, another than the one claimed."""
    return functools.partial(_event_costs, event, relation)


def _event_costs(event: dpa.DpEvent, relation: NeighboringRelation, delta: float) -> float:
    return FourierAccountant(relation).compose(event).get_epsilon_bounds(delta).lower


def present_or_absent(
    record: Sequence[float], *, others: FloatArray | None = None, name: str
) -> Pair:
    """With and without one record."""
    row = np.array([record], dtype=np.float64)
    rest = np.zeros((0, row.shape[1])) if others is None else others
    return Pair(np.concatenate([rest, row]), rest, name)


def gaussian_mu_lower(epsilon: float, delta: float) -> float:
    """The largest μ of Gaussian DP whose ε at δ is at most `epsilon`; rounded downwards."""
    low, high = 1e-6, 100.0
    while high - low > 1e-9:
        middle = 0.5 * (low + high)
        fits = gaussian.epsilon_bounds(middle, delta).upper <= epsilon
        low, high = (middle, high) if fits else (low, middle)
    return math.nextafter(low, 0.0)
