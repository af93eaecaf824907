"""A step is skipped, noise and all, when its Poisson batch is empty.

Why it breaks the claim: an output of exactly zero says that the batch was empty. With one record in
the data that happens with probability 1 − q, and with none always; whatever is not zero proves that
there was a record: ε is infinite for every δ < q.

Why the twin keeps it: noise is added whether the batch is empty or not (Mironov, Talwar and Zhang
2019, section 3).
"""

from dataclasses import dataclass

import dp_accounting as dpa
import numpy as np

from accountants.arrays import FloatArray
from audits.claims import EventClaim
from audits.specimens.specimen import CAUGHT, Specimen, Witness
from audits.specimens.sums import normals, poisson_batches, present_or_absent
from audits.testing.statistics import Summary
from mechanisms import clip_rows

RATE, NOISE_MULTIPLIER = 0.5, 2.0


@dataclass(frozen=True, slots=True)
class PoissonStep:
    """The noisy sum of a Poisson batch."""

    skips_empty: bool

    def __call__(self, data: FloatArray, rng: np.random.Generator, n: int) -> FloatArray:
        """The draws."""
        chosen = poisson_batches(rng, n, len(data), RATE)
        noise = normals(rng, n, data.shape[1], NOISE_MULTIPLIER)
        noisy = chosen @ clip_rows(data, 1.0).rows + noise
        skipped = self.skips_empty & ~chosen.any(axis=1, keepdims=True)
        return np.where(skipped, 0.0, noisy)


SPECIMENS = (
    Specimen(
        name="no noise on empty batches",
        flaw="A training step whose Poisson batch came out empty is skipped together with its "
        "noise.",
        reference="Opacus issue 161: a loader that cannot give an empty batch; the twin: Mironov, "
        "Talwar and Zhang 2019.",
        explanation=__doc__ or "",
        claim=EventClaim(dpa.PoissonSampledDpEvent(RATE, dpa.GaussianDpEvent(NOISE_MULTIPLIER))),
        flawed=PoissonStep(skips_empty=True),
        repaired=PoissonStep(skips_empty=False),
        pair=present_or_absent([1.0], name="one record at C, or an empty data set"),
        statistic=Summary("norm"),
        expected=CAUGHT,
        witness=Witness(
            event="the output is not zero",
            # One half, less what a floating-point zero of the noise could take.
            probability_first_lower=RATE - 1e-9,
            probability_second_upper=0.0,
        ),
    ),
)
