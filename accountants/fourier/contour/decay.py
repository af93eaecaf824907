r"""How fast a characteristic function must decay: a bound that falls with the frequency.

To cut the contour at t_max one needs |φ(t)| for *all* t > t_max. If the (tilted) loss has a density
that is at least Σ_k m_k·U_k, with U_k the uniform law on an interval of length ℓ_k, then

    |φ(t)| ≤ 1 − Σ_k m_k·(1 − s(tℓ_k/2)) =: ρ(t),

with s the least decreasing majorant of |sin x / x|; ρ decreases in t, so that its value at t_max
bounds all that is cut off. A unimodal step function is such a mixture exactly (its layers), and a
unimodal step function below the density is found as follows.

Along y the loss log w is monotone, so its density at l(y) is g(y) = p(y)/(dlog w/dy), p the tilted
density of y. With r = q·e^u/w in (0, 1), dlog w/dy = r/σ, the slope of log g is
−y + (s·r − (1−r))/σ, and the slope of that is bounded by C = 1 + |s+1|/(4σ²). On a cell of width h
Taylor's theorem from either end gives log g ≥ log g(end) + min(0, ±slope·h) − C·h²/2; the larger of
the two is used, and the running minimum away from the highest cell makes it unimodal.
"""

import math

import numpy as np

from accountants.arrays import FloatArray
from accountants.fourier.contour.quadrature import Direction

_CELLS = 128
# The height of |sin x / x| at the top of its second lobe, rounded up, and where that top is.
_SECOND_LOBE = 0.2172336283
_LOBE_TOP = 4.4934
# What the arithmetic may have done to the masses (about 1e-12 at worst) is subtracted from them.
_MASS_SAFETY = 1.0 - 1e-9


class DecayBound:
    """ρ(t) of one atom in one direction at one tilt."""

    def __init__(
        self,
        sampling_rate: float,
        noise_multiplier: float,
        direction: Direction,
        theta: float,
        log_moment: float,
        centre: float,
        spread: float,
    ) -> None:
        """Builds the layers.

        Args:
          sampling_rate: q.
          noise_multiplier: σ.
          direction: Remove or add.
          theta: The tilt.
          log_moment: log M(θ).
          centre: About the mean of y under the tilt; decides tightness only.
          spread: About its standard deviation.
        """
        scale, power = 1.0 / noise_multiplier, direction.power(theta)
        y = np.linspace(centre - 4.5 * spread, centre + 4.5 * spread, _CELLS + 1)
        h = float(y[1] - y[0])
        u = scale * (y - 0.5 * scale)
        log_w = np.logaddexp(math.log1p(-sampling_rate), math.log(sampling_rate) + u)
        log_slope = math.log(sampling_rate * scale) + u - log_w
        posterior = np.exp(log_slope) * noise_multiplier
        log_density = (
            power * log_w - 0.5 * y * y - 0.5 * math.log(2.0 * math.pi) - log_moment - log_slope
        )
        slope = -y + scale * (power * posterior - (1.0 - posterior))
        curvature = 0.5 * h * h * (1.0 + 0.25 * abs(power + 1.0) * scale * scale)
        from_left = log_density[:-1] + np.minimum(0.0, slope[:-1] * h)
        from_right = log_density[1:] + np.minimum(0.0, -slope[1:] * h)
        heights = np.exp(np.maximum(from_left, from_right) - curvature)
        # A log w computed as log(1−q+…) loses digits when q is tiny; the difference does not.
        lengths = h * np.minimum(np.exp(log_slope[:-1]), np.exp(log_slope[1:]))
        self._masses, self._lengths = _layers(heights, lengths)

    def log(self, t: FloatArray) -> FloatArray:
        """Log ρ(t): an upper bound of log|φ(t′)| for every t′ ≥ t."""
        envelope = sinc_envelope(np.multiply.outer(t, 0.5 * self._lengths))
        decayed = ((1.0 - envelope) * self._masses).sum(axis=1)
        result: FloatArray = np.log1p(-np.minimum(decayed, 1.0 - 1e-12))
        return result


def sinc_envelope(x: FloatArray) -> FloatArray:
    """The least decreasing majorant of |sin x / x| up to the second lobe, and 1/x beyond."""
    first_lobe = np.maximum(np.sinc(x / math.pi), _SECOND_LOBE)
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
    remaining = lengths.sum() - np.concatenate([[0.0], np.cumsum(lengths[order])[:-1]])
    masses = np.diff(levels, prepend=0.0) * remaining
    total = float(masses.sum())
    # A density's mass is at most 1; more would be rounding.
    return masses * (_MASS_SAFETY / max(1.0, total)), remaining
