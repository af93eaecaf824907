"""Small mechanisms with the mistakes that people make, each beside its repaired twin.

Data are arrays (records, dimension); outputs are n draws. C = 1 throughout. The claim is true of
the twin and false of the flawed one.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import dp_accounting as dpa
import numpy as np
from dp_accounting import NeighboringRelation

from audits import (
    Claim,
    EventClaim,
    GaussianClaim,
)

Array = np.ndarray
Rng = np.random.Generator


@dataclass(frozen=True)
class Specimen:
    flawed: Callable[[Any, Rng, int], Array]
    repaired: Callable[[Any, Rng, int], Array]
    claim: Callable[[], Claim]


def clean(data: Array) -> Array:
    return np.nan_to_num(np.asarray(data, dtype=float), nan=0.0)


def clipped(data: Array) -> Array:
    data = clean(data)
    norms = np.linalg.norm(data, axis=1, keepdims=True)
    return data / np.maximum(norms, 1.0)


def total(data: Array) -> Array:
    return clipped(data).sum(axis=0)


def noise(rng: Rng, n: int, data: Array, sigma: float) -> Array:
    return rng.normal(scale=sigma, size=(n, data.shape[1]))


def split_over_clients(data: Array, rng: Rng, n: int, *, sigma: float) -> Array:
    """Four clients, every message seen."""
    messages = [total(data[i::4]) + noise(rng, n, data, sigma) for i in range(4)]
    return np.concatenate(messages, axis=1)


def released_sum(data: Array, rng: Rng, n: int, *, sigma: float) -> Array:
    return total(data) + noise(rng, n, data, sigma)


def batch_mean(data: Array, rng: Rng, n: int, *, realised: bool) -> Array:
    """Poisson batches at rate 1/2; four records expected."""
    chosen = rng.random((n, len(data))) < 0.5
    sums = chosen.astype(float) @ clipped(data)
    sizes = np.maximum(chosen.sum(axis=1, keepdims=True), 1) if realised else 4.0
    return sums / sizes + noise(rng, n, data, 1.0 / 4.0)


def mean_of_all(data: Array, rng: Rng, n: int, *, own_size: bool) -> Array:
    divisor = max(len(data), 1) if own_size else 8
    return total(data) / divisor + noise(rng, n, data, 1.0 / 8.0)


def clipped_mean(data: Array, rng: Rng, n: int, *, examples: bool) -> Array:
    if examples:
        return total(data) / 8.0 + noise(rng, n, data, 1.0 / 8.0)
    mean = clean(data).sum(axis=0) / 8.0
    return mean / max(1.0, float(np.linalg.norm(mean))) + noise(rng, n, data, 1.0 / 8.0)


def scaled_noise(data: Array, rng: Rng, n: int, *, factor: float) -> Array:
    return total(data) / 8.0 + noise(rng, n, data, factor)


def with_count(data: Array, rng: Rng, n: int, *, exact: bool) -> Array:
    count = np.full((n, 1), float(len(data)))
    if not exact:
        count = count + rng.normal(size=(n, 1))
    return np.concatenate([released_sum(data, rng, n, sigma=1.0), count], axis=1)


def two_releases(data: Array, rng: Rng, n: int, *, reused: bool) -> Array:
    """A sum and the sum of halves."""
    first = noise(rng, n, data, 1.0)
    second = first if reused else noise(rng, n, data, 1.0)
    return np.concatenate([total(data) + first, 0.5 * total(data) + second], axis=1)


def fixed_seed(data: Array, rng: Rng, n: int, *, seeded: bool) -> Array:
    if seeded:
        return np.tile(released_sum(data, np.random.default_rng(0), 1, sigma=1.0), (n, 1))
    return released_sum(data, rng, n, sigma=1.0)


def best_of(data: Array, rng: Rng, n: int, *, tries: int) -> Array:
    """The try with the largest first coordinate is released."""
    runs = total(data) + rng.normal(size=(n, tries, data.shape[1]))
    return runs[np.arange(n), runs[:, :, 0].argmax(axis=1)]


def accumulated(data: Array, rng: Rng, n: int, *, times: int) -> Array:
    return times * total(data) + noise(rng, n, data, 1.0)


def worker_noise(data: Array, rng: Rng, n: int, *, share: float) -> Array:
    draws = sum(noise(rng, n, data, share) for _ in range(4))
    return np.asarray(total(data) + draws)


def per_layer(data: Array, rng: Rng, n: int, *, whole: bool) -> Array:
    """Every coordinate is a layer."""
    parts = clipped(data) if whole else np.clip(clean(data), -1.0, 1.0)
    return parts.sum(axis=0) + noise(rng, n, data, 1.0)


def bounds_from_data(data: Array, rng: Rng, n: int, *, fixed: bool) -> Array:
    values = clean(data)
    if fixed or not len(values):
        return released_sum(data, rng, n, sigma=1.0)
    low, high = values.min(), values.max()
    width = max(high - low, 1e-9)
    return (values - low).sum(axis=0) / width + noise(rng, n, data, 1.0)


def percentile(data: Array, rng: Rng, n: int, *, fixed: bool) -> Array:
    """Clip norm and noise follow the batch's 90th percentile."""
    values = clean(data)
    norms = np.linalg.norm(values, axis=1, keepdims=True)
    bound = 1.0 if fixed else (float(np.quantile(norms, 0.9)) if len(values) else 0.0)
    scale = np.minimum(1.0, bound / np.maximum(norms, 1e-12))
    return (values * scale).sum(axis=0) + noise(rng, n, data, bound)


