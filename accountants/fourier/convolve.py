r"""Composition of discretised losses by a tilted FFT, with a bound on every error.

Masses p_j at losses l_j are tilted to p_j·e^{θl_j − κ}, κ ≈ log Σ p_j e^{θl_j}, laid on a circle of N
nodes, transformed, multiplied, transformed back; Σ of the tilted masses is about 1 and the answer

    δ(ε) = e^{κ} Σ_{l_j > ε} c_j·e^{−θl_j}·(1 − e^{ε−l_j})

reads the tilted law where it is large. On the circle c_j is Σ_m c(l_j + mW), W = N·h.

**Errors**, all pushed to the proper side, u = 2⁻⁵³:

1. The tilting factor's exponent is rounded: relative u·(4|θl_j| + 2|κ| + 8) per node, applied to the
   node outwards.
2. The FFT (length 2^k, radix 2 and 4): every output is a sum of inputs times products of k twiddle
   factors of modulus 1, each input going along one path; with less than 8u per stage (a twiddle
   factor, a complex product, a sum) |error| ≤ 8u·k·Σ|inputs|, for each output (Higham 2002,
   section 24.1, componentwise). The same holds for the inverse, divided by N.
3. Products: with |F̂ᵢ − Fᵢ| ≤ eᵢ, |ΠF̂ᵢ^{Tᵢ} − ΠFᵢ^{Tᵢ}| ≤ Π(|F̂ᵢ|+eᵢ)^{Tᵢ} − Π|F̂ᵢ|^{Tᵢ}, evaluated per
   frequency; the power itself, exp(T·log F̂), adds u·(32T + 8|T log F̂|) of its modulus.
   Frequencies whose product is below e^{−60} are left out and counted as error.
4. The sum over frequencies of 2 and 3, over N, plus the inverse's error, bounds the error of every
   c_j: the number `node_error`, added to (upper) or taken from (lower) every node.
5. Aliasing. Upper: other turns of the circle only add, but what lies above the window [A, A+W) is to
   be added: at most e^{K(t) − t(A+W)} for any t ≥ 0 (Chernoff), K the log moment of the composed
   masses. Lower: subtract what other turns add to nodes above A: from above, for t > θ, at most
   e^{K(t) − tA}/(e^{(t−θ)W} − 1); from below, for t < θ, e^{K(t) − tB}/(e^{(θ−t)W} − 1), with B = A if
   t ≥ 0 and B = A + W if not.
6. Scale and summation: relative 1e-13 + u·(4|κ| + 4|θA| + …); places: `shift`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import fft

from accountants.fourier.discretise import Discretised
from accountants.fourier.law import UNIT, FloatArray

_STAGE_ERROR = 8.0 * UNIT
_LEFT_OUT = -60.0
# Relative widening of a log moment's sum, over and above its exponents' rounding.
_SUM_ERROR = 1e-13
# Weights e^{−θx} beyond this exponent are below the rounding of the sum.
_REACH = 60.0


def log_expm1(x: float) -> float:
    """log(e^x − 1) for x > 0, also where e^x overflows."""
    return x + math.log(-math.expm1(-x)) if x > 0.0 else -math.inf


@dataclass(frozen=True)
class Window:
    """Tilt θ, window [low, low + width) with `length` nodes; tilts t for the Chernoff bounds.

    `below` < tilt < `above`; `above` also bounds the mass beyond the window, or `beyond` does.
    """

    tilt: float
    low: float
    width: float
    below: float
    above: float
    beyond: float


@dataclass(frozen=True)
class Composed:
    """The composed loss above `low`: weights to sum, and what to add or subtract.

    Attributes:
      losses: The nodes of the window, increasing.
      weights: c_j·e^{−θ(l_j − low)} with the node error on the proper side, never negative.
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


