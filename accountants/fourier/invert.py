"""From bounds of δ(ε) to bounds of ε(δ), by monotonicity.

δ(ε) falls in ε. If δ_upper(e) ≤ δ, then ε(δ) ≤ e; if δ_lower(e) ≥ δ, then ε(δ) ≥ e. So an
approximate root is enough: step outwards from it until the inequality is seen to hold.
"""

import math
from collections.abc import Callable

from accountants.bounds import Bounds

_MAX_DOUBLINGS = 60


class InversionError(Exception):
    """No point was found at which the bound of δ is on the right side."""


def epsilon_bounds(
    delta_bounds: Callable[[float], Bounds], delta: float, root: float, slope: float
) -> Bounds:
    """A certified interval for ε(δ).

    Args:
      delta_bounds: ε ↦ an interval that contains δ(ε).
      delta: The target.
      root: About ε(δ); a bad value costs tightness only.
      slope: About −d log δ/dε there, positive; it sizes the first step.
    """
    root = max(0.0, root)
    here = delta_bounds(root)
    return Bounds(
        _search(lambda e: delta_bounds(e).lower >= delta, root, -1.0, here.lower, delta, slope),
        _search(lambda e: delta_bounds(e).upper <= delta, root, +1.0, here.upper, delta, slope),
    )


def _search(
    holds: Callable[[float], bool],
    root: float,
    side: float,
    value: float,
    delta: float,
    slope: float,
) -> float:
    """The first point of a doubling walk from `root` to the given side where `holds`."""
    if side * (delta - value) >= 0.0:
        return root
    # The distance at which a straight log δ would cross, and a little more.
    distance = abs(math.log(value / delta)) / slope if value > 0.0 else 1e-3 / slope
    step = 1.02 * distance + 1e-15 * root
    for _ in range(_MAX_DOUBLINGS):
        point = root + side * step
        if point <= 0.0 and side < 0.0:
            return 0.0
        if holds(point):
            return point
        step *= 1.5
    raise InversionError(f"no bound found from epsilon={root!r}")
