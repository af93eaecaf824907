"""Noise on a grid is added to a sum that is not on it.

Why it breaks the claim: the fractional part of the output is the fractional part of the sum,
whatever the noise: neighbours whose sums differ by a fraction are told apart at once. The low bits
of floating-point noise are the same leak on a finer scale.

Why the twin keeps it: sum and noise are added first and rounded together, which is post-processing
of the Gaussian mechanism. (`mechanisms.ReleaseNoise` puts the contributions on the grid instead.)
"""

from dataclasses import dataclass

import numpy as np

from accountants.arrays import FloatArray
from audits.specimens.specimen import CAUGHT, Specimen, Witness
from audits.specimens.sums import (
    GAUSSIAN_TWIN,
    clipped_sum,
    gaussian_claim,
    normals,
    present_or_absent,
)
from audits.testing.statistics import Summary


@dataclass(frozen=True, slots=True)
class RoundedSum:
    """A sum with noise, of which only the noise or the whole is rounded to integers."""

    whole: bool

    def __call__(self, data: FloatArray, rng: np.random.Generator, n: int) -> FloatArray:
        """The draws."""
        total = clipped_sum(data)
        noise = normals(rng, n, total.size, 1.0)
        return np.asarray(np.round(total + noise) if self.whole else total + np.round(noise))


SPECIMENS = (
    Specimen(
        name="noise on a grid, the sum not",
        flaw="The noise is rounded to integers and the sum that it is added to is not.",
        reference="Mironov 2012, on the significance of the least significant bits. "
        + GAUSSIAN_TWIN,
        explanation=__doc__ or "",
        claim=gaussian_claim(1.0),
        flawed=RoundedSum(whole=False),
        repaired=RoundedSum(whole=True),
        pair=present_or_absent([0.75], name="one record at 0.75·C, or an empty data set"),
        statistic=Summary("distance to the nearest integer"),
        expected=CAUGHT,
        witness=Witness(
            event="the output is not an integer",
            probability_first_lower=1.0,
            probability_second_upper=0.0,
        ),
    ),
)
