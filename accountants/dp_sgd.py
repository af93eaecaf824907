"""Plain answers for repeated Gaussian steps on sampled batches: DP-SGD and its relatives.

These are short-cuts to `FourierAccountant`; all numbers are certified intervals, with the relation
and the sampling stated by the caller. `noise_multiplier` is the noise's standard deviation over C,
the clipping norm of one record; under REPLACE_ONE the accountant counts the shift of 2C by itself.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import dp_accounting as dpa
import numpy as np
from dp_accounting import NeighboringRelation

from accountants import elementary, groups, releases, validate
from accountants.arrays import FloatArray, IntArray
from accountants.bounds import Bounds
from accountants.events import BallsInBinsDpEvent, ShuffledDpEvent
from accountants.fourier import fixed_size
from accountants.fourier.accountant import FourierAccountant
from accountants.fourier.contour.steps import StepCurve
from accountants.fourier.trade_off import TradeOff
from accountants.sampling import SamplingKind, check, check_accounted

ADD_OR_REMOVE_ONE = NeighboringRelation.ADD_OR_REMOVE_ONE
_FEW_STEPS_TOLERANCE = 1e-5
# The relative widths that `tight` aims for, of ε and of δ.
_TIGHT, _TIGHT_DELTA = 5e-3, 1e-2
_LARGEST_SIZE = 2**63 - 1


class EpsilonCurve(NamedTuple):
    """Bounds of ε after each number of steps: lower ≤ ε(steps) ≤ upper, entry by entry."""

    steps: IntArray
    lower: FloatArray
    upper: FloatArray


def step_event(
    noise_multiplier: float,
    sampling_rate: float = 1.0,
    sampling: SamplingKind = "poisson",
    relation: NeighboringRelation = ADD_OR_REMOVE_ONE,
    records_per_user: int = 1,
) -> dpa.DpEvent:
    """The event of one step, refused where sampling and relation do not fit.

    Args:
      noise_multiplier: Noise standard deviation over C, positive.
      sampling_rate: q in (0, 1]; 1 is no sampling.
      sampling: "poisson", "fixed_size" (under REPLACE_ONE only) or "all" (at rate 1 only): see
        `accountants.sampling`.
      relation: Which data sets are neighbours.
      records_per_user: Neighbours differ in all records of one user, that many.
    """
    records = validate.count("records_per_user", records_per_user, maximum=groups.MOST_RECORDS)
    noise = dpa.GaussianDpEvent(validate.positive("noise_multiplier", noise_multiplier))
    rate = validate.rate("sampling_rate", sampling_rate)
    if rate < elementary.SMALLEST_RATE:
        raise validate.refusal("sampling_rate", f"at least {elementary.SMALLEST_RATE:g}", rate)
    validate.relation("relation", relation)
    kind = check_accounted("sampling", sampling)
    if kind == "all" and rate != 1.0:
        raise ValueError(f"`sampling_rate` must be 1 where all records are in, got {rate!r}.")
    if kind == "fixed_size" and relation is not NeighboringRelation.REPLACE_ONE:
        raise ValueError(
            "`relation` must be REPLACE_ONE for batches of fixed size (a record more or less "
            f"changes everyone's sampling rate), got {relation.name}."
        )
    if rate == 1.0 or kind == "poisson":
        return groups.user_event(noise.noise_multiplier, rate, records)
    # Any batch and data-set size with this quotient, as a float, has the same pair.
    batch, size = Fraction(rate).limit_denominator(_LARGEST_SIZE).as_integer_ratio()
    if batch / size != rate:
        raise ValueError(
            f"`sampling_rate` must be a quotient of sizes up to {_LARGEST_SIZE}, got {rate!r}."
        )
    sampled = dpa.SampledWithoutReplacementDpEvent(size, batch, noise)
    if records == 1:
        return sampled
    raise ValueError(
        "`records_per_user` must be 1 for fixed_size, where the sizes of data and batches count "
        f"and not their quotient alone: a UserDpEvent has them. Got {records}."
    )


def repeated_event(
    noise_multiplier: float,
    sampling_rate: float,
    steps: int,
    sampling: SamplingKind = "poisson",
    relation: NeighboringRelation = ADD_OR_REMOVE_ONE,
    records_per_user: int = 1,
) -> tuple[dpa.DpEvent, int]:
    """What a training repeats, and how often: a step, or of balls in bins and shuffling an epoch.

    Of "balls_in_bins" the rate is one over the steps in an epoch. Of "shuffled" it is batch over
    data size: where that is not one over a whole number, the last batch of an epoch is smaller, and
    is taken for kept or dropped by whether the steps are then whole epochs.

    >>> repeated_event(1.0, 0.25, 12, "balls_in_bins")
    (BallsInBinsDpEvent(steps_per_epoch=4, event=GaussianDpEvent(noise_multiplier=1.0)), 3)
    """
    steps = validate.count("steps", steps)
    kind = check("sampling", sampling)
    if kind not in ("balls_in_bins", "shuffled"):
        step = step_event(noise_multiplier, sampling_rate, sampling, relation, records_per_user)
        return step, steps
    if validate.count("records_per_user", records_per_user) != 1:
        raise ValueError(
            f"`records_per_user` must be 1 for {kind}: no dominating pair is known for several "
            f"records of one user, got {records_per_user!r}."
        )
    noise = dpa.GaussianDpEvent(validate.positive("noise_multiplier", noise_multiplier))
    rate = validate.rate("sampling_rate", sampling_rate)
    event: dpa.DpEvent
    if kind == "shuffled":
        if validate.relation("relation", relation) is ADD_OR_REMOVE_ONE:
            raise ValueError(
                "`relation` must be REPLACE_ONE or REPLACE_SPECIAL for shuffled batches (a record "
                f"more or less moves the boundaries of all of them), got {relation.name}."
            )
        per_epoch, share = _shuffled_epoch(rate, steps)
        event = ShuffledDpEvent(per_epoch, noise, share)
    else:
        per_epoch = round(1.0 / rate)
        if not math.isclose(per_epoch * rate, 1.0):
            raise ValueError(
                "`sampling_rate` must be one over the number of steps in an epoch for "
                f"balls_in_bins, got {rate!r}."
            )
        if validate.relation("relation", relation) is NeighboringRelation.REPLACE_ONE:
            raise ValueError(
                "`relation` must be ADD_OR_REMOVE_ONE or REPLACE_SPECIAL for balls_in_bins (no "
                f"proof is known otherwise), got {relation.name}."
            )
        event = BallsInBinsDpEvent(per_epoch, noise)
    epochs, rest = divmod(steps, per_epoch)
    if rest:
        raise ValueError(
            f"`steps` must be whole epochs of {per_epoch} steps for {kind}, got {steps}."
        )
    return event, epochs


def _shuffled_epoch(rate: float, steps: int) -> tuple[int, float]:
    """Batches in an epoch, and a record's chance to be in one of them."""
    whole = round(1.0 / rate)
    if math.isclose(whole * rate, 1.0):
        return whole, 1.0
    kept = math.ceil(1.0 / rate)
    fitting = [batches for batches in (kept, kept - 1) if steps % batches == 0]
    if len(fitting) != 1:
        raise ValueError(
            f"`steps` must be whole epochs of {kept} batches (the last one smaller) or of "
            f"{kept - 1} (the rest dropped), and not of both, at sampling_rate={rate!r} for "
            f"shuffled, got {steps}; ShuffledDpEvent says which."
        )
    return fitting[0], 1.0 if fitting[0] == kept else fitting[0] * rate


