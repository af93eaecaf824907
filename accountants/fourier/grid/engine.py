r"""The grid engine: certified ε and δ of a composition of loss laws, in one direction.

Each law is put on a grid from above and from below (`discretise`), composed by a tilted FFT
(`convolve`) in a window that Chernoff bounds suggest (`outlook`). The answers are intervals for the
composition of exactly these laws: `upper` is at least the truth, `lower` at most, with truncation,
aliasing and floating-point rounding included (the error models are in `law`, `discretise` and
`convolve`).

The width of the interval is that of the grid: connecting the dots adds, and gathering pieces takes,
O(h²) of variance per step, so ε is off by about (θ+1)·T·h²/8. A coarse pass measures it, and the
next one has the step that the tolerance needs; the intervals of all passes are intersected. If
that takes more nodes than allowed the interval stays wider.

One law, once, needs no composition: δ(ε) is a single integral with positive integrand.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from scipy import optimize

from accountants import validate
from accountants.bounds import Bounds
from accountants.fourier.grid import discretise
from accountants.fourier.grid.convolve import Composed, Window, compose
from accountants.fourier.grid.laws.law import TAIL_ERROR, UNIT, LossLaw
from accountants.fourier.grid.outlook import Outlook

Laws = Sequence[tuple[LossLaw, int]]

_FIRST_LENGTH = 2**12
_MOST_NODES = 2**20
_MOST_PASSES = 8
_SMALLEST = 5e-324
# Enough for atoms of a lattice to stand e^30 above their neighbours' rounding errors.
_LATTICE_TILT = 30.0


def delta_bounds(laws: Laws, epsilon: float, *, tolerance: float = 1e-6) -> Bounds:
    """An interval for δ(ε) of the composition of `laws`, each `count` times.

    Args:
      laws: Loss laws with counts, all of the same direction.
      epsilon: Non-negative.
      tolerance: The relative width of the interval that is aimed at.
    """
    laws = _merged(laws)
    epsilon = validate.non_negative("epsilon", epsilon)
    tolerance = validate.positive("tolerance", tolerance)
    if _single(laws):
        return _single_delta(laws[0][0], epsilon)
    steps = sum(count for _, count in laws)
    highest = sum(count * law.loss_range(1e-300, 1e-305)[1] for law, count in laws)
    if epsilon > highest * (1.0 + 1e-12):  # No loss is that large, or so few that none is seen.
        rare = sum(count * law.infinite for law, count in laws)
        return Bounds(0.0, min(1.0, rare + 1e-304 * steps))
    log_delta, tilt = Outlook(laws, 1e-300, 1.0).delta(epsilon)
    log_delta = max(log_delta - 5.0, -690.0)
    best = Bounds(0.0, 1.0)
    length = 0
    for _ in range(_MOST_PASSES):
        outlook = Outlook(laws, math.exp(log_delta), 0.01 * tolerance, _ceiling(laws, epsilon))
        tilt = _capped(outlook.delta(epsilon)[1], laws)
        window = outlook.window(tilt, epsilon, epsilon, log_delta)
        length = length or _first_length(outlook, tilt, window.width, 0.1 / tilt, laws)
        above, below, length = _compose_both(laws, outlook, window, tilt, epsilon, length)
        best = best.intersect(Bounds(below.delta(epsilon)[0], above.delta(epsilon)[0]))
        excess = _excess(best, tolerance)
        if excess <= 1.0 or length >= _most_length(laws):
            break
        length = _next_length(length, excess, laws)
        # The Chernoff bound may be far above: truncate and alias relative to what has been seen.
        log_delta = max(math.log(best.lower), -690.0) if best.lower > 0.0 else log_delta - 5.0
    widened = _outwards(best)
    return Bounds(widened.lower, min(1.0, widened.upper))


def epsilon_bounds(laws: Laws, delta: float, *, tolerance: float = 1e-6) -> Bounds:
    """An interval for the least ε with δ(ε) ≤ `delta`, for the composition of `laws`.

    The ends are checked: δ_upper(ε_upper) ≤ δ and δ_lower(ε_lower) ≥ δ, which by the monotonicity
    of δ(ε) is a proof. ε = 0 where δ(0) ≤ `delta`.

    Args:
      laws: Loss laws with counts, all of the same direction.
      delta: In (0, 1).
      tolerance: The relative width of the interval that is aimed at.
    """
    laws = _merged(laws)
    delta = validate.open_unit("delta", delta)
    tolerance = validate.positive("tolerance", tolerance)
    if _single(laws):
        return _single_epsilon(laws[0][0], delta)
    guess, tilt = _guess(laws, delta)
    tilt = _capped(tilt, laws)
    # ε moves by the relative error of δ over the tilt.
    aim = 0.01 * tolerance * min(1.0, max(guess * tilt, 1e-6))
    outlook = Outlook(laws, delta, aim, _ceiling(laws, guess))

    best = Bounds(0.0, math.inf)
    low = max(0.0, guess - 8.0 / tilt)
    width = outlook.window(tilt, low, guess, math.log(delta)).width
    # The first pass only has to see where ε is: to a percent, or a tenth of the tilt's scale.
    length = _first_length(outlook, tilt, width, max(0.01 * guess, 0.1 / tilt), laws)
    for _ in range(_MOST_PASSES):
        window = outlook.window(tilt, low, min(guess, best.upper), math.log(delta))
        ceiling = min(guess, best.upper)
        above, below, length = _compose_both(laws, outlook, window, tilt, ceiling, length)
        new = Bounds(_least_epsilon(below, delta, low), _least_epsilon(above, delta, low))
        if new.lower <= low and low > 0.0:  # Not seen: look lower.
            low = max(0.0, low - 3.0 * max(guess - low, 8.0 / tilt))
            length = _next_length(length, 10.0, laws)
            best = Bounds(best.lower, min(best.upper, new.upper))
            continue
        best = best.intersect(new)
        excess = _excess(best, tolerance)
        if excess <= 1.0 or length >= _most_length(laws):
            break
        length = _next_length(length, excess, laws)
        if best.upper < 0.9 * guess:  # The Chernoff bound was far off: look again.
            guess = best.upper
            outlook = Outlook(laws, delta, aim, _ceiling(laws, guess))
            tilt = _capped(outlook.delta(guess)[1], laws)
        low = max(0.0, best.lower - 0.01 / tilt)
    return _outwards(best)


def _merged(laws: Laws) -> list[tuple[LossLaw, int]]:
    """Equal laws together, counts validated."""
    merged: dict[LossLaw, int] = {}
    for law, count in laws:
        merged[law] = merged.get(law, 0) + validate.count("count", count)
    if not merged:
        raise ValueError("`laws` must hold at least one law, got none.")
    return list(merged.items())


def _single(laws: Laws) -> bool:
    return len(laws) == 1 and laws[0][1] == 1


def _outwards(bounds: Bounds) -> Bounds:
    lower = math.nextafter(bounds.lower, 0.0)
    return Bounds(lower, math.nextafter(bounds.upper, math.inf) if bounds.upper > 0.0 else 0.0)


def _most_length(laws: Laws) -> int:
    """The longest transform: all laws together have `_MOST_NODES` nodes to share."""
    return max(_FIRST_LENGTH, 1 << int(math.log2(_MOST_NODES / len(laws))))


def _first_length(outlook: Outlook, tilt: float, width: float, error: float, laws: Laws) -> int:
    """The least length at which the grid moves ε by about `error`."""
    lengths = _FIRST_LENGTH * 2 ** np.arange(0, 14)
    moved = 0.5 * (1.0 + tilt) * outlook.spread(tilt, width / lengths)
    enough = lengths[moved <= error]
    return min(int(enough[0]) if enough.size else int(lengths[-1]), _most_length(laws))


def _excess(bounds: Bounds, tolerance: float) -> float:
    """The relative gap over the tolerance."""
    if math.isinf(bounds.upper):
        return math.inf
    return bounds.gap / max(bounds.upper, _SMALLEST) / tolerance


def _next_length(length: int, excess: float, laws: Laws) -> int:
    wanted = length * min(max(1.2 * math.sqrt(excess), 2.0), 64.0)
    return min(1 << math.ceil(math.log2(wanted)), _most_length(laws))


def _guess(laws: Laws, delta: float) -> tuple[float, float]:
    """The Chernoff ε and its tilt, again and again with all losses that exceed it put together.

    Rare large losses have large moments, and the first bound may be several times too large.
    """
    guess, tilt = Outlook(laws, delta, 1e-6).epsilon(delta)
    for _ in range(4):
        last = guess
        guess, tilt = Outlook(laws, delta, 1e-6, _ceiling(laws, last)).epsilon(delta)
        if not 0.0 < guess < 0.95 * last:
            break
    return guess, tilt


def _ceiling(laws: Laws, epsilon: float) -> float:
    """Where grids may end: at ε, but laws on a lattice are kept whole."""
    return math.inf if _lattice_step(laws) is not None else epsilon


def _lattice_step(laws: Laws) -> float | None:
    """The one step of all laws' lattices, if there is one."""
    steps = {law.lattice[1] if law.lattice else 0.0 for law, _ in laws}
    return (steps.pop() or None) if len(steps) == 1 else None


