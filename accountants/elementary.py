"""From events to elementary releases: what one release does to one neighbouring pair of data sets.

An event says what was released, a relation which data sets are neighbours; together they fix an
*elementary release*, a frozen value with every factor of the sensitivity in place. `resolve`, with
`accountants.resolution` for the events that are built from others, is the only place in the
accountants where a relation is interpreted, so that no two of them can read it differently:

* `noise_multiplier` is the noise's standard deviation over C, the norm bound of one record.
* Under ADD_OR_REMOVE_ONE and REPLACE_SPECIAL (a record becomes the zero record) a sum moves by at
  most C; under REPLACE_ONE by 2C, from one end of the ball to the other.
* Poisson sampling keeps a record with probability q: adding, removing or zeroing a record changes
  the output law from N(0, σ²) to (1−q)·N(0, σ²) + q·N(1, σ²) or back (Zhu, Dong, Wang 2022,
  Theorem 11: this pair dominates all others).
"""

import math
import sys
from collections.abc import Sequence
from typing import Any

import dp_accounting as dpa
from dp_accounting import NeighboringRelation
from dp_accounting.dp_event import DiscreteLaplaceDpEvent, MixtureOfGaussiansDpEvent

from accountants import groups, validate
from accountants.events import BallsInBinsDpEvent, ShuffledDpEvent, UserDpEvent
from accountants.releases import (
    AllocatedGaussian,
    DiscreteLaplace,
    FixedSizeGaussian,
    FixedSizeGroupGaussian,
    Gaussian,
    GroupGaussian,
    Laplace,
    MixtureOfGaussians,
    NonPrivate,
    NoOp,
    PoissonGaussian,
    PoissonGaussianReplace,
    RandomizedResponse,
    Resolution,
    ShuffledGaussian,
    ZeroConcentrated,
)

SMALLEST_RATE = 1e-100
"""Of Poisson sampling: far below, products of rates and tails leave the range of floats."""


# Squares of noise multipliers, and sums of 10**100 of them, must be doubles.
_LEAST_NOISE = 1e-100


class NotSupportedError(Exception):
    """An event that cannot be accounted for; the message is the reason."""


def sensitivity_factor(relation: NeighboringRelation) -> int:
    """How far one record moves a sum, in units of C: 2 under REPLACE_ONE, else 1."""
    return 2 if relation is NeighboringRelation.REPLACE_ONE else 1


def effective_noise_multiplier(event: dpa.DpEvent) -> float:
    """The noise multiplier of the one Gaussian that a nest of Gaussians on one batch amounts to.

    Gaussians with multipliers σᵢ on the same data are post-processing of each other's sufficient
    statistic, a Gaussian with 1/σ² = Σ 1/σᵢ².

    Raises:
      NotSupportedError: Something else than a Gaussian is in the nest.
    """
    found: list[tuple[float, int]] = []
    waiting = [(event, 1)]
    while waiting:
        inner, times = waiting.pop()
        if isinstance(inner, dpa.GaussianDpEvent):
            found.append((_noise_multiplier(inner.noise_multiplier), times))
        elif isinstance(inner, dpa.SelfComposedDpEvent):
            repeats = validate.count("count", inner.count, minimum=0)
            waiting.append((inner.event, times * repeats))
        elif isinstance(inner, dpa.ComposedDpEvent):
            waiting.extend((part, times) for part in reversed(inner.events))
        else:
            raise NotSupportedError(
                "sampling is supported around Gaussians and compositions of Gaussians on the same "
                f"batch; found {type(inner).__name__}"
            )
    least = min((multiplier for multiplier, times in found if times), default=math.inf)
    if least in (0.0, math.inf):
        return least
    total = math.fsum(times * (least / multiplier) ** 2 for multiplier, times in found if times)
    return _noise_multiplier(least / math.sqrt(total))


def _noise_multiplier(value: Any) -> float:
    """A noise multiplier: 0, or so far from 0 and infinity that its squares are doubles."""
    multiplier = validate.non_negative("noise_multiplier", value)
    if multiplier and not _LEAST_NOISE <= multiplier <= 1.0 / _LEAST_NOISE:
        raise ValueError(
            f"`noise_multiplier` must be 0 or in [{_LEAST_NOISE}, {1.0 / _LEAST_NOISE}], "
            f"got {value!r}."
        )
    return multiplier


def _resolve_poisson(event: dpa.PoissonSampledDpEvent, relation: NeighboringRelation) -> Resolution:
    rate = validate.closed_unit("sampling_probability", event.sampling_probability)
    inner = event.event
    while isinstance(inner, dpa.PoissonSampledDpEvent):  # A sample of a sample is a sample.
        rate *= validate.closed_unit("sampling_probability", inner.sampling_probability)
        inner = inner.event
    noise_multiplier = effective_noise_multiplier(inner)
    if rate == 0.0 or math.isinf(noise_multiplier):
        return NoOp
    if noise_multiplier == 0.0:
        return NonPrivate
    if rate < SMALLEST_RATE:
        raise NotSupportedError(
            f"sampling at a rate below {SMALLEST_RATE:g} is not accounted for, got {rate!r}"
        )
    if rate == 1.0:
        return Gaussian(sensitivity_factor(relation) / noise_multiplier)
    if relation is NeighboringRelation.REPLACE_ONE:
        return PoissonGaussianReplace(rate, noise_multiplier)
    return PoissonGaussian(rate, noise_multiplier)


