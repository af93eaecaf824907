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
from accountants.fourier.grid.profile import Profile

Laws = Sequence[tuple[LossLaw, int]]

_FIRST_LENGTH = 2**12
_MOST_NODES = 2**20
_MOST_PASSES = 8
# Passes on the finest grid that may show nothing from below before it is given up.
_BLIND_PASSES = 2
# A whole profile is composed on so many nodes, one pass after the other while the widest of its
# intervals exceeds the tolerance and this: the last pass takes a second, or several.
_PROFILE_PASSES = ((2**14, 0.0), (2**17, 0.0), (2**20, 1e-4))
_PROBES = 65
_TILTS, _LOG_SURE = np.geomspace(1e-5, 1e5, 41), math.log(1e-10)
_SMALLEST = 5e-324
# Masses below this are cut off, so that finer grids show no more of such a δ.
_LEAST_SEEN = 1e-300
# Where tilt times step is more, the grid does not resolve what the tilt looks at.
_COARSE = 0.01
# More atoms than these are as good as a density.
_MOST_ATOMS = 2**12
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
    log_delta = min(max(log_delta - 5.0, -690.0), 0.0)
    best = Bounds(0.0, 1.0)
    length = blind = 0
    for _ in range(_MOST_PASSES):
        outlook = Outlook(laws, math.exp(log_delta), 0.01 * tolerance, _ceiling(laws, epsilon))
        tilt = _capped(outlook.delta(epsilon)[1], laws, outlook)
        window = outlook.window(tilt, epsilon, epsilon, log_delta)
        length = length or _first_length(outlook, tilt, window.width, 0.1 / tilt, laws)
        asked = length
        above, below, length = _compose_both(laws, outlook, window, tilt, epsilon, asked)
        best = best.intersect(_seen(below.delta(epsilon)[0], above.delta(epsilon)[0]))
        excess = _excess(best, tolerance)
        unseen = best.lower == 0.0 and best.upper < _LEAST_SEEN
        blind += best.lower == 0.0 and length < asked
        if excess <= 1.0 or length >= _most_length(laws) or unseen or blind == _BLIND_PASSES:
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
    # ε moves by the relative error of δ over the tilt.
    aim = 0.01 * tolerance * min(1.0, max(guess * tilt, 1e-6))
    outlook = Outlook(laws, delta, aim, _ceiling(laws, guess))
    tilt = _capped(tilt, laws, outlook)

    best = Bounds(0.0, _largest_loss(laws))
    low = max(0.0, guess - 8.0 / tilt)
    width = outlook.window(tilt, low, guess, math.log(delta)).width
    # The first pass only has to see where ε is: to a percent, or a tenth of the tilt's scale.
    length = _first_length(outlook, tilt, width, max(0.01 * guess, 0.1 / tilt), laws)
    blind = 0
    for _ in range(_MOST_PASSES):
        window = outlook.window(tilt, low, min(guess, best.upper), math.log(delta))
        ceiling = min(guess, best.upper)
        asked = length
        above, below, length = _compose_both(laws, outlook, window, tilt, ceiling, asked)
        new = Bounds(_least_epsilon(below, delta, low), _least_epsilon(above, delta, low))
        if new.lower <= low and low > 0.0:  # Not seen: look lower.
            blind += length < asked
            if blind == _BLIND_PASSES:
                best = Bounds(best.lower, min(best.upper, new.upper))
                break
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
            tilt = _capped(outlook.delta(guess)[1], laws, outlook)
        low = max(0.0, best.lower - 0.01 / tilt)
    return _outwards(best)


