r"""The smooth split of one step's law into bulk, band and top, and what is bounded on it.

The names are those of `accountants.fourier.contour.band`, which says what the split is for: ρ and η
cut the law along y, f is the density of y under the tilt θ, with η, ϱ the band's transform.

**Why few nodes.** |φ^n − β^n| ≤ n|ϱ|, as |φ|, |β| ≤ 1, and ϱ is the transform of a smooth bump.
Moved to Im y = d, its integrand is at most e^{Λd²/2}·f(y)·e^{−t·arg w(y+id)}, Λ = 1 + 1/τ² + 1/τ₁²,
f being the tilted density: |φ(y+id)| = e^{d²/2}φ(y), |w(y+id)| ≤ w(y), |Φ(x+ic)| ≤ e^{c²/2}Φ(x).
This bound R(t), with the vertical piece at y₂ where f is negligible, falls in t; what is cut off at
t_max is at most n·R(t_max)/(π·t_max).

**Quadrature in y.** With nodes half a step η_y off both ends Y, the trapezoid rule is off by at
most (residue theorem, on rectangles of height d above and below; Trefethen & Weideman 2014)

    2e^{Λd²/2}·(∫f·e^{t·arg w(y+id)} dy/(e^{2πd/η_y} − 1) + d·Σ_Y f(Y)),

the second term as long as t·arg w(Y+ix) ≤ 2πx/η_y for 0 ≤ x ≤ d: there 1/|1 + e^{2πx/η_y}| takes
off what e^{itL} adds. Integrals of f times something monotone are bounded on cells of width h: (log
f)″ ≥ −Λ, as log w is convex and (log Φ)″ > −1, so that f inside a cell is at most e^{Λh²/8} times
the larger of its end values. Below the lower end w ≤ 1, and the mass there is at most Φ.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import log_ndtr

from accountants.arrays import FloatArray
from accountants.fourier.contour.quadrature import ContourError, log_sum
from accountants.likelihood_ratio import UNIT_ROUNDOFF, ratio
from accountants.releases import PoissonGaussian

_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
# The relative error of ndtr and log_ndtr, at a rounded argument.
NDTR_ERROR = 1e-11
# The relative error of masses on the guide: its step is half the width of the narrowest Gaussian.
_GUIDE_ERROR = 1e-9
_WIDTHS = np.array([0.7, 1.7, 3.0, 4.5, 7.0, 11.0])
_MOST_GUIDE = 4_000


@dataclass(frozen=True, kw_only=True)
class Split:
    """Where one step's law is cut; see the module.

    Attributes:
      step: The sampled Gaussian.
      count: n.
      start, start_width: y₀ and τ: where the band begins.
      end, end_width: y₁ and τ₁: where it ends.
      cut: y₂, above y₁.
    """

    step: PoissonGaussian
    count: int
    start: float
    start_width: float
    end: float
    end_width: float
    cut: float

    @property
    def roughness(self) -> float:
        """Λ."""
        return 1.0 + self.start_width**-2 + self.end_width**-2

    def odds(self, y: FloatArray) -> FloatArray:
        """q·e^v/(1 − q), the odds that the record was sampled."""
        q, scale = self.step.sampling_rate, 1.0 / self.step.noise_multiplier
        result: FloatArray = q / (1.0 - q) * np.exp(np.minimum(scale * (y - 0.5 * scale), 600.0))
        return result

    def argument(self, y: FloatArray, d: float) -> FloatArray:
        """Arg w(y + id), increasing in y, for d < πσ/2; but for few roundings."""
        odds, angle = self.odds(y), d / self.step.noise_multiplier
        result: FloatArray = np.arctan2(odds * math.sin(angle), 1.0 + odds * math.cos(angle))
        return result


class Nodes:
    """Places y, and the logarithms of everything there; weights are for nodes `step` apart."""

    def __init__(self, split: Split, y: FloatArray, step: float) -> None:
        self.y, self.step = y, step
        at = ratio(split.step.sampling_rate, split.step.noise_multiplier, y)
        # A node is off by four roundings of the numbers it is the difference of.
        off = 4.0 * UNIT_ROUNDOFF * (np.abs(split.cut - y) + abs(split.cut))
        self.log_w = at.log_w
        self.log_w_error = at.error + at.posterior / split.step.noise_multiplier * off
        start, end = (y - split.start) / split.start_width, (split.end - y) / split.end_width
        self.log_end, self.log_band, self.log_bulk = (log_ndtr(x) for x in (end, start, -start))
        self.log_base = -0.5 * y**2 + (math.log(step) - _LOG_SQRT_2PI) + self.log_end
        # Of −y²/2, the constants and log η; and of log ρ.
        self.rounding: FloatArray = (
            UNIT_ROUNDOFF * (40.0 + 10.0 * abs(math.log(step)) + 4.0 * y**2)
            + off * (np.abs(y) + _steepest(end) / split.end_width)
            + NDTR_ERROR * np.abs(self.log_end)
        )
        self.band_rounding: FloatArray = off * _steepest(start) / split.start_width
        self.band_rounding += NDTR_ERROR * np.abs(self.log_band)

    @classmethod
    def below_cut(cls, split: Split, step: float, low: float) -> "Nodes":
        """Nodes below y₂, the first half a step off, down to `low`."""
        size = math.ceil((split.cut - low) / step)
        return cls(split, split.cut - step * (np.arange(size, dtype=np.float64)[::-1] + 0.5), step)

    def exponents(self, tilt: float) -> FloatArray:
        """The logarithms of the nodes' weights in E[w^{tilt+1}·η]."""
        result: FloatArray = (tilt + 1.0) * self.log_w + self.log_base
        return result

    def weight_rounding(self, tilt: float) -> FloatArray:
        """Bounds of the relative errors of e^exponents; the band's have `band_rounding` as well."""
        result: FloatArray = self.rounding + (tilt + 1.0) * (
            self.log_w_error + 4.0 * UNIT_ROUNDOFF * np.abs(self.log_w)
        )
        return result


