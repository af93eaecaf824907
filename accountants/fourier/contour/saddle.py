r"""Where to put the contour: the saddle point of the integrand.

On the real axis the integrand's logarithm is K(θ) − θε − log θ − log(1+θ), convex, with its
minimum at K′(θ) = ε + 1/θ + 1/(1+θ); through that point the integral is least oscillating.
Laplace's method there,

    log δ ≈ K − θε − log θ − log(1+θ) − ½·log(2π(K″ + 1/θ² + 1/(1+θ)²)),

is what the search below solves for θ when δ is given; the contour engine corrects and certifies
it, so nothing here needs a bound.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from accountants.arrays import FloatArray
from accountants.fourier.contour.decay import DecayBound, around, steps
from accountants.fourier.contour.grouped import GroupLine
from accountants.fourier.contour.lines import AnyLine, line_of
from accountants.fourier.contour.quadrature import ContourError, Direction
from accountants.fourier.contour.symmetrised import SymmetrisedLine
from accountants.releases import GroupGaussian, SampledGaussian

# The coarse lines serve real tilts up to this multiple of the saddle's.
HEADROOM = 1.9
# From this many steps on, log M is needed to a relative error, see `Line.log_moment`.
MANY_STEPS = 1e8
_MAX_THETA = 1e5
# Beyond these no contour has few enough nodes.
_LEAST_NOISE, _MOST_NOISE = 1e-3, 1e9
_ITERATIONS = 40


@dataclass(frozen=True, slots=True)
class Saddle:
    """A saddle point, approximately.

    Attributes:
      theta: The tilt.
      epsilon: ε there, at least 0.
      log_delta: log δ(ε) there.
      variance: K″(θ).
      curvature: The integrand's second derivative, K″ + 1/θ² + 1/(1+θ)².
      lines: The events' coarse lines, good for real tilts up to `HEADROOM`·θ.
    """

    theta: float
    epsilon: float
    log_delta: float
    variance: float
    curvature: float
    lines: Sequence[AnyLine]


def decay(line: AnyLine, theta: float) -> DecayBound:
    """The decay bound of one event at a tilt."""
    if isinstance(line, SymmetrisedLine | GroupLine):
        return DecayBound(*line.steps(theta))
    mass, log_moment = line.tilted(theta)
    mode = float(line.nodes[int(np.argmax(mass))])
    near = np.abs(line.nodes - mode) < 6.0
    weight = mass[near] / mass[near].sum()
    centre = float((weight * line.nodes[near]).sum())
    spread = math.sqrt(float((weight * (line.nodes[near] - centre) ** 2).sum()))
    upper, y = log_moment + line.tilted_error, around(centre, spread)
    rate, sigma = line.sampling_rate, line.noise_multiplier
    return DecayBound(*steps(rate, sigma, line.direction, theta, upper, y))


def upper_log_moments(
    lines: Sequence[AnyLine], counts: FloatArray, thetas: FloatArray
) -> FloatArray:
    """Upper bounds of log M at each tilt (rows) of each event, fit to be multiplied by counts."""
    if counts.max() > MANY_STEPS:
        exact = [[sum(line.log_moment(theta)) for line in lines] for theta in thetas.tolist()]
        return np.array(exact)
    return np.stack([line.log_moments(thetas) + line.tilted_error for line in lines], axis=1)


class SaddleSearch:
    """Finds saddle points of one composition in one direction."""

    def __init__(
        self,
        events: Sequence[SampledGaussian],
        counts: FloatArray,
        mu_squared: float,
        direction: Direction,
    ) -> None:
        for event in events:
            if not _LEAST_NOISE < event.noise_multiplier < _MOST_NOISE:
                raise ContourError(f"noise multiplier {event.noise_multiplier}")
        self._events, self._counts, self._mu_squared = events, counts, mu_squared
        self._direction = direction
        self._exponent = 30.0 + math.log(float(counts.max()) + 1.0)
        self._lines: Sequence[AnyLine] = ()

    def _cover(self, theta: float) -> None:
        """Makes sure that the coarse lines reach `HEADROOM`·θ."""
        if not self._lines or self._lines[0].theta_max < HEADROOM * theta:
            top = HEADROOM * 1.3 * theta
            self._lines = [
                line_of(self._direction, event, top, 0.0, self._exponent) for event in self._events
            ]

    def _cumulants(self, theta: float) -> tuple[float, float, float]:
        self._cover(theta)
        rows = np.array([line.cumulants(theta) for line in self._lines])
        if self._counts.max() > MANY_STEPS:
            rows[:, 0] = [line.log_moment(theta)[0] for line in self._lines]
        total, mean, variance = self._counts @ rows
        total += 0.5 * self._mu_squared * theta * (theta + 1.0)
        mean += self._mu_squared * (theta + 0.5)
        return float(total), float(mean), max(float(variance) + self._mu_squared, 1e-300)

    def log_moment(self, theta: float) -> tuple[float, float]:
        """K(θ), and a bound of its absolute error but for 1e-15 of itself."""
        value = self._cumulants(theta)[0]
        uppers = upper_log_moments(self._lines, self._counts, np.array([theta]))[0]
        gaussian = 0.5 * self._mu_squared * theta * (theta + 1.0)
        return value, max(0.0, float(self._counts @ uppers) + gaussian - value)

    def _guess(self, log_delta: float) -> float:
        variance, wall = self._mu_squared, _MAX_THETA
        for event, count in zip(self._events, self._counts, strict=True):
            rate, sigma = event.sampling_rate, event.noise_multiplier
            if isinstance(event, GroupGaussian):
                rate = min(1.0, event.records * rate)
            replaced = 4.0 if self._direction.is_replacing else 1.0
            variance += replaced * count * rate**2 * math.expm1(min(sigma**-2, 20.0))
            reach = sigma**2 * -math.log(rate)
            wall = min(wall, reach + math.sqrt(reach**2 - 4.0 * sigma**2 * log_delta) + 0.5)
        return max(0.02, min(math.sqrt(-2.0 * log_delta / max(variance, 1e-300)), wall))

    def for_delta(self, delta: float) -> Saddle:
        """The saddle point at which δ(ε) is about `delta`; at ε = 0 if δ(0) is already smaller."""
        target = math.log(delta)
        theta = self._guess(target)
        low, high = 0.0, _MAX_THETA
        for _ in range(_ITERATIONS):
            saddle = self._saddle(theta, None)
            excess = saddle.log_delta - target
            if excess > 0.0:
                low = theta
            else:
                high = theta
            if abs(excess) < 0.05:
                break
            # d log δ / d log θ = −θ²·curvature along the saddle's path.
            step = excess / (theta * theta * saddle.curvature)
            theta = _between(low, high, theta * math.exp(max(-1.5, min(1.5, step))))
        return saddle if saddle.epsilon >= 0.0 else self.for_epsilon(0.0)

    def for_epsilon(self, epsilon: float) -> Saddle:
        """The saddle point for a given ε."""
        theta, low, high = self._guess(-10.0), 0.0, _MAX_THETA
        for _ in range(_ITERATIONS):
            saddle = self._saddle(theta, None)
            gap = epsilon - saddle.epsilon
            if gap > 0.0:
                low = theta
            else:
                high = theta
            if abs(gap) * theta < 0.05:
                break
            step = gap / (theta * saddle.curvature)
            theta = _between(low, high, theta * math.exp(max(-1.5, min(1.5, step))))
        return self._saddle(theta, epsilon)

    def _saddle(self, theta: float, epsilon: float | None) -> Saddle:
        total, mean, variance = self._cumulants(theta)
        if epsilon is None:
            epsilon = mean - 1.0 / theta - 1.0 / (1.0 + theta)
        curvature = variance + theta**-2 + (1.0 + theta) ** -2
        log_delta = total - theta * epsilon - math.log(theta * (1.0 + theta))
        log_delta -= 0.5 * math.log(2.0 * math.pi * curvature)
        return Saddle(theta, epsilon, log_delta, variance, curvature, self._lines)


def _between(low: float, high: float, proposal: float) -> float:
    """The proposal, or the middle of the bracket where it leaves it."""
    if low < proposal < high:
        return proposal
    return math.sqrt(low * high) if low > 0.0 else 0.5 * high
