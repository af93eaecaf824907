r"""The symmetrised pair of batches of fixed size as a line: an integral over half of the noise.

That pair (`accountants.fourier.pairs`) has the law of log w under P = (1−q)N(0,σ²)+qN(1,σ²) where w
> 1, its mirror image, and the rest as an atom at 0; σ is half of the release's noise multiplier. As
w > 1 beyond y = b = 1/(2σ), y ~ N(0, 1) and φ its density,

    M(z) = a + ∫_b^∞ φ·(w^{z+1} + w^{−z}) dy = 1 + ∫_b^∞ φ·w^{−z}·(w^z − 1)·(w^{z+1} − 1) dy,

a = (1−q)·erf(b/√2) the atom. At real z the last integrand is a product of positive factors, so that
log M has a small relative error however close M is to 1.

**The atom.** With n steps it is a^n at loss 0, where (1 − e^{ε−L})₊ = 0 for every ε ≥ 0. So it is
taken out: the contour's sum is over Π M_e^{n_e} − Π a_e^{n_e}, the transform of a positive measure
whose δ(ε) is that of the composition (`accountants.fourier.contour.sum`).

**Quadrature.** The integrand is not analytic at b, so panels [c−h, c+h] have Gauss–Legendre rules.
Let f be analytic within the ellipse with half-axes √(h²+d²) and d, where ρ = d/h + √((d/h)²+1) is
its Bernstein parameter, and |f| ≤ G there. Its Chebyshev coefficients are at most 2Gρ^{−k}; the
rule with N ≥ 2 nodes is exact for those below 2N and for the odd ones, and off by at most 32/15 for
each other, so that it errs by at most (64/15)·h·G·ρ^{−2N}/(1 − ρ^{−2}) (Trefethen 2013, Theorem
19.3). On the ellipse, with x from c − √(h²+d²) to c + √(h²+d²) and δ = d/σ < π,

* |w^{s+it}| ≤ w(x)^s·e^{t·arg}, arg ≤ arctan(o·sin δ/(1 + o·cos δ)) at the odds o = q·e^v/(1−q) of
  the right end, or arcsin o where a smaller δ has a larger arg; |φ| ≤ φ(x)·e^{d²/2}; and s·log w −
  x²/2, whose second derivative is at least −1, is at most its larger end value and an eighth of the
  interval's square more;
* |w^{−θ}| ≤ w(x)^{−θ}·cos(δ/2)^{−θ}, which falls in x, as does φ from 0 on.

What is asked is an error of e^{−E} relative to M(θ). A line that is good for all tilts up to
`theta_max` compares a panel either with M ≥ 1, or with the panel's own share of M, at least
2h·e^{s·log w(c) − c²/2 − h²/6}/√(2π) (Jensen, twice): both comparisons are log-convex in s, so they
are made at s = 1 and s = θ_max + 1. A line that is good for `theta_max` only knows M, and leaves
out panels that have no mass.

**Truncation.** Beyond Y = (θ+1)/σ + R, φw^{θ+1} falls at least as fast as e^{−x²/2} does from R on;
as in `quadrature`, what is cut off is at most e^{−R²/2} of ∫φw^{θ+1} over all y, which is at most
M + P(w < 1) ≤ 2M; and ∫_Y φw^{−θ} ≤ ½e^{−R²/2}. R²/2 = E + 1.

**Rounding** as in `quadrature`; a node is off by 4u(|y| + h) more than there, a rule's weight by
2048u of itself (measured against balls up to 32 nodes, see tests/crosscheck/accountants).
"""

import functools
import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from accountants.arrays import ComplexArray, FloatArray, IntArray
from accountants.fourier.contour.decay import steps
from accountants.fourier.contour.oscillation import oscillations
from accountants.fourier.contour.quadrature import (
    ADD,
    MAX_ROUNDING,
    REMOVE,
    SYMMETRISED,
    ContourError,
    Direction,
    log_one_plus,
    log_sum,
)
from accountants.likelihood_ratio import ELEMENTARY, SUMMATION, UNIT_ROUNDOFF, Ratio, ratio

