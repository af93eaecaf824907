r"""Composition of discretised losses by a tilted FFT, with a bound on every error.

Masses p_j at losses l_j are tilted to p_j·e^{θl_j − κ}, κ ≈ log Σ p_j e^{θl_j}, laid on a circle
of N nodes, transformed, multiplied, transformed back; Σ of the tilted masses is about 1 and the
answer

    δ(ε) = e^{κ} Σ_{l_j > ε} c_j·e^{−θl_j}·(1 − e^{ε−l_j})

reads the tilted law where it is large. On the circle c_j is Σ_m c(l_j + mW), W = N·h.

**Errors**, all pushed to the proper side, u = 2⁻⁵³:

1. The tilting factor's exponent is rounded: relative u·(4|θl_j| + 4|log p_j| + 4|κ| + 16) per
   node, applied to the node outwards.
2. The FFT (length 2^k, radix 2 and 4): every output is a sum of inputs times products of k twiddle
   factors of modulus 1, each input going along one path; with less than 8u per stage (a twiddle
   factor, a complex product, a sum) |error| ≤ 8u·k·Σ|inputs|, for each output (Higham 2002,
   section 24.1, componentwise). The same holds for the inverse, divided by N. That pocketfft stays
   within 8u a stage is assumed, not proved; a test measures it against ball arithmetic.
3. Products: with |F̂ᵢ − Fᵢ| ≤ eᵢ, |ΠF̂ᵢ^{Tᵢ} − ΠFᵢ^{Tᵢ}| ≤ Π(|F̂ᵢ|+eᵢ)^{Tᵢ} − Π|F̂ᵢ|^{Tᵢ},
   evaluated per frequency; the power itself, exp(T·log F̂), adds u·(64T + 8|T log F̂|) of its
   modulus. Frequencies whose product is below e^{−60} are left out and counted as error.

   With few steps ε takes one rare large loss, and errors relative to the common small ones would
   drown it. So the masses are split into bulk b, at losses ≤ A/ΣTᵢ, and rest r: b composed with
   itself stays at losses ≤ A and adds nothing to δ(ε) for ε ≥ A. What is transformed back is

       Π(bᵢ+rᵢ)^{Tᵢ} − Πbᵢ^{Tᵢ} = Πbᵢ^{Tᵢ}·expm1(ΣTᵢ·log1p(rᵢ/bᵢ)),

   a power series with coefficients ≥ 0, whose error is at most that of its majorant
   g = Π(βᵢ+ρᵢ)^{Tᵢ} − Πβᵢ^{Tᵢ} at βᵢ = |b̂ᵢ| + e, ρᵢ = |r̂ᵢ| + e': Σ e·∂g/∂βᵢ + e'·∂g/∂ρᵢ, with
   ∂g/∂βᵢ ≤ Tᵢ·g/βᵢ and ∂g/∂ρᵢ ≤ Tᵢ·Π(βⱼ+ρⱼ)^{Tⱼ}/βᵢ, and e' = 8u·k·Σr is small with r; the
   rounding of the formula is u·Tᵢ·(64 + 8|log bᵢ| + 32|log1p(rᵢ/bᵢ)|)·g.
4. The sum over frequencies of 2 and 3, over N, plus the inverse's error, bounds the error of every
   c_j: the number `node_error`, added to (upper) or taken from (lower) every node.
5. Aliasing. Nodes in [A, B] are read, B ≤ A + W. Upper: other turns of the circle only add, but
   what lies above B is to be added: at most e^{K(t) − tB} for any t ≥ 0 (Chernoff), K the log
   moment of the composed masses. Lower: subtract what other turns add to these nodes: from above,
   for t > θ, at most e^{K(t) − tA}/(e^{(t−θ)W} − 1); from below, for t < θ, at most e^{K(t) −
   tC}/(e^{(θ−t)W} − 1) with C = A if t ≥ 0 and C = B if not.
6. Scale and summation: relative 1e-13 + u·(4|κ| + 4|θA| + …); places: `shift`.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import fft, signal

from accountants.arrays import ComplexArray, FloatArray
from accountants.fourier.grid.discretise import Discretised, sum_at
from accountants.fourier.grid.laws.law import UNIT

_STAGE_ERROR = 8.0 * UNIT
_LEFT_OUT = -60.0
# Relative widening of a log moment's sum, over and above its exponents' rounding.
_SUM_ERROR = 1e-13
# Chernoff tilts that are tried, as shares of the way from the tilt to the suggested one.
_SHARES = (1.0, 0.7, 0.5, 0.3, 0.15)
# Weights e^{−θx} beyond this exponent are below the rounding of the sum.
_REACH = 60.0


def log_expm1(x: float) -> float:
    """log(e^x − 1) for x > 0, also where e^x overflows."""
    return x + math.log(-math.expm1(-x)) if x > 0.0 else -math.inf


@dataclass(frozen=True)
class Window:
    """What of the circle is read, and the tilts t of the Chernoff bounds.

    Attributes:
      tilt: θ.
      low: A, the lower end of what is read.
      read: How far the reading goes: to B = A + `read`.
      width: W, the circumference, at least `read`.
      below, above: Tilts for the aliases from below and above: `below` < `tilt` < `above`.
      beyond: The tilt for the mass above B.
      negligible: The logarithm of an error of δ that is not worth any further tilt.
    """

    tilt: float
    low: float
    read: float
    width: float
    below: float
    above: float
    beyond: float
    negligible: float = -math.inf


@dataclass(frozen=True)
class Composed:
    """The composed loss above `low`: weights to sum, and what to add or subtract.

    Attributes:
      losses: The nodes of the window, increasing.
      weights: c_j·e^{−θ(l_j − low)} with the node error on the proper side, never negative.
      tilt: θ.
      log_scale: κ − θ·low: the logarithm of the factor of the sum.
      log_scale_error: Bound on its error and on the sum's relative error.
      remainder: δ to add at any ε ≥ low (upper), or to subtract (lower).
      shift: How far losses may be off.
      sign: +1 for an upper bound, −1 for a lower bound.
    """

    losses: FloatArray
    weights: FloatArray
    tilt: float
    log_scale: float
    log_scale_error: float
    remainder: float
    shift: float
    sign: int

    def delta(self, epsilon: float) -> tuple[float, float]:
        """The bound on δ(ε) for ε ≥ low, and the derivative's absolute value."""
        at = epsilon - self.sign * (self.shift + 4.0 * UNIT * abs(epsilon))
        start = int(np.searchsorted(self.losses, at, side="right"))
        stop = self.losses.size
        if self.tilt > 0.0:
            stop = int(np.searchsorted(self.losses, at + _REACH / self.tilt))
        # Weights past `stop` are smaller by e^{−60}; for an upper bound count them in full.
        rest = 0.0
        if self.sign > 0 and stop < self.losses.size:
            rest = float(np.sum(self.weights[stop:]))
        gap = self.losses[start:stop] - at
        loss_share = -np.expm1(-gap)
        weights = self.weights[start:stop]
        total = float(np.dot(weights, loss_share))
        slope = float(np.sum(weights)) - total
        scale = math.exp(min(self.log_scale + self.sign * self.log_scale_error, 700.0))
        value = scale * (total + rest) + self.sign * self.remainder
        return min(max(value, 0.0), 1.0), scale * slope

    def about(self, delta: float) -> float:
        """About the ε ≥ low with δ(ε) = delta, no certificate: see `delta` for that.

        With E_j = Σ_{i≥j} w_i·e^{−(l_i−l_j)} = w_j + e^{−h}·E_{j+1}, δ at l_j is (1 − e^{−h})·ΣE_k
        over k > j, and at x ≤ h below l_j it is more by (1 − e^{−x})·E_j.
        """
        step = float(self.losses[1] - self.losses[0])
        shares = signal.lfilter([1.0], [1.0, -math.exp(-step)], self.weights[::-1])[::-1]
        values = -math.expm1(-step) * (np.cumsum(shares[::-1])[::-1] - shares)
        scale = math.exp(min(self.log_scale + self.sign * self.log_scale_error, 700.0))
        target = (delta - self.sign * self.remainder) / scale
        node = min(int(np.searchsorted(-values, -target)), values.size - 1)
        if target <= values[node] or shares[node] <= 0.0:
            return float(self.losses[node])
        share = min((target - values[node]) / shares[node], -math.expm1(-step))
        return float(self.losses[node]) + math.log1p(-share)


