r"""Where to look: tilt, window and truncation of a composition, from Chernoff bounds.

Nothing here is certified, and nothing needs to be: every choice gives a valid interval, a bad one
only a wide interval. The log moment K(t) = Σᵢ Tᵢ·log E[e^{tLᵢ}] comes from the laws' own points.

Because (1 − e^{−x})₊ ≤ e^{θx}·θ^θ/(1+θ)^{1+θ} for all x,

    log δ(ε) ≤ K(θ) − θε + θ·log θ − (1+θ)·log(1+θ),

whose minimum over θ is the tilt at which the composed law, tilted, has its mass around ε.
"""

import math
from collections.abc import Sequence

import numpy as np

from accountants.fourier.convolve import Window, log_expm1
from accountants.fourier.law import FloatArray, LossLaw

# Aliasing and truncation are aimed at this fraction of δ.
AIM = 1e-10
_LOG_AIM = math.log(AIM)


class Outlook:
    """The laws' points, cut where nothing is left to see, and what follows from them."""

    def __init__(self, laws: Sequence[tuple[LossLaw, int]], tail: float) -> None:
        """Cut the laws so that at most `tail`·AIM of mass is lost above, over all steps."""
        self.ranges: list[tuple[float, float]] = []
        self._points: list[tuple[FloatArray, FloatArray, int]] = []
        steps = sum(count for _, count in laws)
        above = max(tail * AIM / steps, 1e-305)
        for law, count in laws:
            low, high = law.loss_range(1e-300, above)
            spread = max(high - low, 1e-300)
            points = law.points(np.array([low - 1e-9 * spread, high + 1e-9 * spread]))
            keep = points.mass > 0.0
            self._points.append((points.loss[keep], np.log(points.mass[keep]), count))
            self.ranges.append((low, high))

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

    def cut_below(self, tilt: float) -> None:
        """Raise the ranges' lower ends to where, tilted, a fraction of AIM² lies below."""
        for i, (loss, log_mass, count) in enumerate(self._points):
            order = np.argsort(loss)
            exponents = (tilt * loss + log_mass)[order]
            weights = np.exp(exponents - np.max(exponents))
            share = np.cumsum(weights) / np.sum(weights)
            first = int(np.searchsorted(share, 1e-14 / count))
            low, high = self.ranges[i]
            self.ranges[i] = (max(low, min(float(loss[order][first]), high)), high)

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

    def window(self, tilt: float, low: float, log_delta: float) -> Window:
        """The narrowest window from `low` upwards whose errors are AIM·δ by Chernoff bounds."""
        _, deviation = self.tilted(tilt)
        ladder = np.array([0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0])
        steps = np.concatenate((ladder / deviation, tilt * np.array([0.5, 1.0, 2.0, 4.0])))
        above, below = np.sort(tilt + steps), np.sort(tilt - steps)
        moments_above, moments_below = self.log_moment(above), self.log_moment(below)
        target = log_delta + _LOG_AIM

        def over(width: float) -> Window | None:
            lost = moments_above - above * (low + width)
            from_above = moments_above - above * low
            from_above -= [log_expm1((t - tilt) * width) for t in above]
            reference = np.where(below >= 0.0, low, low + width)
            from_below = moments_below - below * reference
            from_below -= [log_expm1((tilt - t) * width) for t in below]
            choice = [int(np.argmin(errors)) for errors in (lost, from_above, from_below)]
            worst = max(lost[choice[0]], from_above[choice[1]], from_below[choice[2]])
            window = Window(
                tilt=tilt,
                low=low,
                width=width,
                below=float(below[choice[2]]),
                above=float(above[choice[1]]),
                beyond=float(above[choice[0]]),
            )
            return window if worst <= target or width > 1e12 else None

        width = 0.1 * min(deviation, 1.0 / tilt)
        while (found := over(width)) is None:
            width *= 1.15
        return found


def _profile(tilts: FloatArray) -> FloatArray:
    """θ·log θ − (1+θ)·log(1+θ)."""
    return -tilts * np.log1p(1.0 / tilts) - np.log1p(tilts)


def _minimise(function: object) -> tuple[float, float]:
    """The least value of a function of the tilt over [1e-5, 1e12], by refined scans."""
    assert callable(function)
    logs = np.linspace(math.log(1e-5), math.log(1e12), 40)
    best = 0
    for _ in range(4):
        values = function(np.exp(logs))
        best = int(np.nanargmin(values))
        width = logs[1] - logs[0]
        centre = logs[best]
        found = float(math.exp(centre)), float(values[best])
        logs = np.linspace(centre - width, centre + width, 9)
    return found