def _resolve_fixed_size(
    event: dpa.SampledWithoutReplacementDpEvent, relation: NeighboringRelation
) -> Resolution:
    if relation is not NeighboringRelation.REPLACE_ONE:
        raise NotSupportedError(
            "a batch of fixed size is accounted for under REPLACE_ONE only: adding or removing a "
            f"record changes the sampling rate of all others; the relation is {relation.name}"
        )
    size = validate.count("source_dataset_size", event.source_dataset_size)
    batch = validate.count("sample_size", event.sample_size, minimum=0)
    if batch > size:
        raise ValueError(f"`sample_size` must be at most source_dataset_size={size}, got {batch}.")
    noise_multiplier = effective_noise_multiplier(event.event)
    if batch == 0 or math.isinf(noise_multiplier):
        return NoOp
    if noise_multiplier == 0.0:
        return NonPrivate
    if batch == size:
        return Gaussian(2.0 / noise_multiplier)
    return FixedSizeGaussian(batch / size, noise_multiplier)


def _resolve_user(event: UserDpEvent, relation: NeighboringRelation) -> Resolution:
    one = resolve(event.event, relation)
    if event.records == 1 or isinstance(one, type):
        return one
    if isinstance(one, Gaussian):
        return Gaussian(event.records * one.mu)
    replaced = relation is NeighboringRelation.REPLACE_ONE
    if isinstance(one, PoissonGaussian | PoissonGaussianReplace):
        return GroupGaussian(event.records, one.sampling_rate, one.noise_multiplier, replaced)
    inner = event.event
    if isinstance(one, FixedSizeGaussian) and isinstance(
        inner, dpa.SampledWithoutReplacementDpEvent
    ):
        size, batch = inner.source_dataset_size, inner.sample_size
        if event.records > min(batch, size - batch):
            raise NotSupportedError(
                f"a user's records must not be more than are in a batch, or out of it, got "
                f"{event.records} for batches of {batch} of {size}"
            )
        rate, noise = one.sampling_rate, one.noise_multiplier
        return FixedSizeGroupGaussian(event.records, rate, noise, size)
    raise NotSupportedError(
        "users of several records are accounted for where Gaussians are released on Poisson "
        "samples, on batches of fixed size, or on all records"
    )


def _resolve_balls_in_bins(event: BallsInBinsDpEvent, relation: NeighboringRelation) -> Resolution:
    steps = event.steps_per_epoch
    noise_multiplier = effective_noise_multiplier(event.event)
    if math.isinf(noise_multiplier):
        return NoOp
    if noise_multiplier == 0.0:
        return NonPrivate
    if steps == 1:
        return Gaussian(sensitivity_factor(relation) / noise_multiplier)
    if relation is NeighboringRelation.REPLACE_ONE:
        raise NotSupportedError(
            "balls in bins is not accounted for under REPLACE_ONE: the loss of its worst pair, "
            "steps at -C against steps at +C, is no function of one sum; use ADD_OR_REMOVE_ONE "
            "or REPLACE_SPECIAL"
        )
    return AllocatedGaussian(steps, noise_multiplier)


def _resolve_shuffled(event: ShuffledDpEvent, relation: NeighboringRelation) -> Resolution:
    if relation is NeighboringRelation.ADD_OR_REMOVE_ONE:
        raise NotSupportedError(
            "shuffled batches are accounted for under REPLACE_ONE or REPLACE_SPECIAL only: a "
            "record more or less moves the boundaries of all of them"
        )
    noise_multiplier = effective_noise_multiplier(event.event)
    if math.isinf(noise_multiplier):
        return NoOp
    if noise_multiplier == 0.0:
        return NonPrivate
    if event.steps_per_epoch == 1 and event.share == 1.0:
        return Gaussian(sensitivity_factor(relation) / noise_multiplier)
    replaced = relation is NeighboringRelation.REPLACE_ONE
    return ShuffledGaussian(event.steps_per_epoch, noise_multiplier, event.share, replaced)


def _resolve_randomized_response(
    event: dpa.RandomizedResponseDpEvent, relation: NeighboringRelation
) -> Resolution:
    if relation is NeighboringRelation.ADD_OR_REMOVE_ONE:
        raise NotSupportedError(
            "randomised response answers for a record that is there: ADD_OR_REMOVE_ONE does not "
            "say what an absent record releases; use REPLACE_ONE or REPLACE_SPECIAL"
        )
    probability = validate.closed_unit("noise_parameter", event.noise_parameter)
    buckets = validate.count("num_buckets", event.num_buckets)
    if buckets == 1 or probability == 1.0:
        return NoOp
    if probability == 0.0:
        return NonPrivate
    if probability < buckets * sys.float_info.min:
        raise ValueError(
            "`noise_parameter` must be 0 or leave each bucket a probability of at least "
            f"{sys.float_info.min}, got {probability!r} for {buckets} buckets."
        )
    special = relation is NeighboringRelation.REPLACE_SPECIAL
    return RandomizedResponse(probability, buckets, special)