def _composed(
    event: dpa.DpEvent, count: int, relation: NeighboringRelation, tolerance: float
) -> FourierAccountant:
    return FourierAccountant(relation, tolerance).compose(event, count)


def epsilon_bounds(
    *,
    noise_multiplier: float,
    delta: float,
    sampling_rate: float = 1.0,
    steps: int = 1,
    relation: NeighboringRelation = ADD_OR_REMOVE_ONE,
    sampling: SamplingKind = "poisson",
    records_per_user: int = 1,
    tolerance: float = 1e-6,
    tight: bool = False,
    progress: fixed_size.Report | None = None,
) -> Bounds:
    """A certified interval for ε(δ) after `steps` steps.

    With `tight`, for sampling "fixed_size" only, the adversary's control problem is solved, which
    takes seconds to minutes: the interval is about 0.5% wide where the fast one is 5 to 25%, and
    lies within it (`accountants.fourier.fixed_size`). `progress` is told what is being done, how
    much of it is done, and of how much.

    With sampling "balls_in_bins" the rate is one over the steps in an epoch, the steps are whole
    epochs, and the interval is about 1e-4 wide, whatever the tolerance. With "shuffled", under
    REPLACE_SPECIAL or REPLACE_ONE, it is wide: no amplification is proved for what loaders do.
    Whoever can should let each record, on its own, join one of the epoch's batches: balls in bins.
    With `records_per_user`, neighbours differ in that many records of one user.

    >>> bounds = epsilon_bounds(noise_multiplier=1.0, sampling_rate=0.01, steps=10_000, delta=1e-5)
    >>> round(bounds.lower, 4), round(bounds.upper, 4)
    (6.1877, 6.1877)
    """
    event, count = repeated_event(
        noise_multiplier, sampling_rate, steps, sampling, relation, records_per_user
    )
    release = _tight_release(tight, progress, sampling, event, relation, count)
    # At δ = 0 no Gaussian has a finite ε: more likely a slip than a question.
    delta = validate.open_unit("delta", delta)
    fast = _composed(event, count, relation, tolerance).get_epsilon_bounds(delta)
    if release is None:
        return fast
    noise, rate = release.noise_multiplier, release.sampling_rate
    return fixed_size.epsilon_bounds(noise, rate, count, delta, fast, _TIGHT, progress)


