"""Clipping to a percentile of the batch's own gradient norms (Thesis 4.3). NOT PRIVATE.

Only here, for a specimen and to compare what it learns; `mechanisms` has no such rule, and no event
describes it.
"""

from dataclasses import dataclass

import numpy as np

from accountants.arrays import FloatArray
from mechanisms import clip_rows
from pvi import StepContext

_SMALLEST = 1e-100


@dataclass(frozen=True, slots=True)
class PercentileSum:
    """The Thesis's adaptive clipping, for comparison only: it satisfies no (ε, δ) with δ < q.

    C, and with it the noise, follows the norms in the batch. Let D hold one record with a gradient
    of norm r, and D′ a second one of norm 1. From D comes nothing longer than a few r; from D′, if
    the second record is in the batch, noise of a standard deviation near σ times the percentile's
    share. As r → 0 the two are told apart with a probability that tends to q, so that ε is
    unbounded for every δ < q. `mechanisms` has no such rule.
    """

    percentile: int
    noise_multiplier: float
    scale: float

    def __call__(self, gradients: FloatArray, context: StepContext) -> FloatArray:
        """Clips to the percentile of the rows that are not zero, sums, perturbs and scales."""
        norm = batch_percentile(np.linalg.norm(gradients, axis=-1), self.percentile)
        # An empty batch has no percentile; its sum is zero whatever the norm is.
        rows = clip_rows(gradients, np.maximum(norm, _SMALLEST)[..., None]).rows
        total = rows.sum(axis=-2)
        noise = context.rng.standard_normal(total.shape)
        std = self.noise_multiplier * norm[..., None]
        return np.asarray((total + std * noise) * self.scale)


def batch_percentile(norms: FloatArray, percentile: float) -> FloatArray:
    """The percentile, linearly interpolated, of each row's positive entries; 0 if there are none.

    >>> batch_percentile(np.array([[0.0, 1.0, 3.0, 0.0], [0.0, 0.0, 0.0, 0.0]]), 50)
    array([2., 0.])
    """
    ordered = np.sort(norms, axis=-1)
    size = norms.shape[-1]
    empty = size - np.count_nonzero(ordered, axis=-1)
    position = empty + percentile / 100.0 * np.maximum(size - empty - 1, 0)
    below = np.minimum(np.floor(position).astype(np.intp), size - 1)
    above = np.minimum(below + 1, size - 1)
    first, second = (
        np.take_along_axis(ordered, index[..., None], axis=-1)[..., 0] for index in (below, above)
    )
    return np.asarray(first + (position - below) * (second - first))
