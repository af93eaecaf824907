r"""The privacy loss of Poisson-sampled Gaussians as a function of the noise y ~ N(0, 1).

With w(y) = 1 − q + q·e^{v}, v = y/σ − 1/(2σ²), one step has (see `accountants.elementary`)

    remove:  P = (1−q)N(0,σ²)+qN(1,σ²), Q = N(0,σ²):  L =  log w,  E_P[e^{zL}] = E[w^{z+1}],
    add:     P and Q exchanged:                       L = −log w,  E_P[e^{zL}] = E[w^{−z}],
    replace: P as before, Q = (1−q)N(0,σ²)+qN(−1,σ²): L = log w(y) − log w(−y),
                                                      E_P[e^{zL}] = E[w(y)^{z+1}·w(−y)^{−z}],

with expectations over y. On the line z = θ + it the *tilted* law of y, density ∝ φ(y)·w^s with
s = θ+1 or −θ (to replace ∝ φ(y)·w(y)^{θ+1}·w(−y)^{−θ}), has the characteristic function φ_θ(t) =
M(θ+it)/M(θ) = E_tilted[e^{itL}], the one thing that the contour engine needs.

**Quadrature.** φ(y)·w(y)^{s}·e^{itL} is analytic for |Im y| < πσ. On the line Im y = d there,
|w(y+id)| ≤ w(y), |w(y+id)| ≥ w(y)·cos(d/2σ) and |arg w(y+id)| ≤ d/σ, so the trapezoid rule with
step η is off by at most (Trefethen & Weideman 2014, Theorem 5.1), relative to M(θ),

    2·exp(d²/2 + |t|·d/σ + min(s,0)·log cos(d/2σ)) / (e^{2πd/η} − 1),    for every 0 < d < πσ.

To replace, w(−y) takes the place of w where it is inverted, and the loss's imaginary part is
arg w(y+id) + arg w(−y+id), at most 2d/σ. It is at most d/σ if c = (q/(1−q))²·e^{−1/σ²} ≤ 1: with
o and c/o the odds q·e^v/(1−q) at y and −y, (1 + oe^{ix})(1 + (c/o)e^{ix})·e^{−ix} = o + c/o +
(1+c)cos x − i(1−c)sin x has no positive argument.

**A refined bound.** The factor e^{|t|d/σ} is that of the largest losses. For small q and large t
nearly all mass has a small loss, and arg w(y+id) is at most q·e^v·sin(d/σ)/(1−q+q·e^v·cos(d/σ)),
far below d/σ. Cutting the line at an end Y, half-way between nodes, adds vertical segments of
length d there, with |f(Y+ix)| ≤ f(Y)·e^{d²/2 + |t|·arg w(Y+id)} and |1/(1+e^{2πx/η})| ≤ 1 (residue
theorem), and the mass beyond; between the ends the maximum may be replaced by the mean of
e^{|t|·arg w(y+id)} under the tilted law. Mean, mass and density are bounded on a coarse grid of
step h (the `guide`): the exponent rises in y, and the log-density's second derivative, −1 +
s·r(1−r)/σ², is at least −C with C = 1 + max(−s, 0)/(4σ²), so that inside a cell the density is at
most e^{C·h²/8} times the larger of its end values; this gives 2·e^{C·h²/8}·Σ p_j·e^{…(y_j + h)}.
Likewise |w(y+id)|² = w²·(1 − 2r(1−r)(1−cos(d/σ))) with r = q·e^v/w. Every cell beyond an end is
quiet, so that it does not matter in which of them the half-way point Y comes to lie.

**Truncation.** The nodes stop at a distance R beyond the places (`Line._places`) from which on the
tilted density falls at least as fast as e^{−x²/2}. At a place it is at most √(2C/π), as towards the
mass it falls no faster than e^{−Cx²/2}; so the mass beyond R is at most √C·e^{−R²/2}, and R²/2 =
E + log 2 + ½·log C leaves e^{−E} for both ends. `Line` takes an `exponent` E and keeps each of the
two errors below e^{−E}.

**Rounding** is followed node by node from `accountants.likelihood_ratio`: the exponent s·log w −
y²/2 of a node is off by `Line._exponent_rounding`, the relative error ρ of its weight.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from accountants.arrays import ComplexArray, FloatArray
from accountants.fourier.contour.oscillation import oscillations
from accountants.likelihood_ratio import (
    ELEMENTARY,
    SUMMATION,
    UNIT_ROUNDOFF,
    Ratio,
    log_gap,
    ratio,
)

_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
# Strip widths tried, in units of σ; the strip itself ends at π.
_STRIP_WIDTHS = np.array([0.1, 0.3, 0.6, 1.0, 1.5, 2.0, 2.5, 2.9])
_MAX_SIZE = 200_000
# Lines with fewer nodes than this are not worth a refined bound.
_REFINE_ABOVE = 300
# How much further down than the line its guide follows the tilted density.
_GUIDE_REACH = 150.0
# Below this |φ| its logarithm is of no use.
_FLOOR = 1e-150
# Rounding errors beyond this are not small, and first-order bounds of them no bounds.
MAX_ROUNDING = 1e-4
# expm1 overflows beyond 709.
_EXP_LIMIT = 700.0
_EXPONENTIAL = 40.0


class ContourError(Exception):
    """The contour engine cannot bound this composition in reasonable time."""


@dataclass(frozen=True, slots=True)
class Direction:
    """Remove (the loss is log w), add (it is −log w) or replace (it is log w(y) − log w(−y)).

    The symmetrised pair, of both signs, has lines of its own, see `symmetrised`.
    """

    sign: int
    is_replacing: bool = False
    is_symmetrised: bool = False

    def power(self, theta: float) -> float:
        """The s of w^s in M(θ) = E[w^s]."""
        return theta + 1.0 if self.sign > 0 else -theta

    def inverse_power(self, theta: float) -> float:
        """The largest power to which 1/w is raised in M(θ)."""
        return theta if self.is_replacing or self.sign < 0 else 0.0


REMOVE, ADD, REPLACE = Direction(+1), Direction(-1), Direction(+1, is_replacing=True)
SYMMETRISED = Direction(+1, is_symmetrised=True)


class Strip(NamedTuple):
    """A trapezoid step, and the range of y that it must cover."""

    step: float
    low: float
    high: float


@dataclass(frozen=True)
class Line:
    """One sampled Gaussian in one direction on a grid of y, good for tilts up to `theta_max`.

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
        sigma, inverse = self.noise_multiplier, self.direction.inverse_power(self.theta_max)
        reach = math.sqrt(2.0 * (self.exponent + math.log(2.0)) + math.log(self._concavity))
        d = np.minimum(reach, sigma * _STRIP_WIDTHS)
        secant = -inverse * self._factors * np.log(np.cos(d / (2.0 * sigma)))
        needed = self.exponent + 1.0 + 0.5 * d * d + self._turns * self.t_max * d / sigma + secant
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

    @property
    def _factors(self) -> float:
        """How many factors of the shape 1 + e^{(y−y′)/σ} w has."""
        return 1.0

    @property
    def _concavity(self) -> float:
        """C: the tilted log-density's second derivative is at least −C."""
        inverse = self.direction.inverse_power(self.theta_max)
        return 1.0 + 0.25 * inverse / self.noise_multiplier**2

    @property
    def _turns(self) -> float:
        """The loss's imaginary part at y + id is at most this times d/σ: see the module."""
        odds = self.sampling_rate / (1.0 - self.sampling_rate)
        is_small = odds <= math.exp(min(0.5 * self.noise_multiplier**-2, 700.0)) * (1.0 - 1e-12)
        return 2.0 if self.direction.is_replacing and not is_small else 1.0

    def _places(self) -> tuple[float, float]:
        """Points beyond which the tilted log-density falls at least as fast as −(distance)²/2.

        Its slope is −y + s·r(y)/σ with r = q·e^u/w rising from 0 to 1: negative beyond max(s,0)/σ,
        and for s < 0 positive below s·r(0)/σ, where r(y) < r(0). The line s·x needs max(s, 1). To
        replace adds θ·r(−y)/σ, between 0 and θ·r(0)/σ for y > 0, and lines at −1/σ.
        """
        power, scale = self.direction.power(self.theta_max), 1.0 / self.noise_multiplier
        odds = self.sampling_rate * math.exp(-0.5 * scale * scale)
        at_zero = odds / (1.0 - self.sampling_rate + odds)
        if self.direction.is_replacing:
            return -scale, (max(power, 1.0) + self.theta_max * at_zero) * scale
        return min(power, 0.0) * at_zero * scale, max(power, 1.0) * scale

    def _refined_strip(self, guide: "Line", d: float) -> "Strip | None":
        """The strip of width d with the mean of e^{t·arg w} in place of its maximum."""
        angle, guide_step = d / self.noise_multiplier, guide._strip.step
        if angle >= 1.5:
            return None
        power = self.direction.power(self.theta_max)
        exponents = power * guide.log_w + guide._log_base
        log_mass = exponents - guide.tilted(self.theta_max)[1]
        inverse = self.direction.inverse_power(self.theta_max)
        if self.direction.is_replacing:
            grown = self._growth(guide, angle, 0.0)
            grown = grown + self._growth(guide, angle, inverse, mirrored=True)
        else:
            grown = self._growth(guide, angle, inverse)
        bump = self._concavity * guide_step**2 / 8.0
        # At an end, a vertical segment and all mass beyond must be below e^{−E}.
        segment = log_mass - math.log(guide_step) + grown + 0.5 * d * d + math.log1p(2.0 * d)
        segment = np.maximum(segment[1:], segment[:-1]) + bump
        mass = np.exp(log_mass)
        beyond = np.maximum(np.cumsum(mass[::-1])[::-1][:-1], 1e-300)
        before = np.maximum(np.cumsum(mass)[1:], 1e-300)
        limit = -self.exponent - 2.0
        settled = limit - math.log(2.0) - bump
        loudest_before = np.maximum.accumulate(segment)
        loudest_beyond = np.maximum.accumulate(segment[::-1])[::-1]
        left = np.flatnonzero((loudest_before < limit) & (np.log(before) < settled))
        right = np.flatnonzero((loudest_beyond < limit) & (np.log(beyond) < settled))
        # The half-way points lie up to one and a half steps further out, and no step is wider.
        widest = 2.0 * math.pi / math.sqrt(2.0 * (self.exponent + 1.0))
        margin = math.ceil(1.5 * widest / guide_step)
        if not len(left) or not len(right):
            return None
        first, last = int(left[-1]), int(right[0])
        if first < margin or last + 2 + margin > len(log_mass) or first >= last:
            return None
        inside = slice(first - margin, last + 2 + margin)
        mean = float(np.logaddexp.reduce(log_mass[inside] + grown[inside])) + math.log(2.0) + bump
        needed = self.exponent + 1.0 + 0.5 * d * d + mean
        return Strip(
            2.0 * math.pi * d / needed, float(guide.nodes[first]), float(guide.nodes[last + 1])
        )

    def _growth(
        self, guide: "Line", angle: float, inverse: float, *, mirrored: bool = False
    ) -> FloatArray:
        """What w(y + id) adds to log|f|, with 1/w to the power of `inverse`; rising in y.

        A step above the guide's nodes, or above what is opposite to them; `angle` is d/σ.
        """
        guide_step, scale = guide._strip.step, 1.0 / self.noise_multiplier
        y = guide_step - guide.nodes if mirrored else guide.nodes + guide_step
        sine, cosine = math.sin(angle), math.cos(angle)
        log_odds = scale * (y - 0.5 * scale) + math.log(self.sampling_rate)
        odds = np.exp(np.minimum(log_odds - math.log1p(-self.sampling_rate), _EXP_LIMIT))
        argument = np.minimum(angle, odds * sine / (1.0 + odds * cosine))
        ratio = 1.0 - 2.0 * (1.0 - cosine) * odds / (1.0 + odds)
        shrinkage = np.log(np.maximum(ratio, 0.5 * (1.0 + cosine)))
        result: FloatArray = self.t_max * argument - 0.5 * inverse * shrinkage
        return result

    def _at(self, y: FloatArray) -> Ratio:
        """The likelihood ratio at `y`."""
        return ratio(self.sampling_rate, self.noise_multiplier, y)

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
    def _ratio(self) -> Ratio:
        at = self._at(self.nodes)
        if not self.direction.is_replacing:
            return at
        loss = at.log_w - self._mirrored.log_w
        error = at.error + self._mirrored.error + UNIT_ROUNDOFF * np.abs(loss)
        return Ratio(loss, at.posterior, error)

    @cached_property
    def _mirrored(self) -> Ratio:
        """Of w(−y)."""
        return self._at(-self.nodes)

    @property
    def log_w(self) -> FloatArray:
        """Log w at the nodes, with small relative error also where w is near 1.

        To replace, log w(y)/w(−y): M(θ) = E[(w(y)/w(−y))^s·w(−y)], with w(−y) in `_log_base`.
        """
        return self._ratio.log_w

    @cached_property
    def _log_base(self) -> FloatArray:
        base: FloatArray = -0.5 * self.nodes**2 + (math.log(self._strip.step) - _LOG_SQRT_2PI)
        return base + self._mirrored.log_w if self.direction.is_replacing else base

    def tilted(self, theta: float) -> tuple[FloatArray, float]:
        """The tilted probabilities of the nodes, and log M(θ) to within `tilted_error`."""
        exponents = self.direction.power(theta) * self.log_w + self._log_base
        top = float(exponents.max())
        mass = np.exp(exponents - top)
        total = float(mass.sum())
        return mass / total, top + math.log(total)

    def log_moments(self, thetas: FloatArray) -> FloatArray:
        """Log M at several tilts, each as `tilted` has it."""
        powers = np.array([self.direction.power(theta) for theta in thetas.tolist()])
        return log_sum(np.multiply.outer(powers, self.log_w) + self._log_base)

    @cached_property
    def tilted_error(self) -> float:
        """A bound of the absolute error of `tilted`'s log M(θ), for all θ up to `theta_max`.

        The largest rounding of any node's exponent, as no mean of them is larger, that of the
        logarithm and of the sum, and both errors of the quadrature.

        Raises:
          ContourError: The exponents are so large that their rounding is no longer small.
        """
        power = self.theta_max + 1.0
        worst = float(self._exponent_rounding(power).max())
        error = worst + self._sum_rounding + 2.0 * math.exp(-self.exponent)
        if error > MAX_ROUNDING:
            raise ContourError(f"exponents rounded by {error:.1g}")
        return error

    def cumulants(self, theta: float) -> tuple[float, float, float]:
        """Log M and its first two derivatives at real θ; approximate."""
        mass, log_moment = self.tilted(theta)
        weighted = mass * self.log_w
        mean = float(weighted.sum())
        second = float(weighted @ self.log_w)
        return log_moment, self.direction.sign * mean, second - mean * mean

    def log_moment(self, theta: float) -> tuple[float, float]:
        """Log M(θ) with small *relative* error, and a bound of its absolute error.

        For small q, M − 1 = O(q²) is the sum of the non-negative w^s − 1 − s(w − 1), whose relative
        errors `log_gap` knows. The quadrature's and the truncation's errors are those of w^s, of
        s·w and of 1 − s, together at most 2·(M + 1 + 2|s|)·e^{−E} ≤ 4·(1 + |s|)·e^{−E}·M. A refined
        line knows where the mass of w^s is, not that of w and of 1, so it has no such moment.
        """
        assert not self.refine
        power = self.direction.power(theta)
        gaps, gap_errors = log_gap(self._ratio, power)
        exponents = gaps + self._log_base
        top = float(exponents.max())
        if top == -math.inf:
            raise ContourError("all losses are below the range of doubles")
        mass = np.exp(exponents - top)
        total = float(mass.sum())
        value_log = top + math.log(total)
        present = mass > 0.0
        errors = gap_errors + self._base_rounding + UNIT_ROUNDOFF * (top - exponents)
        relative = float((mass[present] * errors[present]).sum()) / total
        relative += self._sum_rounding + 4.0 * UNIT_ROUNDOFF * abs(value_log)
        if relative > MAX_ROUNDING:
            raise ContourError(f"exponents rounded by {relative:.1g}")
        value = math.log1p(math.exp(value_log)) if value_log < _EXPONENTIAL else value_log
        # d log(1+g) = g/(1+g)·(relative error of g); e^{−40} is what the last case leaves out.
        rounding = 1.001 * relative * -math.expm1(-value) + 2.0 * ELEMENTARY * value
        rounding += math.exp(-_EXPONENTIAL) if value_log >= _EXPONENTIAL else 5e-324
        return value, rounding + 4.0 * (1.0 + abs(power)) * math.exp(-self.exponent)

    @property
    def _sum_rounding(self) -> float:
        """A bound of the absolute error of the logarithm of a sum of weights of at most 1."""
        return SUMMATION + ELEMENTARY * (2.0 + math.log(self.size))

    @cached_property
    def _base_rounding(self) -> FloatArray:
        """A bound of the rounding error of −y²/2 and its constant: node, square, sum."""
        constant = 12.0 + 10.0 * abs(math.log(self._strip.step))
        result: FloatArray = UNIT_ROUNDOFF * (constant + 2.5 * self.nodes**2)
        if self.direction.is_replacing:
            result += self._mirrored.error + 2.0 * UNIT_ROUNDOFF * np.abs(self._mirrored.log_w)
        return result

    def _exponent_rounding(self, power: float) -> FloatArray:
        """A bound of the relative error of a node's weight e^{s·log w − y²/2}.

        The error of log w, the product, the sum, the distance to the largest exponent, and exp.
        """
        size = 4.0 * abs(power) * np.abs(self.log_w) + 8.0
        result: FloatArray = (
            abs(power) * self._ratio.error + UNIT_ROUNDOFF * size + self._base_rounding
        )
        return result

    def characteristic(self, theta: float, t: FloatArray) -> tuple[ComplexArray, FloatArray]:
        """Log φ_θ(t), and a bound of the absolute error of φ_θ(t).

        φ = 1 − A + iB with A = Σ p·2sin²(tL/2), B = Σ p·sin(tL): no cancellation with the 1. With
        |e^{itL} − 1| ≤ t|L|, and u the unit roundoff, φ is moved by at most t times

        * Σ p·(ρ + Σpρ)·|L|, the errors ρ of the weights, of which the common part is normalised
          away, and 40u·Σp|L| for the normalising sum;
        * Σ p·(error of L), and 2u·Σp|L| for the roundings of tL/2 and of t itself, whose nodes the
          trapezoid rule in t takes for exact;
        * (4·8 + 6)u·Σp|L| for sines, cosines and products, 2·40u·Σp|L| for the two sums;
        * 44u·Σp|L| for the logarithm: where |φ| > 1/2, log1p(A(A−2) + B²)/2 is off by (6A + 3B²)u
          + 8u|log|φ||; elsewhere log of hypot(1−A, B) by 9u + 8u|log|φ||, which moves φ by that
          times |φ|, and 1/2 ≤ |1−φ| ≤ tΣp|L|; the angle by 9u of itself, with |φ|·|angle| ≤
          π·|1−φ|.

        Together the terms without ρ are below 220u·Σp|L|, and more where the sums are products of
        matrices (`oscillations`). Numerator and denominator of φ each have
        quadrature and truncation errors of 2e^{−E}.
        """
        mass, _ = self.tilted(theta)
        moved, roundings = oscillations(mass, self.log_w, t)
        log_phi = log_one_plus(moved)
        size, rounding = np.abs(self.log_w), self._exponent_rounding(self.direction.power(theta))
        mean_size, mean_rounding = float((mass * size).sum()), float((mass * rounding).sum())
        slope = float((mass * (rounding * size + self._ratio.error)).sum())
        slope += (mean_rounding + roundings * UNIT_ROUNDOFF) * mean_size
        error = 1.001 * slope * t + 4.0 * math.exp(-self.exponent) + _FLOOR
        return np.conj(log_phi) if self.direction.sign < 0 else log_phi, error


def log_sum(exponents: FloatArray) -> FloatArray:
    """Log Σ e^x over the last axis."""
    top = np.max(exponents, axis=-1)
    result: FloatArray = top + np.log(np.sum(np.exp(exponents - top[..., None]), axis=-1))
    return result


def log_one_plus(moved: ComplexArray) -> ComplexArray:
    """Log φ for φ = 1 + `moved`, without the cancellation with the 1."""
    a, b = -moved.real, moved.imag
    excess = a * (a - 2.0) + b * b
    near_one = excess > -0.75
    small = np.log(np.maximum(np.hypot(1.0 - a, b), _FLOOR))
    real = np.where(near_one, 0.5 * np.log1p(np.maximum(excess, -0.75)), small)
    result: ComplexArray = real + 1j * np.arctan2(b, 1.0 - a)
    return result