def _log_moment(parts: Sequence[tuple[Discretised, int]], tilt: float) -> float:
    """An upper bound of log E[e^{tL}] of the composed masses."""
    total = 0.0
    for part, count in parts:
        exponents = tilt * part.grid.nodes
        top = float(np.max(exponents[part.masses > 0.0], initial=-math.inf))
        value = top + math.log(float(np.dot(part.masses, np.exp(np.minimum(exponents - top, 0.0)))))
        rounding = _SUM_ERROR + 8.0 * UNIT * (abs(tilt) * float(np.max(np.abs(part.grid.nodes))))
        total += count * (value + rounding + 4.0 * UNIT * abs(value))
    return total + 8.0 * UNIT * abs(total)


def _safe_exp(x: float) -> float:
    return math.exp(x) if x < 700.0 else math.inf


def _infinite(parts: Sequence[tuple[Discretised, int]]) -> float:
    """An upper bound of the composition's mass at L = ∞.

    All mass less what is finite: laws that were computed from above may have more than all mass.
    """
    log_all = log_ratio = 0.0
    for part, count in parts:
        finite = float(np.sum(part.masses))
        if finite <= 0.0:
            return 1.0
        log_all += count * math.log(finite + part.infinite)
        log_ratio += count * math.log1p(part.infinite / finite)
    size = UNIT * sum(count * (part.masses.size + 8.0) for part, count in parts)
    # All less the finite, as a share of all: the finite alone may underflow.
    return _safe_exp(log_all) * -math.expm1(-log_ratio) * (1.0 + 1e-14 + size)


