"""Events that dp-accounting has no word for.

Those that state a guarantee, such as `EpsilonDeltaDpEvent`, stand for the worst mechanism that
keeps it: both ends of an interval are that mechanism's, and one that does better may cost less.
Their parameters are stated for a pair of neighbours, whatever the relation is: no factor 2 under
REPLACE_ONE.
"""

from typing import Any

import attr
import dp_accounting as dpa

from accountants import groups, validate

__all__ = [
    "BallsInBinsDpEvent",
    "DiscreteGaussianDpEvent",
    "EpsilonDeltaDpEvent",
    "ExponentialMechanismDpEvent",
    "PermuteAndFlipDpEvent",
    "ShuffledDpEvent",
    "UserDpEvent",
    "cyclic_poisson_event",
]

# Rounding errors grow with the steps of an epoch; at so many they are still far below 1e-4.
_MOST_STEPS = 10**6


def _steps(value: Any) -> int:
    return validate.count("steps_per_epoch", value, maximum=_MOST_STEPS)


def _epsilon(value: Any) -> float:
    return validate.non_negative("epsilon", value)


def _delta(value: Any) -> float:
    return validate.closed_unit("delta", value)


def _standard_deviation(value: Any) -> float:
    return validate.non_negative("standard_deviation", value)


def _sensitivity(value: Any) -> int:
    return validate.count("sensitivity", value)


def _records(value: Any) -> int:
    return validate.count("records", value, maximum=groups.MOST_RECORDS)


def _share(value: Any) -> float:
    return validate.rate("share", value)


def _event(value: Any) -> dpa.DpEvent:
    return validate.instance("event", value, dpa.DpEvent)


# attrs, as dp-accounting's own events: its serialisation loses a dataclass's fields.
@attr.s(frozen=True, slots=True, auto_attribs=True)
class BallsInBinsDpEvent(dpa.DpEvent):
    """One epoch of balls-in-bins sampling, also known as random allocation.

    Each record, on its own, joins exactly one of the epoch's `steps_per_epoch` steps, uniformly,
    and `event` is applied to each step's records in turn; epochs are composed, each with fresh
    choices.
    """

    steps_per_epoch: int = attr.ib(converter=_steps)
    event: dpa.DpEvent = attr.ib(converter=_event)


@attr.s(frozen=True, slots=True, auto_attribs=True)
class ShuffledDpEvent(dpa.DpEvent):
    """One epoch of shuffled batches.

    The records, in random order, are cut into `steps_per_epoch` batches, the last of which may be
    smaller, and `event` is applied to each batch in turn; epochs are composed, each with a fresh
    order. Where records are left over and dropped, `share` is a record's chance to be in a batch.
    """

    steps_per_epoch: int = attr.ib(converter=_steps)
    event: dpa.DpEvent = attr.ib(converter=_event)
    share: float = attr.ib(default=1.0, converter=_share)


@attr.s(frozen=True, slots=True, auto_attribs=True)
class UserDpEvent(dpa.DpEvent):
    """`event`, for neighbours that differ in all `records` records of one user, not in one record.

    Each of them moves a sum by at most C. Under ADD_OR_REMOVE_ONE all are added or removed, under
    REPLACE_ONE replaced, under REPLACE_SPECIAL set to zero.
    """

    records: int = attr.ib(converter=_records)
    event: dpa.DpEvent = attr.ib(converter=_event)


@attr.s(frozen=True, slots=True, auto_attribs=True)
class EpsilonDeltaDpEvent(dpa.DpEvent):
    """Any mechanism that is (`epsilon`, `delta`)-DP under the relation that is asked for."""

    epsilon: float = attr.ib(converter=_epsilon)
    delta: float = attr.ib(converter=_delta, default=0.0)


@attr.s(frozen=True, slots=True, auto_attribs=True)
class ExponentialMechanismDpEvent(dpa.DpEvent):
    """Any mechanism of bounded range `epsilon`: its losses differ from each other by at most that.

    The exponential mechanism that chooses with weights e^{ε·score/(2Δ)}, if a neighbour moves each
    score by at most Δ; or e^{ε·score/Δ}, if it moves all of them the same way. Report-noisy-max
    with Gumbel noise is the same mechanism (Durfee & Rogers 2019).
    """

    epsilon: float = attr.ib(converter=_epsilon)


@attr.s(frozen=True, slots=True, auto_attribs=True)
class PermuteAndFlipDpEvent(dpa.DpEvent):
    """Permute-and-flip, which accepts a candidate with chance e^{ε·(score − best)/(2Δ)}.

    A neighbour moves each score by at most Δ. The same as report-noisy-max with exponential noise
    (McKenna & Sheldon 2020; Ding et al. 2021).
    """

    epsilon: float = attr.ib(converter=_epsilon)


@attr.s(frozen=True, slots=True, auto_attribs=True)
class DiscreteGaussianDpEvent(dpa.DpEvent):
    """An integer with noise on the integers, of mass ∝ e^{−x²/2s²}, s the `standard_deviation`.

    s is the parameter of Canonne, Kamath, Steinke 2020, which the standard deviation approaches
    from below. One record, a number of absolute value at most `sensitivity`, is added to the
    integer; to replace it moves the sum by twice as much. Single integers: of vectors each
    coordinate would have to be bounded on its own.
    """

    standard_deviation: float = attr.ib(converter=_standard_deviation)
    sensitivity: int = attr.ib(converter=_sensitivity, default=1)


def cyclic_poisson_event(
    *, noise_multiplier: float, bands: int, sampling_rate: float, steps: int
) -> dpa.DpEvent:
    """Banded matrix factorisation under cyclic Poisson sampling, as Poisson-sampled Gaussians.

    The data are divided beforehand into `bands` groups; a record's group does not depend on other
    records. Step t samples from group t mod `bands` alone, each record with probability
    `sampling_rate`. With the batches' sums x, Cx + Z is released, or what follows from it: C is
    lower triangular with `bands` diagonals that are not 0 and columns of norm at most 1, and Z is
    `noise_multiplier` times the norm bound of one record. Then the record's part of Cx is, for each
    of its ⌈steps/bands⌉ steps, a column of C times its clipped value, if it is sampled. Such
    columns do not overlap, and what the other batches add is known from earlier outputs and their
    own coins: so many Poisson-sampled Gaussians, adaptive or not (Choquette-Choo et al. 2023,
    "(Amplified) Banded Matrix Factorization", section 4). Attained by records of the first group
    where the columns' norms are 1. Without bands, or with participations less far apart, this does
    not hold.

    Args:
      noise_multiplier: Of Z, for columns of norm at most 1.
      bands: Of C, and how many groups there are; 1 is plain DP-SGD.
      sampling_rate: q within a group: B·bands/n for batches of B among n records.
      steps: All of them.

    >>> event = cyclic_poisson_event(noise_multiplier=1.0, bands=4, sampling_rate=0.1, steps=10)
    >>> event.count
    3
    """
    sigma = validate.positive("noise_multiplier", noise_multiplier)
    rate = validate.rate("sampling_rate", sampling_rate)
    bands = validate.count("bands", bands)
    rounds = -(-validate.count("steps", steps) // bands)
    step = dpa.PoissonSampledDpEvent(rate, dpa.GaussianDpEvent(sigma))
    return dpa.SelfComposedDpEvent(step, rounds)
