"""Noise for a mean is divided by the batch size once too often.

Why it breaks the claim: a sum with noise σC, divided by b, has noise σC/b. Code that adds noise of
standard deviation σC/b to the *sum* and then divides has noise σC/b² on a mean whose sensitivity is
C/b: a multiplier of σ/b. Microbatches and gradient accumulation give the same mistake.

Why the twin keeps it: noise σC on the sum, then the division, which is post-processing.
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

BATCH = 4


@dataclass(frozen=True, slots=True)
class NoisyMean:
    """(Clipped sum + noise)/b."""

    noise_std: float

    def __call__(self, data: FloatArray, rng: np.random.Generator, n: int) -> FloatArray:
        """The draws."""
        noisy = clipped_sum(data) + normals(rng, n, data.shape[1], self.noise_std)
        return np.asarray(noisy / BATCH)


SPECIMENS = (
    Specimen(
        name="noise off by the batch factor",
        flaw="Noise of the size that a mean needs is added to the sum, which is then divided.",
        reference="TensorFlow Privacy issue 153: noise on an average accounted for as on a sum, a "
        "factor of the batch size (there in the other direction: more noise than was accounted "
        "for); Ponomareva et al. 2023, section 5.6, on microbatches. " + GAUSSIAN_TWIN,
        explanation=__doc__ or "",
        claim=gaussian_claim(1.0),
        flawed=NoisyMean(noise_std=1.0 / BATCH),
        repaired=NoisyMean(noise_std=1.0),
        pair=present_or_absent([1.0], name="one record at C, or an empty data set"),
        statistic=Coordinate(0),
        expected=CAUGHT,
        proof=shifted(BATCH),
    ),
)
