"""How much noise is enough, or how many steps: what meets a target ε, proved from above."""

import math
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import dp_accounting as dpa
import numpy as np
from dp_accounting import NeighboringRelation

from accountants import counting, elementary, releases, validate
from accountants.bounds import Bounds
from accountants.dp_sgd import ADD_OR_REMOVE_ONE, repeated_event
from accountants.fourier.accountant import FourierAccountant
from accountants.fourier.contour import engine as contour
from accountants.fourier.contour.quadrature import ContourError
from accountants.sampling import SamplingKind, check


class _Effort(NamedTuple):
    """The accountant's tolerance, and how far σ may exceed the smallest sufficient one."""

    tolerance: float
    excess: float

    def asked(self, slope: float) -> float:
        """The tolerance that shows the excess, where log ε falls by `slope` per unit of log σ."""
        return max(self.tolerance, min(_SHOWN * self.excess * slope, _COARSE))


# Where the contour engine answers, in milliseconds, and where the grid engine does.
_QUICK, _SLOW = _Effort(1e-8, 1e-6), _Effort(1e-5, 1e-4)
# Of the excess, in ε, what the accountant's interval may have.
_SHOWN = 0.2
# The accountant's tolerances for counts of steps, and for the way there.
_STEPS_FINE, _COARSE = 1e-6, 1e-3
# Beyond, no engine is asked for noise: `accountants.counting` answers.
_LARGEST_EPSILON = 200.0
_MOST_STEPS = 2**40
_MOST_TRIALS, _FINE_TRIALS = 40, 6
# So many steps, with little noise more, are decided by one of them.
_FEW = 300.0
_NEAR = 0.02

_Answers: TypeAlias = Callable[[float, float], Bounds]
"""(log σ, tolerance) ↦ ε."""


def calibrate_noise(
    *,
    target_epsilon: float,
    delta: float,
    sampling_rate: float = 1.0,
    steps: int = 1,
    relation: NeighboringRelation = ADD_OR_REMOVE_ONE,
    sampling: SamplingKind = "poisson",
    records_per_user: int = 1,
) -> float:
    """The smallest noise multiplier σ with ε(δ) ≤ target, rounded up.

    What is returned has been checked: its ε_upper is at most the target. It has also been checked
    that σ·(1 − 1e-6) is not enough, its ε_lower exceeding the target, where plain Gaussians or the
    contour engine answer, and σ·(1 − 1e-4) where that is not fine enough (some with few steps).
    Two exceptions: for batches of fixed size, shuffled ones and balls in bins σ is the smallest
    that the upper end of their interval allows; and for sampled steps with a target above 200 or
    more than 2⁴⁰ steps it is what `accountants.counting` proves to be enough, which may be more
    than needed.

    Raises:
      ValueError: An argument is impossible, or every σ > 0 meets the target, as a record is in any
        step with a probability of at most δ.

    >>> round(calibrate_noise(target_epsilon=1.0, delta=1e-5, sampling_rate=0.01, steps=10_000), 4)
    3.8128
    """
    target = validate.positive("target_epsilon", target_epsilon)
    delta = validate.open_unit("delta", delta)
    steps = validate.count("steps", steps)
    rate = validate.rate("sampling_rate", sampling_rate)
    kind = check("sampling", sampling)
    # Refuses what does not fit together.
    _, count = repeated_event(1.0, rate, steps, sampling, relation, records_per_user)
    # A step has any of a user's records with a probability of at most k·q, and then at most all.
    sensitivity = float(records_per_user * elementary.sensitivity_factor(relation))
    if kind in ("balls_in_bins", "shuffled"):  # Known to be in one step of every epoch at most.
        enough = counting.sufficient_noise(target, delta, 1.0, count, sensitivity)
    else:
        any_rate = min(1.0, records_per_user * rate)
        enough = counting.sufficient_noise(target, delta, any_rate, steps, sensitivity)
    if enough == 0.0:
        raise ValueError(
            f"`delta` must be below the probability that a record is in any of {steps} steps at "
            f"sampling_rate={rate!r}, else any noise meets the target, got {delta!r}."
        )
    if kind == "shuffled" or rate == 1.0 or target > _LARGEST_EPSILON or steps > _MOST_STEPS:
        return enough

    def answer(log_sigma: float, tolerance: float) -> Bounds:
        event, count = repeated_event(
            math.exp(log_sigma), rate, steps, sampling, relation, records_per_user
        )
        return (
            FourierAccountant(relation, tolerance).compose(event, count).get_epsilon_bounds(delta)
        )

    start = _of_one_step(target, delta, rate, steps)
    if start is not None:
        guess, slope = start
        guess *= sensitivity if sampling == "fixed_size" else 1.0
    else:
        # As if the central limit theorem held: (1 − q)N(0) + qN(1/σ) has χ² = q²·(e^{1/σ²} − 1).
        unsampled = counting.sufficient_noise(target, delta, 1.0, steps, 1.0)
        mu = math.sqrt(steps) / unsampled
        guess = sensitivity / math.sqrt(math.log1p(mu * mu / (rate * rate * steps)))
        slope = 1.0
    log_sigma, slope = _approach(
        answer, target, math.log(min(guess, enough)), math.log(enough), slope
    )
    event, _ = repeated_event(
        math.exp(log_sigma), rate, steps, sampling, relation, records_per_user
    )
    release = elementary.resolve(event, relation)
    effort = _QUICK if _contour_answers(release, steps, delta) else _SLOW
    provable = kind not in ("fixed_size", "balls_in_bins")
    return min(enough, _settle(answer, target, log_sigma, slope, effort, provable=provable))


