r"""Sums of many independent copies on a grid, every mass bounded from both sides, far tails too.

Masses p_j at places jh, j an integer; wanted are the masses of the sum of n copies, p^{*n}, and,
for a second list m, n·p^{*(n−1)} * m. From a plain FFT they have errors relative to the largest; so
several transforms are taken, of p·e^{θjh − κ} with Σ = 1 for tilts θ that put the weight where each
part of the result is, and each place takes the best of them.

**Errors**, u = 2⁻⁵³; as in `accountants.fourier.grid.convolve`, whose items are named:

* the tilted masses: 32u each, relatively: θh has 20 bits and κ few, so that exponents
  are exact (where not, they add their rounding); and what is left out of them (1);
* the transforms: e = 8u·k·Σ|inputs| for each output, length 2^k (2);
* |F̂^n − F^n| ≤ (|F̂|+e)^n − |F̂|^n, and rounding of exp(n·log F̂) by u·(64n + 8n|log F̂|) (3);
  where (|F̂|+e)^n < e^{−60} nothing is computed and all is error;
* the error of each mass is at most the mean of that over the frequencies, plus the inverse's (4);
* other turns of the circle, of circumference W, add to a place at least 0 and at most

      e^{K(t) − K(θ) − (t−θ)(C+W)} + e^{K(t') − K(θ) + (θ−t')C},   t' < θ < t,

  C where the circle begins, K(t) = n·log Σ p_j·e^{tjh}: Chernoff, as in item 5. A sum that has a
  factor m in it has log Σ m_j·e^{tjh} in place of one n-th of K.

What lies outside of the window that is returned is at most e^{K(t) − tB} above B and
e^{K(t') − t'A} below A, K with its own rounding added.
"""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import fft

from accountants.arrays import ComplexArray, FloatArray
from accountants.fourier.grid.discretise import sum_at
from accountants.fourier.grid.laws.law import UNIT

# Exponents of Chernoff bounds: of where the circle ends, of what is read, of the tilts.
_CIRCLE, _READ = 110.0, 56.0
_RATES = (2.0, 8.0, 24.0, 48.0)
_BISECTIONS = 30
# Standard deviations between tilts.
_APART = 3.0
_LEFT_OUT = -60.0
# Shares of a tilt that are tried for what lies beyond the window.
LEAST_PART = 0.2
_PARTS = (1.0, 0.7, 0.4, LEAST_PART)
# Tilted masses below e^this of the largest are left out, and counted as error.
_VANISHED = -92.0
_STAGE_ERROR = 8.0 * UNIT
# Relative error of a sum of exponentials, over and above its exponents' rounding.
_SUM_ERROR = 1e-13
_LADDER = np.geomspace(1e-2, 1e3, 61)
# Masses looked at in order to choose tilts.
_LOOKED_AT = 1024


class TooLongError(Exception):
    """No circle of the allowed length holds the sum."""


