r"""Few steps at small rates: a contour for the losses that matter, the others in closed form.

With few steps the loss of a composition is nearly one atom, its characteristic function hardly
decays, and `accountants.fourier.contour.sum` would need a million nodes. But then ε takes a rare
large loss in one step or in few. In the remove direction, y ~ N(0, 1) under Q and L = log w(y)
(`accountants.likelihood_ratio`), so each step's law is split smoothly along y, with Φ the normal
distribution function:

    top 1 − η,   band ρη,   bulk (1 − ρ)η,     ρ = Φ((y−y₀)/τ),  η = Φ((y₁−y)/τ₁)·1{y < y₂},

y₀ below where the loss is ε, y₁ and y₂ above. The expectation δ(ε) = E_P[(1 − e^{ε−L})₊] over n
steps is the sum of three, for the steps of which

* **one at least is top** (`Top`): its loss alone nearly always exceeds ε and what the others take
  off, so that (1 − e^{ε−L})₊ = 1 − e^{ε−L} but for a leak: 1 − (1−P_t)^n − e^ε·(1 − (1−Q_t)^n) with
  the top's masses, both closed forms. The leak E[(e^{ε−L} − 1)₊; one is top] is non-negative and,
  as (e^x − 1)₊ ≤ e^{λx} for λ ≥ 1, at most n·e^{λε}·E_P[(1−η)e^{−λL}]·E_P[e^{−λL}]^{n−1}. What 1{y
  < y₂} adds to the top is no leak, and no more than its mass;
* **all are bulk**: between 0 and a Chernoff bound, small because the bulk has no large loss;
* **none is top, one at least is band**: the measure (b+r)^{*n} − b^{*n} ≥ 0, integrated along the
  contour as in `sum`: with β, ϱ the transforms of bulk and band under the tilt θ, both relative to
  M = E[w^{θ+1}·η], φ = β + ϱ,

      (e^{nK−θε}/2π)·∫ (φ^n − β^n)·e^{−itε}/(z(z+1)) dt,   z = θ + it,   K = log M,

  by the trapezoid rule, whose aliases are Σ_k e^{θkW}·B(ε + kW), k ≠ 0, of the same non-negative
  measure's B: those with k < 0 are at most n·E_P[ρη]/(e^{θW} − 1), those with k > 0 are bounded by
  Chernoff's bound at any θ′ > θ as in `sum`.

**Few nodes** in t are enough: |φ^n − β^n| ≤ n|ϱ|, as |φ|, |β| ≤ 1, and ϱ is the transform of a
smooth bump. What is cut off at t_max is at most n·R(t_max)/(π·t_max) with the falling bound R of
`accountants.fourier.contour.split`, which also bounds the quadrature in y.

**Rounding** of the nodes' weights as in `quadrature`, and log Φ within `NDTR_ERROR` of itself;
then, with errors e_φ, e_ϱ, F = max(|φ|, |β|) with its error, and g = φ^n − (φ−ϱ)^n,

    |error of g| ≤ n(n−1)·F^{n−2}·|ϱ|·e_φ + n·F^{n−1}·e_ϱ,

because on the segment between true and computed values φ − sϱ, 0 ≤ s ≤ 1, is no larger than F.
"""

import math
from functools import cached_property

import numpy as np
from scipy.special import log_ndtr, ndtr

from accountants.arrays import ComplexArray, FloatArray
from accountants.bounds import Bounds
from accountants.fourier.contour.oscillation import oscillations
from accountants.fourier.contour.quadrature import ContourError, log_sum
from accountants.fourier.contour.split import NDTR_ERROR, Guide, Nodes, Split
from accountants.likelihood_ratio import ELEMENTARY, SUMMATION, UNIT_ROUNDOFF, ratio

# Nodes with less mass are left out: all of them together have less than 1e-50.
_NEGLIGIBLE = 1e-60
_EXPONENTIAL = 30.0
# For e^ε not to overflow.
_LARGEST = 600.0
_MOST_NODES, _MOST_WORK = 20_000, 100_000_000