def _remainder(parts: Sequence[tuple[Discretised, int]], window: Window, sign: int) -> float:
    """Item 5 of the module's errors, and mass at infinity."""
    low, high, width, tilt = window.low, window.low + window.read, window.width, window.tilt

    def least(tilts: Sequence[float], log_bound: Callable[[float, float], float]) -> float:
        """The first negligible or else the least of the bounds, on the grid's own moments."""
        found = math.inf
        for t in tilts:
            found = min(found, log_bound(t, _log_moment(parts, t)))
            if found <= window.negligible:
                break
        return _safe_exp(found)

    # A tilt that is best for the law may not be for its grid, which is coarse far from the saddle.
    above = [tilt + share * (window.above - tilt) for share in _SHARES]
    if sign > 0:
        beyond = [window.beyond, tilt, *above]
        lost = least(beyond, lambda t, moment: moment - t * high)
        return _infinite(parts) + lost * (1.0 + 1e-9)

    def from_below(t: float, moment: float) -> float:
        return moment - t * (low if t >= 0.0 else high) - log_expm1((tilt - t) * width)

    below = [tilt + share * (window.below - tilt) for share in _SHARES]
    aliases = least(above, lambda t, moment: moment - t * low - log_expm1((t - tilt) * width))
    return (aliases + least(below, from_below)) * (1.0 + 1e-9)


def _log1p(z: ComplexArray) -> ComplexArray:
    """log(1 + z), with an error of few u·|z| where z is small."""
    near = np.abs(z) < 0.5
    small = np.where(near, z, 0.0)
    x, y = small.real, small.imag
    real = 0.5 * np.log1p(2.0 * x + (x * x + y * y))
    far = np.log(np.maximum(np.abs(1.0 + z), 1e-300))
    return np.asarray(np.where(near, real, far) + 1j * np.angle(1.0 + z))


