"""Two releases share one draw of the noise.

Why it breaks the claim: with s + z and s/2 + z in hand, twice their difference is s exactly; ε is
infinite, where two Gaussian releases were accounted for.

Why the twin keeps it: fresh noise for each release. The second query has half the sensitivity, so
accounting for it in full errs on the safe side; composition of Gaussians (Dong, Roth and Su 2022,
Corollary 3.3).
"""

from dataclasses import dataclass

import numpy as np

from accountants.arrays import FloatArray
from audits.specimens.specimen import CAUGHT, Specimen, Witness
from audits.specimens.sums import (
    clipped_sum,
    gaussian_claim,
    normals,
    present_or_absent,
)
from audits.testing.statistics import Weighted


@dataclass(frozen=True, slots=True)
class SumAndHalf:
    """A sum, and half the sum, each with noise σC."""

    reused: bool

    def __call__(self, data: FloatArray, rng: np.random.Generator, n: int) -> FloatArray:
        """The draws."""
        total = clipped_sum(data)
        first = normals(rng, n, total.size, 1.0)
        second = first if self.reused else normals(rng, n, total.size, 1.0)
        return np.concatenate([total + first, 0.5 * total + second], axis=1)


SPECIMENS = (
    Specimen(
        name="noise reused across releases",
        flaw="The same draw of noise protects two different queries.",
        reference="Folklore; no source in the papers. Composition multiplies probabilities and so "
        "needs independent noise: Dwork and Roth 2014, section 3.5, Theorem 3.14. The twin: Dong, "
        "Roth and Su 2022, Corollary 3.3.",
        explanation=__doc__ or "",
        claim=gaussian_claim(1.0, steps=2),
        flawed=SumAndHalf(reused=True),
        repaired=SumAndHalf(reused=False),
        pair=present_or_absent([1.0], name="one record at C, or an empty data set"),
        statistic=Weighted((1.0, -1.0)),
        expected=CAUGHT,
        witness=Witness(
            event="the first output exceeds the second by more than C/4",
            probability_first_lower=1.0,
            probability_second_upper=0.0,
        ),
    ),
)