def profile(laws: Laws, *, tolerance: float = 1e-6) -> list[tuple[Profile, Profile]]:
    """Lower and upper bounds of δ(ε) as functions of ε ≥ 0, pass by pass; all of them hold.

    The window begins at ε = 0, or where δ is nearly 1, so that one composition answers for all ε,
    with errors relative to δ(0): far out `delta_bounds` is sharper.

    Args:
      laws: Loss laws with counts, all of the same direction.
      tolerance: The widest interval that is aimed at, relative to δ(0).
    """
    laws = _merged(laws)
    tolerance = validate.positive("tolerance", tolerance)
    log_delta = min(Outlook(laws, 1e-2, 1e-3).delta(0.0)[0], 0.0)
    passes: list[tuple[Profile, Profile]] = []
    gap, goal = math.inf, 0.0
    for length, wide in _PROFILE_PASSES:
        if gap <= max(goal, wide):
            break
        outlook = Outlook(laws, math.exp(log_delta), 1e-2 * tolerance)
        # P(L ≤ low) ≤ e^{K(−t) + t·low}: where that is η, δ is 1 but for little more than η.
        low = max(0.0, float(np.max((_LOG_SURE - outlook.log_moment(-_TILTS)) / _TILTS)))
        tilt = _capped(outlook.delta(low)[1], laws, outlook)
        window = outlook.window(tilt, low, low, log_delta)
        capped = min(length, _most_length(laws))
        above, below, _ = _compose_both(laws, outlook, window, tilt, math.inf, capped)
        lower, upper = Profile(below, low), Profile(above, low)
        passes.append((lower, upper))
        end = float(above.losses[-1])
        # Below an atom on top, δ falls within few steps: half of the probes crowd there.
        crowded = min(end, _largest_loss(laws)) * (1.0 - np.geomspace(1e-4, 1.0, _PROBES))
        everywhere = np.concatenate([np.linspace(low, end, _PROBES), np.maximum(crowded, low)])
        most, least = upper(everywhere), lower(everywhere)
        gap, goal = float(np.max(most - least)), tolerance * float(most[0])
        log_delta = math.log(least[0]) if least[0] > 1e-300 else log_delta - 5.0
    return passes


def _merged(laws: Laws) -> list[tuple[LossLaw, int]]:
    """Equal laws together, counts validated."""
    merged: dict[LossLaw, int] = {}
    for law, count in laws:
        merged[law] = merged.get(law, 0) + validate.count("count", count)
    if not merged:
        raise ValueError("`laws` must hold at least one law, got none.")
    return list(merged.items())


def _largest_loss(laws: Laws) -> float:
    """No loss of the composition is larger, so δ is 0 there; inf if there is no such number."""
    if any(law.infinite > 0.0 for law, _ in laws):
        return math.inf
    return math.fsum(count * law.highest for law, count in laws) * (1.0 + 16.0 * UNIT)


def _seen(lower: float, upper: float) -> Bounds:
    """What a pass has shown of a δ; an end that overflowed into no number has shown nothing."""
    return Bounds(0.0 if math.isnan(lower) else lower, 1.0 if math.isnan(upper) else upper)


def _single(laws: Laws) -> bool:
    return len(laws) == 1 and laws[0][1] == 1


def _outwards(bounds: Bounds) -> Bounds:
    lower = math.nextafter(bounds.lower, 0.0)
    return Bounds(lower, math.nextafter(bounds.upper, math.inf) if bounds.upper > 0.0 else 0.0)


def _most_length(laws: Laws) -> int:
    """The longest transform: all laws together have `_MOST_NODES` nodes to share."""
    shares = sum(law.cost for law, _ in laws)
    return max(_FIRST_LENGTH, 1 << int(math.log2(_MOST_NODES / shares)))


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
    """The one step of all laws' lattices, if there is one and no law has very many atoms."""
    steps = {law.lattice[1] if law.lattice else 0.0 for law, _ in laws}
    widest = max(high - low for low, high in (law.loss_range(1e-300, 1e-305) for law, _ in laws))
    if len(steps) > 1 or min(steps) * _MOST_ATOMS < widest:
        return None
    return steps.pop() or None


def _capped(tilt: float, laws: Laws, outlook: Outlook) -> float:
    """The tilt, no larger than a grid can follow: near the largest loss of all it has no limit."""
    lattice = _lattice_step(laws)
    if lattice is not None:
        return min(tilt, _LATTICE_TILT / lattice)
    return min(tilt, 1.0 / outlook.least_step(tilt, _MOST_NODES))


def _offset(laws: Laws, outlook: Outlook, which: int, saddle: float, step: float) -> float:
    """Where one of the law's nodes is.

    At an atom, if there are any; at the highest loss, if it is in sight, lest the upper bound
    put mass above it; else where the law is dense.
    """
    law = laws[which][0]
    if law.lattice is not None:
        return law.lattice[0]
    if law.highest < math.inf and saddle * step > _COARSE:
        return law.highest
    return outlook.anchor(which, step)


