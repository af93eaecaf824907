r"""The privacy loss of Poisson-sampled Gaussians as a function of the noise y ~ N(0, 1).

With w(y) = 1 − q + q·e^{u}, u = y/σ − 1/(2σ²), one step has (see `accountants.elementary`)

    remove:  P = (1−q)N(0,σ²)+qN(1,σ²), Q = N(0,σ²):  L =  log w,  E_P[e^{zL}] = E[w^{z+1}],
    add:     P and Q exchanged:                       L = −log w,  E_P[e^{zL}] = E[w^{−z}],

with expectations over y. On the line z = θ + it the *tilted* law of y, density ∝ φ(y)·w^s with
s = θ+1 or −θ, has the characteristic function φ_θ(t) = M(θ+it)/M(θ) = E_tilted[e^{itL}], the one
thing that the contour engine needs.

**Quadrature.** φ(y)·w(y)^{s}·e^{itL} is analytic for |Im y| < πσ. On the line Im y = d there,
|w(y+id)| ≤ w(y), |w(y+id)| ≥ w(y)·cos(d/2σ) and |arg w(y+id)| ≤ d/σ, so the trapezoid rule with
step η is off by at most (Trefethen & Weideman 2014, Theorem 5.1), relative to M(θ),

    2·exp(d²/2 + |t|·d/σ + min(s,0)·log cos(d/2σ)) / (e^{2πd/η} − 1),    for every 0 < d < πσ.

**A refined bound.** The factor e^{|t|d/σ} is that of the largest losses. For small q and large t
nearly all mass has a small loss, and arg w(y+id) is at most q·e^u·sin(d/σ)/(1−q+q·e^u·cos(d/σ)),
far below d/σ. Cutting the line at an end Y, half-way between nodes, adds vertical segments of
length d there, with |f(Y+iv)| ≤ f(Y)·e^{d²/2 + |t|·arg w(Y+id)} and |1/(1+e^{2πv/η})| ≤ 1 (residue
theorem), and the mass beyond; between the ends the maximum may be replaced by the mean of
e^{|t|·arg w(y+id)} under the tilted law. Mean, mass and density are bounded on a coarse grid of
step h (the `guide`): the exponent rises in y, and the log-density has second derivative ≥ −1, so
that inside a cell the density is at most e^{h²/8} times the larger of its end values; this gives
2·e^{h²/8}·Σ p_j·e^{…(y_j + h)}. Likewise |w(y+id)|² = w²·(1 − 2r(1−r)(1−cos(d/σ))) with r =
q·e^u/w.

The nodes stop at a distance R beyond the places (`Line._places`) between which the tilted mass
lies; there the integrand has fallen by e^{−R²/2}. `Line` takes an `exponent` E and keeps each of
the two errors below e^{−E}.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from accountants.arrays import ComplexArray, FloatArray
from accountants.subsampled_gaussian import log_bernoulli_gap

UNIT_ROUNDOFF = 2.0**-53
# A bound of the absolute error of `Line.tilted`'s log M(θ), quadrature and rounding of exponents up
# to 1e4 included.
COARSE_ERROR = 1e-11
_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
# Strip widths tried, in units of σ; the strip itself ends at π.
_STRIP_WIDTHS = np.array([0.1, 0.3, 0.6, 1.0, 1.5, 2.0, 2.5, 2.9])
_MAX_SIZE = 200_000
# Lines with fewer nodes than this are not worth a refined bound.
_REFINE_ABOVE = 300
# How much further down than the line its guide follows the tilted density.
_GUIDE_REACH = 150.0
_FLOOR = 4e-16
# Evaluations at a time, to bound the memory.
_CHUNK = 500_000
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


class Strip(NamedTuple):
    """A trapezoid step, and the range of y that it must cover."""

    step: float
    low: float
    high: float


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
      refine: Whether to look for a wider step with the refined bound below; the line is then good
        for the tilt `theta_max` only.
    """

    sampling_rate: float
    noise_multiplier: float
    direction: Direction
    theta_max: float
    t_max: float
    exponent: float
    refine: bool = False

    @cached_property
    def _strip(self) -> Strip:
        """The widest step whose error bound is e^{−E} at t_max."""
        sigma, power = self.noise_multiplier, self.direction.power(self.theta_max)
        reach = math.sqrt(2.0 * self.exponent)
        d = np.minimum(reach, sigma * _STRIP_WIDTHS)
        secant = min(power, 0.0) * np.log(np.cos(d / (2.0 * sigma)))
        needed = self.exponent + 1.0 + 0.5 * d * d + self.t_max * d / sigma + secant
        steps = 2.0 * math.pi * d / needed
        low, high = (
            place + side * reach for place, side in zip(self._places(), (-1, 1), strict=True)
        )
        crude = Strip(float(steps.max()), low, high)
        if not self.refine or (high - low) / crude.step < _REFINE_ABOVE:
            return crude
        guide = replace(self, t_max=0.0, exponent=self.exponent + _GUIDE_REACH, refine=False)
        refined = (self._refined_strip(guide, float(width)) for width in d)
        return max((crude, *(s for s in refined if s is not None)), key=lambda strip: strip.step)

    def _places(self) -> tuple[float, float]:
        """Points beyond which the tilted log-density falls at least as fast as −(distance)²/2.

        Its slope is −y + s·r(y)/σ with r = q·e^u/w rising from 0 to 1: negative beyond max(s,0)/σ,
        and for s < 0 positive below s·r(0)/σ, where r(y) < r(0). The line s·x needs max(s, 1).
        """
        power, scale = self.direction.power(self.theta_max), 1.0 / self.noise_multiplier
        odds = self.sampling_rate * math.exp(-0.5 * scale * scale)
        at_zero = odds / (1.0 - self.sampling_rate + odds)
        return min(power, 0.0) * at_zero * scale, max(power, 1.0) * scale

    def _refined_strip(self, guide: "Line", d: float) -> "Strip | None":
        """The strip of width d with the mean of e^{t·arg w} in place of its maximum."""
        angle, guide_step = d / self.noise_multiplier, guide._strip.step
        if angle >= 1.5:
            return None
        sine, cosine = math.sin(angle), math.cos(angle)
        power = self.direction.power(self.theta_max)

        def growth(y: FloatArray) -> FloatArray:
            """A bound of log(|f(y+id)|/f(y)) − d²/2, increasing in y."""
            scale = 1.0 / self.noise_multiplier
            log_odds = scale * (y - 0.5 * scale) + math.log(self.sampling_rate)
            odds = np.exp(np.minimum(log_odds - math.log1p(-self.sampling_rate), _EXP_LIMIT))
            argument = np.minimum(angle, odds * sine / (1.0 + odds * cosine))
            ratio = 1.0 - 2.0 * (1.0 - cosine) * odds / (1.0 + odds)
            shrinkage = np.log(np.maximum(ratio, 0.5 * (1.0 + cosine)))
            result: FloatArray = self.t_max * argument + 0.5 * min(power, 0.0) * shrinkage
            return result

        exponents = power * guide.log_w + guide._log_base
        log_mass = exponents - guide.tilted(self.theta_max)[1]
        grown = growth(guide.nodes + guide_step)
        bump = guide_step**2 / 8.0
        # At an end, a vertical segment and all mass beyond must be below e^{−E}.
        segment = log_mass - math.log(guide_step) + grown + 0.5 * d * d + math.log1p(2.0 * d)
        segment = np.maximum(segment[1:], segment[:-1]) + bump
        mass = np.exp(log_mass)
        beyond = np.maximum(np.cumsum(mass[::-1])[::-1][:-1], 1e-300)
        before = np.maximum(np.cumsum(mass)[1:], 1e-300)
        quiet = segment < -self.exponent - 2.0
        settled = -self.exponent - 2.0 - math.log(2.0) - bump
        mode = int(np.argmax(log_mass))
        right = np.flatnonzero(quiet & (np.log(beyond) < settled) & (np.arange(len(quiet)) > mode))
        left = np.flatnonzero(quiet & (np.log(before) < settled) & (np.arange(len(quiet)) < mode))
        if not len(right) or not len(left):
            return None
        first, last = int(left[-1]), int(right[0])
        inside = slice(first, last + 2)
        mean = float(np.logaddexp.reduce(log_mass[inside] + grown[inside])) + math.log(2.0) + bump
        needed = self.exponent + 1.0 + 0.5 * d * d + mean
        return Strip(
            2.0 * math.pi * d / needed, float(guide.nodes[first]), float(guide.nodes[last + 1])
        )

    def _ends(self) -> tuple[int, int]:
        """The first and the last node, in steps."""
        strip = self._strip
        return math.floor(strip.low / strip.step), math.ceil(strip.high / strip.step)

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
        return self._strip.step * np.arange(first, last + 1, dtype=np.float64)

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
        return -0.5 * self.nodes**2 + (math.log(self._strip.step) - _LOG_SQRT_2PI)

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
        exponents = log_bernoulli_gap(self.log_w, x, power) + self._log_base
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

    def characteristic(self, theta: float, t: FloatArray) -> tuple[ComplexArray, FloatArray]:
        """Log φ_θ(t), and a bound of the absolute error of φ_θ(t).

        φ = 1 − A + iB with A = Σ p·2sin²(tL/2), B = Σ p·sin(tL): no cancellation with the 1. The
        error of a node's weight moves φ by (its relative error)·p·|e^{itL} − 1| ≤ …·p·t|L|, twice
        for the renormalisation; the error of L by p·t·4u(|L| + r|u|); products, sines and the
        pairwise summation by 40u·p·t|L|. All are t times one number.
        """
        mass, _ = self.tilted(theta)
        a, b = np.empty_like(t), np.empty_like(t)
        rows = max(1, _CHUNK // self.size)
        for start in range(0, len(t), rows):
            chunk = slice(start, start + rows)
            half = np.multiply.outer(0.5 * t[chunk], self.log_w)
            sine = np.sin(half)
            weighted = sine * mass
            a[chunk] = 2.0 * (weighted * sine).sum(axis=1)
            b[chunk] = 2.0 * (weighted * np.cos(half)).sum(axis=1)
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
