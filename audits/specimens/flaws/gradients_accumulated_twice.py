"""Clipped gradients are accumulated over two backward passes, with noise for one.

Why it breaks the claim: a buffer that is not cleared, or a record that is in two microbatches,
brings a record's clipped gradient into the sum twice: its sensitivity is 2C, the noise is σC.

Why the twin keeps it: each record's gradient enters the sum once, after clipping.
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


@dataclass(frozen=True, slots=True)
class Accumulated:
    """A buffer that clipped gradients are added to before the noise is."""

    passes: int

    def __call__(self, data: FloatArray, rng: np.random.Generator, n: int) -> FloatArray:
        """The draws."""
        buffer = np.zeros(data.shape[1])
        for _ in range(self.passes):
            buffer += clipped_sum(data)
        return np.asarray(buffer + normals(rng, n, buffer.size, 1.0))


SPECIMENS = (
    Specimen(
        name="gradients accumulated twice",
        flaw="A gradient buffer is not cleared between two passes, so that each record counts "
        "twice against noise for one.",
        reference="Folklore: a common implementation mistake; no source in the papers. Opacus "
        "pull request 219 clears the buffer between passes for this reason. " + GAUSSIAN_TWIN,
        explanation=__doc__ or "",
        claim=gaussian_claim(1.0),
        flawed=Accumulated(passes=2),
        repaired=Accumulated(passes=1),
        pair=present_or_absent([1.0], name="one record at C, or an empty data set"),
        statistic=Coordinate(0),
        expected=CAUGHT,
        proof=shifted(2.0),
    ),
)
