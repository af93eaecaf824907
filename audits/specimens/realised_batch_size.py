"""The noisy batch mean is divided by the realised size of a Poisson batch.

Why it breaks the claim: noise σC/(qn) is right for a sum divided by the constant qn. Divided by the
realised size k, one record's share is C/k, which is up to C in a small batch, and one record more
changes the divisor of all the others. With few records expected, k = 1 is common.

Why the twin keeps it: it divides by the public constant qn, which is post-processing of the noisy
sum (Abadi et al. 2016, Algorithm 1, in the form of Poisson sampling by Mironov et al. 2019).
"""

from dataclasses import dataclass

import dp_accounting as dpa
import numpy as np

from audits.claim import Claim
from audits.specimens.specimen import CAUGHT, Specimen
from audits.specimens.sums import amounts_to, normals, poisson_batches, present_or_absent
from audits.statistics import Coordinate, FloatArray
from mechanisms import clip_rows

RATE, EXPECTED_SIZE = 0.5, 4.0


@dataclass(frozen=True, slots=True)
class BatchMean:
    """The mean of a Poisson batch, with noise for its nominal size."""

    realised: bool

    def __call__(self, data: FloatArray, rng: np.random.Generator, n: int) -> FloatArray:
        """The draws."""
        chosen = poisson_batches(rng, n, len(data), RATE)
        total = chosen @ clip_rows(data, 1.0).rows
        size = np.maximum(chosen.sum(axis=1, keepdims=True), 1.0)
        mean = total / (size if self.realised else EXPECTED_SIZE)
        return np.asarray(mean + normals(rng, n, data.shape[1], 1.0 / EXPECTED_SIZE))


SPECIMENS = (
    Specimen(
        name="division by the realised batch size",
        flaw="Clipped gradients of a Poisson batch are averaged over the batch's realised size, "
        "with noise for its expected size.",
        reference="Thesis, Algorithm 2, line 8, divides by the sample L_t that was drawn (noise "
        "and all; here the sum alone); Opacus issue 420 asks for the same. The twin: Abadi et al. "
        "2016, Algorithm 1, and Mironov, Talwar and Zhang 2019.",
        explanation=__doc__ or "",
        claim=Claim(event=dpa.PoissonSampledDpEvent(RATE, dpa.GaussianDpEvent(1.0))),
        flawed=BatchMean(realised=True),
        repaired=BatchMean(realised=False),
        pair=present_or_absent([1.0], name="one record at C, or an empty data set"),
        statistic=Coordinate(0),
        expected=CAUGHT,
        proof=amounts_to(dpa.PoissonSampledDpEvent(RATE, dpa.GaussianDpEvent(1.0 / EXPECTED_SIZE))),
    ),
)
