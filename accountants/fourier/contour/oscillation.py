r"""Σ_j p_j·(e^{itL_j} − 1) at many frequencies t, without a sine for each pair of t and L.

At frequencies 0, h, 2h, … let a = e^{iα} − 1 for α = khL. Two of them combine as a ⊕ b = a + b +
ab, so that rows k < 2^m come from the rows below 2^{m−1} and one new row of sines; and with k = k₁
+ Bk₂

    Σ_j p_j·(e^{ikhL_j} − 1) = Σ_j p_j·a_{k₁j}·b_{k₂j} + Σ_j p_j·a_{k₁j} + Σ_j p_j·b_{k₂j},

a product of two matrices with about √K rows each. Nothing cancels with the 1.

**Rounding**, u = 2⁻⁵³, relative to Σp|tL|. A row of sines is off by 22u: 17u for −2sin²(α/2), 18u
for 2·sin·cos, relative to |2sin(α/2)| ≤ |α|, and 2u for α. A combination adds the errors of its two
halves, |1 + a| being 1 but for them, and 8u·(|a| + |b|), where |ab| ≤ 2·min(|a|, |b|) and |a| + |b|
≤ |tL|, as α and β have the same sign: 22u + 8u per doubling. The product of matrices sums, in
whatever order (and without Strassen's trick), `_BLOCK` complex terms, √2·(2·_BLOCK + 2)u·Σp|a||b| ≤
365u·Σp|tL|, then the blocks, u for each. All other sums are pairwise, 40u each.
"""

import math

import numpy as np

from accountants.arrays import ComplexArray, FloatArray

__all__ = ["oscillations"]

# With no more evaluations than this, sines are as fast; and they round less.
_FEW = 100_000
# Nodes in one matrix product, and how many of these products at a time.
_BLOCK = 128
_AT_ONCE = 8
# Evaluations of sines at a time, to bound the memory.
_CHUNK = 500_000
# 22 for a sine, 3 · 40 for sums, the rest for what `Line.characteristic` does with the result.
_SINES = 220.0
_PRODUCTS = 365.0


def oscillations(
    weights: FloatArray, losses: FloatArray, t: FloatArray
) -> tuple[ComplexArray, float]:
    """Σ p(e^{itL} − 1) at each t ≥ 0, and its error in units of u·Σp|tL|.

    Frequencies 0, h, 2h, … may be many.
    """
    size = len(t)
    if size * losses.size <= _FEW or not np.array_equal(t, t[1] * np.arange(size)):
        return _one_by_one(weights, losses, t), _SINES
    low = 1 << (max(size - 1, 1).bit_length() // 2)
    high = -(-size // low)
    pad = -losses.size % _BLOCK
    losses = np.pad(losses, (0, pad)).reshape(-1, _BLOCK)
    weights = np.pad(weights, (0, pad)).reshape(-1, 1, _BLOCK)
    total = np.zeros((high, low), dtype=np.complex128)
    for start in range(0, len(losses), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        fine = _rows(losses[part], float(t[1]), low) * weights[part]
        coarse = _rows(losses[part], low * float(t[1]), high)
        total += (coarse @ fine.transpose(0, 2, 1)).sum(axis=0)
        total += fine.sum(axis=(0, 2))
        total += (coarse * weights[part]).sum(axis=(0, 2))[:, None]
    roundings = 8.0 * (1.0 + math.log2(low * high)) + _PRODUCTS + 4.0 * len(losses)
    return total.ravel()[:size], _SINES + roundings


def _one_by_one(weights: FloatArray, losses: FloatArray, t: FloatArray) -> ComplexArray:
    result = np.empty(len(t), dtype=np.complex128)
    rows = max(1, _CHUNK // losses.size)
    for start in range(0, len(t), rows):
        chunk = slice(start, start + rows)
        half = np.multiply.outer(0.5 * t[chunk], losses)
        sine = np.sin(half)
        weighted = sine * weights
        result.real[chunk] = -2.0 * (weighted * sine).sum(axis=1)
        result.imag[chunk] = 2.0 * (weighted * np.cos(half)).sum(axis=1)
    return result


def _rows(losses: FloatArray, step: float, count: int) -> ComplexArray:
    """e^{ik·step·L} − 1 for k below `count`: an axis of k before the last one of `losses`."""
    rows = np.zeros((len(losses), count, losses.shape[1]), dtype=np.complex128)
    known = 1
    while known < count:
        half = (0.5 * known * step) * losses
        sine = np.sin(half)
        new = (-2.0 * sine * sine + 2.0j * sine * np.cos(half))[:, None]
        old = rows[:, : min(known, count - known)]
        rows[:, known : known + old.shape[1]] = old * (1.0 + new) + new
        known *= 2
    return rows
