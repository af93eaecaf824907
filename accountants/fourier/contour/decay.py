r"""How fast a characteristic function must decay: a bound that falls with the frequency.

To cut the contour at t_max one needs |φ(t)| for *all* t > t_max. If the (tilted) loss has a density
that is at least Σ_k m_k·U_k, with U_k the uniform law on an interval of length ℓ_k, then

    |φ(t)| ≤ 1 − Σ_k m_k·(1 − s(tℓ_k/2)) =: ρ(t),

with s the least decreasing majorant of |sin x / x|; ρ decreases in t, so that its value at t_max
bounds all that is cut off. A unimodal step function is such a mixture exactly (its layers), and a
unimodal step function below the density is found as follows.

Along y the loss log w is monotone, so its density at l(y) is g(y) = p(y)/(dlog w/dy), p the tilted
density of y. With r = q·e^v/w in (0, 1), dlog w/dy = r/σ, the slope of log g is
−y + (s·r − (1−r))/σ, and the slope of that is bounded by C = 1 + |s+1|/(4σ²). On a cell of width h
Taylor's theorem from either end gives log g ≥ log g(end) + min(0, ±slope·h) − C·h²/2; the larger of
the two is used, and the running minimum away from the highest cell makes it unimodal. r rises in
y, so that the smaller of two end values is its least inside a cell.

To replace, L = log w(y) − log w(−y), r gives way to R = r(y) + r(−y), whose least inside a cell is
at least r(y) of the lower and r(−y) of the upper end; the slope of log g is −y + (s·r(y) +
θ·r(−y))/σ − R′/R, and that of R′/R = (r(y)(1−r(y)) − r(−y)(1−r(−y)))/(σR) is in [−2/σ², 1/σ²],
so that C = 1 + ((s + θ)/4 + 2)/σ².
"""

import math

import numpy as np

from accountants.arrays import FloatArray
from accountants.fourier.contour.quadrature import Direction
from accountants.likelihood_ratio import UNIT_ROUNDOFF, Ratio, ratio

_CELLS = 128
_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
# The height of |sin x / x| at the top of its second lobe, rounded up, and where that top is.
_SECOND_LOBE = 0.2172336283
_LOBE_TOP = 4.4934
# For sums, products and exponentials of the layers, some 300u.
_MASS_SAFETY = 1.0 - 1e-13


class DecayBound:
    """ρ(t) of one sampled Gaussian in one direction at one tilt.

    Args:
      heights: Of a step function below the loss's density.
      lengths: Of its steps, one beside the other.
    """

    def __init__(self, heights: FloatArray, lengths: FloatArray) -> None:
        self._masses, self._lengths = _layers(heights, lengths)

    def log(self, t: FloatArray) -> FloatArray:
        """Log ρ(t): an upper bound of log|φ(t′)| for every t′ ≥ t."""
        envelope = sinc_envelope(np.multiply.outer(t, 0.5 * self._lengths))
        decayed = ((1.0 - envelope) * self._masses).sum(axis=1)
        result: FloatArray = np.log1p(-np.minimum(decayed, 1.0 - 1e-12)) * (1.0 - 1e-14)
        return result


def around(centre: float, spread: float) -> FloatArray:
    """Where steps end if the tilted y has about this mean and this standard deviation."""
    return np.linspace(centre - 4.5 * spread, centre + 4.5 * spread, _CELLS + 1)


