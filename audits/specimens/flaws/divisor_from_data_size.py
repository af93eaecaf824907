"""The divisor of a mean is the number of records, where that number is what must be hidden.

Why it breaks the claim: under ADD_OR_REMOVE_ONE the neighbour has one record fewer, so that all
other records' shares change from 1/n to 1/(n − 1). With the others at −C and the record at +C the
mean moves by 2C/n, twice what noise σC/n is for.

Why the twin keeps it: it divides the noisy sum by a public constant, which is post-processing.
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

NOMINAL = 8


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of all records, with noise for a nominal number of them."""

    own_size: bool

    def __call__(self, data: FloatArray, rng: np.random.Generator, n: int) -> FloatArray:
        """The draws."""
        divisor = max(len(data), 1) if self.own_size else NOMINAL
        noise = normals(rng, n, data.shape[1], 1.0 / NOMINAL)
        return np.asarray(clipped_sum(data) / divisor + noise)


SPECIMENS = (
    Specimen(
        name="divisor from the data's size",
        flaw="A mean is divided by the number of records, which differs between neighbours.",
        reference="Opacus issue 571: a divisor computed from the number of records, under add or "
        "remove. The papers' divisors are public: the number of shards in TMLR eq. 3.2, and "
        "neighbours of equal size (TMLR section 2.2). " + GAUSSIAN_TWIN,
        explanation=__doc__ or "",
        claim=gaussian_claim(1.0),
        flawed=Mean(own_size=True),
        repaired=Mean(own_size=False),
        pair=present_or_absent(
            [1.0],
            others=np.full((NOMINAL - 1, 1), -1.0),
            name=f"{NOMINAL - 1} records at −C, with or without one at +C",
        ),
        statistic=Coordinate(0),
        expected=CAUGHT,
        proof=shifted(2.0),
    ),
)