def _capped(tilt: float, laws: Laws) -> float:
    """The tilt, no larger than a lattice needs: near the largest loss of all it has no limit."""
    lattice = _lattice_step(laws)
    return tilt if lattice is None else min(tilt, _LATTICE_TILT / lattice)


def _anchor(law: LossLaw, step: float) -> float:
    """Where a node should be: at the atoms, else at the mean of the law's densest step.

    The mass of small sampling rates crowds at a loss near 0, in less than a step; a node in the
    middle of it takes it in without any error. Unimportant where the step is fine.
    """
    if law.lattice is not None:
        return law.lattice[0]
    low, high = law.loss_range(0.25, 0.75)
    centre = 0.5 * (low + high)
    for _ in range(3):
        points = law.points(np.array([centre - 0.5 * step, centre + 0.5 * step]))
        total = float(np.sum(points.mass))
        if total <= 0.0:
            break
        share = float(np.dot(points.mass, np.expm1(-(points.loss - centre)))) / total
        centre -= math.log1p(share)
    return centre


def _compose_both(
    laws: Laws, outlook: Outlook, window: Window, saddle: float, ceiling: float, length: int
) -> tuple[Composed, Composed, int]:
    """One pass: both sides on one grid of about `length` nodes, and the length it took."""
    # A window far narrower than a single loss's range is no use: that many nodes are not to be had.
    # Below, nodes soon are 2^11 steps apart.
    lattice = _lattice_step(laws)
    if lattice is not None:
        # Near the largest loss of all the window may be far narrower than the lattice.
        window = replace(
            window,
            width=max(window.width, 16.0 * lattice),
            read=max(window.read, 8.0 * lattice),
        )
    highest = max(high for _, high in outlook.ranges)
    widest = max(high - low for low, high in outlook.ranges)
    step = max(window.width / length, highest / _MOST_NODES, widest / (2**9 * _MOST_NODES))
    if lattice is not None:
        if lattice >= step:
            step = lattice / math.ceil(lattice / step)
        elif window.width <= lattice * _most_length(laws):
            step = lattice
        length = 1 << math.ceil(math.log2(max(window.width / step, 2.0)))
    width = length * step
    window = replace(window, width=width, read=min(window.read, width - 2.0 * step))
    above, below = [], []
    for which, (law, count) in enumerate(laws):
        nodes = outlook.grid(
            which, saddle, ceiling, _anchor(law, step), step, sparse=lattice is None
        )
        upper, lower = discretise.both(law, nodes)
        above.append((upper, count))
        below.append((lower, count))
    return compose(above, window, length, 1), compose(below, window, length, -1), length


