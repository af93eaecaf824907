r"""Loss laws of Gaussian mixtures: the Gaussian, its subsampled forms, mixtures of sensitivities.

With unit noise and w(y) = Σᵢ pᵢ e^{mᵢy − mᵢ²/2}, mᵢ ≥ 0, the ratio of Σᵢ pᵢ N(mᵢ, 1) to N(0, 1) at
y, three ordered pairs have a loss that increases in y:

* `REMOVE`: P = Σ pᵢ N(mᵢ, 1), Q = N(0, 1), loss log w(y);
* `ADD`: P = N(0, 1), Q = Σ pᵢ N(mᵢ, 1), seen in −y: loss −log w(−y);
* `REPLACE`: P = Σ pᵢ N(mᵢ, 1), Q = Σ pᵢ N(−mᵢ, 1), loss log w(y) − log w(−y).

Where w is near 1 (small sampling rates), log w = log1p(Σ pᵢ expm1(mᵢy − mᵢ²/2)) keeps its relative
accuracy. In the complex plane |w(y+id)| ≤ w(y), and |w(y+id)| ≥ w(y)·cos(d·m/2) for |d| ≤ π/m when
the largest shift is m (all terms lie within an angle dm), so w, 1/w and the densities are analytic
and tame within R = min(1, 4/|y|, 1/m): the Gauss–Legendre panels are a fraction of that.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from scipy import special

from accountants.arrays import FloatArray
from accountants.fourier.grid.laws.law import RULE_ERROR, UNIT, Points, Seam, Tails, panel_rule

_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
# Terms of mixtures that are held at a time, and places that their losses are tabulated at.
_MOST_TERMS = 2**20
_TABLE = 4096
# Standard deviations beyond which a Gaussian tail underflows.
_REACH = 38.5


class Kind(Enum):
    """Which ordered pair: see the module docstring."""

    REMOVE = "remove"
    ADD = "add"
    REPLACE = "replace"


def _log_mean_exp(z: FloatArray) -> FloatArray:
    """log((e^z − 1)/z)."""
    small = np.abs(z) < 1e-3
    safe = np.clip(np.where(small, 1.0, z), -600.0, 600.0)
    return np.where(small, z * (0.5 + z / 24.0), np.log(np.expm1(safe) / safe))


@functools.lru_cache(maxsize=64)
def _panels(centres: tuple[float, ...], steepest: float) -> tuple[FloatArray, FloatArray]:
    """Breaks within `_REACH` of a centre, at most R/4 apart, and R between them.

    R = min(1, 4/|y|, 1/m), `steepest` being m: breaks at equal distances as long as |y| ≤ 4/R,
    then, as 4/|y| falls, at equal distances of y². Between centres that are far apart there is one
    wide panel, on which P has no mass that a float can hold.
    """
    radius = min(1.0, 1.0 / steepest)
    ends = np.array([(centre - _REACH, centre + _REACH) for centre in centres])
    low, high = float(np.min(ends)), float(np.max(ends))
    near = 4.0 / radius
    top = max(abs(low), abs(high))
    even = np.arange(0.0, min(near, top) + 0.25 * radius, 0.25 * radius)
    far = np.sqrt(np.arange(even[-1] ** 2, max(top, even[-1]) ** 2 + 4.0 * top, 1.9)[1:])
    half = np.concatenate((even, far))
    breaks = np.concatenate((-half[:0:-1], half))
    breaks = np.concatenate(([low], breaks[(breaks > low) & (breaks < high)], [high]))
    starts, stops = _merge(ends)
    kept = np.searchsorted(starts, breaks, side="right") - 1
    breaks = np.unique(np.concatenate((breaks[breaks <= stops[kept]], starts, stops)))
    furthest = np.maximum(np.abs(breaks[:-1]), np.abs(breaks[1:]))
    return breaks, np.minimum(radius, 4.0 / furthest)


def _merge(ends: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Starts and stops of the union of intervals."""
    ends = ends[np.argsort(ends[:, 0])]
    reach = np.maximum.accumulate(ends[:, 1])
    is_new = np.append(True, ends[1:, 0] > reach[:-1])
    return ends[is_new, 0], reach[np.append(is_new[1:], True)]


