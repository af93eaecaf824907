"""The mean of the batch is clipped, not each example.

Why it breaks the claim: one example, however large, moves an unclipped mean as far as it likes; the
clipped mean then turns from one side of the ball to the other, a shift of up to 2C rather than the
C/n that noise σC/n is for.

Why the twin keeps it: each example is clipped before the sum is taken, so that one of them moves
the mean over a public n by at most C/n.
"""

from dataclasses import dataclass

import numpy as np

from accountants.arrays import FloatArray
from audits.specimens.specimen import CAUGHT, Specimen
from audits.specimens.sums import (
    GAUSSIAN_TWIN,
    clipped_sum,
    gaussian_claim,
    normals,
    present_or_absent,
    shifted,
)
from audits.testing.statistics import Coordinate
from mechanisms import clip_rows

BATCH = 8


@dataclass(frozen=True, slots=True)
class ClippedMean:
    """The mean over a nominal batch, clipped as a whole or by example."""

    by_example: bool

    def __call__(self, data: FloatArray, rng: np.random.Generator, n: int) -> FloatArray:
        """The draws."""
        if self.by_example:
            mean = clipped_sum(data) / BATCH
        else:
            mean = clip_rows(data.sum(axis=0) / BATCH, 1.0).rows
        return np.asarray(mean + normals(rng, n, data.shape[1], 1.0 / BATCH))


SPECIMENS = (
    Specimen(
        name="the batch mean is clipped",
        flaw="The batch's mean gradient is clipped to C and given the noise that suffices for a "
        "mean of clipped gradients.",
        reference="Abadi et al. 2016, section 3.1, on per-example clipping; a frequent mistake "
        "with `clip_grad_norm_`. " + GAUSSIAN_TWIN,
        explanation=__doc__ or "",
        claim=gaussian_claim(1.0),
        flawed=ClippedMean(by_example=False),
        repaired=ClippedMean(by_example=True),
        pair=present_or_absent(
            [1e3], others=np.zeros((BATCH - 1, 1)), name="zeros, with or without one outlier"
        ),
        statistic=Coordinate(0),
        expected=CAUGHT,
        proof=shifted(BATCH),
    ),
)
