"""Mechanisms whose claims are true, each on a pair where the claim is as tight as it can be."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import dp_accounting as dpa
import numpy as np
from dp_accounting import NeighboringRelation
from dp_accounting.dp_event import DiscreteLaplaceDpEvent

from audits import (
    Claim,
    Domain,
    EventClaim,
    GaussianClaim,
    PointClaim,
)


@dataclass(frozen=True)
class Case:
    mechanism: Callable[[Any, np.random.Generator, int], Any]
    pair: tuple[Any, Any]
    claim: Callable[[], Claim]


def gaussian(data: float, rng: np.random.Generator, n: int, sigma: float = 1.0) -> np.ndarray:
    return data + rng.normal(scale=sigma, size=n)


def laplace(data: float, rng: np.random.Generator, n: int) -> np.ndarray:
    return data + rng.laplace(size=n)


def randomised_response(data: int, rng: np.random.Generator, n: int) -> np.ndarray:
    """With probability 1/2 a fair coin, else the truth."""
    coin = rng.integers(0, 2, size=n)
    return np.where(rng.random(n) < 0.5, coin, data)


def poisson_gaussian(data: float, rng: np.random.Generator, n: int) -> np.ndarray:
    return data * (rng.random(n) < 0.2) + rng.normal(scale=0.7, size=n)


def two_rounds(data: float, rng: np.random.Generator, n: int) -> np.ndarray:
    """The second query's sign is chosen by the first answer: adaptive composition."""
    first = data + rng.normal(scale=1.5, size=n)
    second = np.where(first > 0.5, data, -data) + rng.normal(scale=1.5, size=n)
    return np.stack([first, second], axis=1)


def clamped_geometric(data: int, rng: np.random.Generator, n: int) -> np.ndarray:
    """Discrete Laplace noise e^{−|x|}, clamped to 0..3: two large atoms at the ends."""
    rate = 1.0 - np.exp(-1.0)
    noise = rng.geometric(rate, size=n) - rng.geometric(rate, size=n)
    return np.clip(data + noise, 0, 3)


def sparse_vector(data: float, rng: np.random.Generator, n: int) -> np.ndarray:
    """AboveThreshold with ε = 1 (Dwork & Roth 2014, Algorithm 1): index of the first answer."""
    threshold = rng.laplace(scale=2.0, size=(n, 1))
    queries = np.array([1.0, -1.0, 1.0, 1.0, -1.0]) * data
    above = queries + rng.laplace(scale=4.0, size=(n, 5)) >= threshold
    return np.where(above.any(axis=1), above.argmax(axis=1), 5)


def leaky_response(data: int, rng: np.random.Generator, n: int) -> np.ndarray:
    """With probability 0.05 the truth, marked as such; else randomised response with ε = 1."""
    noisy = np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-1.0)), data, 1 - data)
    return np.where(rng.random(n) < 0.05, 2 + data, noisy)


def ten_dimensions(data: float, rng: np.random.Generator, n: int) -> np.ndarray:
    return data * np.resize([1.0, -1.0], 10) / np.sqrt(10.0) + rng.normal(size=(n, 10))


def geometric(data: int, rng: np.random.Generator, n: int) -> np.ndarray:
    rate = 1.0 - np.exp(-1.0)
    return data + rng.geometric(rate, size=n) - rng.geometric(rate, size=n)


def noisy_choice(data: int, rng: np.random.Generator, n: int) -> np.ndarray:
    """The exponential mechanism with ε = 1 on three scores, one of which moves up, two down."""
    scores = np.array([1.0, 0.0, 0.0]) if data else np.array([0.0, 1.0, 1.0])
    weights = np.exp(0.5 * scores)
    return rng.choice(3, size=n, p=weights / weights.sum())


TRUE: Mapping[str, Case] = {
    "Gaussian": Case(gaussian, (1.0, 0.0), lambda: EventClaim(dpa.GaussianDpEvent(1.0))),
    "Laplace": Case(laplace, (1.0, 0.0), lambda: EventClaim(dpa.LaplaceDpEvent(1.0))),
    "randomised response": Case(
        randomised_response,
        (1, 0),
        lambda: EventClaim(
            dpa.RandomizedResponseDpEvent(0.5, 2), relation=NeighboringRelation.REPLACE_ONE
        ),
    ),
    "Poisson-sampled Gaussian": Case(
        poisson_gaussian,
        (1.0, 0.0),
        lambda: EventClaim(dpa.PoissonSampledDpEvent(0.2, dpa.GaussianDpEvent(0.7))),
    ),
    "two rounds, adaptive": Case(
        two_rounds,
        (1.0, 0.0),
        lambda: EventClaim(dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(1.5), 2)),
    ),
    "clamped geometric": Case(
        clamped_geometric, (2, 1), lambda: EventClaim(DiscreteLaplaceDpEvent(1.0, 1))
    ),
    "sparse vector": Case(sparse_vector, (1.0, 0.0), lambda: PointClaim(1.0)),
    "Laplace, pure": Case(laplace, (1.0, 0.0), lambda: PointClaim(1.0)),
    "randomised response that leaks": Case(
        leaky_response, (1, 0), lambda: PointClaim(1.0, delta=0.05)
    ),
    "ten dimensions": Case(ten_dimensions, (1.0, 0.0), lambda: GaussianClaim(1.0)),
    "geometric": Case(geometric, (1, 0), lambda: PointClaim(1.0)),
    "exponential mechanism": Case(noisy_choice, (1, 0), lambda: PointClaim(1.0)),
}
half_noise = partial(gaussian, sigma=2**-0.5)


@dataclass(frozen=True)
class Accepted:
    """A mechanism on data sets of a domain, and a claim that is true and tight on them."""

    mechanism: Callable[[Any, np.random.Generator, int], Any]
    domain: Domain
    claim: Callable[[], Claim]


def gaussian_sum(data: np.ndarray, rng: np.random.Generator, n: int) -> np.ndarray:
    return data.sum() + rng.normal(size=n)


def laplace_sum(data: np.ndarray, rng: np.random.Generator, n: int) -> np.ndarray:
    return data.sum() + rng.laplace(size=n)


def geometric_count(data: np.ndarray, rng: np.random.Generator, n: int) -> np.ndarray:
    return int(data.sum()) + geometric(0, rng, n)


def vector_sum(data: np.ndarray, rng: np.random.Generator, n: int) -> np.ndarray:
    return data.sum(axis=0) + rng.normal(size=(n, data.shape[1]))


# One record or none: the fewest pairs with the tightest claims.
_ONE = partial(Domain, min_records=0, max_records=1)
ACCEPTED: Mapping[str, Accepted] = {
    "Gaussian sum": Accepted(
        gaussian_sum, _ONE(dimension=0), lambda: EventClaim(dpa.GaussianDpEvent(1.0))
    ),
    "Laplace sum, pure": Accepted(laplace_sum, _ONE(dimension=0), lambda: PointClaim(1.0)),
    "geometric count": Accepted(
        geometric_count,
        Domain(dimension=0, bounds=(0, 1), dtype=int, max_records=2),
        lambda: EventClaim(DiscreteLaplaceDpEvent(1.0, 1)),
    ),
    # The corners have norm 1, but for what rounding may add.
    "vector sum": Accepted(
        vector_sum,
        _ONE(dimension=3, bounds=(-(1 - 1e-12) / 3**0.5, (1 - 1e-12) / 3**0.5)),
        lambda: GaussianClaim(1.0),
    ),
}