_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
_MOST_NODES, _NODES_APART = 32, 4
RULE_ROUNDING = 2048.0 * UNIT_ROUNDOFF
_MOST_PANELS = 2_000
_WIDEST, _MOST_HALVINGS = 2.0, 12
# No ellipse reaches higher than this much of σ.
_LARGEST_ANGLE = 2.6
# Of the decay bound: steps each side, how far they reach, and what mass they may leave out.
_STEPS, _FLANK, _LEFT_OUT = 128, 4.5, 1e-5


class _Panels(NamedTuple):
    """Panels: their middles, their half-widths, and how many nodes each has."""

    middles: FloatArray
    halves: FloatArray
    sizes: IntArray


@functools.lru_cache(maxsize=16)
def gauss_legendre(size: int) -> tuple[FloatArray, FloatArray]:
    """Nodes, within u, and weights, within `RULE_ROUNDING` of themselves."""
    nodes, weights = np.polynomial.legendre.leggauss(size)
    return nodes, weights


@dataclass(frozen=True)
class SymmetrisedLine:
    """One symmetrised pair on panels of y, with the parts that a `Line` has.

    Attributes:
      sampling_rate: q in (0, 1).
      noise_multiplier: σ, half that of the release.
      theta_max: The largest tilt that will be asked for.
      t_max: The largest frequency that will be asked for.
      exponent: E: see the module.
      refine: Whether the line is for the tilt `theta_max` only.
      direction: Always `SYMMETRISED`.
    """

    sampling_rate: float
    noise_multiplier: float
    theta_max: float
    t_max: float
    exponent: float
    refine: bool = False
    direction: Direction = SYMMETRISED

    @property
    def start(self) -> float:
        """The b from which on the loss is positive."""
        return 0.5 / self.noise_multiplier

    @property
    def atom(self) -> tuple[float, float]:
        """The probability of loss 0, and a bound of its relative error."""
        value = (1.0 - self.sampling_rate) * math.erf(self.start * math.sqrt(0.5))
        return value, 32.0 * UNIT_ROUNDOFF

    @cached_property
    def _log_moment(self) -> tuple[float, float]:
        """Log M(`theta_max`), by a line for real tilts."""
        plain = replace(self, t_max=0.0, refine=False)
        return plain.log_moment(self.theta_max)

    @cached_property
    def _panels(self) -> _Panels:
        sigma, reach = self.noise_multiplier, math.sqrt(2.0 * (self.exponent + 1.0))
        length = (self.theta_max + 1.0) / sigma + reach - self.start
        half = min(_WIDEST, sigma)
        if length > _MOST_PANELS * half:
            raise ContourError("an integral over too many panels")
        count = math.ceil(0.5 * length / half)
        middles = self.start + half * (2.0 * np.arange(count, dtype=np.float64) + 1.0)
        halves = np.full(count, half)
        # Whoever needs too many nodes is halved.
        done: list[_Panels] = []
        for _ in range(_MOST_HALVINGS):
            sizes = self._sizes(middles, halves, 2.0 * half * count)
            fits = sizes <= _MOST_NODES
            done.append(_Panels(middles[fits], halves[fits], sizes[fits]))
            if bool(fits.all()):
                return _Panels(*(np.concatenate(parts) for parts in zip(*done, strict=True)))
            shift = 0.5 * halves[~fits]
            middles = np.concatenate((middles[~fits] - shift, middles[~fits] + shift))
            halves = np.tile(shift, 2)
        raise ContourError("no panel is narrow enough")

    def _log_w(self, y: FloatArray) -> FloatArray:
        return ratio(self.sampling_rate, self.noise_multiplier, y).log_w

    def _bounds(
        self, middles: FloatArray, halves: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Per height and panel: log G of both powers at θ_max, the same at 0, and 2·log ρ."""
        sigma, theta = self.noise_multiplier, self.theta_max
        heights = np.array([0.5, 1.0, 1.6, 2.4])[:, None] * halves
        angle = np.minimum(heights, math.sqrt(2.0 * self.exponent)) / sigma
        angle = np.minimum(angle, _LARGEST_ANGLE)
        d = sigma * angle
        wide = np.sqrt(halves * halves + d * d)
        left, right = middles - wide, middles + wide
        log_left, log_right = self._log_w(left), self._log_w(right)
        log_odds = (right - self.start) / sigma + math.log(self.sampling_rate)
        odds = np.exp(np.minimum(log_odds - math.log1p(-self.sampling_rate), 600.0))
        argument = np.arctan2(odds * np.sin(angle), 1.0 + odds * np.cos(angle))
        turned = np.cos(angle) < -odds
        argument = np.where(turned, np.arcsin(np.minimum(odds, 1.0)), argument)
        common = 0.5 * d * d + self.t_max * argument * (1.0 + 1e-12) - _LOG_SQRT_2PI + 1e-9

        def largest(tilt: float) -> FloatArray:
            s = tilt + 1.0
            up = np.maximum(s * log_left - 0.5 * left**2, s * log_right - 0.5 * right**2)
            down = -tilt * (log_left + np.log(np.cos(0.5 * angle)))
            down = down - 0.5 * np.maximum(left, 0.0) ** 2
            result: FloatArray = np.logaddexp(up + 0.5 * wide * wide, down) + common
            return result

        decay = 2.0 * np.log(d / halves + np.sqrt((d / halves) ** 2 + 1.0))
        return largest(theta), largest(0.0), decay

    def _sizes(self, middles: FloatArray, halves: FloatArray, length: float) -> IntArray:
        """The least numbers of nodes for panels to err by e^{−E} times their share of `length`."""
        top, bottom, decay = self._bounds(middles, halves)
        if self.refine:
            excess = top - self._log_moment[0] + 1e-6
        else:
            # Either relative to M ≥ 1, or to the panel's own mass under w^s.
            log_w, flat = self._log_w(middles), -0.5 * middles**2 - halves * halves / 6.0
            own = np.log(2.0 * halves) + flat - _LOG_SQRT_2PI
            relative = np.maximum(top - (self.theta_max + 1.0) * log_w, bottom - log_w) - own
            # A share of all panels' mass is no less than the panel's own.
            relative = relative + np.log(2.0 * halves / length)
            excess = np.minimum(np.logaddexp(top, bottom), relative)
        needed = excess + math.log(32.0 / 15.0 * length) + self.exponent
        needed = (needed - np.log(-np.expm1(-decay))) / decay
        size = np.clip(np.min(needed, axis=0), 2.0, 1e6)
        rounded: IntArray = _NODES_APART * np.ceil(size / _NODES_APART).astype(np.int64)
        if self.refine:
            rounded[self._is_empty(middles, halves, length)] = 0
        return rounded

    def _is_empty(
        self, middles: FloatArray, halves: FloatArray, length: float
    ) -> NDArray[np.bool_]:
        """Whether so little mass is in a panel, tilted, that it may be left out."""
        # On the real line; |e^{itL} − 1| ≤ 2.
        left, right = middles - halves, middles + halves
        s, log_left, log_right = self.theta_max + 1.0, self._log_w(left), self._log_w(right)
        up = np.maximum(s * log_left - 0.5 * left**2, s * log_right - 0.5 * right**2)
        largest = np.logaddexp(up + 0.5 * halves * halves, -0.5 * left**2) - _LOG_SQRT_2PI
        mass = largest + math.log(2.0 * length) + 1e-6 - self._log_moment[0]
        result: NDArray[np.bool_] = mass < -self.exponent
        return result

    @property
    def size(self) -> int:
        """The number of terms in a sum over the loss's law."""
        return 2 * int(self._panels.sizes.sum())

    @cached_property
    def _places(self) -> tuple[FloatArray, FloatArray]:
        """The nodes, and their weights."""
        middles, halves, sizes = self._panels
        places, weights = [], []
        for size in np.unique(sizes[sizes > 0]).tolist():
            nodes, node_weights = gauss_legendre(size)
            chosen = halves[sizes == size, None]
            places.append((middles[sizes == size, None] + chosen * nodes).ravel())
            weights.append((chosen * node_weights).ravel())
        y, weight = np.concatenate(places), np.concatenate(weights)
        order = np.argsort(y)
        return y[order], weight[order]

    @property
    def nodes(self) -> FloatArray:
        """The y of the quadrature."""
        return self._places[0]

    @cached_property
    def _ratio(self) -> Ratio:
        at = ratio(self.sampling_rate, self.noise_multiplier, self.nodes)
        off = self._node_error / self.noise_multiplier * at.posterior
        return Ratio(np.maximum(at.log_w, 0.0), at.posterior, at.error + off)

    @property
    def _node_error(self) -> FloatArray:
        result: FloatArray = 4.0 * UNIT_ROUNDOFF * (np.abs(self.nodes) + self._panels.halves.max())
        return result

    @cached_property
    def _log_base(self) -> FloatArray:
        result: FloatArray = np.log(self._places[1]) - 0.5 * self.nodes**2 - _LOG_SQRT_2PI
        return result

    @cached_property
    def losses(self) -> FloatArray:
        """The loss at each node, its mirror image, and 0."""
        return np.concatenate((self._ratio.log_w, -self._ratio.log_w, [0.0]))

    def _exponents(self, theta: float) -> FloatArray:
        """The logarithms of the weights in M(θ), for each of `losses`."""
        base, log_w = self._log_base, self._ratio.log_w
        atom = math.log(max(self.atom[0], 1e-300))
        return np.concatenate(((theta + 1.0) * log_w + base, -theta * log_w + base, [atom]))

    def _exponent_rounding(self, theta: float) -> FloatArray:
        """A bound of the relative error of a node's weight."""
        size = 100.0 + 10.0 * np.abs(np.log(self._places[1])) + 6.0 * self.nodes**2
        size = size + 4.0 * (theta + 1.0) * self._ratio.log_w
        result: FloatArray = (
            (theta + 1.0) * self._ratio.error
            + UNIT_ROUNDOFF * size
            + self._node_error * np.abs(self.nodes)
            + RULE_ROUNDING
        )
        return result

    def tilted(self, theta: float) -> tuple[FloatArray, float]:
        """The tilted probabilities of `losses`, and log M(θ) to within `tilted_error`."""
        exponents = self._exponents(theta)
        top = float(exponents.max())
        mass = np.exp(exponents - top)
        total = float(mass.sum())
        return mass / total, top + math.log(total)

    def log_moments(self, thetas: FloatArray) -> FloatArray:
        """Log M at several tilts, each as `tilted` has it."""
        return log_sum(np.array([self._exponents(theta) for theta in thetas.tolist()]))

    @cached_property
    def tilted_error(self) -> float:
        """A bound of the absolute error of `tilted`'s log M(θ), for all θ up to `theta_max`.

        Raises:
          ContourError: The exponents are so large that their rounding is no longer small.
        """
        error = float(self._exponent_rounding(self.theta_max).max()) + self._sum_rounding
        error += 6.0 * math.exp(-self.exponent)
        if error > MAX_ROUNDING:
            raise ContourError(f"exponents rounded by {error:.1g}")
        return error

    @property
    def _sum_rounding(self) -> float:
        return SUMMATION + ELEMENTARY * (2.0 + math.log(self.losses.size))

    def cumulants(self, theta: float) -> tuple[float, float, float]:
        """Log M and its first two derivatives at real θ; approximate."""
        mass, log_moment = self.tilted(theta)
        weighted = mass * self.losses
        mean = float(weighted.sum())
        return log_moment, mean, float(weighted @ self.losses) - mean * mean

    def log_moment(self, theta: float) -> tuple[float, float]:
        """Log M(θ) with small *relative* error, and a bound of its absolute error.

        M − 1 is a sum of products (1 − w^{−θ})·(w^{θ+1} − 1). If log w is off by e, they are off by
        at most (2/log w + θ + 1)·e of themselves, as x/(e^x − 1) ≤ 1 and xe^x/(e^x − 1) ≤ 1 + x.
        The four integrals' errors are each 2e^{−E} of M at most.
        """
        log_w, error = self._ratio.log_w, self._ratio.error
        present = log_w > 0.0
        x = theta * log_w[present]
        # log of (1 − e^{−x})·(e^{x′} − 1), x′ = x + log w, without an overflow.
        longer = x + log_w[present]
        first, second = np.log(-np.expm1(-x)), np.log(-np.expm1(-longer))
        exponents = first + second + longer + self._log_base[present]
        top = float(exponents.max())
        mass = np.exp(exponents - top)
        total = float(mass.sum())
        value_log = top + math.log(total)
        size = (2.0 / log_w[present] + theta + 1.0) * error[present]
        rounding = self._exponent_rounding(0.0)[present] + size
        logs = np.abs(first) + np.abs(second) + longer
        rounding += UNIT_ROUNDOFF * (40.0 + 10.0 * logs + top - exponents)
        relative = float((mass * rounding).sum()) / total
        relative += self._sum_rounding + 4.0 * UNIT_ROUNDOFF * abs(value_log)
        if relative > MAX_ROUNDING:
            raise ContourError(f"exponents rounded by {relative:.1g}")
        gap = math.exp(min(value_log, 700.0))
        value = math.log1p(gap) if value_log < 700.0 else value_log
        off = 1.001 * relative * min(1.0, gap) + 2.0 * ELEMENTARY * value + 5e-324
        return value, off + 12.0 * math.exp(-self.exponent)

    def characteristic(self, theta: float, t: FloatArray) -> tuple[ComplexArray, FloatArray]:
        """Log φ_θ(t), and a bound of the absolute error of φ_θ(t); see `Line.characteristic`.

        φ − 1 = Σ p(e^{itL} − 1) with p the weights over M, which is not their sum but `log_moment`
        of a line for real tilts: its error is one of all weights. Rule, truncation and panels left
        out move the sum by 6e^{−E} at most.
        """
        assert theta == self.theta_max
        log_moment, moment_error = self._log_moment
        mass = np.exp(self._exponents(theta) - log_moment)[:-1]
        losses = self.losses[:-1]
        moved, roundings = oscillations(mass, losses, t)
        sizes, rounding = np.abs(losses), np.tile(self._exponent_rounding(theta), 2)
        off = np.tile(self._ratio.error, 2)
        common = moment_error + UNIT_ROUNDOFF * (roundings + 8.0 * abs(log_moment))
        slope = float((mass * ((rounding + common) * sizes + off)).sum())
        return log_one_plus(moved), 1.001 * slope * t + 7.0 * math.exp(-self.exponent) + 1e-150

    def steps(self, theta: float) -> tuple[FloatArray, FloatArray]:
        """Heights and lengths of a step function below the tilted density of the loss.

        Right of 0 it is that of the remove direction, left of it that of the add direction, but
        with this pair's M.
        """
        log_moment = self.tilted(theta)[1] + self.tilted_error
        mass = np.exp((theta + 1.0) * self._ratio.log_w + self._log_base - log_moment)
        beyond = np.cumsum(mass[::-1])[::-1]
        end = max(float(self.nodes[int((beyond > _LEFT_OUT).sum()) - 1]), self.start + _FLANK)
        sides = []
        for direction, last in ((ADD, self.start + _FLANK), (REMOVE, end)):
            y = np.linspace(self.start, last, _STEPS + 1)
            sides.append(
                steps(self.sampling_rate, self.noise_multiplier, direction, theta, log_moment, y)
            )
        (low, low_lengths), (high, high_lengths) = sides
        return np.append(low[::-1], high), np.append(low_lengths[::-1], high_lengths)