def _expm1(z: ComplexArray) -> ComplexArray:
    """e^z − 1, with an error of few u·|z| where z is small."""
    x, y = z.real, z.imag
    real = np.expm1(x) * np.cos(y) - 2.0 * np.sin(0.5 * y) ** 2
    return np.asarray(real + 1j * (np.exp(x) * np.sin(y)))


class _Spectrum:
    """The transform of the composed tilted masses, and the bound on its error: items 2 to 4."""

    def __init__(self, length: int, *, split: bool) -> None:
        size = length // 2 + 1
        self._length = length
        self._stage_error = _STAGE_ERROR * (math.log2(length) + 1.0)
        self._split = split
        self._log_bulk = np.zeros(size, dtype=np.complex128)
        self._log_ratio = np.zeros(size, dtype=np.complex128)
        self._log_bulk_most = np.zeros(size)
        self._log_ratio_most = np.zeros(size)
        self._bulk_error = np.zeros(size)
        self._rest_error = np.zeros(size)
        self._rounding = np.zeros(size)

    def multiply(self, bulk: FloatArray, rest: FloatArray, count: int) -> None:
        """Multiply by the transform of `bulk` + `rest`, `count` times; no rest if not split."""
        transform = fft.rfft(bulk)
        error = self._stage_error * float(np.sum(bulk))
        modulus = np.maximum(np.abs(transform), 1e-300)
        log_modulus = np.log(modulus)
        phase = np.remainder(count * np.angle(transform), 2.0 * math.pi)
        self._log_bulk += count * log_modulus + 1j * phase
        self._log_bulk_most += count * np.log(modulus + error)
        self._rounding += count * (64.0 + 8.0 * np.abs(log_modulus))
        if not self._split:
            return
        rest_transform = fft.rfft(rest)
        rest_error = self._stage_error * float(np.sum(rest))
        log_ratio = _log1p(rest_transform / np.where(transform == 0.0, 1e-300, transform))
        self._log_ratio += count * log_ratio
        most = modulus + error
        self._log_ratio_most += count * np.log1p((np.abs(rest_transform) + rest_error) / most)
        self._bulk_error += count * error / most
        self._rest_error += count * rest_error / most
        self._rounding += count * 32.0 * np.abs(log_ratio)

    def masses(self) -> tuple[FloatArray, float]:
        """The masses on the circle, and a bound on the error of each."""
        log_most = self._log_bulk_most + self._log_ratio_most
        use = log_most > _LEFT_OUT
        if self._split:
            majorant = np.exp(log_most) * -np.expm1(-self._log_ratio_most)
            log_bulk, log_ratio = self._log_bulk[use], self._log_ratio[use]
            moderate = log_ratio.real < 30.0
            values = np.exp(log_bulk + log_ratio) - np.exp(log_bulk)
            values[moderate] = np.exp(log_bulk[moderate]) * _expm1(log_ratio[moderate])
            error = self._bulk_error * majorant + self._rest_error * np.exp(log_most)
        else:
            majorant = np.exp(log_most)
            values = np.exp(self._log_bulk[use])
            error = -majorant * np.expm1(self._log_bulk.real - self._log_bulk_most)
        error += UNIT * self._rounding * majorant
        error[~use] = majorant[~use]
        spectrum = np.zeros(use.size, dtype=np.complex128)
        spectrum[use] = values
        # The half spectrum stands for the whole: every frequency but two counts twice.
        node_error = float(np.sum(error)) + self._stage_error * float(np.sum(np.abs(values)))
        return fft.irfft(spectrum, self._length), 2.0 * node_error / self._length


