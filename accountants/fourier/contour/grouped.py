r"""Lines of users with k records, of which j are in a sample with probability b_j.

    w(y) = Σ_j b_j·e^{jy/σ − j²/2σ²},    b = Binomial(k, q) or hypergeometric,

takes the place of 1 − q + q·e^v in `quadrature`; all else is as there. What makes it work: b is the
law of a sum of independent Bernoulli variables (`accountants.groups`), so that Σ b_j·x^j, a
polynomial in x = e^{y/σ}, has real negative roots only, and the factors
e^{−j²/2σ²} leave them so (they are a multiplier sequence: Laguerre; Pólya and Schur 1914). Hence

    w(y) = w(−∞)·Π_i (1 + e^{(y−y_i)/σ}),    i = 1, …, k, with real y_i,

k factors each of the shape of one record's. With rᵢ = 1/(1 + e^{−(y−y_i)/σ}), given y the number of
records in the sample is a sum of independent Bernoulli(rᵢ): its mean m = Σrᵢ = σ·dlog w/dy rises in
y, its variance v = Σrᵢ(1 − rᵢ) = σ·dm/dy is at most min(m, k/4), and its third cumulant at most v.
These come from the weights; nobody needs the y_i.

* On the line Im y = d < πσ, with a = d/σ: |w(y+id)| ≤ w(y), |w(y+id)| ≥ w(y)·cos(a/2)^k, and
  arg w(y+id) ≤ k·a, as for each factor.
* **Refined.** For a ≤ 3/2, arg((1−r) + r·e^{ia}) ≤ 1.06·r·a, so that arg w(y+id) ≤ 1.06·a·m(y); and
  |1−r + r·e^{ia}|² = 1 − 2(1−cos a)·r(1−r), so that, log(1 − x)/x falling in x, −log|w(y+id)/w(y)|
  is at most λ(1 − cos a)·min(m, k/4), λ = −log(1 − x)/x at x = (1 − cos a)/2. Both rise in y.
* **Places.** The tilted log-density's slope is −y + s·m(y)/σ, its second derivative −1 + s·v/σ²:
  the places are those of one record with k/σ for 1/σ, and C = 1 + max(−s, 0)·k/4σ². To replace adds
  θ·m(−y)/σ and −θ·v(−y)/σ².
* **Decay**, as in `decay`: the loss's density g has log g with slope −y + (s·m − v/m)/σ, whose own
  slope is at least −1 − (max(−s, 0)·k/4 + 1)/σ², because (v/m)′·σ = κ₃/m − v²/m² ≤ 1. To replace, m
  + m(−y) takes the place of m, (v − v(−y))/(m + m(−y)) that of v/m, whose slope times σ² is in
  [−2, 1], and θ·m(−y) is added to s·m.

**Rounding.** b_j is off by u, its logarithm by 10u·(1 + |log b_j|), the exponent e_j by 6u·V_j, V_j
= j|y|/σ + j²/2σ². Near w = 1, log w = log1p(Σ b_j·expm1(e_j)): the terms are off by 10u each and
their sum, of at most 65, by 64u of Σ b_j|expm1(e_j)|, the last logarithm by 8u. Elsewhere it is a
log-sum of exponentials, the terms of which are off by 10u(1 + |log b_j|) + 6u·V_j + 10u(1 + their
distance from the largest), weighed by what they are in w.
"""

import functools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from accountants import groups
from accountants.arrays import FloatArray
from accountants.fourier.contour.quadrature import ContourError, Line
from accountants.likelihood_ratio import UNIT_ROUNDOFF, Ratio

__all__ = ["Counted", "GroupLine", "counted"]

_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
# Of arg((1−r) + r·e^{ia}) over r·a for a ≤ 3/2: at most 1.0546.
_ARGUMENT = 1.06
# Terms of w are held for so many places at a time.
_BLOCK = 2**15
# Means below are near the end of the range of doubles.
_LEAST_MEAN = 1e-280
# Steps below the density: their number, and the tilted mass that they leave out at either end.
_FEWEST, _MOST, _WIDTH, _LEFT_OUT = 128, 1024, 0.1, 1e-6