@dataclass(frozen=True, eq=False)
class Outline:
    """Where the sum of n copies lies and which tilts show it: no bound depends on its being good.

    Attributes:
      low, high: The circle.
      below, above: The window that is read.
      left, between, right: Tilts that show it.
      far: Tilts for Chernoff bounds at the circle's ends.
      near: Tilts for Chernoff bounds at the window's ends.
      deviation: The sum's standard deviation.
    """

    low: float
    high: float
    below: float
    above: float
    left: tuple[float, ...]
    between: tuple[float, ...]
    right: tuple[float, ...]
    far: tuple[float, float]
    near: tuple[float, float]
    deviation: float

    @classmethod
    def of(cls, places: FloatArray, masses: FloatArray, copies: int) -> "Outline":
        """From masses at places, or from any that are about the same law."""
        kept = masses > 0.0
        places, masses = places[kept], masses[kept]
        stride = -(-places.size // _LOOKED_AT)
        # Of lognormals the first places matter most.
        single = min(_LOOKED_AT, places.size)
        starts = np.append(np.arange(single), np.arange(single, places.size, stride))
        weights = np.add.reduceat(masses, starts)
        places = np.add.reduceat(masses * places, starts) / weights
        log_weights = np.log(weights)
        mean = float(np.dot(weights, places)) / float(np.sum(weights))
        variance = float(np.dot(weights, (places - mean) ** 2)) / float(np.sum(weights))
        scale = math.sqrt(max(variance * copies, 1e-300))
        ends: list[float] = []
        reads: list[float] = []
        far: list[float] = []
        near: list[float] = []
        wings: list[tuple[float, ...]] = []
        for sign in (-1.0, 1.0):
            tilts = sign * _LADDER / scale
            moments, _ = _tilted_moments(places, log_weights, copies, tilts)
            for exponent, found, used in ((_CIRCLE, ends, far), (_READ, reads, near)):
                reach = (moments + exponent) / np.abs(tilts)
                best = int(np.argmin(reach))
                found.append(sign * float(reach[best]))
                used.append(float(tilts[best]))
            wings.append(_with_rates(places, log_weights, copies, sign, scale))
        return cls(
            low=ends[0],
            high=ends[1],
            below=reads[0],
            above=reads[1],
            left=wings[0],
            between=(0.0,),
            right=wings[1],
            far=(far[0], far[1]),
            near=(near[0], near[1]),
            deviation=scale,
        )

    @property
    def tilts(self) -> tuple[float, ...]:
        """All that are used."""
        return (*self.left, *self.between, *self.right)

    def joined(self, other: "Outline") -> "Outline":
        """For two laws of which the `other` is the one tilted by 1, and lies higher."""
        moved = other.shifted(1.0)
        parts = max(1, math.ceil(self.deviation / _APART))
        return Outline(
            low=self.low,
            high=moved.high,
            below=self.below,
            above=moved.above,
            left=self.left,
            between=tuple(part / parts for part in range(parts + 1)),
            right=moved.right,
            far=(self.far[0], moved.far[1]),
            near=(self.near[0], moved.near[1]),
            deviation=self.deviation,
        )

    def shifted(self, tilt: float) -> "Outline":
        """The same for masses that are tilted by −`tilt`."""
        return replace(
            self,
            left=tuple(t + tilt for t in self.left),
            between=tuple(t + tilt for t in self.between),
            right=tuple(t + tilt for t in self.right),
            far=(self.far[0] + tilt, self.far[1] + tilt),
            near=(self.near[0] + tilt, self.near[1] + tilt),
        )


def _tilted_moments(
    places: FloatArray, log_weights: FloatArray, copies: int, tilts: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """K and K' at each tilt."""
    exponents = tilts[:, None] * places + log_weights
    top = np.max(exponents, axis=1)
    weights = np.exp(exponents - top[:, None])
    total = np.sum(weights, axis=1)
    return copies * (top + np.log(total)), copies * (weights @ places) / total


def _with_rates(
    places: FloatArray, log_weights: FloatArray, copies: int, sign: float, scale: float
) -> tuple[float, ...]:
    """Tilts at which the tilted mean has the probabilities e^−`_RATES`, about, by bisection.

    Where one of many is far out, the mean jumps there at one tilt, which shows what is between.
    """
    rates = np.array(_RATES)
    low = np.full(rates.size, math.log(_LADDER[0] / scale))
    high = np.full(rates.size, math.log(_LADDER[-1] / scale))
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        tilts = sign * np.exp(middle)
        moments, means = _tilted_moments(places, log_weights, copies, tilts)
        is_far = tilts * means - moments > rates
        low, high = np.where(is_far, low, middle), np.where(is_far, middle, high)
    return tuple(float(sign * math.exp(value)) for value in 0.5 * (low + high))


class Sums(NamedTuple):
    """Bounds of masses at the places (first + i)·h.

    Attributes:
      first: The first place.
      lower, upper: Of p^{*n}.
      moment_lower, moment_upper: Of n·p^{*(n−1)} * m; None without m.
      beyond_below, beyond_above: Upper bounds of the masses of p^{*n} outside.
    """

    first: int
    lower: FloatArray
    upper: FloatArray
    moment_lower: FloatArray | None
    moment_upper: FloatArray | None
    beyond_below: float
    beyond_above: float


def _short(value: float) -> float:
    """To 20 significant bits."""
    mantissa, exponent = math.frexp(value)
    return math.ldexp(round(math.ldexp(mantissa, 20)), exponent - 20)


class _Tilted:
    """One list of masses, tilted, and its transform."""

    def __init__(self, indices: FloatArray, masses: FloatArray, slope: float) -> None:
        with np.errstate(divide="ignore"):
            logs = np.log(masses)
        # A slope of few bits and a scale of few more: the exponents are exact, or nearly so.
        exponents = slope * indices
        top = float(np.max(exponents + logs))
        kept = exponents + logs > top + _VANISHED
        total = float(np.sum(masses[kept] * np.exp(exponents[kept] - top)))
        self.log_scale = math.ldexp(round(math.ldexp(top + math.log(total), 16)), -16)
        exponents -= self.log_scale
        self.masses = np.zeros(masses.size)
        self.masses[kept] = masses[kept] * np.exp(exponents[kept])
        self.missing = 2.0 * masses.size * math.exp(_VANISHED)
        self._places = indices.astype(np.int64)
        # Multiples of 2^-40 below 2^12, so exact; else rounded twice.
        is_exact = slope == 0.0 or abs(slope) >= 2.0**-20
        is_exact = is_exact and float(np.max(np.abs(exponents))) < 2.0**12
        rounded = 4.0 * UNIT * float(np.max(np.abs(exponents[kept]))) if not is_exact else 0.0
        self.rounding = 32.0 * UNIT + rounded

    def transform(self, length: int) -> tuple[ComplexArray, float]:
        """On a circle of so many places, and a bound of each output's error."""
        around = sum_at(self._places % length, self.masses, length)
        stages = math.log2(length) + 2.0
        return np.asarray(fft.rfft(around)), _STAGE_ERROR * stages * (1.0 + 1e-4)


def log_moment(places: FloatArray, masses: FloatArray, tilt: float) -> float:
    """An upper bound of log Σ masses·e^{tilt·place}."""
    with np.errstate(divide="ignore"):
        exponents = tilt * places + np.log(masses)
    top = float(np.max(exponents))
    value = top + math.log(float(np.sum(np.exp(exponents - top))))
    widest = float(np.max(np.abs(tilt * places))) + abs(top)
    return value + _SUM_ERROR + 16.0 * UNIT * (widest + 700.0)


def sums(
    first: int,
    masses: FloatArray,
    h: float,
    copies: int,
    *,
    moments: FloatArray | None = None,
    moments_first: int | None = None,
    outline: Outline | None = None,
    most: int = 2**20,
) -> Sums:
    """The masses of the sum of `copies` copies, and of what goes with `moments`.

    Args:
      first: The place of masses[0] is first·h.
      masses: Non-negative.
      h: A power of two.
      copies: n, at least 2.
      moments: m; non-negative.
      moments_first: Where m begins, if not where the masses do.
      outline: Where to look, if that is known.
      most: The longest circle.

    Raises:
      TooLongError: The circle would be longer.
    """
    indices = np.arange(first, first + masses.size, dtype=np.float64)
    places = h * indices
    outline = outline or Outline.of(places, masses, copies)
    begin = math.floor(outline.low / h) - 1
    if not outline.high >= outline.low:
        raise TooLongError(f"no window in {outline}")
    length = 1 << max(6, math.ceil(math.log2((outline.high - outline.low) / h + 8.0)))
    if length > most:
        raise TooLongError(f"{length} places")
    start = max(begin, math.floor(outline.below / h) - 1)
    stop = min(begin + length, math.ceil(outline.above / h) + 2)
    if stop <= start:
        raise TooLongError(f"no window in {outline}")
    at = np.arange(start, stop, dtype=np.float64)
    circle = (h * begin, h * (begin + length))

    far = [log_moment(places, masses, tilt) for tilt in outline.far]
    lists, last = [(indices, masses)], [far]
    if moments is not None:
        begin_at = first if moments_first is None else moments_first
        others = np.arange(begin_at, begin_at + moments.size, dtype=np.float64)
        lists.append((others, moments))
        last.append([log_moment(h * others, moments, tilt) for tilt in outline.far])
    found: list[list[FloatArray]] = []
    for tilt in outline.tilts:
        slope = _short(tilt * h)
        tilted = [_Tilted(where, values, slope) for where, values in lists]
        results = _powers(tilted, copies, length)
        for which, (values, error, rounding) in enumerate(results):
            scale = (copies - 1) * tilted[0].log_scale + tilted[which].log_scale
            aliases = 0.0
            for side in (0, 1):
                wing, edge = outline.far[side], circle[side]
                moment = (copies - 1) * far[side] + last[which][side]
                # t·edge of the Chernoff bound and θ·edge of the tilt, whichever side.
                exponent = moment - scale - (wing - slope / h) * edge + 1e-6
                outside = wing < tilt if side == 0 else wing > tilt
                aliases += math.exp(min(exponent, 300.0)) if outside else math.inf
            values = np.roll(values, -(begin % length))[start - begin : stop - begin]
            log_back = scale - slope * at
            grown = rounding + UNIT * (8.0 * np.abs(slope * at) + 8.0 * abs(scale) + 64.0)
            factor = np.exp(np.clip(log_back, -740.0, 700.0)) * (copies if which else 1.0)
            upper = np.maximum(values + error, 0.0) * factor * (1.0 + grown)
            upper[log_back > 700.0] = np.inf
            lower = np.maximum(values - error - aliases, 0.0) * factor * (1.0 - grown)
            lower[log_back < -700.0] = 0.0
            if len(found) <= which:
                found.append([lower, upper])
            else:
                found[which] = [
                    np.maximum(found[which][0], lower),
                    np.minimum(found[which][1], upper),
                ]
    beyond = []
    for tilt, edge in zip(outline.near, (start, stop - 1), strict=True):
        # The tilt that is best for the law may not be for its grid.
        exponents = [
            copies * log_moment(places, masses, part * tilt) - part * tilt * h * edge
            for part in _PARTS
        ]
        beyond.append(math.exp(min(*exponents, 300.0) + 1e-9))
    extra = found[1] if moments is not None else [None, None]
    return Sums(start, found[0][0], found[0][1], extra[0], extra[1], beyond[0], beyond[1])


def _powers(
    tilted: list[_Tilted], copies: int, length: int
) -> list[tuple[FloatArray, float, float]]:
    """F^n and F^{n−1}·M, back from the circle; an error of each place, a relative one of all."""
    transform, error = tilted[0].transform(length)
    modulus = np.abs(transform)
    with np.errstate(divide="ignore"):
        log_most = np.log(modulus + error)
    use = (copies - 1) * log_most > _LEFT_OUT
    log_modulus = np.log(np.maximum(modulus[use], 1e-300))
    phase = np.remainder((copies - 1) * np.angle(transform[use]), 2.0 * math.pi)
    power = np.exp((copies - 1) * log_modulus + 1j * phase)
    most = np.exp((copies - 1) * log_most)
    off = most.copy()
    rounded = UNIT * (copies - 1) * (64.0 + 8.0 * np.abs(log_modulus))
    off[use] *= -np.expm1((copies - 1) * (log_modulus - log_most[use])) + rounded
    results = []
    for one in tilted:
        other, other_error = (transform, error) if one is tilted[0] else one.transform(length)
        bound = np.abs(other) + other_error
        wrong = off * bound + most * (other_error + 8.0 * UNIT * bound)
        spectrum = np.zeros(modulus.size, dtype=np.complex128)
        spectrum[use] = power * other[use]
        values = fft.irfft(spectrum, length)
        stages = _STAGE_ERROR * (math.log2(length) + 2.0)
        node = 2.0 * (float(np.sum(wrong)) + stages * float(np.sum(np.abs(spectrum)))) / length
        whole = max(1.0, float(np.max(most)))
        node += 2.0 * whole * ((copies - 1) * tilted[0].missing + one.missing)
        relative = (copies - 1) * tilted[0].rounding + one.rounding
        results.append((values, node * (1.0 + 1e-9), relative * (1.0 + 1e-9)))
    return results