class Top:
    """What steps at the top of the law add to δ(ε), exactly but for a leak; see the module.

    Args:
      split: Where the top is.
      powers: λ − 1 > 0 of the leak's bounds.
      log_others: Upper bounds of log E_P[e^{−λL}].
    """

    def __init__(self, split: Split, powers: FloatArray, log_others: FloatArray) -> None:
        self.split = split
        # E_P[(1−η)e^{−λL}] = E_Q[(1−η)w^{1−λ}] on cells: 1 − η at the upper ends, w at the lower.
        edges = np.concatenate(
            (
                [-math.inf],
                np.arange(-10.0, split.end - 10.0 * split.end_width, 0.5),
                split.end + split.end_width * np.arange(-10.0, 10.1, 0.25),
                [math.inf],
            )
        )
        edges = np.unique(edges)
        at = ratio(
            split.step.sampling_rate, split.step.noise_multiplier, np.maximum(edges[:-1], -40.0)
        )
        lowest = np.maximum(
            at.log_w - at.error, math.log1p(-split.step.sampling_rate) * (1.0 + 1e-15)
        )
        lowest[0] = math.log1p(-split.step.sampling_rate) * (1.0 + 1e-15)
        log_top = log_ndtr((edges[1:] - split.end) / split.end_width)
        # Of y > 0 by the upper tail, which has no cancellation.
        upper, lower = ndtr(-edges), ndtr(edges)
        masses = np.where(edges[:-1] > 0.0, upper[:-1] - upper[1:], lower[1:] - lower[:-1])
        with np.errstate(divide="ignore"):
            tails = np.where(edges[:-1] > 0.0, upper[:-1], lower[1:])
            log_cells = np.log(masses + 2.0 * NDTR_ERROR * tails) + log_top
        tops = log_sum(log_cells - np.multiply.outer(powers, lowest))
        self._leak_tilts = powers + 1.0
        self._log_leaks = tops + (split.count - 1) * log_others + math.log(split.count) + 1e-3

    @cached_property
    def _masses(self) -> tuple[float, float, float]:
        """Q_t and P_t but for what 1{y < y₂} adds, and a bound of that, of P."""
        split, mean = self.split, 1.0 / self.split.step.noise_multiplier
        wide = math.hypot(1.0, split.end_width)
        without, with_ = ndtr(-split.end / wide), ndtr((mean - split.end) / wide)
        q = split.step.sampling_rate
        gone = ndtr((split.end - split.cut) / split.end_width)
        gone *= (1.0 - q) * ndtr(-split.cut) + q * ndtr(mean - split.cut)
        return float(without), float((1.0 - q) * without + q * with_), 1.01 * float(gone)

    def value_and_slope(self, epsilon: float) -> tuple[float, float]:
        """1 − (1−P_t)^n − e^ε·(1 − (1−Q_t)^n) and its derivative, for ε ≤ `_LARGEST`."""
        q_mass, p_mass, _ = self._masses
        n = self.split.count
        other = math.exp(min(epsilon, _LARGEST)) * -math.expm1(n * math.log1p(-q_mass))
        return -math.expm1(n * math.log1p(-p_mass)) - other, -other

    def delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """Ends of the part of δ(ε)."""
        value, slope = self.value_and_slope(epsilon)
        error = 2.0 * NDTR_ERROR * (abs(value) + 2.0 * abs(slope))
        lost = self.split.count * self._masses[2]
        return max(value - error, 0.0), value + error + lost + self.leak(epsilon)

    def leak(self, epsilon: float) -> float:
        """A bound of E[(e^{ε−L} − 1)₊] over what has a step at the top."""
        return math.exp(min(float(np.min(self._log_leaks + self._leak_tilts * epsilon)), 700.0))