def steps(
    sampling_rate: float,
    noise_multiplier: float,
    direction: Direction,
    theta: float,
    log_moment: float,
    y: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Heights and lengths of a step function below the tilted density of the loss.

    Args:
      sampling_rate: q.
      noise_multiplier: σ.
      direction: Remove, add or replace.
      theta: The tilt.
      log_moment: log M(θ), an upper bound.
      y: Where steps end, at equal distances.
    """
    scale, power = 1.0 / noise_multiplier, direction.power(theta)
    h = float(np.min(np.diff(y)))
    at = ratio(sampling_rate, noise_multiplier, y)
    posterior, shaken = at.posterior, at.posterior
    log_slope, slope_error = _log_slope(at, sampling_rate, scale, y)
    least_slope = np.minimum(*_ends(log_slope - slope_error))
    slope = -y + scale * (power * posterior - (1.0 - posterior))
    inverse: float = 0.0
    log_back_w: FloatArray | float = 0.0
    error, size = abs(power) * at.error, abs(power) * np.abs(at.log_w)
    if direction.is_replacing:
        back, inverse = ratio(sampling_rate, noise_multiplier, -y), direction.inverse_power(theta)
        error, size = error + inverse * back.error, size + inverse * np.abs(back.log_w)
        log_back_w = inverse * back.log_w
        other, shaken = back.posterior, np.ones_like(y)
        log_back, back_error = _log_slope(back, sampling_rate, scale, y)
        low, high = log_slope - slope_error, log_back - back_error
        least_slope = np.logaddexp(low[:-1], high[1:]) - 64.0 * UNIT_ROUNDOFF * np.abs(low[:-1])
        log_slope = np.logaddexp(log_slope, log_back)
        slope_error = np.maximum(slope_error, back_error)
        slope_error = slope_error + 64.0 * UNIT_ROUNDOFF * (1.0 + np.abs(log_slope))
        bend = posterior * (1.0 - posterior) - other * (1.0 - other)
        bend /= np.maximum(posterior + other, 1e-300)
        slope = -y + scale * (power * posterior + inverse * other - bend)
    log_density = power * at.log_w - 0.5 * y * y - _LOG_SQRT_2PI - log_moment - log_slope
    log_density -= log_back_w
    density_error = error + slope_error
    density_error += UNIT_ROUNDOFF * (4.0 * size + 3.0 * y * y + (4.0 * abs(log_moment) + 20.0))
    steepness = scale * (abs(power) + inverse + 1.0 + 4.0 * float(direction.is_replacing))
    density_error += h * (
        steepness * shaken * slope_error + UNIT_ROUNDOFF * (2.0 * np.abs(y) + 6.0 * steepness)
    )
    wide = h * (1.0 + 1e-6)
    bending = 0.25 * abs(power + 1.0)
    if direction.is_replacing:
        bending = 0.25 * (power + inverse) + 2.0
    curvature = 0.5 * wide * wide * (1.0 + bending * scale * scale)
    # A density may be understated, never overstated: all errors are taken off.
    safe = log_density - density_error
    from_left = safe[:-1] + np.minimum(0.0, slope[:-1] * wide)
    from_right = safe[1:] + np.minimum(0.0, -slope[1:] * wide)
    heights = np.exp(np.maximum(from_left, from_right) - curvature)
    lengths = h * np.exp(least_slope)
    return heights, lengths


def _log_slope(
    at: Ratio, sampling_rate: float, scale: float, y: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Log of r/σ, and its error: of log q + v − log w, of exp and of log."""
    size = scale * np.abs(y) + 0.5 * scale * scale
    log_slope = math.log(scale) + np.log(np.maximum(at.posterior, 1e-300))
    error = at.error + UNIT_ROUNDOFF * (
        8.0 * size
        + 12.0 * abs(math.log(sampling_rate))
        + 4.0 * np.abs(at.log_w)
        + 10.0 * np.abs(log_slope)
        + 20.0
    )
    return log_slope, error


def _ends(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    return values[:-1], values[1:]


def sinc_envelope(x: FloatArray) -> FloatArray:
    """The least decreasing majorant of |sin x / x| up to the second lobe, and 1/x beyond.

    Rounded up: x/π, sine and quotient move sin x / x by less than 32u.
    """
    rounded_up = np.minimum(1.0, np.sinc(x / math.pi) + 32.0 * UNIT_ROUNDOFF)
    first_lobe = np.maximum(rounded_up, _SECOND_LOBE)
    beyond = np.minimum(_SECOND_LOBE, 1.0 / np.maximum(x, 1.0))
    result: FloatArray = np.where(x < _LOBE_TOP, first_lobe, beyond)
    return result


def _layers(heights: FloatArray, lengths: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The masses and lengths of the uniform layers of the unimodal minorant of a step function."""
    mode = int(np.argmax(heights * lengths))
    left = np.minimum.accumulate(heights[mode::-1])[::-1]
    right = np.minimum.accumulate(heights[mode:])
    unimodal = np.concatenate([left, right[1:]])
    order = np.argsort(unimodal, kind="stable")
    levels = unimodal[order]
    # Removing the lowest cells one by one always leaves one interval.
    remaining = np.cumsum(lengths[order][::-1])[::-1]
    masses = np.diff(levels, prepend=0.0) * remaining
    return masses * _MASS_SAFETY, remaining * _MASS_SAFETY
