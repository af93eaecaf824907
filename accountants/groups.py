r"""How many of a user's k records are in a batch: Binomial or hypergeometric, exactly.

Both are sums of independent Bernoulli variables (the second by Vatutin and Mikhailov 1982). A
release on a Poisson sample is described by dp-accounting's `MixtureOfGaussiansDpEvent`,
sensitivities 0, 1, …, k with a binomial's probabilities (Ganesh 2024, "Tight Group-Level DP
Guarantees for DP-SGD with Sampling via Mixture of Gaussians Mechanisms"): an event that other
accountants know as well. `recognised` is the way back. Probabilities that agree with a binomial's
to thirteen digits are taken for that binomial's.
"""

import functools
import math
from collections.abc import Sequence
from fractions import Fraction

import dp_accounting as dpa
from dp_accounting.dp_event import MixtureOfGaussiansDpEvent

from accountants import validate

__all__ = ["MOST_RECORDS", "binomial", "counts", "recognised", "user_event"]

MOST_RECORDS = 64
"""Of one user: beyond, sums over all counts are no longer quick."""
# The least probability of a count that is a double with all its digits.
_LEAST = 1e-290
_CLOSE = 1e-13


@functools.lru_cache(maxsize=256)
def binomial(records: int, rate: float) -> tuple[float, ...]:
    """The probabilities of 0, 1, … records in the sample, each rounded once.

    >>> binomial(2, 0.25)
    (0.5625, 0.375, 0.0625)
    """
    q = Fraction(rate)
    return tuple(
        float(math.comb(records, j) * q**j * (1 - q) ** (records - j)) for j in range(records + 1)
    )


@functools.lru_cache(maxsize=256)
def counts(records: int, rate: float, population: int) -> tuple[float, ...]:
    """The probabilities of 0, 1, … records in the batch, each rounded once.

    Args:
      records: k.
      rate: q, the share of the population in the batch.
      population: The records of the data set in batches of fixed size; 0 for Poisson sampling.

    >>> counts(2, 0.5, 4)  # of 6 batches, 1 has none of two records and 1 both
    (0.16666666666666666, 0.6666666666666666, 0.16666666666666666)
    """
    if not population:
        return binomial(records, rate)
    batch = round(rate * population)
    whole = math.comb(population, records)
    return tuple(
        float(Fraction(math.comb(batch, j) * math.comb(population - batch, records - j), whole))
        for j in range(records + 1)
    )


def user_event(noise_multiplier: float, rate: float, records: int) -> dpa.DpEvent:
    """The event of one Poisson-sampled step as all `records` records of one user see it."""
    records = validate.count("records_per_user", records, maximum=MOST_RECORDS)
    noise = dpa.GaussianDpEvent(noise_multiplier)
    if rate == 1.0:
        return dpa.GaussianDpEvent(noise_multiplier / records)
    if records == 1:
        return dpa.PoissonSampledDpEvent(rate, noise)
    probabilities = binomial(records, rate)
    if min(probabilities) < _LEAST:
        raise ValueError(
            f"`records_per_user` must leave each number of them in a batch a chance of {_LEAST:g} "
            f"or more, got {records} at sampling_rate={rate!r}."
        )
    counts = [float(j) for j in range(records + 1)]
    return MixtureOfGaussiansDpEvent(noise_multiplier, counts, list(probabilities))


def recognised(
    sensitivities: Sequence[float], probabilities: Sequence[float]
) -> tuple[int, float, float] | None:
    """(k, q, c) if the sensitivities are 0, c, …, kc with the probabilities of Binomial(k, q).

    >>> recognised((0.0, 1.0, 2.0), (0.5625, 0.375, 0.0625))
    (2, 0.25, 1.0)
    >>> recognised((0.0, 1.0, 2.0), (0.5, 0.25, 0.25)) is None
    True
    """
    records = len(sensitivities) - 1
    if not 1 < records <= MOST_RECORDS or min(probabilities) < _LEAST:
        return None
    unit = sensitivities[1]
    if unit <= 0.0 or any(c != j * unit for j, c in enumerate(sensitivities)):
        return None
    odds = probabilities[1] / (records * probabilities[0])
    for rate in (float(f"{odds / (1.0 + odds):.15g}"), odds / (1.0 + odds)):
        if 0.0 < rate < 1.0 and all(
            abs(p - exact) <= _CLOSE * exact
            for p, exact in zip(probabilities, binomial(records, rate), strict=True)
        ):
            return records, rate, unit
    return None