def sampled_batches(data: Array, rng: Rng, n: int, *, fixed_size: bool) -> Array:
    """A quarter of the records, in batches of fixed size or by independent coins."""
    if len(data) % 4:
        raise ValueError("a quarter of the records must be a whole number of them")
    order = rng.random((n, len(data)))
    if fixed_size:
        chosen = np.argsort(order, axis=1).argsort(axis=1) < len(data) // 4
    else:
        chosen = order < 0.25
    return chosen.astype(float) @ clipped(data) + noise(rng, n, data, 0.5)


def skip_empty(data: Array, rng: Rng, n: int, *, skip: bool) -> Array:
    """No noise where the batch came out empty."""
    chosen = rng.random((n, len(data))) < 0.5
    out = chosen.astype(float) @ clipped(data) + noise(rng, n, data, 2.0)
    return np.where(chosen.any(axis=1, keepdims=True) | (not skip), out, 0.0)


def rounded_noise(data: Array, rng: Rng, n: int, *, whole: bool) -> Array:
    """Noise on integers, around a sum that is not one; or both rounded together."""
    draws, sums = noise(rng, n, data, 1.0), 0.9 * total(data)
    return np.round(sums + draws) if whole else sums + np.round(draws)


def gaussian_claim() -> Claim:
    return EventClaim(dpa.GaussianDpEvent(1.0))


def composed_claim() -> Claim:
    return EventClaim(dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(1.0), 2))


def poisson_claim(sigma: float) -> Claim:
    return EventClaim(dpa.PoissonSampledDpEvent(0.5, dpa.GaussianDpEvent(sigma)))


SPECIMENS: Mapping[str, Specimen] = {
    "noise split over clients": Specimen(
        partial(split_over_clients, sigma=0.5),
        partial(split_over_clients, sigma=1.0),
        gaussian_claim,
    ),
    "C instead of 2C under replace-one": Specimen(
        partial(released_sum, sigma=1.0),
        partial(released_sum, sigma=2.0),
        lambda: GaussianClaim(1.0, relation=NeighboringRelation.REPLACE_ONE),
    ),
    "division by the realised batch size": Specimen(
        partial(batch_mean, realised=True),
        partial(batch_mean, realised=False),
        lambda: poisson_claim(1.0),
    ),
    "divisor depends on the data-set size": Specimen(
        partial(mean_of_all, own_size=True), partial(mean_of_all, own_size=False), gaussian_claim
    ),
    "the batch mean is clipped": Specimen(
        partial(clipped_mean, examples=False), partial(clipped_mean, examples=True), gaussian_claim
    ),
    "noise off by the batch factor": Specimen(
        partial(scaled_noise, factor=1 / 64), partial(scaled_noise, factor=1 / 8), gaussian_claim
    ),
    "exact count beside": Specimen(
        partial(with_count, exact=True), partial(with_count, exact=False), composed_claim
    ),
    "noise reused": Specimen(
        partial(two_releases, reused=True), partial(two_releases, reused=False), composed_claim
    ),
    "fixed seed": Specimen(
        partial(fixed_seed, seeded=True), partial(fixed_seed, seeded=False), gaussian_claim
    ),
    "best of ten": Specimen(partial(best_of, tries=10), partial(best_of, tries=1), gaussian_claim),
    "gradients accumulated twice": Specimen(
        partial(accumulated, times=2), partial(accumulated, times=1), gaussian_claim
    ),
    "each worker adds σ/W": Specimen(
        partial(worker_noise, share=1 / 4), partial(worker_noise, share=1 / 2), gaussian_claim
    ),
    "per-layer clipping, noise of one layer": Specimen(
        partial(per_layer, whole=False), partial(per_layer, whole=True), gaussian_claim
    ),
    "bounds read from the data": Specimen(
        partial(bounds_from_data, fixed=False),
        partial(bounds_from_data, fixed=True),
        gaussian_claim,
    ),
    "percentile clipping": Specimen(
        partial(percentile, fixed=False), partial(percentile, fixed=True), gaussian_claim
    ),
    "fixed-size batches accounted as Poisson": Specimen(
        partial(sampled_batches, fixed_size=True),
        partial(sampled_batches, fixed_size=False),
        lambda: EventClaim(
            dpa.PoissonSampledDpEvent(0.25, dpa.GaussianDpEvent(0.5)),
            relation=NeighboringRelation.REPLACE_ONE,
        ),
    ),
    "no noise on empty batches": Specimen(
        partial(skip_empty, skip=True), partial(skip_empty, skip=False), lambda: poisson_claim(2.0)
    ),
    "noise rounded, the sum not": Specimen(
        partial(rounded_noise, whole=False), partial(rounded_noise, whole=True), gaussian_claim
    ),
}
