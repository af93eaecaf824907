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

from accountants import elementary, validate
from accountants.arrays import FloatArray, IntArray
from accountants.bounds import Bounds
from accountants.events import BallsInBinsDpEvent
from accountants.fourier import fixed_size
from accountants.fourier.accountant import FourierAccountant
from accountants.fourier.contour.steps import StepCurve
from accountants.fourier.trade_off import TradeOff
from accountants.rounding import up
from accountants.sampling import ACCOUNTED, SamplingKind, check, check_accounted

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
) -> dpa.DpEvent:
    """The event of one step, refused where sampling and relation do not fit.

    Args:
      noise_multiplier: Noise standard deviation over C, positive.
      sampling_rate: q in (0, 1]; 1 is no sampling.
      sampling: "poisson", "fixed_size" (under REPLACE_ONE only) or "all" (at rate 1 only): see
        `accountants.sampling`.
      relation: Which data sets are neighbours.
    """
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
    if rate == 1.0:
        return noise
    if kind == "poisson":
        return dpa.PoissonSampledDpEvent(rate, noise)
    # Any batch and data-set size with this quotient, as a float, has the same pair.
    batch, size = Fraction(rate).limit_denominator(_LARGEST_SIZE).as_integer_ratio()
    if batch / size != rate:
        raise ValueError(
            f"`sampling_rate` must be a quotient of sizes up to {_LARGEST_SIZE}, got {rate!r}."
        )
    return dpa.SampledWithoutReplacementDpEvent(size, batch, noise)


def repeated_event(
    noise_multiplier: float,
    sampling_rate: float,
    steps: int,
    sampling: SamplingKind = "poisson",
    relation: NeighboringRelation = ADD_OR_REMOVE_ONE,
) -> tuple[dpa.DpEvent, int]:
    """What a training repeats, and how often: a step, or of "balls_in_bins" an epoch.

    >>> repeated_event(1.0, 0.25, 12, "balls_in_bins")
    (BallsInBinsDpEvent(steps_per_epoch=4, event=GaussianDpEvent(noise_multiplier=1.0)), 3)
    """
    steps = validate.count("steps", steps)
    if check("sampling", sampling) != "balls_in_bins":
        return step_event(noise_multiplier, sampling_rate, sampling, relation), steps
    noise = dpa.GaussianDpEvent(validate.positive("noise_multiplier", noise_multiplier))
    rate = validate.rate("sampling_rate", sampling_rate)
    per_epoch = round(1.0 / rate)
    if not math.isclose(per_epoch * rate, 1.0):
        raise ValueError(
            "`sampling_rate` must be one over the number of steps in an epoch for balls_in_bins, "
            f"got {rate!r}."
        )
    epochs, rest = divmod(steps, per_epoch)
    if rest:
        raise ValueError(
            f"`steps` must be whole epochs of {per_epoch} steps for balls_in_bins, got {steps}."
        )
    if validate.relation("relation", relation) is NeighboringRelation.REPLACE_ONE:
        raise ValueError(
            "`relation` must be ADD_OR_REMOVE_ONE or REPLACE_SPECIAL for balls_in_bins (no proof "
            f"is known otherwise), got {relation.name}."
        )
    return BallsInBinsDpEvent(per_epoch, noise), epochs


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
    epochs, and the interval is about 1e-4 wide, whatever the tolerance.

    >>> bounds = epsilon_bounds(noise_multiplier=1.0, sampling_rate=0.01, steps=10_000, delta=1e-5)
    >>> round(bounds.lower, 4), round(bounds.upper, 4)
    (6.1877, 6.1877)
    """
    if isinstance(sampling, str) and sampling == "shuffled":
        poisson = epsilon_bounds(
            noise_multiplier=noise_multiplier,
            delta=delta,
            sampling_rate=sampling_rate,
            steps=steps,
            relation=relation,
            tolerance=tolerance,
        )
        raise ValueError(
            f"`sampling` must be one of {list(ACCOUNTED)} here, got 'shuffled': Poisson sampling "
            f"would give epsilon {up(poisson.upper, 4)}, which is no bound for shuffled batches; "
            "shuffled_epsilon_bounds gives one."
        )
    event, count = repeated_event(noise_multiplier, sampling_rate, steps, sampling, relation)
    release = _tight_release(tight, progress, sampling, event, relation, count)
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
) -> elementary.FixedSizeGaussian | None:
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
    if not isinstance(release, elementary.FixedSizeGaussian):
        return None  # At rate 1 the answer is exact.
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
    tolerance: float = 1e-6,
    tight: bool = False,
    progress: fixed_size.Report | None = None,
) -> Bounds:
    """A certified interval for δ(ε) after `steps` steps; `tight` as for `epsilon_bounds`.

    A tight δ aims for a relative width of 1%; large δ/dε make it wider.
    """
    event, count = repeated_event(noise_multiplier, sampling_rate, steps, sampling, relation)
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
    tolerance: float = 1e-6,
) -> EpsilonCurve:
    """Certified intervals for ε(δ) after each number of steps, sharing the work between them.

    Step counts that the contour engine does not reach (the first few) are asked for a relative gap
    of 1e-5 only; `epsilon_bounds` gives a single answer as tight as wished.
    """
    counts = np.array(validate.sequence("steps", steps, validate.count, least=1), dtype=np.int64)
    tolerance = validate.positive("tolerance", tolerance)
    events = [
        repeated_event(noise_multiplier, sampling_rate, int(count), sampling, relation)
        for count in counts
    ]
    release = elementary.resolve(events[0][0], relation)
    shared = (
        StepCurve(release, delta, tolerance)
        if isinstance(release, elementary.PoissonGaussian)
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