def _compose_both(
    laws: Laws, outlook: Outlook, window: Window, saddle: float, ceiling: float, length: int
) -> tuple[Composed, Composed, int]:
    """One pass: both sides on one grid of about `length` nodes, and the length it took."""
    lattice = _lattice_step(laws)
    if lattice is not None:
        # Near the largest loss of all the window may be far narrower than the lattice.
        window = replace(
            window,
            width=max(window.width, 16.0 * lattice),
            read=max(window.read, 8.0 * lattice),
        )
    # A window far narrower than a single loss's range is no use: that many nodes are not to be had.
    step = max(window.width / length, outlook.least_step(saddle, _MOST_NODES))
    if lattice is not None:
        if lattice >= step:
            step = lattice / math.ceil(lattice / step)
        elif window.width <= lattice * _most_length(laws):
            step = lattice
    if step > window.width / length:
        length = 1 << math.ceil(math.log2(max(window.width / step, 64.0)))
    width = length * step
    # A few nodes more: the highest loss of all may be the window's end.
    window = replace(window, width=width, read=min(window.read + 4.0 * step, width - 2.0 * step))
    above, below = [], []
    for which, (law, count) in enumerate(laws):
        offset = _offset(laws, outlook, which, saddle, step)
        nodes = outlook.grid(which, saddle, ceiling, offset, step, sparse=lattice is None)
        upper, lower = discretise.both(law, nodes)
        above.append((upper, count))
        below.append((lower, count))
    return compose(above, window, length, 1), compose(below, window, length, -1), length


def _least_epsilon(composed: Composed, delta: float, low: float) -> float:
    """The least ε ≥ low with δ(ε) ≤ delta (upper), or the largest with δ(ε) ≥ delta (lower).

    An approximate root, from which ever longer steps outwards lead to where the condition has been
    checked. The lower end is `low` if it is not seen above it.
    """
    high = float(composed.losses[-1])
    is_upper = composed.sign > 0
    if composed.delta(low)[0] <= delta:
        return low
    if composed.delta(high)[0] > delta:
        return math.inf if is_upper else high
    root = min(max(composed.about(delta) + composed.sign * composed.shift, low), high)
    step = 1e-15 * root + 1e-13 * (high - low)
    while low < root < high:
        value = composed.delta(root)[0]
        if value <= delta if is_upper else value >= delta:
            return root
        root += composed.sign * step
        step *= 2.0
    return high if is_upper else low


def _single_delta(law: LossLaw, epsilon: float) -> Bounds:
    """δ(ε) = ∫ (1 − e^{ε−l})₊ dP of one law, as a sum of positive terms."""
    _, high = law.loss_range(1e-300, 1e-305)
    if epsilon >= high:
        above = law.tails(epsilon, epsilon).above * (1.0 + TAIL_ERROR)
        if epsilon < law.highest * (1.0 + 16.0 * UNIT) < math.inf:
            # The largest loss is known up to its rounding: it may exceed ε by so much.
            above += 32.0 * UNIT * law.highest
        return Bounds(0.0, min(1.0, law.infinite + above + _SMALLEST))
    points = law.points(np.array([epsilon, high * (1.0 + 4.0 * UNIT)]))
    slack = points.loss_error + 2.0 * UNIT * (np.abs(points.loss) + epsilon)
    ends = []
    for sign in (-1.0, 1.0):
        gain = -np.expm1(-np.maximum(points.loss - epsilon + sign * slack, 0.0))
        mass = points.mass * (1.0 + sign * (points.mass_error + 64.0 * UNIT))
        ends.append(float(np.dot(mass, gain)))
    above = law.tails(epsilon, high).above * (1.0 + TAIL_ERROR) + law.infinite
    # No δ is above 1, and a law that was rounded up may have more than all mass.
    return Bounds(min(1.0, ends[0]), min(1.0, (ends[1] + above) * (1.0 + 1e-15) + _SMALLEST))


def _single_epsilon(law: LossLaw, delta: float) -> Bounds:
    """ε(δ) of one law: each end by bracketing its side's log δ, then checked."""
    _, high = law.loss_range(1e-300, 1e-305)
    lower = _crossing(lambda epsilon: _single_delta(law, epsilon).lower, delta, high)[0]
    if law.infinite >= delta:
        return Bounds(lower, math.inf)
    upper = _crossing(lambda epsilon: _single_delta(law, epsilon).upper, delta, high)[1]
    return Bounds(lower, upper)


def _crossing(bound: Callable[[float], float], delta: float, high: float) -> tuple[float, float]:
    """ε₀ ≤ ε₁ close to each other with bound(ε₀) ≥ δ, or ε₀ = 0, and bound(ε₁) ≤ δ."""
    if high <= 0.0 or bound(0.0) <= delta:
        return 0.0, 0.0
    left, right = 0.0, high
    while bound(right) > delta and right < math.inf:
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