def _remainder(parts: Sequence[tuple[Discretised, int]], window: Window, sign: int) -> float:
    """Item 5 of the module's errors, and mass at infinity."""
    low, width, tilt = window.low, window.width, window.tilt
    if sign > 0:
        infinite = sum(count * part.infinite for part, count in parts)
        t = window.beyond
        return float(infinite) * (1.0 + 1e-15) + _safe_exp(_log_moment(parts, t) - t * (low + width))
    t = window.above
    above = _log_moment(parts, t) - t * low - log_expm1((t - tilt) * width)
    t = window.below
    reference = low if t >= 0.0 else low + width
    below = _log_moment(parts, t) - t * reference - log_expm1((tilt - t) * width)
    return (_safe_exp(above) + _safe_exp(below)) * (1.0 + 1e-9)


def compose(parts: Sequence[tuple[Discretised, int]], window: Window, length: int, sign: int) -> Composed:
    """The law of the sum of `count` copies of each part, on a circle of `length` nodes.

    Args:
      parts: Upper masses for `sign` = 1, lower masses for −1, all with the same step h.
      window: Its width is `length`·h.
      length: A power of two.
      sign: 1 for an upper bound of δ, −1 for a lower bound.
    """
    tilt, step = window.tilt, parts[0][0].grid.step
    stages = math.log2(length) + 1.0
    log_modulus = np.zeros(length // 2 + 1)
    log_modulus_most = np.zeros(length // 2 + 1)
    phase = np.zeros(length // 2 + 1)
    power_error = np.zeros(length // 2 + 1)
    log_total = offset = nudge = total_rounding = 0.0
    for part, count in parts:
        exponents = tilt * part.grid.nodes
        top = float(np.max(exponents[part.masses > 0.0], initial=-math.inf))
        tilted = part.masses * np.exp(np.minimum(exponents - top, 0.0))
        size = float(np.sum(tilted))
        tilted /= size
        kappa = top + math.log(size)
        rounding = UNIT * (4.0 * np.abs(exponents) + 4.0 * abs(kappa) + 16.0)
        tilted *= 1.0 + sign * rounding
        circle = np.bincount(part.grid.indices % length, weights=tilted, minlength=length)
        transform = fft.rfft(circle)
        modulus = np.maximum(np.abs(transform), 1e-300)
        error = _STAGE_ERROR * stages * float(np.sum(tilted))
        log_one = np.log(modulus)
        log_modulus += count * log_one
        log_modulus_most += count * np.log(modulus + error)
        phase += np.remainder(count * np.angle(transform), 2.0 * math.pi)
        power_error += 8.0 * count * np.abs(log_one) + 32.0 * count
        log_total += count * kappa
        total_rounding += count * abs(kappa)
        offset += count * part.grid.offset
        nudge += count * (part.nudge + 2.0 * UNIT * abs(part.grid.offset))

    most = np.exp(log_modulus_most)
    use = log_modulus > _LEFT_OUT
    modulus = np.exp(np.where(use, log_modulus, -np.inf))
    spectrum = modulus * np.exp(1j * phase)
    spectrum_error = (most - modulus) + UNIT * power_error * modulus + 4.0 * UNIT * most
    # The half spectrum stands for the whole: every frequency but two counts twice.
    node_error = 2.0 * float(np.sum(spectrum_error)) / length
    node_error += 2.0 * _STAGE_ERROR * stages * float(np.sum(modulus)) / length
    masses = fft.irfft(spectrum, length)

    first = math.floor((window.low - offset) / step)
    masses = np.roll(masses, -(first % length))
    losses = offset + step * np.arange(first, first + length)
    weights = np.maximum(masses + sign * node_error, 0.0)
    decay = np.minimum(tilt * (losses - window.low), 700.0)
    weights *= np.exp(-decay)
    largest = max(abs(float(losses[0])), abs(float(losses[-1])), abs(offset))
    scale_error = 1e-13 + UNIT * (
        4.0 * total_rounding + 4.0 * abs(log_total) + 8.0 * abs(tilt * window.low) + 8.0 * tilt * largest
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
