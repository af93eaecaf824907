r"""Batches of fixed size under REPLACE_ONE, tight: a control problem, solved from both sides.

With T steps to go and ε to spare, an adversary who chooses each step's gradients after seeing the
outputs so far reaches

    V₀(ε) = (1 − e^ε)₊,   V_{t+1}(ε) = max over (g, u, v) of E_P[V_t(ε − L)],   δ(ε) = V_T(ε),

where one step has P = (1−q)N(g) + qN(u), Q = (1−q)N(g) + qN(v), L = log dP/dQ, and g, u, v lie in
the ball of radius C. This is exact: every strategy is one of the adversary's, adaptive composition
included, and every triple is attained by data. `PROOF.md` beside this file has all proofs.

* From above: a cover of all triples by cells, each with one law above all of its own (`geometry`,
  `laws`), the maximum over the cells in each step (`values`), and a choice of cells that makes it
  good (`cover`).
* From below: one policy, the others at −C until the loss exceeds ε, and then at +C (`policy`).
"""

import math

from accountants.bounds import Bounds
from accountants.fourier.fixed_size.engine import (
    Plan,
    Question,
    Report,
    Setting,
    lower_end,
    upper_end,
)

__all__ = ["LEAST_NOISE", "MOST_STEPS", "Report", "delta_bounds", "epsilon_bounds"]

LEAST_NOISE = 0.2
"""Below, an epoch's likelihood ratios leave the range of doubles."""
MOST_STEPS = 100_000
"""Above, it would take hours."""
# The step of the grids over a typical loss, and the relative loss that the cover aims for.
_EFFORTS = ((0.12, 0.0015), (0.06, 0.0006))
_LONG_EFFORTS = ((0.2, 0.0015), (0.1, 0.0008))
_LOWER_FINENESS, _LONG_LOWER_FINENESS = 0.018, 0.04
_LONG = 3_000
# δ below this is beyond the reach of the laws.
_LEAST_DELTA = 1e-100


def epsilon_bounds(
    noise_multiplier: float,
    rate: float,
    steps: int,
    delta: float,
    fast: Bounds,
    tolerance: float,
    report: Report | None = None,
) -> Bounds:
    """A certified interval for ε(δ), within `fast`.

    Args:
      noise_multiplier: σ, at least `LEAST_NOISE`.
      rate: q in (0, 1).
      steps: T, at most `MOST_STEPS`.
      delta: δ.
      fast: A proved interval, with a finite upper end.
      tolerance: The relative width that is narrow enough.
      report: Told what is being done, how much of it is done, and of how much.
    """
    if _narrow(fast, tolerance) or delta < _LEAST_DELTA or not math.isfinite(fast.upper):
        return fast
    setting, question = Setting(noise_multiplier, rate, steps), Question(delta=delta)
    told = report or _silent
    lower = lower_end(setting, question, fast, delta, _fineness(steps), told)
    bounds = fast.intersect(Bounds(lower, math.inf))
    for fineness, loss in _LONG_EFFORTS if steps > _LONG else _EFFORTS:
        plan = Plan.near(setting, min(1.02 * bounds.lower, bounds.upper), delta, fineness)
        upper = upper_end(setting, plan, question, loss, told)
        bounds = bounds.intersect(Bounds(0.0, upper))
        if _narrow(bounds, tolerance):
            break
    return bounds


def delta_bounds(
    noise_multiplier: float,
    rate: float,
    steps: int,
    epsilon: float,
    fast: Bounds,
    tolerance: float,
    report: Report | None = None,
) -> Bounds:
    """A certified interval for δ(ε), within `fast`; arguments as for `epsilon_bounds`."""
    if _narrow(fast, tolerance) or fast.upper < _LEAST_DELTA:
        return fast
    setting, question = Setting(noise_multiplier, rate, steps), Question(epsilon=epsilon)
    told = report or _silent
    at = Bounds(epsilon, epsilon)
    about = max(fast.lower, 1e-6 * fast.upper)
    lower = lower_end(setting, question, at, about, _fineness(steps), told)
    bounds = fast.intersect(Bounds(lower, math.inf))
    for fineness, loss in _LONG_EFFORTS if steps > _LONG else _EFFORTS:
        plan = Plan.near(setting, epsilon, max(bounds.lower, about), fineness, epsilon)
        upper = upper_end(setting, plan, question, loss, told)
        bounds = bounds.intersect(Bounds(0.0, upper))
        if _narrow(bounds, tolerance):
            break
    return bounds


def _fineness(steps: int) -> float:
    return _LONG_LOWER_FINENESS if steps > _LONG else _LOWER_FINENESS


def _narrow(bounds: Bounds, tolerance: float) -> bool:
    return bounds.gap <= tolerance * bounds.upper


def _silent(what: str, done: int, of: int) -> None:
    """Tells nobody."""