def _least_epsilon(composed: Composed, delta: float, low: float) -> float:
    """The least ε ≥ low with δ(ε) ≤ delta (upper), or the largest with δ(ε) ≥ delta (lower).

    Safeguarded Newton on the convex log-scale function; the end returned is the bracket's end on
    the proper side, where the condition has been checked.
    """
    high = float(composed.losses[-1])
    at_low, slope = composed.delta(low)
    if at_low <= delta:
        return low if composed.sign > 0 or at_low == delta else (0.0 if low == 0.0 else low)
    if composed.delta(high)[0] > delta:
        return math.inf if composed.sign > 0 else high
    left, right = low, high  # δ(left) > delta ≥ δ(right)
    x, value = left, at_low
    for _ in range(100):
        width = right - left
        if width <= 1e-15 * right or width <= 1e-14 * (right - low):
            break
        step = value * math.log(value / delta) / slope if value > 0.0 and slope > 0.0 else math.inf
        trial = x + step
        # Aim a little past the root so that the bracket closes from both sides.
        trial += math.copysign(1e-14 * max(abs(trial), width), step)
        if not left < trial < right:
            trial = 0.5 * (left + right)
            if not left < trial < right:
                break
        x = trial
        value, slope = composed.delta(x)
        if value > delta:
            left = x
        else:
            right = x
    return right if composed.sign > 0 else left


