r"""The likelihood ratio of one Poisson-sampled Gaussian step in doubles, with its rounding errors.

With sampling rate q and noise multiplier σ the two output laws of one step are N(0, σ²) and
(1−q)·N(0, σ²) + q·N(1, σ²); at noise y ~ N(0, 1) of the first their ratio is

    w(y) = 1 − q + q·e^{v},    v = y/σ − 1/(2σ²),    E[w] = 1.

Everything else is a function of log w, by way of ψ(x) = e^x − 1 − x ≥ 0 (`psi`):

    w^s − 1 − s(w−1) = w·(ψ((s−1)·log w) + (s−1)·ψ(−log w))    for s ≥ 1,
                     = ψ(s·log w) + |s|·ψ(log w)                for s ≤ 0.

Both are sums of non-negative terms, so that nothing cancels, for tiny q or for s near 0 or 1.

**Rounding.** u = 2⁻⁵³; exp, log, expm1, log1p are taken to be within 4 units in the last place, 8u
relative (`ELEMENTARY`; measured below one unit, see tests/crosscheck/accountants/test_elementary_
functions.py). Let V = |y|/σ + 1/(2σ²) ≥ |v| and r = q·e^v/w = dlog w/dv.

* v: the node, 1/σ, the difference and the product round by u each, together by 5u·V.
* log w = log1p(q·expm1(v)) where w ≥ 1/2 and v ≤ 700. The error of v arrives times r; q·expm1(v) is
  off by 9u of itself, which is at most 18u·|log w| after the logarithm, whose own error is 8u.
  Together 27u·|log w| + 5u·rV.
* Elsewhere log w = log((1−q) + e^{log q + v}) with both logarithms off by 8u of themselves. Where
  w < 1/2, |log(1−q)|·(1−r) ≤ |log w| + 0.4 and |log q| < 1; where v > 700, |log q| ≤ 1.07·V.
  Together at most 64u·|log w| + 24u·rV.
* `log_gap`: a relative error e of x makes one of (2 + max(x, 0))·e in ψ(x), as x·ψ′/ψ ≤ 2 + max(x,
  0); the series is good to 40u; beyond it expm1(x) and x are each off by 9u, and (|expm1(x)| +
  |x|)/ψ(x) ≤ 8.2, so 80u; where x > 40, u·x; the logarithms by 8u of themselves. With E the error
  of log w and e = E/|log w|, log of the gap g is off by at most (2/|log w| + |s| + 1)·E + u·(100 +
  4|s·log w| + 10·|log g|). Where log w is no larger than E, the gap is of order E², far below the
  rounding of the nodes beside it.
"""

import math
from typing import NamedTuple

import numpy as np

from accountants.arrays import FloatArray

UNIT_ROUNDOFF = 2.0**-53
# The elementary functions' relative error: four units in the last place.
ELEMENTARY = 8.0 * UNIT_ROUNDOFF
# A pairwise sum of up to 2**25 terms: blocks of 128 in eight lanes, then halves.
SUMMATION = 40.0 * UNIT_ROUNDOFF
_SERIES_RADIUS = 0.5
_SERIES_TERMS = 16
# Beyond this, 1 + x is below the rounding of e^x.
_EXPONENTIAL = 40.0
# Below this, x² may leave the range of doubles.
_SQUARE_UNDERFLOWS = 1e-100
# expm1 overflows beyond 709.
_EXP_LIMIT = 700.0


class Ratio(NamedTuple):
    """The likelihood ratio at some y.

    Attributes:
      log_w: log w, with small relative error also where w is near 1.
      posterior: r = q·e^v/w, how likely the record was sampled given y; approximate.
      error: A bound of the absolute error of `log_w`.
    """

    log_w: FloatArray
    posterior: FloatArray
    error: FloatArray


def ratio(sampling_rate: float, noise_multiplier: float, y: FloatArray) -> Ratio:
    """Log w at `y`, see the module."""
    q, scale = sampling_rate, 1.0 / noise_multiplier
    v = scale * (y - 0.5 * scale)
    size = np.abs(scale * y) + 0.5 * scale * scale
    log_w = np.log1p(q * np.expm1(np.minimum(v, _EXP_LIMIT)))
    direct = (log_w >= -math.log(2.0)) & (v <= _EXP_LIMIT)
    if bool(direct.all()):
        posterior = np.exp(math.log(q) + v - log_w)
        return Ratio(
            log_w, posterior, UNIT_ROUNDOFF * (27.0 * np.abs(log_w) + 5.0 * posterior * size)
        )
    log_odds_side = math.log(q) + v
    log_w = np.where(direct, log_w, np.logaddexp(math.log1p(-q), log_odds_side))
    posterior = np.exp(log_odds_side - log_w)
    error = np.where(direct, 27.0, 64.0) * np.abs(log_w)
    error += np.where(direct, 5.0, 24.0) * posterior * size
    return Ratio(log_w, posterior, UNIT_ROUNDOFF * error)


def log_psi(x: FloatArray) -> FloatArray:
    """log(e^x − 1 − x), accurate for all x; −inf at 0."""
    series = np.zeros_like(x)
    for k in range(_SERIES_TERMS, 1, -1):
        series = (series + 1.0) * x / k
    # The loop leaves Σ_{k≥2} x^{k-1}/k!; one more factor x completes it.
    inside = np.clip(x, -math.inf, _EXPONENTIAL)
    value = np.where(np.abs(x) < _SERIES_RADIUS, series * x, np.expm1(inside) - inside)
    with np.errstate(divide="ignore"):  # At 0 the logarithm of 0 is right.
        result: FloatArray = np.where(x < _EXPONENTIAL, np.log(value), x)
        tiny = np.abs(x) < _SQUARE_UNDERFLOWS
        if bool(tiny.any()):
            result = np.where(tiny, 2.0 * np.log(np.abs(x)) - math.log(2.0), result)
    return result


def log_gap(at: Ratio, power: float) -> tuple[FloatArray, FloatArray]:
    """log(w^s − 1 − s(w−1)), s outside (0, 1), and a bound of its absolute error."""
    log_w, excess = at.log_w, power - 1.0
    if power > 0.0:
        gap = log_w + np.logaddexp(log_psi(excess * log_w), math.log(excess) + log_psi(-log_w))
    else:
        gap = np.logaddexp(log_psi(power * log_w), math.log(-power) + log_psi(log_w))
    size = np.maximum(np.abs(log_w), 1e-300)
    error = (2.0 / size + abs(power) + 1.0) * at.error
    error += UNIT_ROUNDOFF * (100.0 + 4.0 * np.abs(power * log_w) + 10.0 * np.abs(gap))
    return gap, error