def _of_one_step(
    target: float, delta: float, rate: float, steps: int
) -> tuple[float, float] | None:
    """About the σ that is enough if a rare large loss of one step decides, and −the slope there.

    Then δ is about that of all steps together, T·q·δ_G(log(1 + (e^ε − 1)/q)). None if it is not so.
    """
    if delta >= steps * rate:
        return None
    share = delta / (steps * rate)
    sigma, less = (
        counting.sufficient_noise(math.log1p(math.expm1(aim) / rate), share, 1.0, 1, 1.0)
        for aim in (target, target * (1.0 + _NEAR))
    )
    if less >= sigma or steps * min(sigma, 1.0) ** 4 > _FEW:
        return None
    return sigma, math.log1p(_NEAR) / math.log(sigma / less)


def _contour_answers(release: releases.Resolution, steps: int, delta: float) -> bool:
    """Whether the contour engine alone, in milliseconds, reaches the fine tolerance."""
    if not isinstance(release, releases.SampledGaussian):
        return False
    composition = contour.Composition([release], np.array([float(steps)]))
    try:
        bounds = contour.epsilon_bounds(composition, delta, _QUICK.tolerance)
    except ContourError:
        return False
    return bounds.gap <= _QUICK.tolerance * bounds.upper


def _approach(
    answer: _Answers, target: float, start: float, enough: float, slope: float
) -> tuple[float, float]:
    """The root log σ to a percent, by bracketed secants on (log σ, log ε), and −the slope there."""
    low, high, here = -math.inf, enough, start
    before: tuple[float, float] | None = None
    for _ in range(_MOST_TRIALS):
        excess = _log_ratio(answer(here, _COARSE).upper, target)
        if before is not None and here != before[0]:
            slope = min(max((before[1] - excess) / (here - before[0]), 0.05), 1e3)
        before = here, excess
        if abs(excess) < _NEAR:
            return here + excess / slope, slope
        low, high = (here, high) if excess > 0.0 else (low, here)
        # With much less noise ε is enormous, and a waste of time.
        here += max(-0.7, min(2.0, excess / slope))
        if not low < here < high:
            here = 0.5 * (low + high) if low > -math.inf else high - 1.0
    return high, slope


def _settle(
    answer: _Answers, target: float, here: float, slope: float, effort: _Effort, *, provable: bool
) -> float:
    """The least σ that was seen to be enough, near log σ = `here`; infinity if none was.

    It ends once σ is enough and σ·(1 − excess) is seen not to be, or after a few trials: then the
    accountant's own interval is wider than that.
    """
    tolerance, excess = effort.asked(slope), effort.excess
    before: tuple[float, float] | None = None
    best = math.inf
    for _ in range(_FINE_TRIALS):
        over = _log_ratio(answer(here, tolerance).upper, target)
        if over <= 0.0:
            best = min(best, here)
            if over >= -0.6 * excess * slope:
                below = here + math.log1p(-excess)
                if not provable or answer(below, tolerance).lower > target:
                    break
        if before is not None and abs(here - before[0]) > 0.1 * excess:
            slope = min(max((before[1] - over) / (here - before[0]), 0.05), 1e3)
        before = here, over
        here += over / slope + 0.3 * excess
    return math.exp(best)


def _log_ratio(epsilon: float, target: float) -> float:
    """log(ε/target), finite."""
    return math.log(min(max(epsilon, 1e-300), 1e300) / target)


