"""Exact means and counts, used to standardise the data, are released beside the noisy result.

Why it breaks the claim: two neighbouring data sets have different exact sums, so one look tells
them apart: ε is infinite for every δ < 1, whatever noise the model has.

Why the twin keeps it: the sum used for scaling is released with noise of its own and accounted for;
two Gaussian releases compose to the claimed event.
"""

from dataclasses import dataclass

import numpy as np

from audits.specimens.specimen import CAUGHT, Specimen, Witness
from audits.specimens.sums import (
    GAUSSIAN_TWIN,
    clipped_sum,
    gaussian_claim,
    normals,
    present_or_absent,
)
from audits.statistics import Coordinate, FloatArray


@dataclass(frozen=True, slots=True)
class ModelAndScaling:
    """A noisy sum standing for the model, then the sum of the feature that scales it."""

    exact: bool

    def __call__(self, data: FloatArray, rng: np.random.Generator, n: int) -> FloatArray:
        """The draws."""
        total = clipped_sum(data)
        model = total + normals(rng, n, total.size, 1.0)
        scaling = total + normals(rng, n, total.size, 0.0 if self.exact else 1.0)
        return np.concatenate([model, scaling], axis=1)


SPECIMENS = (
    Specimen(
        name="exact mean released beside",
        flaw="The exact sum that centres the data is released beside the noisy model.",
        reference="TUM sections 4.1 and 5.3.2 (sums for scaling) and 6.2 (class counts). "
        + GAUSSIAN_TWIN,
        explanation=__doc__ or "",
        claim=gaussian_claim(1.0, steps=2),
        flawed=ModelAndScaling(exact=True),
        repaired=ModelAndScaling(exact=False),
        pair=present_or_absent([1.0], name="one record at C, or an empty data set"),
        statistic=Coordinate(1),
        expected=CAUGHT,
        witness=Witness(
            event="the released sum is positive",
            probability_first_lower=1.0,
            probability_second_upper=0.0,
        ),
    ),
)