def _single_delta(law: LossLaw, epsilon: float) -> Bounds:
    """δ(ε) = ∫ (1 − e^{ε−l})₊ dP of one law, as a sum of positive terms."""
    _, high = law.loss_range(1e-300, 1e-305)
    if epsilon >= high:
        above = law.tails(min(epsilon, 0.0), epsilon).above
        return Bounds(0.0, min(1.0, law.infinite + above * (1.0 + TAIL_ERROR) + _SMALLEST))
    points = law.points(np.array([epsilon, high * (1.0 + 4.0 * UNIT)]))
    slack = points.loss_error + 2.0 * UNIT * (np.abs(points.loss) + epsilon)
    ends = []
    for sign in (-1.0, 1.0):
        gain = -np.expm1(-np.maximum(points.loss - epsilon + sign * slack, 0.0))
        mass = points.mass * (1.0 + sign * (points.mass_error + 64.0 * UNIT))
        ends.append(float(np.dot(mass, gain)))
    above = law.tails(min(epsilon, 0.0), high).above * (1.0 + TAIL_ERROR) + law.infinite
    return Bounds(ends[0], min(1.0, (ends[1] + above) * (1.0 + 1e-15) + _SMALLEST))


def _single_epsilon(law: LossLaw, delta: float) -> Bounds:
    """ε(δ) of one law: each end by bracketing its side's log δ, then checked."""
    _, high = law.loss_range(1e-300, 1e-305)
    lower = _crossing(lambda epsilon: _single_delta(law, epsilon).lower, delta, high)[0]
    upper = _crossing(lambda epsilon: _single_delta(law, epsilon).upper, delta, high)[1]
    return Bounds(lower, upper)


def _crossing(bound: Callable[[float], float], delta: float, high: float) -> tuple[float, float]:
    """ε₀ ≤ ε₁ close to each other with bound(ε₀) ≥ δ, or ε₀ = 0, and bound(ε₁) ≤ δ."""
    if high <= 0.0 or bound(0.0) <= delta:
        return 0.0, 0.0
    left, right = 0.0, high
    while bound(right) > delta:
        right *= 2.0
    log_delta = math.log(delta)

    def excess(epsilon: float) -> float:
        return math.log(max(bound(epsilon), 1e-320)) - log_delta

    root = float(optimize.brentq(excess, left, right, xtol=1e-300, rtol=1e-15))
    step = 4.0 * UNIT * root
    while root - step > left:
        if bound(root - step) >= delta:
            left = root - step
            break
        step *= 2.0
    step = 4.0 * UNIT * root
    while root + step < right:
        if bound(root + step) <= delta:
            right = root + step
            break
        step *= 2.0
    return left, right
