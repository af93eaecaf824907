"""Values are scaled by their own minimum and maximum before the noisy sum.

Why it breaks the claim: scaling to [0, 1] looks as if one record could move the sum by 1. But an
outlier changes the scale of all the others: a sum of n − 1 ones falls to nearly nothing.

Why the twin keeps it: the bounds are public constants, values are clipped to them, and one record
moves the sum of the scaled values by at most 1.
"""

from dataclasses import dataclass

import numpy as np

from accountants.arrays import FloatArray
from audits.specimens.specimen import CAUGHT, Specimen
from audits.specimens.sums import GAUSSIAN_TWIN, gaussian_claim, normals, present_or_absent, shifted
from audits.testing.statistics import Coordinate

OTHERS = 8


@dataclass(frozen=True, slots=True)
class ScaledSum:
    """The sum of values scaled to [0, 1] by bounds that are given, or those of the data."""

    bounds: tuple[float, float] | None

    def __call__(self, data: FloatArray, rng: np.random.Generator, n: int) -> FloatArray:
        """The draws."""
        low, high = (data.min(), data.max()) if self.bounds is None else self.bounds
        scaled = (np.clip(data, low, high) - low) / max(high - low, 1e-12)
        return np.asarray(scaled.sum(axis=0) + normals(rng, n, data.shape[1], 1.0))


SPECIMENS = (
    Specimen(
        name="bounds read from the data",
        flaw="The bounds that scale the data to [0, 1] are the data's own minimum and maximum.",
        reference="TUM section 5.3.2, method 1: clients share each feature's minimum and maximum. "
        + GAUSSIAN_TWIN,
        explanation=__doc__ or "",
        claim=gaussian_claim(1.0),
        flawed=ScaledSum(bounds=None),
        repaired=ScaledSum(bounds=(0.0, 1.0)),
        pair=present_or_absent(
            [1e3],
            others=np.concatenate([np.zeros((1, 1)), np.ones((OTHERS, 1))]),
            name=f"a zero and {OTHERS} ones, with or without an outlier",
        ),
        statistic=Coordinate(0),
        expected=CAUGHT,
        proof=shifted(OTHERS - (1.0 + OTHERS * 1e-3)),
    ),
)
