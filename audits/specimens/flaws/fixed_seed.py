"""The generator of the noise is seeded with a constant.

Why it breaks the claim: the noise is known to whoever knows the code. Every run gives the same
output for the same data, and the outputs of neighbours differ: ε is infinite. (A claim about one
run averages over a seed that was never drawn.)

Why the twin keeps it: the noise comes from a generator that the adversary does not know. That is a
simulation's generator here; a real release needs `mechanisms.ReleaseNoise`.
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


@dataclass(frozen=True, slots=True)
class NoisySum:
    """A sum with noise from a generator that is seeded anew in each run, or not."""

    seed: int | None

    def __call__(self, data: FloatArray, rng: np.random.Generator, n: int) -> FloatArray:
        """The draws."""
        total = clipped_sum(data)
        if self.seed is None:
            return np.asarray(total + normals(rng, n, total.size, 1.0))
        run = total + normals(np.random.default_rng(self.seed), 1, total.size, 1.0)
        return np.repeat(run, n, axis=0)


SPECIMENS = (
    Specimen(
        name="fixed seed",
        flaw="The noise comes from a generator with a constant seed.",
        reference="Folklore: a leftover of reproducible experiments; no source in the papers. "
        "Garfinkel and Leclerc 2020, on randomness for differential privacy. " + GAUSSIAN_TWIN,
        explanation=__doc__ or "",
        claim=gaussian_claim(1.0),
        flawed=NoisySum(seed=0),
        repaired=NoisySum(seed=None),
        pair=present_or_absent([1.0], name="one record at C, or an empty data set"),
        statistic=Coordinate(0),
        expected=CAUGHT,
        witness=Witness(
            event="the output is that of the constant seed for the first data set",
            probability_first_lower=1.0,
            probability_second_upper=0.0,
        ),
    ),
)
