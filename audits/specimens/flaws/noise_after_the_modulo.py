"""Noise is added to a secure sum after the modulo, and wrapping around is not accounted for.

Why it breaks the claim: clients' sums are taken modulo 2^k. One record more moves the sum by at
most C, but at the end of the range it wraps around: the residue jumps by the whole modulus, and the
noise, which was measured for C, does not hide that.

Why the twin keeps it: the noise is in the sum before the modulo is taken, as shares of the clients'
own. What the modulo does to a sum that is private already is post-processing: a sum that wraps
around is wrong, and not less private. (`mechanisms.DistributedSum` says how likely that is.)
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
from audits.testing.statistics import Coordinate

MODULUS = 8


@dataclass(frozen=True, slots=True)
class ModularSum:
    """A sum of whole numbers modulo `MODULUS`, with noise on the integers before or after."""

    noise_first: bool

    def __call__(self, data: FloatArray, rng: np.random.Generator, n: int) -> FloatArray:
        """The draws."""
        total = np.round(clipped_sum(np.round(data)))
        noise = np.round(normals(rng, n, total.size, 1.0))
        if self.noise_first:
            return _wrapped(total + noise)
        return np.asarray(_wrapped(total) + noise)


def _wrapped(values: FloatArray) -> FloatArray:
    """The residue in [−MODULUS/2, MODULUS/2)."""
    return np.asarray((values + MODULUS // 2) % MODULUS - MODULUS // 2)


SPECIMENS = (
    Specimen(
        name="noise after the modulo",
        flaw="Noise is added to a secure sum after it was taken modulo 2^k; that one record can "
        "make the sum wrap around is not accounted for.",
        reference="Kairouz, Liu, Steinke 2021: clients add noise before the modular sum. "
        + GAUSSIAN_TWIN,
        explanation=__doc__ or "",
        claim=gaussian_claim(1.0),
        flawed=ModularSum(noise_first=False),
        repaired=ModularSum(noise_first=True),
        pair=present_or_absent(
            [1.0], others=np.ones((3, 1)), name="a fourth record makes 4 of 3, which is −4 modulo 8"
        ),
        statistic=Coordinate(0),
        expected=CAUGHT,
        witness=Witness(
            event="the output is −2 or less",
            # Of −4 and 3 with rounded noise: P(N ≤ 2.5) and P(N ≤ −4.5) of a standard normal.
            probability_first_lower=0.9937,
            probability_second_upper=3.4e-6,
        ),
    ),
)