class Counted(NamedTuple):
    """w at some places, and the number of records in the sample, given the place.

    Attributes:
      log_w: log w.
      error: A bound of its absolute error.
      mean: m.
      variance: v.
      count_error: A bound of the relative error of both.
    """

    log_w: FloatArray
    error: FloatArray
    mean: FloatArray
    variance: FloatArray
    count_error: FloatArray


@functools.lru_cache(maxsize=256)
def _weights(records: int, rate: float, population: int) -> tuple[FloatArray, FloatArray]:
    weights = np.array(groups.counts(records, rate, population))[:, None]
    return weights, np.log(weights)


def counted(
    records: int, sampling_rate: float, noise_multiplier: float, y: FloatArray, population: int = 0
) -> Counted:
    """The ratio w and the count at `y`, see the module."""
    size = max(1, _BLOCK // (records + 1))
    if y.size > size:
        parts = [
            counted(records, sampling_rate, noise_multiplier, y[start : start + size], population)
            for start in range(0, y.size, size)
        ]
        return Counted(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    weights, log_weights = _weights(records, sampling_rate, population)
    count = np.arange(records + 1, dtype=np.float64)[:, None]
    shift = count / noise_multiplier
    exponent = shift * (y - 0.5 * shift)
    places = shift * (np.abs(y) + 0.5 * shift)
    terms = log_weights + exponent
    top = np.max(terms, axis=0)
    shares = np.exp(terms - top)
    total = np.sum(shares, axis=0)
    log_w = top + np.log(total)
    shares /= total
    mean = np.sum(count * shares, axis=0)
    variance = np.sum((count - mean) ** 2 * shares, axis=0)
    off = 6.0 * places + 10.0 * (1.0 + np.abs(log_weights)) + 10.0 * (1.0 + np.abs(terms - top))
    error = np.sum(shares * off, axis=0) + 90.0 + 4.0 * (np.abs(top) + np.abs(log_w))
    near = np.abs(log_w) < 0.5
    if bool(near.any()):
        moved = np.expm1(np.minimum(exponent[:, near], 700.0))
        log_w[near] = np.log1p(np.sum(weights * moved, axis=0))
        sizes = np.sum(weights * np.abs(moved), axis=0) * np.exp(-log_w[near])
        error[near] = 6.0 * np.sum(shares * places, axis=0)[near]
        error[near] += 76.0 * sizes + 10.0 * np.abs(log_w[near])
    # Shares are off by twice the largest error of a term, means by as much, variances by more.
    count_error = (24.0 * np.max(places, axis=0) + 40.0 * np.max(np.abs(log_weights)) + 800.0) + (
        40.0 * np.minimum(np.max(top - terms, axis=0), 750.0)
    )
    return Counted(log_w, 1.01 * UNIT_ROUNDOFF * error, mean, variance, UNIT_ROUNDOFF * count_error)


@dataclass(frozen=True)
class GroupLine(Line):
    """The line of all k = `records` records of one user; see `Line`."""

    records: int = 1
    population: int = 0

    def _counted(self, y: FloatArray) -> Counted:
        return counted(self.records, self.sampling_rate, self.noise_multiplier, y, self.population)

    def _at(self, y: FloatArray) -> Ratio:
        at = self._counted(y)
        return Ratio(at.log_w, at.mean, at.error)

    @property
    def _factors(self) -> float:
        return float(self.records)

    @property
    def _concavity(self) -> float:
        inverse = self.direction.inverse_power(self.theta_max)
        return 1.0 + 0.25 * self.records * inverse / self.noise_multiplier**2

    @property
    def _turns(self) -> float:
        return (2.0 if self.direction.is_replacing else 1.0) * self.records

    def _places(self) -> tuple[float, float]:
        power, scale = self.direction.power(self.theta_max), 1.0 / self.noise_multiplier
        at_zero = float(self._at(np.zeros(1)).posterior[0]) * (1.0 + 1e-9)
        furthest = self.records * scale
        if self.direction.is_replacing:
            return -furthest, max(power, 1.0) * furthest + self.theta_max * at_zero * scale
        return min(power, 0.0) * at_zero * scale, max(power, 1.0) * furthest

    @cached_property
    def _means_a_step_up(self) -> tuple[FloatArray, FloatArray]:
        """Upper bounds of m a step above the nodes and above what is opposite to them."""
        found = []
        for y in (self.nodes + self._strip.step, self._strip.step - self.nodes):
            at = self._counted(y)
            found.append(at.mean * (1.0 + at.count_error))
        return found[0], found[1]

    def _growth(
        self, guide: Line, angle: float, inverse: float, *, mirrored: bool = False
    ) -> FloatArray:
        assert isinstance(guide, GroupLine)
        mean = guide._means_a_step_up[1 if mirrored else 0]
        bend = 1.0 - math.cos(angle)
        steepness = -math.log1p(-0.5 * bend) / (0.5 * bend) * bend
        shrinkage = steepness * np.minimum(mean, 0.25 * self.records)
        result: FloatArray = self.t_max * _ARGUMENT * angle * mean + inverse * shrinkage
        return result

    def steps(self, theta: float) -> tuple[FloatArray, FloatArray]:
        """Heights and lengths of a step function below the tilted density of the loss."""
        mass, log_moment = self.tilted(theta)
        log_moment += self.tilted_error
        total = np.cumsum(mass)
        low, high = np.searchsorted(total, (_LEFT_OUT, 1.0 - _LEFT_OUT))
        ends = float(self.nodes[max(low - 1, 0)]), float(self.nodes[min(high, mass.size - 1)])
        cells = min(max(_FEWEST, math.ceil((ends[1] - ends[0]) / _WIDTH)), _MOST)
        y = np.linspace(*ends, cells + 1)
        k, scale, power = self.records, 1.0 / self.noise_multiplier, self.direction.power(theta)
        h = float(np.min(np.diff(y)))
        at = self._counted(y)
        slope_of_log_w, bend, inverse = at.mean, at.variance, max(-power, 0.0)
        least = at.mean[:-1] * (1.0 - at.count_error[:-1])
        log_density = power * at.log_w
        density_error = abs(power) * at.error
        pull, count_error = power * at.mean, at.count_error
        if self.direction.is_replacing:
            back = self._counted(-y)
            inverse = theta
            least = least + back.mean[1:] * (1.0 - back.count_error[1:])
            slope_of_log_w = at.mean + back.mean
            bend = at.variance - back.variance
            log_density = log_density - inverse * back.log_w
            density_error = density_error + inverse * (
                back.error + 4.0 * UNIT_ROUNDOFF * np.abs(back.log_w)
            )
            pull = pull + inverse * back.mean
            count_error = np.maximum(count_error, back.count_error)
        if float(slope_of_log_w.min()) < _LEAST_MEAN:
            raise ContourError("no record is ever in the sample")
        slope = -y + scale * (pull - bend / slope_of_log_w)
        log_slope = np.log(slope_of_log_w * scale)
        log_density = log_density - 0.5 * y * y - _LOG_SQRT_2PI - log_moment - log_slope
        density_error = density_error + 2.0 * count_error
        density_error += UNIT_ROUNDOFF * (
            4.0 * abs(power) * np.abs(at.log_w)
            + 3.0 * y * y
            + 4.0 * abs(log_moment)
            + 10.0 * np.abs(log_slope)
            + 20.0
        )
        steepness = scale * (k * (abs(power) + inverse) + 4.0)
        density_error += h * (
            4.0 * steepness * count_error + UNIT_ROUNDOFF * (4.0 * np.abs(y) + 8.0 * steepness)
        )
        wide = h * (1.0 + 1e-6)
        bending = 0.25 * k * inverse + (2.0 if self.direction.is_replacing else 1.0)
        curvature = 0.5 * wide * wide * (1.0 + bending * scale * scale)
        # A density may be understated, never overstated: all errors are taken off.
        safe = log_density - density_error
        from_left = safe[:-1] + np.minimum(0.0, slope[:-1] * wide)
        from_right = safe[1:] + np.minimum(0.0, -slope[1:] * wide)
        heights = np.exp(np.maximum(from_left, from_right) - curvature)
        return heights, h * scale * least * (1.0 - 1e-14)
