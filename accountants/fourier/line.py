r"""The privacy loss of Poisson-sampled Gaussians as a function of the noise y ~ N(0, 1).

With w(y) = 1 − q + q·e^{u}, u = y/σ − 1/(2σ²), one step has (see `accountants.atoms`)

    remove:  P = (1−q)N(0,σ²)+qN(1,σ²), Q = N(0,σ²):  L =  log w,  E_P[e^{zL}] = E[w^{z+1}],
    add:     P and Q exchanged:                       L = −log w,  E_P[e^{zL}] = E[w^{−z}],

with expectations over y. On the line z = θ + it the *tilted* law of y, density ∝ φ(y)·w^s with
s = θ+1 or −θ, has the characteristic function φ_θ(t) = M(θ+it)/M(θ) = E_tilted[e^{itL}], the one
thing that the contour engine needs.

**Quadrature.** φ(y)·w(y)^{s}·e^{itL} is analytic for |Im y| < πσ. On the line Im y = d there,
|w(y+id)| ≤ w(y), |w(y+id)| ≥ w(y)·cos(d/2σ) and |arg w(y+id)| ≤ d/σ, so the trapezoid rule with
step η is off by at most (Trefethen & Weideman 2014, Theorem 5.1), relative to M(θ),

    2·exp(d²/2 + |t|·d/σ + min(s,0)·log cos(d/2σ)) / (e^{2πd/η} − 1),    for every 0 < d < πσ.

The nodes stop at a distance R beyond the places min(s,0)/σ and max(s,1)/σ between which the tilted
mass lies; there the integrand has fallen by e^{−R²/2} (see `accountants.subsampled_gaussian`).
`Line` takes an `exponent` E and keeps each of the two errors below e^{−E}.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from accountants.subsampled_gaussian import _log_bernoulli_gap

FloatArray = NDArray[np.float64]

UNIT_ROUNDOFF = 2.0**-53
_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
# Strip widths tried, in units of σ; the strip itself ends at π.
_STRIP_WIDTHS = np.array([0.1, 0.3, 0.6, 1.0, 1.5, 2.0, 2.5, 2.9])
_MAX_SIZE = 200_000
_FLOOR = 4e-16
# expm1 overflows beyond 709.
_EXP_LIMIT = 700.0


class ContourError(Exception):
    """The contour engine cannot bound this composition in reasonable time."""


@dataclass(frozen=True, slots=True)
class Direction:
    """Remove (the loss is log w) or add (the loss is −log w)."""

    sign: int

    def power(self, theta: float) -> float:
        """The s of w^s in M(θ) = E[w^s]."""
        return theta + 1.0 if self.sign > 0 else -theta


REMOVE, ADD = Direction(+1), Direction(-1)


@dataclass(frozen=True)
class Line:
    """One atom in one direction on a grid of y, good for tilts up to `theta_max`.

    Attributes:
      sampling_rate: q in (0, 1).
      noise_multiplier: σ.
      direction: Which of the two laws is P.
      theta_max: The largest tilt that will be asked for.
      t_max: The largest frequency that will be asked for.
      exponent: E: quadrature and truncation are each off by at most e^{−E}, relative to M(θ).
    """

    sampling_rate: float
    noise_multiplier: float
    direction: Direction
    theta_max: float
    t_max: float
    exponent: float

    @cached_property
    def _strip(self) -> tuple[float, float]:
        """The step η and the strip width d for which the error bound is e^{−E} at t_max."""
        sigma = self.noise_multiplier
        widest = math.sqrt(2.0 * self.exponent)
        d = np.minimum(widest, sigma * _STRIP_WIDTHS)
        secant = min(self.direction.power(self.theta_max), 0.0) * np.log(np.cos(d / (2.0 * sigma)))
        needed = self.exponent + 1.0 + 0.5 * d * d + self.t_max * d / sigma + secant
        steps = 2.0 * math.pi * d / needed
        best = int(np.argmax(steps))
        return float(steps[best]), float(d[best])

    def _ends(self) -> tuple[int, int]:
        """The first and the last node, in steps."""
        step = self._strip[0]
        scale = 1.0 / self.noise_multiplier
        reach = math.sqrt(2.0 * self.exponent)
        power = self.direction.power(self.theta_max)
        low, high = min(power, 0.0) * scale - reach, max(power, 1.0) * scale + reach
        return math.floor(low / step), math.ceil(high / step)

    @property
    def size(self) -> int:
        """The number of nodes."""
        first, last = self._ends()
        return last - first + 1

    @cached_property
    def nodes(self) -> FloatArray:
        """The y of the quadrature."""
        if self.size > _MAX_SIZE:
            raise ContourError(f"{self.size} nodes in y")
        first, last = self._ends()
        return self._strip[0] * np.arange(first, last + 1, dtype=np.float64)

    @cached_property
    def _u(self) -> FloatArray:
        scale = 1.0 / self.noise_multiplier
        return scale * (self.nodes - 0.5 * scale)

    @cached_property
    def log_w(self) -> FloatArray:
        """Log w at the nodes, with small relative error also where w is near 1."""
        u, q = self._u, self.sampling_rate
        if u[-1] < _EXP_LIMIT:
            return np.log1p(q * np.expm1(u))
        moderate = np.log1p(q * np.expm1(np.minimum(u, 40.0)))
        return np.where(u < 40.0, moderate, np.logaddexp(math.log1p(-q), math.log(q) + u))

    @cached_property
    def _log_base(self) -> FloatArray:
        return -0.5 * self.nodes**2 + (math.log(self._strip[0]) - _LOG_SQRT_2PI)

    def tilted(self, theta: float) -> tuple[FloatArray, float]:
        """The tilted probabilities of the nodes, and log M(θ) with an absolute error of ~1e-14."""
        exponents = self.direction.power(theta) * self.log_w + self._log_base
        top = float(exponents.max())
        mass = np.exp(exponents - top)
        total = float(mass.sum())
        return mass / total, top + math.log(total)

    def cumulants(self, theta: float) -> tuple[float, float, float]:
        """Log M and its first two derivatives at real θ; approximate."""
        mass, log_moment = self.tilted(theta)
        weighted = mass * self.log_w
        mean = float(weighted.sum())
        second = float(weighted @ self.log_w)
        return log_moment, self.direction.sign * mean, second - mean * mean

    def log_moment(self, theta: float) -> tuple[float, float]:
        """Log M(θ) with small *relative* error, and a bound of its absolute error.

        For small q, M − 1 = O(q²) is the sum of the non-negative w^s − 1 − s(w − 1). Each term's
        relative rounding error is at most that of its exponent, u·(4|s||log w| + 4|s u| + 2y²),
        plus 100u·(1 + 1/min(1, θ)) for the cancellation at the border of the series; the largest
        exponents are those at the ends of the mass, which max(…) over weighted nodes covers.
        """
        power = self.direction.power(theta)
        with np.errstate(over="ignore"):
            x = self.sampling_rate * np.expm1(np.minimum(self._u, _EXP_LIMIT))
        exponents = _log_bernoulli_gap(self.log_w, x, power) + self._log_base
        top = float(exponents.max())
        mass = np.exp(exponents - top)
        total = float(mass.sum())
        log_gap = top + math.log(total)
        relative = float((mass * self._exponent_rounding(power)).sum()) / total
        relative += 100.0 * UNIT_ROUNDOFF * (1.0 + 1.0 / min(1.0, theta))
        value = math.log1p(math.exp(log_gap)) if log_gap < 30.0 else log_gap
        # d log(1+g) = g/(1+g)·(relative error of g); the quadrature's error is relative to M.
        rounding = relative * -math.expm1(-value) + 4.0 * UNIT_ROUNDOFF * value
        return value, rounding + 2.0 * math.exp(-self.exponent)

    def _exponent_rounding(self, power: float) -> FloatArray:
        """A bound of the rounding error of s·log w − y²/2, node by node."""
        size = 4.0 * abs(power) * (np.abs(self.log_w) + self._posterior * np.abs(self._u))
        return UNIT_ROUNDOFF * (8.0 + size + 2.0 * self.nodes**2)

    @cached_property
    def _posterior(self) -> FloatArray:
        """q·e^u/w = dlog w/du: how an error of u reaches log w."""
        return np.exp(math.log(self.sampling_rate) + self._u - self.log_w)

    def characteristic(
        self, theta: float, t: FloatArray
    ) -> tuple[NDArray[np.complex128], FloatArray]:
        """Log φ_θ(t), and a bound of the absolute error of φ_θ(t).

        φ = 1 − A + iB with A = Σ p·2sin²(tL/2), B = Σ p·sin(tL): no cancellation with the 1. The
        error of a node's weight moves φ by (its relative error)·p·|e^{itL} − 1| ≤ …·p·t|L|, twice
        for the renormalisation; the error of L by p·t·4u(|L| + r|u|); products, sines and the
        pairwise summation by 40u·p·t|L|. All are t times one number.
        """
        mass, _ = self.tilted(theta)
        half = np.multiply.outer(0.5 * t, self.log_w)
        sine, cosine = np.sin(half), np.cos(half)
        weighted = sine * mass
        a = 2.0 * (weighted * sine).sum(axis=1)
        b = 2.0 * (weighted * cosine).sum(axis=1)
        # |φ| is floored at 2e-8, where its logarithm is of no use; the error pays for it.
        excess = a * (a - 2.0) + b * b
        real = 0.5 * np.log1p(np.maximum(excess, _FLOOR - 1.0))
        imaginary = self.direction.sign * np.arctan2(b, 1.0 - a)

        size = np.abs(self.log_w)
        rounding = self._exponent_rounding(self.direction.power(theta))
        slope = 2.0 * rounding * size + UNIT_ROUNDOFF * (
            44.0 * size + 4.0 * self._posterior * np.abs(self._u)
        )
        error = t * float((mass * slope).sum()) + 4.0 * math.exp(-self.exponent)
        error = np.where(excess < _FLOOR - 1.0, error + math.sqrt(_FLOOR), error)
        return real + 1j * imaginary, error
