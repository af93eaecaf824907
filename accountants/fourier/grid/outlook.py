r"""Where to look: tilt, window and truncation of a composition, from Chernoff bounds.

Nothing here is certified, and nothing needs to be: every choice gives a valid interval, a bad one
only a wide interval. The log moment K(t) = Σᵢ Tᵢ·log E[e^{tLᵢ}] comes from the laws' own points.

Because (1 − e^{−x})₊ ≤ e^{θx}·θ^θ/(1+θ)^{1+θ} for all x,

    log δ(ε) ≤ K(θ) − θε + θ·log θ − (1+θ)·log(1+θ),

whose minimum over θ is the tilt at which the composed law, tilted, has its mass around ε.
"""

import functools
import math
from collections.abc import Callable, Sequence

import numpy as np

from accountants.arrays import FloatArray, IntArray
from accountants.fourier.grid.convolve import Window
from accountants.fourier.grid.discretise import Grid
from accountants.fourier.grid.laws.law import LossLaw

# Of a law at most so many points are looked at.
_MOST_POINTS = 2048
_LADDER = np.geomspace(0.03, 30.0, 28)
# Where nodes get sparse, see `Outlook.grid`.
_SPARSE, _LEVELS = 0.005, 12
_MULTIPLES = np.array([-1.0, -0.5, -0.2, 0.0, 0.2, 0.4, 0.6, 0.8, 1.25, 1.5, 2.0, 3.0])
_FRACTIONS = np.array([1.0, 0.9, 0.75, 0.6, 0.45, 0.3, 0.2, 0.1, 0.05, 0.02])


class GridError(Exception):
    """No grid of reasonable size holds these laws."""