def _steepest(x: FloatArray) -> FloatArray:
    """A bound of the slope φ/Φ of log Φ at x: e^{−x²/2} above 0, 1 + |x| below."""
    result: FloatArray = np.where(x > 0.0, np.exp(-0.5 * x * x), 1.0 + np.abs(x))
    return result


class Guide:
    """Everything that is bounded rather than computed, on nodes half of Λ^{−1/2} apart."""

    def __init__(self, split: Split, exponent: float) -> None:
        self.split = split
        self.step = min(0.5 / math.sqrt(split.roughness), 0.25 * split.step.noise_multiplier)
        self.low = -math.sqrt(2.0 * exponent) - 1.0
        if split.cut - self.low > _MOST_GUIDE * self.step:
            raise ContourError(f"a band {split.start_width} and {split.end_width} sharp")
        self.nodes = Nodes.below_cut(split, self.step, self.low)
        self._edge = Nodes(split, np.array([split.cut]), 1.0)
        self._bump = split.roughness * self.step**2 / 8.0
        # The mass below any grid's first node, of which w ≤ 1 makes no more; f there is below this
        # times 1 − low (Mills' ratio).
        self._log_below = float(log_ndtr(max(self.low, float(self.nodes.y[0])))) + 1e-6

    def log_moments(
        self, tilts: FloatArray, *, bulk: bool = False, band: bool = False
    ) -> FloatArray:
        """Upper bounds of log E[w^{tilt+1}·η], of the bulk or of the band only if that is asked.

        The rule's error with d = 2πΛ^{−1/2}, or 1.4σ, at this step, is 2e^{Λd²/2}/(e^{2πd/h} − 1) <
        1e-12 of the integral, and 2d·e^{Λd²/2}·f at each end.
        """
        d = 2.0 * math.pi / math.sqrt(self.split.roughness)
        d = min(d, 1.4 * self.split.step.noise_multiplier)
        logs = []
        for at in (self.nodes, self._edge):
            part = at.log_bulk if bulk else at.log_band if band else np.zeros(at.y.size)
            logs.append(log_sum(np.multiply.outer(tilts + 1.0, at.log_w) + (at.log_base + part)))
        inside, at_cut = logs[0], logs[1] + 0.5 * self.split.roughness * d * d + math.log(2.0 * d)
        at_low = (
            self._log_below
            + 0.5 * self.split.roughness * d * d
            + math.log1p(2.0 * d * (1.0 - self.low))
        )
        result: FloatArray = np.logaddexp(np.logaddexp(inside, at_cut), at_low)
        return result + _GUIDE_ERROR * (1.0 + np.abs(result))

    def tilted(self, tilt: float) -> tuple[FloatArray, float, float]:
        """Log f·h at the nodes, f the tilted density, log f at y₂, and K; but for 1e-9 or so."""
        exponents = self.nodes.exponents(tilt)
        total = float(log_sum(exponents))
        return exponents - total, float(self._edge.exponents(tilt)[0]) - total, total

    def log_decay(self, tilt: float, t: FloatArray) -> FloatArray:
        """Log R(t): a bound of log|ϱ| at all frequencies above, see the module."""
        split, nodes = self.split, self.nodes
        log_mass, at_cut, total = self.tilted(tilt)
        log_mass = log_mass + nodes.log_band
        best = np.full(t.size, math.inf)
        for d, arguments in self._arguments:
            # Inside a cell the larger end value counts, at the argument of the lower end.
            argument = arguments[:-2] * (1.0 - 1e-12)
            inside = log_sum(log_mass - np.multiply.outer(t, argument)) + math.log(2.0) + self._bump
            # The last half cell and a vertical piece; below, ρ is no larger than at the first node.
            at_ends = np.logaddexp(
                at_cut + math.log(d + self.step) + self._bump,
                self._log_below + nodes.log_band[0] - total,
            )
            best = np.minimum(best, np.logaddexp(inside, at_ends) + 0.5 * split.roughness * d * d)
        return best + 1e-6

    @cached_property
    def _arguments(self) -> list[tuple[float, FloatArray]]:
        """Heights d of rectangles, with arg w(y + id) at the nodes and one more each side."""
        widths = (_WIDTHS / math.sqrt(self.split.roughness)).tolist()
        first, last = self.nodes.y[:1] - self.step, self.nodes.y[-1:] + self.step
        y = np.concatenate((first, self.nodes.y, last))
        return [
            (d, self.split.argument(y, d))
            for d in widths
            if d < 1.4 * self.split.step.noise_multiplier
        ]

    def quadrature(self, tilt: float, t_max: float, exponent: float) -> tuple[float, float]:
        """A step in y, and a bound of the rule's error at all t ≤ `t_max`: about e^{−exponent}."""
        split, sigma = self.split, self.split.step.noise_multiplier
        log_mass, at_cut, total = self.tilted(tilt)
        log_below = self._log_below - total
        odds = float(split.odds(np.array([split.cut]))[0])
        found = []
        for d, arguments in self._arguments:
            growth = 0.5 * split.roughness * d * d
            argument = arguments[2:] * (t_max * (1.0 + 1e-12))
            inside = float(log_sum(log_mass + argument)) + math.log(2.0)
            inside = float(np.logaddexp(inside, at_cut + math.log(self.step) + argument[-1]))
            inside = float(np.logaddexp(inside + self._bump, log_below + argument[0])) + growth
            steepest = min(1.0, odds / (1.0 + odds * math.cos(d / sigma))) / sigma * (1.0 + 1e-9)
            step = 2.0 * math.pi / max((exponent + 1.0 + inside) / d, t_max * steepest)
            ends = float(np.logaddexp(at_cut, log_below + math.log(1.0 - self.low)))
            ends += math.log(d) + growth
            rule = float(np.logaddexp(inside - 2.0 * math.pi * d / step, ends))
            log_error = float(np.logaddexp(rule + math.log(2.0) + 0.01, log_below))
            found.append((max(log_error, 2.0 - exponent), -step, log_error))
        _, step, log_error = min(found)
        return -step, math.exp(min(log_error, 0.0))