def calibrate_steps(
    *,
    target_epsilon: float,
    delta: float,
    noise_multiplier: float,
    sampling_rate: float = 1.0,
    relation: NeighboringRelation = ADD_OR_REMOVE_ONE,
    sampling: SamplingKind = "poisson",
    records_per_user: int = 1,
) -> int:
    """The most steps with ε(δ) ≤ target; their ε_upper has been checked.

    Whole epochs of shuffled batches, a smaller last batch kept, and of balls in bins.

    One step more might still be within the accountant's gap (1e-6, relative) of the target.

    Raises:
      ValueError: An argument is impossible, one step exceeds the target already, or 2⁴⁰ do not.

    >>> calibrate_steps(target_epsilon=1.0, delta=1e-5, noise_multiplier=4.0, sampling_rate=0.01)
    11050
    """
    target = validate.positive("target_epsilon", target_epsilon)
    delta = validate.open_unit("delta", delta)
    unit = _unit(sampling, sampling_rate)
    event, _ = repeated_event(
        noise_multiplier, sampling_rate, unit, sampling, relation, records_per_user
    )

    def upper(steps: int, tolerance: float) -> float:
        accountant = FourierAccountant(relation, tolerance).compose(event, steps)
        return accountant.get_epsilon_bounds(delta).upper

    if upper(1, _STEPS_FINE) > target:
        raise ValueError(
            f"`target_epsilon` must allow one {'step' if unit == 1 else 'epoch'} at "
            f"noise_multiplier={noise_multiplier!r}, got {target!r}."
        )
    # Coarsely, by secants on (log T, log ε) kept in a bracket of what is and is not enough; a
    # bound that is too coarse to tell is asked again finely.
    low, high, here, slope = 1, _MOST_STEPS + 1, 2, 0.5
    before: tuple[float, float] | None = None
    while high - low > 1:
        excess = _log_ratio(upper(here, _COARSE), target)
        if abs(excess) < 2.0 * _COARSE:
            excess = _log_ratio(upper(here, _STEPS_FINE), target)
        log_here = math.log(here)
        if before is not None and log_here != before[0]:
            slope = min(max((excess - before[1]) / (log_here - before[0]), 0.05), 1e3)
        before = log_here, excess
        low, high = (here, high) if excess <= 0.0 else (low, here)
        if low >= _MOST_STEPS:
            raise ValueError(f"`target_epsilon` must be reached within 2^40 steps, got {target!r}.")
        here = _next_count(low, high, log_here - excess / slope)
    return low * unit


def _next_count(low: int, high: int, log_trial: float) -> int:
    """A count strictly between `low` and `high`: the proposal, or the nearest that does.

    Never beyond eight times what is known to be enough: too many steps may take long to refuse.
    """
    trial = round(math.exp(min(log_trial, math.log(_MOST_STEPS))))
    return max(low + 1, min(trial, high - 1, 8 * low))


def remaining_steps(
    *,
    after: dpa.DpEvent,
    target_epsilon: float,
    delta: float,
    noise_multiplier: float,
    sampling_rate: float = 1.0,
    relation: NeighboringRelation = ADD_OR_REMOVE_ONE,
    sampling: SamplingKind = "poisson",
    records_per_user: int = 1,
) -> int:
    """The most steps that can follow `after` with ε(δ) ≤ target for all together; perhaps none.

    The ε_upper of `after` with so many steps has been checked: the answer is on the safe side. One
    step more might still be within the accountant's gap (1e-6, relative) of the target. Whole
    epochs of shuffled batches and of balls in bins, as for `calibrate_steps`. The steps may depend
    on what was released before: composition is adaptive (Zhu, Dong, Wang 2022, Theorem 10), and
    their number, noise and rate are fixed now.

    Raises:
      ValueError: An argument is impossible, or 2⁴⁰ steps are not too many.

    >>> past = dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(4.0), 3)
    >>> remaining_steps(after=past, target_epsilon=4.377, delta=1e-5, noise_multiplier=4.0)
    12
    """
    validate.instance("after", after, dpa.DpEvent)
    target = validate.positive("target_epsilon", target_epsilon)
    delta = validate.open_unit("delta", delta)
    unit = _unit(sampling, sampling_rate)
    event, _ = repeated_event(
        noise_multiplier, sampling_rate, unit, sampling, relation, records_per_user
    )

    def enough(steps: int) -> bool:
        for tolerance in (_COARSE, _STEPS_FINE):
            accountant = FourierAccountant(relation, tolerance).compose(after)
            if steps:
                accountant.compose(event, steps)
            bounds = accountant.get_epsilon_bounds(delta)
            if bounds.upper <= target:
                return True
            if bounds.lower > target:
                return False
        return False

    if not enough(0):
        return 0
    low, high = 0, 1
    while enough(high):
        low, high = high, 4 * high
        if low >= _MOST_STEPS:
            raise ValueError(f"`target_epsilon` must be reached within 2^40 steps, got {target!r}.")
    while high - low > 1:
        middle = math.isqrt(low * high) if high > 2 * low > 0 else (low + high) // 2
        low, high = (middle, high) if enough(middle) else (low, middle)
    return low * unit


def _unit(sampling: SamplingKind, rate: float) -> int:
    """Steps that only come together: those of an epoch, a smaller last batch kept, or one."""
    if check("sampling", sampling) not in ("balls_in_bins", "shuffled"):
        return 1
    return math.ceil(1.0 / validate.rate("sampling_rate", rate) * (1.0 - 1e-12))