class BandSum:
    """δ(ε) of n steps near one ε: the contour's sum, the top, and bounds of the rest.

    Args:
      guide: The split, and what is bounded on it.
      tilt: θ.
      period: W.
      t_max: Where the contour is cut off.
      exponent: The rule in y is off by about e^{−exponent}.
      tilts: θ′ of Chernoff bounds.
      top: What the steps at the top add.

    Raises:
      ContourError: Too many nodes.
    """

    def __init__(
        self,
        guide: Guide,
        *,
        tilt: float,
        period: float,
        t_max: float,
        exponent: float,
        tilts: FloatArray,
        top: Top,
    ) -> None:
        split = guide.split
        self._n, self._tilt, self._period = split.count, tilt, period
        size = math.ceil(t_max * period / (2.0 * math.pi)) + 2
        step, self._rule_error = guide.quadrature(
            tilt, t_max * 1.001 + 4.0 * math.pi / period, exponent
        )
        if size > _MOST_NODES or size * (split.cut - guide.low) > _MOST_WORK * step:
            raise ContourError(f"{size} nodes, {step} apart in y")
        self._t = (2.0 * math.pi / period) * np.arange(size, dtype=np.float64)
        self._z: ComplexArray = (tilt + 1j * self._t).astype(np.complex128)
        nodes = Nodes.below_cut(split, step, guide.low)
        self._terms, self._error, self._phase_error = self._build(guide, nodes)
        self._top = top
        self._tilts = tilts
        band_mass = guide.log_moments(np.zeros(1), band=True)[0]
        self._left = (
            self._n * math.exp(min(float(band_mass), 0.0)) / math.expm1(min(tilt * period, 700.0))
        )
        self._whole = self._n * guide.log_moments(tilts)
        self._bulk = self._n * guide.log_moments(tilts, bulk=True)
        self._bulk += tilts * np.log(tilts) - (1.0 + tilts) * np.log1p(tilts) + 1e-6

    def _build(self, guide: Guide, nodes: Nodes) -> tuple[ComplexArray, float, float]:
        n, tilt, t = self._n, self._tilt, self._t
        exponents, rounding = nodes.exponents(tilt), nodes.weight_rounding(tilt)
        self._log_moment = float(log_sum(exponents))
        mass = np.exp(exponents - self._log_moment)
        mass /= mass.sum()
        band = mass * np.exp(nodes.log_band)
        worst = float((mass * rounding).sum()) + SUMMATION + 4.0 * ELEMENTARY
        self._moment_error = n * (
            1.1 * worst + self._rule_error + 1e-14 * (1.0 + abs(self._log_moment))
        )
        if self._moment_error > 1e-4:
            raise ContourError(f"moments rounded by {self._moment_error:.1g}")
        (whole, roundings), (part, _) = (
            oscillations(weights[weights > _NEGLIGIBLE], nodes.log_w[weights > _NEGLIGIBLE], t)
            for weights in (mass, band)
        )
        band_mass = float(band.sum())
        part = (part + band_mass).astype(np.complex128)
        sizes = np.abs(nodes.log_w)

        def moved(weights: FloatArray, off: FloatArray) -> float:
            """How much of a transform rounding moves, per unit of t."""
            slope = float((weights * ((off + worst) * sizes + nodes.log_w_error)).sum())
            return 1.01 * slope + roundings * UNIT_ROUNDOFF * float((weights * sizes).sum())

        band_rounding = rounding + nodes.band_rounding
        phi_error = moved(mass, rounding) * t + 3.0 * self._rule_error + 1e-50
        part_error = moved(band, band_rounding) * t + 3.0 * self._rule_error + 1e-50
        part_error += float((band * (band_rounding + worst)).sum())
        part_error += 100.0 * UNIT_ROUNDOFF * band_mass
        parts = np.abs(part) + part_error
        values, rounding_error, largest = _difference_of_powers(1.0 + whole, part, n)
        # The true bases are at most 1, the computed ones `largest`.
        largest = np.maximum(largest, np.minimum(largest + phi_error + part_error, 1.0))
        largest = np.log(largest)
        error = n * (n - 1.0) * np.exp((n - 2.0) * largest) * parts * phi_error
        error += n * np.exp((n - 1.0) * largest) * part_error
        error += rounding_error + (len(t) + 60.0) * UNIT_ROUNDOFF * np.abs(values)
        weight = np.full(len(t), 2.0 / self._period)
        weight[0] *= 0.5
        pole = self._z * (self._z + 1.0)
        scale = weight / np.abs(pole)
        log_tail = float(guide.log_decay(tilt, t[-1:])[0]) + math.log(n / (math.pi * t[-1]))
        total_error = float((scale * error).sum()) * 1.001 + math.exp(log_tail)
        phase_error = 16.0 * UNIT_ROUNDOFF * float((scale * np.abs(values) * t).sum())
        return values * (weight / pole), total_error, phase_error

    def value_and_slope(self, epsilon: float) -> tuple[float, float]:
        """About δ(ε) and its derivative."""
        rotated = self._terms * np.exp(-1j * self._t * epsilon)
        scale = math.exp(min(self._n * self._log_moment - self._tilt * epsilon, 700.0))
        value, slope = self._top.value_and_slope(epsilon)
        value += scale * float(rotated.real.sum())
        return value, slope - scale * float((rotated * self._z).real.sum())

    def delta_bounds(self, epsilon: float) -> Bounds:
        """A certified interval for δ(ε) in the remove direction."""
        if epsilon > _LARGEST:
            return Bounds(0.0, 1.0)
        total = float((self._terms * np.exp(-1j * self._t * epsilon)).real.sum())
        error = self._error + self._phase_error * epsilon
        log_scale = self._n * self._log_moment - self._tilt * epsilon
        slack = self._moment_error + 1e-15 * (4.0 + abs(log_scale) + self._tilt * epsilon)
        lower = math.exp(min(log_scale - slack, 700.0)) * max(total - error, 0.0)
        upper = math.exp(min(log_scale + slack, 700.0)) * max(total + error, 0.0)
        top_lower, top_upper = self._top.delta_bounds(epsilon)
        lower = (lower + top_lower - self._alias(epsilon)) * (1.0 - 1e-14)
        upper = (upper + top_upper + self._all_bulk(epsilon)) * (1.0 + 1e-14) + 5e-324
        return Bounds(min(1.0, max(0.0, lower)), min(1.0, max(0.0, upper)))

    def _all_bulk(self, epsilon: float) -> float:
        return math.exp(min(float(np.min(self._bulk - self._tilts * epsilon)), 0.0))

    def _alias(self, epsilon: float) -> float:
        beyond = self._tilts > self._tilt * (1.0 + 1e-9)
        excess = (self._tilts[beyond] - self._tilt) * self._period
        logs = self._whole[beyond] - self._tilts[beyond] * epsilon - excess
        logs -= np.log(-np.expm1(-excess))
        return (self._left + math.exp(min(float(np.min(logs)), 700.0))) * (1.0 + 1e-9)


