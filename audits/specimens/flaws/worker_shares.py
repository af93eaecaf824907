"""Each of W workers adds noise σC/W, and the noise of the sum is taken for σC.

Why it breaks the claim: variances add, standard deviations do not. W shares of σC/W sum to noise of
standard deviation σC/√W.

Why the twin keeps it: shares of σC/√W sum to σC. (Only the sum may be seen, and by nobody who
knows some of the shares: see the specimens on split noise and on colluders.)
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

WORKERS = 4


@dataclass(frozen=True, slots=True)
class SumOverWorkers:
    """Workers' noisy sums of their records, added up."""

    share: float

    def __call__(self, data: FloatArray, rng: np.random.Generator, n: int) -> FloatArray:
        """The draws."""
        total = np.zeros((n, data.shape[1]))
        for worker in range(WORKERS):
            total += clipped_sum(data[worker::WORKERS])
            total += normals(rng, n, data.shape[1], self.share)
        return total


SPECIMENS = (
    Specimen(
        name="each of four workers adds σ/4",
        flaw="The standard deviation of the noise, rather than its variance, is divided among the "
        "workers.",
        reference="Folklore: a common implementation mistake; no source in the papers. Shares of "
        "σ/√M are right: TMLR eq. A.36–A.37. " + GAUSSIAN_TWIN,
        explanation=__doc__ or "",
        claim=gaussian_claim(1.0),
        flawed=SumOverWorkers(share=1.0 / WORKERS),
        repaired=SumOverWorkers(share=1.0 / WORKERS**0.5),
        pair=present_or_absent([1.0], name="one record at C, or an empty data set"),
        statistic=Coordinate(0),
        expected=CAUGHT,
        proof=shifted(WORKERS**0.5),
    ),
)