@dataclass(frozen=True)
class GaussianMixtureLaw:
    """The loss of `kind` for weights pᵢ (sum 1) at shifts mᵢ ≥ 0 in units of the noise."""

    kind: Kind
    weights: tuple[float, ...]
    shifts: tuple[float, ...]
    infinite: float = field(default=0.0, init=False)
    lattice: tuple[float, float] | None = field(default=None, init=False)

    @property
    def seam(self) -> Seam:
        """Sampled losses crowd at log(1 − q), or its negative, or 0."""
        if len(self.weights) == 1:
            return Seam.NONE
        return {Kind.REMOVE: Seam.BOTTOM, Kind.ADD: Seam.TOP, Kind.REPLACE: Seam.CENTRE}[self.kind]

    @property
    def cost(self) -> float:
        """Mixtures are sums over their components."""
        return 1.0 if len(self.weights) <= 2 else 0.5 * len(self.weights)

    @property
    def highest(self) -> float:
        """Adding a record to a sample that has none of it: no loss above −log of that chance."""
        if self.kind is not Kind.ADD or self.shifts[0] > 0.0:
            return math.inf
        return -math.log1p(-math.fsum(self.weights[1:]))

    def loss_range(self, below: float, above: float) -> tuple[float, float]:
        """Losses beyond which P has at most the given masses; see `LossLaw`."""
        low = max(float(special.ndtri(below)), -_REACH) + self._lowest
        high = min(-float(special.ndtri(above)), _REACH) + self._highest
        losses, _ = self._loss(np.array([low, high]))
        return float(losses[0]), float(losses[1])

    def tails(self, low: float, high: float) -> Tails:
        """The P-masses beyond; see `LossLaw`."""
        y = self._place(np.array([low, high]))
        (p, m), (q, other) = (map(np.array, part) for part in (self._components, self._others))
        below, above = float(p @ special.ndtr(y[0] - m)), float(p @ special.ndtr(m - y[1]))
        log_other = special.logsumexp(np.log(q) + special.log_ndtr(other - y[1]))
        return Tails(below, above, float(log_other))

    def points(self, edges: FloatArray) -> Points:
        """Gauss–Legendre points; see `LossLaw`."""
        breaks, radius = _panels(self._components[1], max(self.shifts))
        y_edges = np.clip(self._place(edges), breaks[0], breaks[-1])
        cell, y, weight = panel_rule(y_edges, breaks, radius)
        loss, loss_error = self._loss(y)
        log_density, log_density_error = self._log_density(y, loss)
        mass = weight * np.exp(log_density)
        return Points(cell, loss, loss_error, mass, RULE_ERROR + log_density_error)

    def cuts(self, edges: FloatArray) -> FloatArray:
        r"""Where pieces around the nodes average to them if the density is locally e^{gl}.

        For cells of width w that is x below the upper node with ∫_{−x}^{w−x} (1 − e^{−t})e^{gt} dt
        = 0, or x = ψ(gw) − ψ((g−1)w), ψ(z) = log((e^z − 1)/z).
        """
        middle, width = 0.5 * (edges[:-1] + edges[1:]), np.diff(edges)
        if middle.size < 3:
            return middle
        low, high = self._lowest - _REACH, self._highest + _REACH
        y_edges = np.clip(self._place(edges), low, high)
        log_density, _ = self._log_density(0.5 * (y_edges[:-1] + y_edges[1:]))
        with np.errstate(divide="ignore"):
            log_density = log_density + np.log(np.diff(y_edges)) - np.log(width)
        slope = np.gradient(np.maximum(log_density, -1e4), middle)
        reach = _log_mean_exp(slope * width) - _log_mean_exp((slope - 1.0) * width)
        return edges[1:] - np.clip(reach, 0.02 * width, 0.98 * width)

    @property
    def _components(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Weights and means of P, in the orientation in which the loss increases."""
        return ((1.0,), (0.0,)) if self.kind is Kind.ADD else (self.weights, self.shifts)

    @property
    def _others(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Weights and means of Q, likewise."""
        if self.kind is Kind.REMOVE:
            return (1.0,), (0.0,)
        return self.weights, tuple(-shift for shift in self.shifts)

    @property
    def _lowest(self) -> float:
        return min(self._components[1])

    @property
    def _highest(self) -> float:
        return max(self._components[1])

    def _log_density(
        self, y: FloatArray, loss: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Log of P's density, and its error bound (that of (y − m)²/2, at the furthest mean)."""
        furthest = np.maximum((y - self._lowest) ** 2, (y - self._highest) ** 2)
        error = UNIT * (16.0 + 2.0 * furthest + 2.0 * np.abs(y) * (np.abs(y) + self._highest))
        log_density = -0.5 * y * y - _LOG_SQRT_2PI
        if self.kind is Kind.REMOVE and loss is not None:
            log_density += loss
        elif self.kind is not Kind.ADD:
            log_density += self._log_ratio(y)[0]
        return log_density, error

    def _loss(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The loss at y and its absolute error."""
        if self.kind is Kind.REMOVE:
            return self._log_ratio(y)
        mirrored, mirrored_error = self._log_ratio(-y)
        if self.kind is Kind.ADD:
            return -mirrored, mirrored_error
        plain, plain_error = self._log_ratio(y)
        loss = plain - mirrored
        return loss, plain_error + mirrored_error + UNIT * np.abs(loss)

    def _log_ratio(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Log w(y) and its absolute error, also where w − 1 is tiny or w overflows."""
        if self.shifts == (0.0, self.shifts[-1]) or len(self.shifts) == 1:
            return self._log_ratio_of_one(y)
        size = _MOST_TERMS // len(self.shifts)
        if y.size > size:
            parts = [self._log_ratio(y[i : i + size]) for i in range(0, y.size, size)]
            log_w, error = (np.concatenate(column) for column in zip(*parts, strict=True))
            return log_w, error
        m = np.array(self.shifts)[:, None]
        p = np.array(self.weights)[:, None]
        exponent = m * (y - 0.5 * m)
        exponent_error = 3.0 * UNIT * m * (np.abs(y) + m)
        top = np.max(exponent, axis=0)
        scaled = p * np.exp(exponent - top)
        total = np.sum(scaled, axis=0)
        x = np.sum(p * np.expm1(np.minimum(exponent, 1.0)), axis=0)
        near = (np.abs(x) < 0.5) & (top < 1.0)
        log_w = np.where(near, np.log1p(np.where(near, x, 0.0)), top + np.log(total))
        spread = np.sum(scaled * exponent_error, axis=0) / total
        size = np.where(
            near,
            np.sum(p * np.abs(np.expm1(np.minimum(exponent, 1.0))), axis=0)
            / (1.0 + np.where(near, np.minimum(x, 0.0), 0.0)),
            np.abs(top) + 1.0,
        )
        rounding = (16.0 + len(self.weights)) * UNIT * (size + np.abs(log_w))
        return log_w, spread + rounding

    def _log_ratio_of_one(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The same for a single positive shift, where it is most used."""
        m, q = self.shifts[-1], self.weights[-1]
        exponent = m * (y - 0.5 * m)
        exponent_error = 3.0 * UNIT * m * (np.abs(y) + m)
        if len(self.weights) == 1:
            return exponent, exponent_error + UNIT * np.abs(exponent)
        rest = self.weights[0]
        x = q * np.expm1(np.minimum(exponent, 600.0))
        log_w = np.log1p(np.maximum(x, -0.5))
        far = (x < -0.5) | (exponent > 30.0)
        if np.any(far):
            log_w[far] = np.logaddexp(math.log(rest), math.log(q) + exponent[far])
        with np.errstate(over="ignore"):  # Then the share is 0.
            share = 1.0 / (1.0 + (rest / q) * np.exp(-np.maximum(exponent, -600.0)))
        return log_w, share * exponent_error + 12.0 * UNIT * np.abs(log_w)

    def _place(self, loss: FloatArray) -> FloatArray:
        """The y of a loss; −inf or inf beyond the loss's range."""
        if self.kind is Kind.REMOVE:
            return self._place_of_log_ratio(loss)
        if self.kind is Kind.ADD:
            return -self._place_of_log_ratio(-loss)
        return self._place_of_difference(loss)

    def _place_of_log_ratio(self, log_w: FloatArray) -> FloatArray:
        m, p = self.shifts[-1], self.weights[-1]
        if len(self.shifts) == 1:
            return log_w / m + 0.5 * m
        rest = self.weights[0]
        if self.shifts == (0.0, m):
            reachable = log_w > math.log(rest)
            safe = np.where(reachable, log_w, 0.0)
            small = np.minimum(safe, 30.0)
            with np.errstate(divide="ignore"):
                # log((w − rest)/p), by the form that does not cancel: w is near rest, or near 1.
                near = (
                    np.log(np.maximum(np.expm1(small - math.log(rest)), 0.0) * (rest / p))
                    if rest < 0.5
                    else np.log1p(np.maximum(np.expm1(small) / p, -1.0))
                )
                far = safe - math.log(p) + np.log1p(-rest * np.exp(-np.maximum(safe, 30.0)))
            exponent = np.where(safe < 30.0, near, far)
            return np.where(reachable, exponent / m + 0.5 * m, -np.inf)
        return self._place_by_newton(log_w, lambda y: self._log_ratio(y)[0], self._slope)

    def _place_by_newton(
        self,
        wanted: FloatArray,
        value: Callable[[FloatArray], FloatArray],
        slope: Callable[[FloatArray], FloatArray],
    ) -> FloatArray:
        """Newton's method on the increasing `value`, from a table.

        On the convex log w it overshoots once at most.
        """
        lowest, highest = -2.0 * _REACH, 2.0 * _REACH + self.shifts[-1]
        if self.kind is Kind.REPLACE:
            lowest = -highest
        table = np.linspace(lowest, highest, _TABLE)
        values = value(table)
        place = np.interp(wanted, values, table)
        place[wanted <= values[0]] = -np.inf
        place[wanted >= values[-1]] = np.inf
        active = np.flatnonzero(np.isfinite(place))
        y = place[active]
        for _ in range(60):
            if active.size == 0:
                break
            change = (value(y) - wanted[active]) / np.maximum(slope(y), 1e-300)
            y = np.clip(y - change, lowest, highest)
            place[active] = y
            going = np.abs(change) > 1e-13 * (1.0 + np.abs(y))
            active, y = active[going], y[going]
        return place

    def _slope(self, y: FloatArray) -> FloatArray:
        """The derivative of log w at y: the mean shift, given y."""
        total, moment, top = np.zeros(y.size), np.zeros(y.size), np.full(y.size, -np.inf)
        for shift in self.shifts:
            top = np.maximum(top, shift * (y - 0.5 * shift))
        for weight, shift in zip(self.weights, self.shifts, strict=True):
            term = weight * np.exp(shift * (y - 0.5 * shift) - top)
            total += term
            moment += shift * term
        return moment / np.maximum(total, 1e-300)

    def _place_of_difference(self, loss: FloatArray) -> FloatArray:
        """Of two components log v = l/2 + asinh(c·sinh(l/2)), v = e^{my}, c = (1−q)e^{m²/2}/q."""
        if self.shifts != (0.0, self.shifts[-1]):
            return self._place_by_newton(
                loss, lambda y: self._loss(y)[0], lambda y: self._slope(y) + self._slope(-y)
            )
        m, q, rest = self.shifts[-1], self.weights[-1], self.weights[0]
        half = 0.5 * loss
        log_c = math.log(rest) - math.log(q) + 0.5 * m * m
        size = np.abs(half)
        with np.errstate(divide="ignore"):
            log_sinh = np.where(
                size < 20.0,
                np.log(np.sinh(np.minimum(size, 20.0))),
                size + np.log1p(-np.exp(-2.0 * np.maximum(size, 20.0))) - math.log(2.0),
            )
        log_product = log_c + log_sinh
        inverse = np.where(
            log_product < 20.0,
            np.arcsinh(np.exp(np.minimum(log_product, 20.0))),
            log_product + math.log(2.0),
        )
        return np.asarray(np.sign(half) * (size + inverse) / m)