def compose(
    parts: Sequence[tuple[Discretised, int]], window: Window, length: int, sign: int
) -> Composed:
    """The law of the sum of `count` copies of each part, on a circle of `length` nodes.

    Args:
      parts: Upper masses for `sign` = 1, lower masses for −1, all with the same step h.
      window: Its width is `length`·h, and it is read to two nodes less at most.
      length: A power of two.
      sign: 1 for an upper bound of δ, −1 for a lower bound.
    """
    tilt, step = window.tilt, parts[0][0].grid.step
    if not all(np.any(part.masses > 0.0) for part, _ in parts):
        return _nothing(parts, window, step, sign)
    # Losses up to here, composed with each other only, stay below the window.
    harmless = (1.0 - 1e-9) * window.low / sum(count for _, count in parts)
    tilted_parts: list[FloatArray] = []
    log_total = offset = nudge = total_rounding = 0.0
    split = window.low > 0.0
    for part, count in parts:
        exponents = tilt * part.grid.nodes
        # Through logarithms, lest masses near the smallest float are all that is left.
        with np.errstate(divide="ignore"):
            log_masses = np.log(part.masses)
        log_tilted = exponents + log_masses
        top = float(np.max(log_tilted))
        tilted = np.exp(log_tilted - top)
        size = float(np.sum(tilted))
        kappa = top + math.log(size)
        log_size = np.where(part.masses > 0.0, np.abs(log_masses), 0.0)
        rounding = UNIT * (4.0 * (np.abs(exponents) + log_size) + 4.0 * abs(kappa) + 16.0)
        tilted *= (1.0 + sign * rounding) / size
        tilted_parts.append(tilted)
        split = split and float(np.sum(tilted[part.grid.nodes <= harmless])) > 0.5
        log_total += count * kappa
        total_rounding += count * abs(kappa)
        offset += count * part.grid.offset
        nudge += count * (part.nudge + 2.0 * UNIT * abs(part.grid.offset))

    spectrum = _Spectrum(length, split=split)
    for (part, count), tilted in zip(parts, tilted_parts, strict=True):
        places = part.grid.indices % length
        is_bulk = part.grid.nodes <= harmless if split else np.ones(tilted.size, dtype=np.bool_)
        bulk = sum_at(places[is_bulk], tilted[is_bulk], length)
        rest = sum_at(places[~is_bulk], tilted[~is_bulk], length)
        spectrum.multiply(bulk, rest, count)
    masses, node_error = spectrum.masses()

    first = math.floor((window.low - offset) / step)
    # For a lower bound not a node more than is meant, for an upper bound not one less.
    read = min(length, max(1, math.floor(window.read / step)) + (3 if sign > 0 else 0))
    masses = np.roll(masses, -(first % length))[:read]
    losses = offset + step * np.arange(first, first + read, dtype=np.float64)
    weights = np.maximum(masses + sign * node_error, 0.0)
    decay = np.clip(tilt * (losses - window.low), -30.0, 700.0)  # Below `low` none is read.
    weights *= np.exp(-decay)
    largest = max(abs(window.low), abs(window.low + window.read), abs(offset)) + 2.0 * step
    scale_error = 1e-13 + UNIT * (
        4.0 * total_rounding
        + 4.0 * abs(log_total)
        + 8.0 * abs(tilt * window.low)
        + 8.0 * tilt * largest
    )
    return Composed(
        losses=losses,
        weights=weights,
        tilt=tilt,
        log_scale=log_total - tilt * window.low,
        log_scale_error=scale_error,
        remainder=_remainder(parts, window, sign),
        shift=nudge + 4.0 * UNIT * largest,
        sign=sign,
    )


def _nothing(
    parts: Sequence[tuple[Discretised, int]], window: Window, step: float, sign: int
) -> Composed:
    """The law where a part has no finite loss with a mass that a double holds."""
    ends = np.array([window.low, window.low + max(window.read, step)])
    return Composed(
        losses=ends,
        weights=np.zeros(ends.size),
        tilt=window.tilt,
        log_scale=0.0,
        log_scale_error=0.0,
        remainder=_infinite(parts) if sign > 0 else 0.0,
        shift=0.0,
        sign=sign,
    )