class Outlook:
    """The laws' points, cut where nothing is left to see, and what follows from them."""

    def __init__(
        self,
        laws: Sequence[tuple[LossLaw, int]],
        delta: float,
        aim: float,
        ceiling: float = math.inf,
    ) -> None:
        """Cut the laws so that at most `aim`·`delta` of mass is lost above, over all steps.

        Args:
          laws: Loss laws and counts.
          delta: The δ that is asked for, or about what is expected.
          aim: The relative error of δ that truncation and aliasing may cost.
          ceiling: About ε. A single loss that is larger, whatever the others do, counts the same
            at any place with the same mean of e^{−L}: grids end there.
        """
        self._aim = aim
        self.ranges: list[tuple[float, float]] = []
        self._points: list[tuple[FloatArray, FloatArray, int]] = []
        steps = sum(count for _, count in laws)
        above = max(delta * aim / steps, 1e-305)
        for law, count in laws:
            low, high = law.loss_range(1e-300, above)
            loss, log_mass = _thinned(law)
            seen = max(int(np.searchsorted(loss, high, side="right")), 1)
            self._points.append((loss[:seen], log_mass[:seen], count))
            self.ranges.append((low, high))
        if ceiling < max(high for _, high in self.ranges):
            # The other losses may bring the sum down again, by their deviation.
            whole = self._points, self.ranges
            self._end_at(ceiling)
            mean, deviation = self.tilted(0.0)
            self._points, self.ranges = whole
            self._end_at(ceiling + max(-mean, 0.0) + 8.0 * deviation)

    def _end_at(self, top: float) -> None:
        """Put all larger losses where e^{−L} is their mean, as the lower bound will."""
        self.ranges = [(min(low, top), min(high, top)) for low, high in self.ranges]
        gathered = []
        for loss, log_mass, count in self._points:
            above = loss > top
            if np.any(above):
                mass = np.exp(log_mass[above])
                mean = float(np.dot(mass, np.exp(top - loss[above])) / np.sum(mass))
                loss = np.where(above, top - math.log(max(mean, 1e-300)), loss)
            gathered.append((loss, log_mass, count))
        self._points = gathered

    def log_moment(self, tilts: FloatArray) -> FloatArray:
        """K at each tilt."""
        total = np.zeros(tilts.size)
        for loss, log_mass, count in self._points:
            exponents = tilts[:, None] * loss + log_mass
            top = np.max(exponents, axis=1)
            total += count * (top + np.log(np.sum(np.exp(exponents - top[:, None]), axis=1)))
        return total

    def tilted(self, tilt: float) -> tuple[float, float]:
        """Mean and standard deviation of the composed loss, tilted."""
        mean = variance = 0.0
        for loss, log_mass, count in self._points:
            exponents = tilt * loss + log_mass
            weights = np.exp(exponents - np.max(exponents))
            weights /= np.sum(weights)
            one = float(np.dot(weights, loss))
            mean += count * one
            variance += count * float(np.dot(weights, (loss - one) ** 2))
        return mean, math.sqrt(max(variance, 1e-300))

    def visible(self, which: int, saddle: float) -> tuple[float, float]:
        """The law's range without the low losses that may all be moved up to its lower end.

        They are few if, tilted as they are there, they are an `aim` of the tilted law.
        """
        low, high = self.ranges[which]
        loss, log_mass, count = self._points[which]
        top = float(np.max(saddle * loss + log_mass))
        with np.errstate(divide="ignore"):
            log_below = np.log(np.cumsum(np.exp(log_mass)))
        moved = saddle * loss + log_below - top
        first = int(np.searchsorted(moved, math.log(self._aim / count)))
        return max(low, min(float(loss[min(first, loss.size - 1)]), high)), high

    def least_step(self, saddle: float, most_nodes: int) -> float:
        """The step at which a law's nodes are `most_nodes` at most.

        Below, nodes soon are 2^11 steps apart; above, a fine step is of use everywhere.
        """
        ranges = [self.visible(which, saddle) for which in range(len(self.ranges))]
        return max(max(high, (high - low) / 2**9) for low, high in ranges) / most_nodes

    def anchor(self, which: int, step: float) -> float:
        """Where a node should be: the mean of the law's densest step.

        The mass of small sampling rates crowds at a loss near 0, in less than a step; a node in
        the middle of it takes it in without any error. Unimportant where the step is fine.
        """
        loss, log_mass, _ = self._points[which]
        share = np.cumsum(np.exp(log_mass))
        centre = float(loss[int(np.searchsorted(share, 0.5 * share[-1]))])
        for _ in range(3):
            near = slice(*np.searchsorted(loss, (centre - 0.5 * step, centre + 0.5 * step)))
            mass = np.exp(log_mass[near])
            total = float(np.sum(mass))
            if total <= 0.0:
                break
            mean = float(np.dot(mass, np.expm1(-(loss[near] - centre)))) / total
            centre -= math.log1p(mean)
        return centre

    def grid(
        self, which: int, saddle: float, ceiling: float, offset: float, step: float, *, sparse: bool
    ) -> Grid:
        """Nodes for one law: offset + step·j, sparser where, tilted, little mass is left.

        Beyond the loss at which the tilted tail is c·4^{−k}, the nodes are 2^k steps apart, so that
        each k adds about as much variance, c·h², as the others, and all together little. A single
        loss above ε, the `ceiling`, is on the straight part of (1 − e^ε·a)₊, where the dots may be
        far apart: the tilt's weight is not increased any further there. Not `sparse`, all nodes.
        """
        loss, log_mass, _ = self._points[which]
        exponents = saddle * np.minimum(loss, ceiling) + log_mass
        weights = np.exp(exponents - np.max(exponents))
        weights /= np.sum(weights)
        from_below, from_above = np.cumsum(weights), np.cumsum(weights[::-1])[::-1]
        # Without one loss above ε/ΣT there is no exceeding ε: if such losses are rare, one is there
        # nevertheless wherever it counts.
        steps = sum(number for *_, number in self._points)
        rest = np.where(loss > ceiling / steps, weights, 0.0)
        if np.any(rest):
            rest_from_above = np.cumsum(rest[::-1])[::-1] / np.sum(rest)
            from_above = np.maximum(from_above, rest_from_above / steps)
        # A few atoms are kept apart, however little the tilt leaves of the lowest.
        low, high = self.visible(which, saddle) if sparse else self.ranges[which]
        if not math.isfinite((abs(high) + abs(low) + abs(offset)) / step):
            raise GridError(f"losses from {low} to {high} in steps of {step}")
        centre = float(loss[int(np.searchsorted(from_below, 0.5))])
        start = round((min(max(centre, low), high) - offset) / step)
        levels = min(_LEVELS, max(1, 1 + int(math.log2(4.0 / step)))) if sparse else 1
        limits = _SPARSE * 0.25 ** np.arange(1, levels)
        up = loss[np.searchsorted(-from_above, -limits, side="left").clip(0, loss.size - 1)]
        down = loss[np.searchsorted(from_below, limits).clip(0, loss.size - 1)]
        # A rounding may put the law's highest loss above its node, but no further than the next.
        last = math.ceil((high - offset) / step - 1e-6)
        bottom = math.floor((low - offset) / step) - 1
        above = _ladder(start, last, [(x - offset) / step for x in up])
        above = np.append(above[above < last], (last, last + 1))
        below = _ladder(-start, -bottom, [(offset - x) / step for x in down])
        return Grid(offset, step, np.concatenate((-below[:0:-1], above)))

    def spread(self, saddle: float, steps: FloatArray) -> FloatArray:
        """About how much variance, tilted, connecting the dots adds at each grid step."""
        total = np.zeros(steps.size)
        for loss, log_mass, count in self._points:
            exponents = saddle * loss + log_mass
            weights = np.exp(exponents - np.max(exponents))
            weights /= np.sum(weights)
            centre = loss[int(np.searchsorted(np.cumsum(weights), 0.5))]
            far = np.abs(loss - centre)
            added = np.minimum(steps[:, None] ** 2 / 6.0, steps[:, None] * far)
            total += count * (added @ weights)
        return total

    def epsilon(self, delta: float) -> tuple[float, float]:
        """The Chernoff ε of δ and its tilt; ε = 0 and δ(0)'s tilt if that is no larger."""

        def scaled(tilts: FloatArray) -> FloatArray:
            return (self.log_moment(tilts) + _profile(tilts) - math.log(delta)) / tilts

        tilt, value = _minimise(scaled)
        if value > 0.0:
            return value, tilt
        return 0.0, self.delta(0.0)[1]

    def delta(self, epsilon: float) -> tuple[float, float]:
        """The Chernoff log δ at ε and its tilt."""

        def log_delta(tilts: FloatArray) -> FloatArray:
            return self.log_moment(tilts) + _profile(tilts) - tilts * epsilon

        tilt, value = _minimise(log_delta)
        return value, tilt

    def window(self, saddle: float, low: float, epsilon: float, log_delta: float) -> Window:
        """The narrowest window from `low` upwards whose errors are `aim`·δ by Chernoff bounds.

        The saddle point is the tilt at which the FFT's rounding hurts least. A smaller tilt makes
        heavy upper tails alias less, so the window may be narrower; it is taken as long as the
        rounding, which grows by e^{K(t) − tε} over its value at the saddle, stays below `aim`.
        """
        steps = sum(count for *_, count in self._points)
        tilts = saddle * _FRACTIONS
        heights = self.log_moment(tilts) - tilts * epsilon
        budget = max(math.log(self._aim / (1e-14 * (steps + 10.0))), 0.0)
        allowed = tilts[heights - np.min(heights) <= budget]
        _, deviation = self.tilted(saddle)
        candidates = np.concatenate((saddle + _LADDER / deviation, saddle - _LADDER / deviation))
        candidates = np.sort(np.concatenate((candidates, saddle * _MULTIPLES)))
        moments = self.log_moment(candidates)
        found = [
            _narrowest(t, low, log_delta + math.log(self._aim), candidates, moments)
            for t in allowed
        ]
        return min(found, key=lambda window: window.width)


