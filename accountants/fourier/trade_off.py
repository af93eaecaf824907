r"""The trade-off curve from the privacy profile, with bounds from both sides.

For x = e^ε let δ(x) be the profile of the worst pair of neighbours, the larger of both directions;
it is convex and decreasing. The least type II error at type I error α is (Dong, Roth, Su 2022,
Proposition 2.12)

    f(α) = max(0, sup_{x ≥ 1} 1 − δ(x) − x·α, sup_{x ≥ 1} (1 − δ(x) − α)/x),

a supremum of straight lines in α, and f is its own inverse.

* **Lower bound.** Any finite set of x with δ_upper(x) gives lines below f.
* **Upper bound.** Between two nodes x_i < x_{i+1}, convexity keeps δ above the two chords extended
  from the neighbouring cells; with δ_lower at their far ends and δ_upper at their near ends these
  are lines that stay below δ. Over such a piece both expressions are monotone in x, so their
  largest value is found at the ends and where the two lines meet. Beyond the last node δ ≥ 0.

Losses may be in the thousands, so x is never formed: slopes are kept relative to the x of their
node, x·|δ′(x)| = P(L > ε) − δ ≤ 1 − δ, and the lines in α are evaluated through e^{−ε} ≤ 1 or
through α·e^{ε/2}·e^{ε/2}, which overflows for no α.

Nodes are added where some α needs them: next to where its two bounds are attained.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from accountants import validate
from accountants.arrays import FloatArray, IntArray
from accountants.fourier.profile import DeltaCurve, Profile

_FIRST_NODES = 65
_MOST_NODES = 1500
_MOST_ROUNDS = 12
# A cell in which a bound is attained is cut into so many.
_CUTS = 4
# The profile is followed down to here; beyond, δ is bounded by 0 from below.
_SMALLEST_DELTA = 1e-12
# Gaps below this, or below a few times that of δ itself, are not worth more nodes.
_FINE = 1e-9
_AT_ONCE = 256
# e^{ε/2} is formed for ε up to this; for larger ε, α·e^ε exceeds 1 for every α > 0 all the more.
_LARGEST = 1400.0
# Roundings of numbers of at most 1, a dozen of them; and per unit of ε the rounding of a corner's
# place, which moves δ by at most as much, as x·|δ′| ≤ 1.
_ROUNDING, _PLACE_ROUNDING = 2e-15, 4.0 * 2.0**-53

BoolArray: TypeAlias = NDArray[np.bool_]


class TradeOff(NamedTuple):
    """Bounds of the trade-off curve: lower ≤ f(alphas) ≤ upper, entry by entry."""

    alphas: FloatArray
    lower: FloatArray
    upper: FloatArray


def checked(alphas: Sequence[float]) -> FloatArray:
    """Type I errors as an array, each in [0, 1]."""
    return np.array(validate.sequence("alphas", alphas, validate.closed_unit), dtype=np.float64)


def trade_off_from_profile(profile: Profile, alphas: FloatArray) -> TradeOff:
    """The trade-off curve at `alphas`, in [0, 1], of whatever has this profile."""
    curve = profile(np.linspace(0.0, _top(profile), _FIRST_NODES))
    for _ in range(_MOST_ROUNDS):
        bounds = _Bounds(curve, alphas)
        cells = bounds.worth_cutting()
        if not cells.any() or curve.epsilons.size > _MOST_NODES:
            break
        curve = _refined(profile, curve, cells)
    return _Bounds(curve, alphas).trade_off()


def _top(profile: Profile) -> float:
    """Where δ has fallen to `_SMALLEST_DELTA`, or falls no further; within a factor of two."""
    ladder = np.exp2(np.arange(-100.0, 101.0))
    upper = profile(ladder).upper
    return float(ladder[int(np.argmax(upper <= max(_SMALLEST_DELTA, 2.0 * float(upper[-1]))))])


def _refined(profile: Profile, curve: DeltaCurve, cells: BoolArray) -> DeltaCurve:
    """More nodes in these cells."""
    left, right = curve.epsilons[:-1][cells], curve.epsilons[1:][cells]
    shares = np.arange(1, _CUTS) / _CUTS
    new = profile((left[:, None] + (right - left)[:, None] * shares).ravel())
    epsilons = np.concatenate((curve.epsilons, new.epsilons))
    epsilons, order = np.unique(epsilons, return_index=True)
    lower = np.concatenate((curve.lower, new.lower))[order]
    upper = np.concatenate((curve.upper, new.upper))[order]
    return DeltaCurve(epsilons, lower, upper)


class _Bounds:
    """Both bounds on a set of nodes, and the cells in which they are attained."""

    def __init__(self, curve: DeltaCurve, alphas: FloatArray) -> None:
        self._curve, self._alphas = curve, alphas
        nodes = _Lines(curve.epsilons, curve.upper, -_ROUNDING * np.ones(curve.epsilons.size))
        corners, corner_delta = _minorant(curve)
        hull = _Lines(corners, corner_delta, _ROUNDING + _PLACE_ROUNDING * corners)
        self._lower, self._best, self._scale = nodes.supremum(alphas)
        self._upper, attained, _ = hull.supremum(alphas)
        self._corner = corners[attained]

    def trade_off(self) -> TradeOff:
        """The bounds, within 0 ≤ f(α) ≤ 1 − α."""
        no_release = np.minimum(np.nextafter(1.0 - self._alphas, 2.0), 1.0)
        no_release[self._alphas == 1.0] = 0.0
        return TradeOff(
            self._alphas,
            np.clip(self._lower, 0.0, 1.0 - self._alphas),
            # What underflows is positive.
            np.clip(self._upper, np.minimum(5e-324, no_release), no_release),
        )

    def worth_cutting(self) -> BoolArray:
        """The cells whose chords make a bound wide, and that are not yet finer than δ is known."""
        _, low, high = self.trade_off()
        epsilons = self._curve.epsilons
        noise = (self._curve.upper - self._curve.lower)[self._best]
        cells = np.zeros(epsilons.size - 1, dtype=np.bool_)
        needed = high - low > np.maximum(8.0 * noise, _FINE) * self._scale + 1e-300
        corner = np.searchsorted(epsilons, self._corner[needed], side="right") - 1
        for cell in (self._best[needed] - 1, self._best[needed], corner):
            cells[np.clip(cell, 0, cells.size - 1)] = True
        wide: BoolArray = np.diff(epsilons) > 1e-12 * epsilons[1:]
        return cells & wide


class _Lines(NamedTuple):
    """Points (ε, δ) as lines in α, 1 − δ − αe^ε and (1 − δ − α)e^{−ε}, to be raised by `slack`."""

    epsilons: FloatArray
    deltas: FloatArray
    slack: FloatArray

    def supremum(self, alphas: FloatArray) -> tuple[FloatArray, IntArray, FloatArray]:
        """Per α the largest of all lines, the point that attains it, and |∂/∂δ| there."""
        values, best, scale = np.empty(alphas.size), np.empty(alphas.size, int), alphas.copy()
        gain = 1.0 - self.deltas + self.slack
        root = np.exp(0.5 * np.minimum(self.epsilons, _LARGEST))
        shrunk = np.exp(-self.epsilons) * (1.0 + self.slack)
        for start in range(0, alphas.size, _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            column = alphas[part, None]
            first = gain - np.minimum(np.minimum(column * root, 2.0) * root, 2.0)
            second = (gain - column) * shrunk
            both = np.maximum(first, second)
            chosen = np.argmax(both, axis=1)
            row = np.arange(chosen.size)
            best[part], values[part] = chosen, both[row, chosen]
            is_first = first[row, chosen] >= second[row, chosen]
            scale[part] = np.where(is_first, 1.0, shrunk[chosen])
        return values, best, scale


def _minorant(curve: DeltaCurve) -> tuple[FloatArray, FloatArray]:
    """The corners (ε, δ) of a function below the profile that is piecewise linear in x = e^ε.

    In the cell (x_i, x_{i+1}) the profile lies above the line through (x_{i-1}, high) and (x_i,
    low) extended to the right, and above that through (x_{i+1}, low) and (x_{i+2}, high) extended
    to the left: for a convex function a chord extended lies below, and raising its far end or
    lowering its near end lowers the extension. The larger of the two bends where they meet. To the
    right of x_i it also lies above the line with slope −(1 − low)/x_i, since x·|δ′| ≤ 1 − δ.

    Slopes are relative to the node's x, and the place in a cell is 1 − x_i/x in [0, 1).
    """
    epsilons, low, high = curve
    width = np.diff(epsilons)
    # 1 − x_i/x_{i+1}, and x_{i+1}/x_i − 1, which may be inf: its line is flat then.
    whole = -np.expm1(-width)
    with np.errstate(over="ignore"):
        stretch = np.expm1(width)
    # Falling slopes at each cell's left node, in units of 1/x_i, and at its right one, 1/x_{i+1}.
    left = 1.0 - low[:-1]
    left[1:] = np.minimum(left[1:], np.maximum(high[:-2] - low[1:-1], 0.0) / whole[:-1])
    right = np.zeros_like(width)
    right[:-1] = np.maximum(low[1:-1] - high[2:], 0.0) / stretch[1:]
    # With r = x/x_{i+1} in [1 − whole, 1] the lines are low_i − left·(r/(1−whole) − 1) and
    # low_{i+1} + right·(1 − r). 1/(1 − whole) = e^width is divided out.
    flatness = np.exp(-width)
    numerator = flatness * (low[:-1] - low[1:] - right) + left * flatness
    denominator = left - right * flatness
    with np.errstate(divide="ignore", invalid="ignore"):
        meeting = np.where(denominator > 0.0, numerator / denominator, 1.0)
    meeting = np.clip(meeting, flatness, 1.0)
    with np.errstate(over="ignore", invalid="ignore"):
        rise = np.nan_to_num(np.exp(width) * (meeting - flatness), nan=math.inf, posinf=math.inf)
    from_left = low[:-1] - np.where(left > 0.0, left * np.minimum(rise, 1e300), 0.0)
    from_right = low[1:] + right * (1.0 - meeting)
    bend = np.maximum(np.minimum(from_left, from_right), 0.0)
    with np.errstate(divide="ignore"):
        places = np.maximum(epsilons[1:] + np.log(meeting), epsilons[:-1])
    corners = np.concatenate((epsilons, places, epsilons[-1:]))
    return corners, np.concatenate((low, bend, [0.0]))