def _resolve_mixture(event: MixtureOfGaussiansDpEvent, relation: NeighboringRelation) -> Resolution:
    deviation = validate.non_negative("standard_deviation", event.standard_deviation)
    sensitivities = _reals("sensitivities", event.sensitivities)
    probabilities = _reals("sampling_probs", event.sampling_probs)
    if len(sensitivities) != len(probabilities) or not sensitivities:
        raise ValueError(
            "`sensitivities` and `sampling_probs` must be non-empty and of equal length, got "
            f"{len(sensitivities)} and {len(probabilities)}."
        )
    if min(sensitivities) < 0.0:
        raise ValueError(f"`sensitivities` must be non-negative, got {min(sensitivities)}.")
    if min(probabilities) < 0.0 or not math.isclose(math.fsum(probabilities), 1.0, abs_tol=1e-9):
        raise ValueError(f"`sampling_probs` must be a probability vector, got {probabilities}.")
    moved = any(c > 0.0 and p > 0.0 for c, p in zip(sensitivities, probabilities, strict=True))
    if not moved:
        return NoOp
    if deviation == 0.0:
        return NonPrivate
    group = groups.recognised(sensitivities, probabilities)
    if group is not None:
        records, rate, unit = group
        replaced = relation is NeighboringRelation.REPLACE_ONE
        return GroupGaussian(records, rate, _noise_multiplier(deviation / unit), replaced)
    if relation is NeighboringRelation.REPLACE_ONE:
        raise NotSupportedError(
            "under REPLACE_ONE a mixture is accounted for if it is that of k records of one user "
            "under Poisson sampling: sensitivities 0 to k with a binomial's probabilities"
        )
    weights: dict[float, list[float]] = {}
    for c, p in zip(sensitivities, probabilities, strict=True):
        if p > 0.0:
            weights.setdefault(c, []).append(p)
    if len(weights) == 1 or (len(weights) == 2 and 0.0 in weights):
        # Nothing, or a move by one distance: a plain or a sampled Gaussian.
        distance = max(weights)
        multiplier = _noise_multiplier(deviation / distance)
        if 0.0 not in weights:
            return Gaussian(1.0 / multiplier)
        return PoissonGaussian(math.fsum(weights[distance]) / math.fsum(probabilities), multiplier)
    return MixtureOfGaussians(deviation, sensitivities, probabilities)


def _reals(name: str, values: Sequence[Any]) -> tuple[float, ...]:
    return tuple(validate.real(name, value) for value in values)


def resolve(event: dpa.DpEvent, relation: NeighboringRelation) -> Resolution:
    """The release of one uncomposed event under one relation.

    Raises:
      NotSupportedError: No proof is known; the message is the reason.
      ValueError, TypeError: A parameter of the event is impossible.
    """
    if isinstance(event, dpa.NoOpDpEvent):
        return NoOp
    if isinstance(event, dpa.NonPrivateDpEvent):
        return NonPrivate
    if isinstance(event, dpa.GaussianDpEvent):
        noise_multiplier = _noise_multiplier(event.noise_multiplier)
        if noise_multiplier == 0.0:
            return NonPrivate
        return Gaussian(sensitivity_factor(relation) / noise_multiplier)
    if isinstance(event, dpa.PoissonSampledDpEvent):
        return _resolve_poisson(event, relation)
    if isinstance(event, dpa.SampledWithoutReplacementDpEvent):
        return _resolve_fixed_size(event, relation)
    if isinstance(event, BallsInBinsDpEvent):
        return _resolve_balls_in_bins(event, relation)
    if isinstance(event, UserDpEvent):
        return _resolve_user(event, relation)
    if isinstance(event, ShuffledDpEvent):
        return _resolve_shuffled(event, relation)
    if isinstance(event, dpa.LaplaceDpEvent):
        scale = _noise_multiplier(event.noise_multiplier)
        return Laplace(scale / sensitivity_factor(relation)) if scale else NonPrivate
    if isinstance(event, DiscreteLaplaceDpEvent):
        parameter = validate.non_negative("noise_parameter", event.noise_parameter)
        sensitivity = validate.count("sensitivity", event.sensitivity)
        # e^{−a|x|} with a → 0 is infinitely wide; a = 0 is not a law.
        if parameter == 0.0:
            raise ValueError("`noise_parameter` must be positive, got 0.")
        return DiscreteLaplace(parameter, sensitivity * sensitivity_factor(relation))
    if isinstance(event, dpa.RandomizedResponseDpEvent):
        return _resolve_randomized_response(event, relation)
    if isinstance(event, MixtureOfGaussiansDpEvent):
        return _resolve_mixture(event, relation)
    if isinstance(event, dpa.ZCDpEvent):
        rho, xi = validate.non_negative("rho", event.rho), validate.non_negative("xi", event.xi)
        return ZeroConcentrated(rho, xi) if rho or xi else NoOp
    raise NotSupportedError(f"{type(event).__name__} has no dominating pair here")
