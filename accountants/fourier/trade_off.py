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
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from accountants import validate
from accountants.arrays import FloatArray
from accountants.bounds import Bounds

_NODES = 192
# The profile is followed down to here; beyond, δ is bounded by 0 from below.
_SMALLEST_DELTA = 1e-12
_ROUNDING = 1e-15


class TradeOff(NamedTuple):
    """Bounds of the trade-off curve: lower ≤ f(alphas) ≤ upper, entry by entry."""

    alphas: FloatArray
    lower: FloatArray
    upper: FloatArray


def trade_off_from_profile(
    delta_bounds: Callable[[float], Bounds],
    epsilon_bounds: Callable[[float], Bounds],
    alphas: Sequence[float],
) -> TradeOff:
    """The trade-off curve at `alphas`.

    Args:
      delta_bounds: The profile ε ↦ bounds of δ(ε).
      epsilon_bounds: Its inverse; decides where the nodes lie.
      alphas: Type I errors in [0, 1].
    """
    points = np.array([validate.closed_unit("alphas", alpha) for alpha in alphas])
    top = epsilon_bounds(_SMALLEST_DELTA).upper
    if top == np.inf:
        return TradeOff(points, np.zeros_like(points), np.zeros_like(points))
    epsilons = np.linspace(0.0, top, _NODES)
    profile = [delta_bounds(float(epsilon)) for epsilon in epsilons]
    lower_delta = np.array([bounds.lower for bounds in profile])
    upper_delta = np.array([bounds.upper for bounds in profile])
    x = np.exp(epsilons)

    gain = 1.0 - upper_delta
    lower = np.maximum(
        np.max(gain - np.multiply.outer(points, x), axis=1),
        np.max((gain - points[:, None]) / x, axis=1),
    )
    corner_x, corner_delta = _minorant(x, lower_delta, upper_delta)
    reach = 1.0 - corner_delta
    upper = np.maximum(
        np.max(reach - np.multiply.outer(points, corner_x), axis=1),
        np.max((reach - points[:, None]) / corner_x, axis=1),
    )
    # Where the result is not clipped, its terms are at most 1 and round by a few 1e-16.
    return TradeOff(
        points,
        np.clip(lower - _ROUNDING, 0.0, 1.0),
        np.clip(upper + _ROUNDING, 0.0, 1.0 - points),
    )


def _minorant(x: FloatArray, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The corners of a piecewise linear function below the convex profile.

    In the cell (x_i, x_{i+1}) the profile lies above the line through (x_{i-1}, high) and (x_i,
    low) extended to the right, and above that through (x_{i+1}, low) and (x_{i+2}, high) extended
    to the left: for a convex function a chord extended lies below, and raising its far end or
    lowering its near end lowers the extension. The larger of the two bends where they meet.
    """
    corners = [(float(x[0]), float(low[0]))]
    for i in range(len(x) - 1):
        width = x[i + 1] - x[i]
        from_left = _slope(x, high, low, i - 1, i) if i > 0 else -1.0
        from_right = _slope(x, low, high, i + 1, i + 2) if i + 2 < len(x) else 0.0
        left_value, right_value = float(low[i]), float(low[i + 1])
        # Where the two lines meet: left_value + from_left·h = right_value − from_right·(width − h).
        denominator = from_left - from_right
        h = (right_value - left_value - from_right * width) / denominator if denominator else 0.0
        h = float(np.clip(h, 0.0, width))
        meeting = min(left_value + from_left * h, right_value - from_right * (width - h))
        corners.append((float(x[i]) + h, max(0.0, meeting)))
        corners.append((float(x[i + 1]), right_value))
    corners.append((float(x[-1]), 0.0))
    xs, deltas = zip(*corners, strict=True)
    return np.array(xs), np.array(deltas)


def _slope(x: FloatArray, near_first: FloatArray, then: FloatArray, i: int, j: int) -> float:
    return float((then[j] - near_first[i]) / (x[j] - x[i]))