@functools.lru_cache(maxsize=32)
def _thinned(law: LossLaw) -> tuple[FloatArray, FloatArray]:
    """The law's losses, increasing, and the logarithms of their masses: neighbours together."""
    low, high = law.loss_range(1e-300, 1e-305)
    # All losses may be the same, but for rounding: relative, and that of 1 − q for rates near 0.
    margin = max(1e-9 * max(high - low, abs(low), abs(high)), 1e-14)
    points = law.points(np.array([low - margin, high + margin]))
    keep = points.mass > 0.0
    order = np.argsort(points.loss[keep])
    loss, mass = points.loss[keep][order], points.mass[keep][order]
    stride = -(-loss.size // _MOST_POINTS)
    if stride > 1:
        starts = np.arange(0, loss.size, stride)
        total = np.add.reduceat(mass, starts)
        top = np.maximum.reduceat(loss, starts)
        below = np.repeat(top, np.diff(starts, append=loss.size)) - loss
        loss, mass = top - np.add.reduceat(mass * below, starts) / total, total
    return loss, np.log(mass)


def _narrowest(
    tilt: float, low: float, target: float, tilts: FloatArray, moments: FloatArray
) -> Window:
    """The narrowest window for one tilt, given K = `moments` at `tilts` to choose from."""
    above, below = tilts > tilt * (1.0 + 1e-9), tilts < tilt * (1.0 - 1e-9)
    beyond = tilts > 0.0

    def lost(read: float) -> FloatArray:
        return np.where(beyond, moments - tilts * (low + read), np.inf)

    read = _least(lambda read: float(np.min(lost(read))) <= target)
    high = low + read

    def from_above(width: float) -> FloatArray:
        errors = moments - tilts * low - _log_expm1((tilts - tilt) * width)
        return np.where(above, errors, np.inf)

    def from_below(width: float) -> FloatArray:
        errors = moments - tilts * np.where(tilts >= 0.0, low, high)
        return np.where(below, errors - _log_expm1((tilt - tilts) * width), np.inf)

    width = _least(
        lambda width: (
            max(float(np.min(from_above(width))), float(np.min(from_below(width)))) <= target
        )
    )
    width = max(width, read)
    return Window(
        tilt=float(tilt),
        low=low,
        read=read,
        width=width,
        below=float(tilts[np.argmin(from_below(width))]),
        above=float(tilts[np.argmin(from_above(width))]),
        beyond=float(tilts[np.argmin(lost(read))]),
        negligible=target + 1.0,
    )


def _least(is_enough: Callable[[float], bool]) -> float:
    """The least positive number that is enough, to 1%; or 1e15."""
    least, most = 1e-9, 1e-9
    while not is_enough(most) and most < 1e15:
        least, most = most, 4.0 * most
    for _ in range(7):
        middle = math.sqrt(least * most)
        least, most = (least, middle) if is_enough(middle) else (middle, most)
    return most


def _log_expm1(x: FloatArray) -> FloatArray:
    """log(e^x − 1), −inf where x ≤ 0 is not asked for."""
    positive = np.maximum(x, 1e-300)
    return positive + np.log(-np.expm1(-positive))


def _ladder(start: int, end: int, limits: list[float]) -> IntArray:
    """Integers from `start` up to at least `end`, 2^k apart beyond limits[k − 1]."""
    pieces, here = [], start
    for k, limit in enumerate([*limits, math.inf]):
        stride = 2**k
        stop = end if limit >= end else max(math.ceil(limit), here)
        steps = -(-(stop - here) // stride)
        pieces.append(here + stride * np.arange(steps))
        here += stride * steps
        if here >= end:
            break
    return np.append(np.concatenate(pieces), here)


def _profile(tilts: FloatArray) -> FloatArray:
    """θ·log θ − (1+θ)·log(1+θ)."""
    return -tilts * np.log1p(1.0 / tilts) - np.log1p(tilts)


def _minimise(function: Callable[[FloatArray], FloatArray]) -> tuple[float, float]:
    """Where a function of the tilt is least on [1e-5, 1e12], and its value, by refined scans."""
    logs = np.linspace(math.log(1e-5), math.log(1e12), 40)
    found = math.inf, math.inf
    for _ in range(4):
        values = function(np.exp(logs))
        best = int(np.nanargmin(values))
        found = math.exp(logs[best]), float(values[best])
        width = logs[1] - logs[0]
        logs = np.linspace(logs[best] - width, logs[best] + width, 9)
    return found
