r"""Shuffled batches: what is known, and how far it is from Poisson sampling.

A shuffled epoch puts every record into exactly one of B batches, whose order is random and fresh
for each epoch; training loaders do this, and accountants that assume Poisson sampling are often
applied to it (Chua et al. 2024, "How Private are DP-SGD Implementations?", show by how much that
can be wrong). A ragged last batch may be kept; if it is dropped, a record is in one of the B
batches with probability `share` < 1 only.

* **Upper end: no amplification.** Given the orders, a record enters at most one Gaussian release
  per epoch, and all else is post-processing or does not depend on it, however the steps are chosen
  from the outputs of those before; mixing over orders cannot hurt (joint convexity). So an epoch
  is dominated by one Gaussian with μ = s/σ, s = 1 when the record is zeroed, 2 when it is replaced;
  E of them by μ = s·√E/σ (Dong, Roth, Su 2022, Corollary 3.3). The orders may be fresh or not.
* **Lower end**, from explicit pairs of data sets, composed over epochs with fresh orders:

  1. All other records at −C, the one at +C or −C: relative to the all-at-−C sums, (1/B)·Σ_t N(2e_t)
     against N(0), noise σ. That is balls in bins at noise σ/2, so `accountants.fourier.allocation`
     composes it, from below. For a zeroed record: others at 0, the one at ±C, and σ itself.
  2. Zeroed, others at −C: (1/B)·Σ_t N(2e_t) against (1/B)·Σ_t N(e_t). At little noise these are as
     far apart as plain Gaussians, where 1. loses log B. Their largest coordinate has

         P(M ≤ c) = Φ(c)^{B−1}·Φ(c − 2/σ),    Q(M ≤ c) = Φ(c)^{B−1}·Φ(c − 1/σ),

     and which cell of a fixed partition it is in, is a post-processing with finitely many outcomes,
     which composes (as in Chua et al. 2024, "Scalable DP-SGD: Shuffling vs. Poisson Subsampling").

**Ragged batches.** With weights w_t of the batches, 1. has the likelihood ratio Σ_t w_t·X_t in
place of the mean of the X_t, exchangeable and so, by Jensen's inequality over permutations, larger
in convex order; 2. does not change at all. Dropped records add 1 − share at N(0).
"""

import functools

import numpy as np
from scipy import special

from accountants.arrays import FloatArray
from accountants.fourier.grid.laws.computed import ComputedLaw

__all__ = ["largest_laws"]

# Cells of the largest coordinate, in standard deviations; how far out they reach.
_CELL, _REACH = 0.005, 12.0
# Distribution functions are known within 1e-12, their logarithms and these relative to their size.
_ERROR = 4e-12
_LEAST = 1e-300


@functools.lru_cache(maxsize=32)
def largest_laws(
    steps: int, noise_multiplier: float, share: float
) -> tuple[ComputedLaw, ComputedLaw]:
    """Loss laws that the largest sum of one epoch dominates, the record at +C or zeroed, and back.

    Args:
      steps: B.
      noise_multiplier: σ.
      share: A record's chance to be in one of the batches.
    """
    full, half = 2.0 / noise_multiplier, 1.0 / noise_multiplier
    reach = np.arange(-_REACH, _REACH, _CELL)
    edges = np.unique(np.concatenate((reach, half + reach, full + reach)))
    edges = np.concatenate(([-np.inf], edges, [np.inf]))
    with_record = _cell_masses(edges, steps, full, share)
    without = _cell_masses(edges, steps, half, share)
    return _law(with_record[0], without[1]), _law(without[0], with_record[1])


def _cell_masses(
    edges: FloatArray, steps: int, shift: float, share: float
) -> tuple[FloatArray, FloatArray]:
    """P(M in the cell), rounded down and up."""
    beyond = share * special.ndtr(shift - edges) + (1.0 - share) * special.ndtr(-edges)
    within = share * special.ndtr(edges - shift) + (1.0 - share) * special.ndtr(edges)
    with np.errstate(divide="ignore"):
        log_below = np.where(beyond < 0.5, np.log1p(-np.minimum(beyond, 0.5)), np.log(within))
        if steps > 1:
            log_below = log_below + (steps - 1) * special.log_ndtr(edges)
    below, above = np.exp(log_below), -np.expm1(log_below)
    upper = below[:-1] > 0.5
    masses = np.where(upper, above[:-1] - above[1:], below[1:] - below[:-1])
    known = below * (1.0 + np.where(below > 0.0, -log_below, 0.0))
    sizes = np.where(upper, above[:-1] + above[1:], known[:-1] + known[1:])
    return np.maximum(masses - _ERROR * sizes, 0.0), masses + _ERROR * sizes + _LEAST


def _law(least: FloatArray, most_of_other: FloatArray) -> ComputedLaw:
    """Less mass, at smaller losses, than the cells have."""
    seen = least > _LEAST
    masses = least[seen]
    losses = np.log(masses) - np.log(most_of_other[seen])
    losses -= 1e-15 * (4.0 + np.abs(np.log(masses)) + np.abs(losses))
    order = np.argsort(losses, kind="stable")
    return ComputedLaw(losses[order], masses[order], 0.0)