def _tight_release(
    tight: bool,
    progress: fixed_size.Report | None,
    sampling: SamplingKind,
    event: dpa.DpEvent,
    relation: NeighboringRelation,
    steps: int,
) -> releases.FixedSizeGaussian | None:
    """The release whose control problem is to be solved; `None` if the fast answer is asked for."""
    if progress is not None:
        validate.function("progress", progress)
    if not validate.flag("tight", tight):
        return None
    if sampling != "fixed_size":
        raise ValueError(
            "`tight` must be False unless sampling is 'fixed_size' (the other answers are tight as "
            f"they are), got True with {sampling!r}."
        )
    release = elementary.resolve(event, relation)
    if isinstance(release, releases.Gaussian):
        return None  # At rate 1 the answer is exact.
    if not isinstance(release, releases.FixedSizeGaussian):
        raise ValueError("`tight` must be False for users of several records, got True.")
    if release.noise_multiplier < fixed_size.LEAST_NOISE:
        raise ValueError(
            f"`noise_multiplier` must be at least {fixed_size.LEAST_NOISE} for a tight answer, got "
            f"{release.noise_multiplier!r}."
        )
    if steps > fixed_size.MOST_STEPS:
        raise ValueError(
            f"`steps` must be at most {fixed_size.MOST_STEPS} for a tight answer, got {steps}."
        )
    return release


def delta_bounds(
    *,
    noise_multiplier: float,
    epsilon: float,
    sampling_rate: float = 1.0,
    steps: int = 1,
    relation: NeighboringRelation = ADD_OR_REMOVE_ONE,
    sampling: SamplingKind = "poisson",
    records_per_user: int = 1,
    tolerance: float = 1e-6,
    tight: bool = False,
    progress: fixed_size.Report | None = None,
) -> Bounds:
    """A certified interval for δ(ε) after `steps` steps; `tight` as for `epsilon_bounds`.

    A tight δ aims for a relative width of 1%; large δ/dε make it wider.
    """
    event, count = repeated_event(
        noise_multiplier, sampling_rate, steps, sampling, relation, records_per_user
    )
    release = _tight_release(tight, progress, sampling, event, relation, count)
    fast = _composed(event, count, relation, tolerance).get_delta_bounds(epsilon)
    if release is None:
        return fast
    noise, rate = release.noise_multiplier, release.sampling_rate
    return fixed_size.delta_bounds(noise, rate, count, float(epsilon), fast, _TIGHT_DELTA, progress)


def epsilon_curve(
    *,
    noise_multiplier: float,
    steps: Sequence[int],
    delta: float,
    sampling_rate: float = 1.0,
    relation: NeighboringRelation = ADD_OR_REMOVE_ONE,
    sampling: SamplingKind = "poisson",
    records_per_user: int = 1,
    tolerance: float = 1e-6,
) -> EpsilonCurve:
    """Certified intervals for ε(δ) after each number of steps, sharing the work between them.

    Step counts that the contour engine does not reach (the first few) are asked for a relative gap
    of 1e-5 only; `epsilon_bounds` gives a single answer as tight as wished.
    """
    counts = np.array(validate.sequence("steps", steps, validate.count, least=1), dtype=np.int64)
    tolerance = validate.positive("tolerance", tolerance)
    events = [
        repeated_event(
            noise_multiplier, sampling_rate, int(count), sampling, relation, records_per_user
        )
        for count in counts
    ]
    release = elementary.resolve(events[0][0], relation)
    shared = (
        StepCurve(release, delta, tolerance)
        if isinstance(release, releases.PoissonGaussian)
        or (isinstance(release, releases.GroupGaussian) and not release.replaced)
        else None
    )
    lower, upper = np.empty(len(counts)), np.empty(len(counts))
    for index in np.argsort(counts, kind="stable"):
        count = int(counts[index])
        bounds = shared.epsilon_bounds(count) if shared is not None else None
        if bounds is None:
            coarse = max(tolerance, _FEW_STEPS_TOLERANCE)
            event, repeats = events[index]
            bounds = _composed(event, repeats, relation, coarse).get_epsilon_bounds(delta)
        lower[index], upper[index] = bounds
    return EpsilonCurve(counts, lower, upper)


def trade_off(
    event: dpa.DpEvent,
    alphas: Sequence[float],
    relation: NeighboringRelation = ADD_OR_REMOVE_ONE,
    tolerance: float = 1e-6,
) -> TradeOff:
    """Bounds of the least type II error at each type I error, for the worst pair of neighbours.

    >>> curve = trade_off(dpa.GaussianDpEvent(1.0), [0.05])
    >>> round(float(curve.lower[0]), 6), round(float(curve.upper[0]), 6)  # Φ(Φ⁻¹(0.95) − 1)
    (0.740489, 0.740489)
    """
    return _composed(event, 1, relation, tolerance).trade_off(alphas)
