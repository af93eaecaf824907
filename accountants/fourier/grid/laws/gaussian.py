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
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from scipy import special

from accountants.arrays import FloatArray
from accountants.fourier.grid.laws.law import RULE_ERROR, UNIT, Points, Seam, Tails, panel_rule

_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
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


@functools.lru_cache(maxsize=256)
def _panels(low: float, high: float, steepest: float) -> tuple[FloatArray, FloatArray]:
    """Breaks on [low, high] at most R/4 apart, and R between them."""
    breaks, radii = [low], []
    while breaks[-1] < high:
        here = breaks[-1]
        far = max(abs(here), abs(here + 0.25))
        radius = min(1.0, 4.0 / far, 1.0 / steepest)
        radii.append(radius)
        breaks.append(here + 0.25 * radius)
    return np.array(breaks), np.array(radii)


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

    def loss_range(self, below: float, above: float) -> tuple[float, float]:
        """Losses beyond which P has at most the given masses; see `LossLaw`."""
        low = max(float(special.ndtri(below)), -_REACH) + self._lowest
        high = min(-float(special.ndtri(above)), _REACH) + self._highest
        losses, _ = self._loss(np.array([low, high]))
        return float(losses[0]), float(losses[1])

    def tails(self, low: float, high: float) -> Tails:
        """The P-masses beyond; see `LossLaw`."""
        y = self._place(np.array([low, high]))
        weights, shifts = self._components
        w, m = np.array(weights), np.array(shifts)
        return Tails(float(w @ special.ndtr(y[0] - m)), float(w @ special.ndtr(m - y[1])))

    def points(self, edges: FloatArray) -> Points:
        """Gauss–Legendre points; see `LossLaw`."""
        low, high = self._lowest - _REACH, self._highest + _REACH
        breaks, radius = _panels(low, high, max(self.shifts))
        y_edges = np.clip(self._place(edges), low, high)
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
            / (1.0 + np.minimum(x, 0)),
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
            with np.errstate(divide="ignore"):
                exponent = np.where(
                    safe < 30.0,
                    np.log1p(np.maximum(np.expm1(np.minimum(safe, 30.0)) / p, -1.0)),
                    safe - math.log(p) + np.log1p(-rest * np.exp(-np.maximum(safe, 30.0))),
                )
            return np.where(reachable, exponent / m + 0.5 * m, -np.inf)
        return self._place_by_newton(log_w)

    def _place_by_newton(self, log_w: FloatArray) -> FloatArray:
        """Newton's method on the convex log w, from the right, where it cannot overshoot."""
        m, p = np.array(self.shifts)[:, None], np.array(self.weights)[:, None]
        moved = m[:, 0] > 0.0
        floor = -2.0 * _REACH
        unmoved = float(np.sum(p[~moved]))
        place = np.full(log_w.size, -np.inf)
        active = np.flatnonzero(log_w > (math.log(unmoved) if unmoved > 0.0 else -np.inf))
        y = np.min((log_w[active] - np.log(p[moved]) + 0.5 * m[moved] ** 2) / m[moved], axis=0)
        for _ in range(300):
            if active.size == 0:
                break
            exponent = m * (y - 0.5 * m)
            terms = p * np.exp(exponent - np.max(exponent, axis=0))
            slope = np.maximum(np.sum(terms * m, axis=0) / np.sum(terms, axis=0), 1e-300)
            change = (self._log_ratio(y)[0] - log_w[active]) / slope
            y = y - change
            place[active] = np.where(y > floor, y, -np.inf)
            going = (change > 1e-14 * (1.0 + np.abs(y))) & (y > floor)
            active, y = active[going], y[going]
        return place

    def _place_of_difference(self, loss: FloatArray) -> FloatArray:
        """With v = e^{my} and c = (1−q)e^{m²/2}/q: log v = l/2 + asinh(c·sinh(l/2))."""
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
