"""How much noise is enough for a risk: an attack's advantage, its true positive rate, or μ.

An (ε, δ) is a detour to what a person wants to bound. The readings of `accountants.risk` and
`accountants.gdp` are asked directly instead (Kulynych, Gomez, Kaissis, Calmon, Troncoso 2024), and
what is returned has been checked by their upper ends.
"""

import math
from collections.abc import Callable
from typing import TypeAlias

from dp_accounting import NeighboringRelation
from scipy import optimize, special

from accountants import elementary, validate
from accountants.bounds import Bounds
from accountants.dp_sgd import ADD_OR_REMOVE_ONE, repeated_event
from accountants.fourier.accountant import FourierAccountant
from accountants.gdp import gdp_bounds
from accountants.risk import true_positive_rate as rate_of_true_positives
from accountants.sampling import SamplingKind

_Reading: TypeAlias = Callable[[FourierAccountant], Bounds]

# How far σ may exceed the smallest that the upper ends allow.
_EXCESS = 1e-5
# The accountant's tolerance, and that on the way there.
_TOLERANCE, _COARSE = 1e-6, 1e-3
_BELOW_ONE = math.nextafter(1.0, 0.0)
# With less noise than this who is in a step is seen, but for 1e-100.
_LEAST_NOISE = 0.02
_MOST_TRIALS = 60


def calibrate_noise_to_risk(
    *,
    advantage: float | None = None,
    true_positive_rate: float | None = None,
    false_positive_rate: float | None = None,
    mu: float | None = None,
    slack: float = 0.0,
    sampling_rate: float = 1.0,
    steps: int = 1,
    relation: NeighboringRelation = ADD_OR_REMOVE_ONE,
    sampling: SamplingKind = "poisson",
) -> float:
    """A noise multiplier σ that keeps a risk at or below its target, nearly the smallest.

    What is returned has been checked: the reading's upper end at σ is at most the target. It
    exceeds the smallest σ that these upper ends allow by about 1e-5, relative.

    Args:
      advantage: The most that true positive rate − false positive rate may be, in (0, 1).
      true_positive_rate: The most that it may be at `false_positive_rate`, which it must exceed.
      false_positive_rate: With it, in (0, 1).
      mu: The most that μ of Gaussian DP may be; one of the three targets is given.
      slack: With `mu`, how far the curve may lie below the Gaussian's, see `gdp_bounds`. Without
        slack sampling is no help.
      sampling_rate: q in (0, 1]; 1 is no sampling.
      steps: How many.
      relation: Which data sets are neighbours.
      sampling: As for `calibrate_noise`.

    Raises:
      ValueError: An argument is impossible, or every σ > 0 meets the target, as a record is so
        rarely in any step.

    >>> round(calibrate_noise_to_risk(advantage=0.1, sampling_rate=0.01, steps=1000), 4)
    1.4224
    """
    reading, target, as_mu = _target(advantage, true_positive_rate, false_positive_rate, mu, slack)
    unsampled = as_mu(target)
    steps = validate.count("steps", steps)
    rate = validate.rate("sampling_rate", sampling_rate)
    _, count = repeated_event(1.0, rate, steps, sampling, relation)

    def upper(noise_multiplier: float, tolerance: float = _TOLERANCE) -> float:
        event, repeats = repeated_event(noise_multiplier, rate, steps, sampling, relation)
        accountant = FourierAccountant(relation, tolerance).compose(event, repeats)
        return reading(accountant).upper

    # Sampling only helps, and without it the composition is a Gaussian with μ = s·√T/σ.
    enough = elementary.sensitivity_factor(relation) * math.sqrt(count) / unsampled
    enough = _upwards(enough, upper, target)
    if rate == 1.0 or (mu is not None and slack == 0.0):
        return enough
    # Couple both sides' samples: they differ only if the record is in a step.
    in_every_epoch = sampling in ("balls_in_bins", "shuffled")
    unseen = 0.0 if in_every_epoch else math.exp(steps * math.log1p(-rate))
    spare = target - (false_positive_rate or 0.0) if mu is None else slack
    low = enough
    while spare < 1.0 - unseen and low > _LEAST_NOISE:
        low *= 0.5
        if upper(low, _COARSE) > target:
            break
    else:
        raise ValueError(
            f"`sampling_rate` must be such that some noise is needed, got {rate!r}: a record is in "
            f"any of {steps} steps so rarely that whatever the noise the target is met."
        )

    def excess(log_sigma: float) -> float:
        return math.log(max(as_mu(upper(math.exp(log_sigma))), 1e-300) / unsampled)

    root = math.exp(_root(excess, math.log(low), math.log(2.0 * low)))
    return min(enough, _upwards(root, upper, target))


def _target(
    advantage: float | None,
    true_positive_rate: float | None,
    false_positive_rate: float | None,
    mu: float | None,
    slack: float,
) -> tuple[_Reading, float, Callable[[float], float]]:
    """What is read, the most that it may be, and the μ of the Gaussian that has such a reading."""
    given = [value for value in (advantage, true_positive_rate, mu) if value is not None]
    if len(given) != 1:
        raise ValueError(
            "`advantage`, `true_positive_rate` or `mu` must be given, one of the three, got "
            f"{len(given)}."
        )
    if (true_positive_rate is None) != (false_positive_rate is None):
        raise ValueError(
            "`false_positive_rate` must be given with `true_positive_rate` and only with it, got "
            f"{validate.shown(false_positive_rate)}."
        )
    if validate.non_negative("slack", slack) and mu is None:
        raise validate.refusal("slack", "0 unless mu is given", slack)
    if advantage is not None:
        return (
            lambda accountant: accountant.get_delta_bounds(0.0),
            validate.open_unit("advantage", advantage),
            lambda reading: -2.0 * float(special.ndtri(0.5 * max(1.0 - reading, 1e-300))),
        )
    if true_positive_rate is not None and false_positive_rate is not None:
        target = validate.open_unit("true_positive_rate", true_positive_rate)
        alpha = validate.open_unit("false_positive_rate", false_positive_rate)
        if target <= alpha:
            raise validate.refusal(
                "true_positive_rate", f"above false_positive_rate={alpha!r}", target
            )
        return (
            lambda accountant: rate_of_true_positives(accountant, alpha),
            target,
            lambda reading: float(special.ndtri(min(reading, _BELOW_ONE)) - special.ndtri(alpha)),
        )
    return (
        lambda accountant: gdp_bounds(accountant, slack),
        validate.positive("mu", mu),
        lambda reading: min(reading, 1e300),
    )


def _root(excess: Callable[[float], float], low: float, high: float) -> float:
    """Where the decreasing excess is 0, to a fraction of `_EXCESS`; an end if it lies outside."""
    for end, outside in ((low, excess(low) <= 0.0), (high, excess(high) >= 0.0)):
        if outside:
            return end
    return float(optimize.brentq(excess, low, high, xtol=0.2 * _EXCESS, rtol=1e-12))


def _upwards(noise_multiplier: float, upper: Callable[[float], float], target: float) -> float:
    """`noise_multiplier`, or so much more that its reading is seen to be at most the target."""
    more = 1e-15
    for _ in range(_MOST_TRIALS):
        if upper(noise_multiplier) <= target:
            return noise_multiplier
        noise_multiplier *= 1.0 + more
        more = min(4.0 * more, 0.5)
    raise ValueError(f"`target` must be within reach, got {target!r}.")
