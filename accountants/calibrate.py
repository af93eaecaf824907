"""How much noise is enough, or how many steps: what meets a target ε, proved from above."""

import math

from dp_accounting import NeighboringRelation
from scipy import optimize

from accountants import validate
from accountants.dp_sgd import ADD_OR_REMOVE_ONE, epsilon_bounds
from accountants.sampling import SamplingKind

# The returned σ exceeds the smallest sufficient one by at most this factor.
RELATIVE_EXCESS = 1e-6
_LARGEST_LOG = 40.0 * math.log(2.0)
_STRIDE = math.log(2.0)
_COARSE = 1e-3
_MOST_STEPS = 2**40


def calibrate_noise(
    *,
    target_epsilon: float,
    delta: float,
    sampling_rate: float = 1.0,
    steps: int = 1,
    relation: NeighboringRelation = ADD_OR_REMOVE_ONE,
    sampling: SamplingKind = "poisson",
) -> float:
    """The smallest noise multiplier σ with ε(δ) ≤ target, rounded up by at most 1e-6 (relative).

    What is returned has been checked: its ε_upper is at most the target. That it is nearly the
    smallest rests on the accountant's gap (1e-8); for fixed-size sampling it is the smallest that
    the dominating pair allows.

    Raises:
      ValueError: An argument is impossible, or no noise multiplier in [2⁻⁴⁰, 2⁴⁰] is the answer.

    >>> round(calibrate_noise(target_epsilon=1.0, delta=1e-5, sampling_rate=0.01, steps=10_000), 4)
    3.8128
    """
    target = validate.positive("target_epsilon", target_epsilon)
    delta = validate.open_unit("delta", delta)

    def excess(log_sigma: float, tolerance: float = 1e-8) -> float:
        """log(ε_upper/target) at σ; falls in σ."""
        bounds = epsilon_bounds(
            noise_multiplier=math.exp(log_sigma),
            sampling_rate=sampling_rate,
            steps=steps,
            delta=delta,
            relation=relation,
            sampling=sampling,
            tolerance=tolerance,
        )
        return math.log(max(bounds.upper, 1e-300) / target)

    low = high = 0.0
    while excess(high, _COARSE) > 0.0 and high < _LARGEST_LOG:
        low, high = high, high + _STRIDE
    while excess(low, _COARSE) <= 0.0 and low > -_LARGEST_LOG:
        low, high = low - _STRIDE, min(high, low)
    # The coarse bounds may have misjudged an end that is nearly the root.
    low, high = low - 0.01, high + 0.01
    if not excess(low) > 0.0 >= excess(high):
        raise ValueError(
            f"`target_epsilon` must need a noise multiplier within 2^±40 at delta={delta}, "
            f"got {target!r}."
        )
    root = float(optimize.brentq(excess, low, high, xtol=1e-9, rtol=1e-12))
    margin = 0.1 * RELATIVE_EXCESS
    while excess(root + margin) > 0.0:
        margin *= 2.0
    return math.exp(root + margin)


def calibrate_steps(
    *,
    target_epsilon: float,
    delta: float,
    noise_multiplier: float,
    sampling_rate: float = 1.0,
    relation: NeighboringRelation = ADD_OR_REMOVE_ONE,
    sampling: SamplingKind = "poisson",
) -> int:
    """The most steps with ε(δ) ≤ target; their ε_upper has been checked.

    One step more might still be within the accountant's gap (1e-6, relative) of the target.

    Raises:
      ValueError: An argument is impossible, one step exceeds the target already, or 2⁴⁰ do not.

    >>> calibrate_steps(target_epsilon=1.0, delta=1e-5, noise_multiplier=4.0, sampling_rate=0.01)
    11050
    """
    target = validate.positive("target_epsilon", target_epsilon)

    def is_enough(steps: int) -> bool:
        bounds = epsilon_bounds(
            noise_multiplier=noise_multiplier,
            sampling_rate=sampling_rate,
            steps=steps,
            delta=delta,
            relation=relation,
            sampling=sampling,
        )
        return bounds.upper <= target

    if not is_enough(1):
        raise ValueError(
            f"`target_epsilon` must allow one step at noise_multiplier={noise_multiplier!r}, "
            f"got {target!r}."
        )
    low, high = 1, 2
    while is_enough(high):
        low, high = high, 2 * high
        if high > _MOST_STEPS:
            raise ValueError(f"`target_epsilon` must be reached within 2^40 steps, got {target!r}.")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_enough(middle) else (low, middle)
    return low