def _difference_of_powers(
    phi: ComplexArray, part: ComplexArray, n: int
) -> tuple[ComplexArray, FloatArray, FloatArray]:
    """φ^n − (φ − part)^n, a bound of the rounding, and the larger modulus of the two bases.

    Where |part| < |φ|/2 it is φ^n·(1 − e^x), x = n·log1p(−part/φ), of size |x|·max(|φ|, |β|)^n;
    elsewhere, and where e^x is large, the powers' difference.
    """
    bulk = phi - part
    moduli = [np.maximum(np.abs(base), 1e-150) for base in (phi, bulk)]
    logs = [
        np.log(modulus) + 1j * np.angle(base)
        for modulus, base in zip(moduli, (phi, bulk), strict=True)
    ]
    largest = np.maximum(*moduli)
    near = np.abs(part) < 0.5 * moduli[0]
    exponent = n * _log1p(np.where(near, -part / np.where(near, phi, 1.0), 0.0))
    near &= exponent.real < _EXPONENTIAL
    exponent = np.where(near, exponent, 0.0)
    powers = [np.exp(n * log) for log in logs]
    values = np.where(near, -powers[0] * _expm1(exponent), powers[0] - powers[1])
    size = np.exp(n * np.log(largest)) * np.where(near, np.abs(exponent), 2.0)
    roundings = 64.0 + 64.0 * n + 8.0 * n * np.maximum(np.abs(logs[0]), np.abs(logs[1]))
    return values, UNIT_ROUNDOFF * roundings * size, largest


def _log1p(z: ComplexArray) -> ComplexArray:
    """log(1 + z), off by few u·|z| where z is small."""
    x, y = z.real, z.imag
    near = np.abs(z) < 0.5
    inside = np.where(near, x * (2.0 + x) + y * y, 0.0)
    far = np.log(np.maximum(np.abs(1.0 + z), 1e-300))
    return np.asarray(np.where(near, 0.5 * np.log1p(inside), far) + 1j * np.angle(1.0 + z))


def _expm1(z: ComplexArray) -> ComplexArray:
    """e^z − 1, off by few u·|z| where z is small."""
    x, y = z.real, z.imag
    real = np.expm1(x) * np.cos(y) - 2.0 * np.sin(0.5 * y) ** 2
    return np.asarray(real + 1j * (np.exp(x) * np.sin(y)))
