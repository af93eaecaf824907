r"""δ(ε) of one composed law at many ε at once.

With weights w_i at losses l_i, h apart, and j the first with l_j > ε,

    Σ_{i ≥ j} w_i·(1 − e^{ε−l_i}) = A_j − e^{ε−l_j}·B_j,    A_j = Σ_{i≥j} w_i,
    B_j = Σ_{i≥j} w_i·e^{−(l_i−l_j)} = w_j + e^{−h}·B_{j+1},

so that two passes over the weights answer for every ε ≥ `low`.

**Rounding.** All terms are positive. A_j is off by at most n·u of itself, n the number of nodes; a
term of B_j has gone through two roundings per node, and e^{−h} is off by 2u: 4n·u. Their difference
is therefore off by (4n + 16)·u·(A_j + B_j): relative to P(L > ε), not to δ, which is the price of
the short-cut. h is the mean distance of the rounded nodes; by how much that misplaces a node,
twice their rounding, is added to the places' own error.
"""

import math

import numpy as np
from scipy import signal

from accountants.arrays import FloatArray
from accountants.fourier.grid.convolve import Composed
from accountants.fourier.grid.laws.law import UNIT


class Profile:
    """One side's bound of δ(ε) for all ε.

    Args:
      composed: One side's composed law.
      low: Where its window begins; for ε below, δ(low) ≤ δ(ε) ≤ 1 is all that is said.
    """

    def __init__(self, composed: Composed, low: float) -> None:
        self._low = low
        losses, weights = composed.losses, composed.weights
        count = losses.size
        step = float(losses[-1] - losses[0]) / max(count - 1, 1)
        self._composed = composed
        self._shift = composed.shift + 8.0 * UNIT * float(np.max(np.abs(losses)))
        self._rounding = (4.0 * count + 16.0) * UNIT
        # A zero at the end for the ε that no loss exceeds.
        self._mass = np.append(np.cumsum(weights[::-1])[::-1], 0.0)
        faded = signal.lfilter([1.0], [1.0, -math.exp(-step)], weights[::-1])
        self._faded = np.append(np.asarray(faded, dtype=np.float64)[::-1], 0.0)

    def __call__(self, epsilons: FloatArray) -> FloatArray:
        """The bound at each ε; ends as `Composed.delta` does."""
        composed, sign = self._composed, self._composed.sign
        inside = np.maximum(epsilons, self._low)
        at = inside - sign * (self._shift + 4.0 * UNIT * np.abs(inside))
        start = np.searchsorted(composed.losses, at, side="right")
        nearest = composed.losses[np.minimum(start, composed.losses.size - 1)]
        mass, faded = self._mass[start], self._faded[start]
        total = mass - np.exp(np.minimum(at - nearest, 0.0)) * faded
        total += sign * self._rounding * (mass + faded)
        scale = math.exp(min(composed.log_scale + sign * composed.log_scale_error, 700.0))
        bound: FloatArray = scale * np.maximum(total, 0.0) + sign * composed.remainder
        if sign > 0:
            bound[epsilons < self._low] = 1.0
        return np.clip(bound * (1.0 + sign * 8.0 * UNIT), 0.0, 1.0)
