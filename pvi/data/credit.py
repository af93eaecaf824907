"""A synthetic stand-in for a bank's records of defaults, unbalanced and different by country.

TUM's data (section 4) are private: 14 countries whose sizes and default rates vary strongly, 28
behavioural features that are correlated with each other, some distributed differently by country
and some alike, and few defaults. Only this description is followed; no figure was read off.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy import optimize
from scipy.special import expit

from pvi.data.dataset import Dataset
from pvi.validate import at_least, finite_array, fits, generator, positive, real, shown

_CORRELATION = 0.3
"""Of any two features within a client: one common factor."""
_LARGEST = 1e6
"""Of a parameter; far beyond, squares and exponentials leave the range of floats."""


def credit_data(
    *,
    rng: np.random.Generator,
    records: int = 40_000,
    clients: int = 14,
    features: int = 28,
    size_ratio: float = 40.0,
    default_rates: tuple[float, float] = (0.01, 0.08),
    shift: float = 0.7,
    signal: float = 1.3,
    disagreement: float = 0.4,
) -> tuple[Dataset, ...]:
    """One data set for each client; label 1 is a default.

    P(default | x) = 1/(1 + e^{−b_k − xᵀθ_k}). Client k's features are Gaussian with common
    correlations; the means of the first half of them are its own, N(0, shift²). θ_k is a common
    vector plus its own deviation, and b_k gives the client its default rate. All features have
    mean 0 and variance 1 over clients drawn at random, by construction: no statistic of the data
    is needed to scale them.

    Args:
      rng: Where the randomness comes from.
      records: Of all clients together.
      clients: M.
      features: d.
      size_ratio: The largest client's size over the smallest one's; sizes fall geometrically, and
        do not depend on `rng`.
      default_rates: The lowest and the highest expected default rate. Rates are evenly spaced on
        the log scale and given to clients in random order.
      shift: How far clients' feature means lie apart.
      signal: The standard deviation of xᵀθ_k within a client.
      disagreement: The length of θ_k's own part over that of the common part, before scaling.

    Example:
      >>> parts = credit_data(rng=np.random.default_rng(0), records=2000)
      >>> len(parts), sum(len(part) for part in parts)
      (14, 2000)
      >>> len(parts[0]) > 20 * len(parts[-1])
      True
    """
    found = finite_array("default_rates", default_rates)
    if found.shape != (2,) or not 0.0 < found[0] <= found[1] < 1.0:
        raise ValueError(
            f"`default_rates` must be two increasing numbers in (0, 1), got {shown(default_rates)}."
        )
    low, high = found.tolist()
    signal = positive("signal", signal, upper=_LARGEST)
    shift = real("shift", shift, lower=-_LARGEST, upper=_LARGEST)
    disagreement = real("disagreement", disagreement, lower=-_LARGEST, upper=_LARGEST)
    sizes = client_sizes(records, clients, size_ratio)
    fits("features", records, at_least("features", features, 1))
    rates = generator(rng).permutation(np.geomspace(low, high, clients))
    common = _direction(features, rng)
    parts = []
    for size, rate in zip(sizes, rates.tolist(), strict=True):
        x = _features(size, features, shift, rng)
        own = common + disagreement * _direction(features, rng)
        score = signal / _spread(own, shift) * (x @ own)
        intercept = optimize.brentq(lambda b, s=score, r=rate: expit(b + s).mean() - r, -60.0, 60.0)
        labels = (rng.random(size) < expit(intercept + score)).astype(np.int64)
        parts.append(Dataset(features=x, labels=labels))
    return tuple(parts)


def client_sizes(records: int, clients: int, size_ratio: float) -> tuple[int, ...]:
    """Sizes that fall geometrically from the largest to the smallest and add up to `records`.

    >>> client_sizes(100, 3, 4.0)
    (57, 29, 14)
    """
    at_least("records", records, at_least("clients", clients, 1))
    positive("size_ratio", size_ratio, upper=_LARGEST)
    shares = np.geomspace(size_ratio, 1.0, clients)
    edges = np.rint(np.cumsum(shares) / shares.sum() * records).astype(int)
    sizes = np.diff(edges, prepend=0)
    if sizes.min() < 1:
        raise ValueError(
            f"`records` must leave one for the smallest of {clients} clients, got {records!r}."
        )
    return tuple(sizes.tolist())


def _features(
    size: int, features: int, shift: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    factor = rng.standard_normal((size, 1))
    noise = rng.standard_normal((size, features))
    x = math.sqrt(_CORRELATION) * factor + math.sqrt(1.0 - _CORRELATION) * noise
    half = features // 2
    x[:, :half] = (x[:, :half] + shift * rng.standard_normal(half)) / math.hypot(1.0, shift)
    return np.asarray(x)


def _spread(coefficients: NDArray[np.float64], shift: float) -> float:
    """The standard deviation of xᵀθ within a client: its covariance is (1 − ρ)I + ρ11ᵀ, scaled."""
    scaled = coefficients.copy()
    scaled[: len(scaled) // 2] /= math.hypot(1.0, shift)
    variance = (1.0 - _CORRELATION) * (scaled @ scaled) + _CORRELATION * scaled.sum() ** 2
    return math.sqrt(float(variance))


def _direction(features: int, rng: np.random.Generator) -> NDArray[np.float64]:
    vector = rng.standard_normal(features)
    return np.asarray(vector / np.linalg.norm(vector))
