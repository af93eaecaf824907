"""Batches of fixed size, accounted for as Poisson batches of the same rate.

Why it breaks the claim: when the batch has a fixed size, the record under scrutiny takes another
one's place. With all others at −C the batch's sum is −bC without it and −(b − 2)C with it at +C: a
shift of 2C with probability q = b/n, against a law with no spread of its own. Under Poisson
sampling the pair that the accountant composes is (1−q)N(0)+qN(−C) against (1−q)N(0)+qN(+C), whose
curve is lower at large ε.

Why the twin keeps it: it draws Poisson batches. `accountants.FourierAccountant` composes that pair
under REPLACE_ONE; on this pair of data sets the others' number is random too, which only hides more
(post-processing of the record's own part plus independent noise).
"""

from dataclasses import dataclass

import dp_accounting as dpa
import numpy as np

from accountants.arrays import FloatArray
from audits.claims import EventClaim
from audits.pairs import Pair
from audits.specimens.gradient_steps import RULE, moves, optimised
from audits.specimens.specimen import CAUGHT, Specimen
from audits.specimens.sums import REPLACE, amounts_to
from audits.testing.statistics import Coordinate
from mechanisms import DPOptimisation, FixedSize, Poisson, Sampling

RECORDS, BATCH, NOISE_MULTIPLIER = 8, 2, 0.5


@dataclass(frozen=True, slots=True)
class OneNoisyStep:
    """One step of DP optimisation from the prior; data are the records' gradients."""

    sampling: Sampling

    def __call__(self, data: FloatArray, rng: np.random.Generator, n: int) -> FloatArray:
        """The draws."""
        mechanism = DPOptimisation(
            clip_norm=1.0,
            noise_multiplier=NOISE_MULTIPLIER,
            steps=1,
            rule=RULE,
            sampling=self.sampling,
        )
        return moves(optimised(mechanism, data, rng, n), 1) / self.sampling.scale()


_OTHERS = np.full((RECORDS - 1, 1), -1.0)

SPECIMENS = (
    Specimen(
        name="fixed-size batches as Poisson",
        flaw="Batches of a fixed size are drawn without replacement, and accounted for as if each "
        "record had been drawn on its own.",
        reference="Workshop Algorithm 1, step 3 (minibatches of size L) with section 3 (the "
        "moments accountant); TMLR Appendix A, after Theorem A.1 (sampling without replacement) "
        "with section 2.2 (the Fourier accountant); Zhu, Dong and Wang 2022; Lebeda, Regehr, "
        "Kamath and Steinke 2024.",
        explanation=__doc__ or "",
        claim=EventClaim(
            dpa.PoissonSampledDpEvent(BATCH / RECORDS, dpa.GaussianDpEvent(NOISE_MULTIPLIER)),
            relation=REPLACE,
        ),
        flawed=OneNoisyStep(FixedSize(batch_size=BATCH, size=RECORDS)),
        repaired=OneNoisyStep(Poisson(BATCH / RECORDS)),
        pair=Pair(
            np.append(_OTHERS, [[1.0]], axis=0),
            np.append(_OTHERS, [[-1.0]], axis=0),
            f"{RECORDS - 1} records at −C, the last one at +C or −C",
        ),
        statistic=Coordinate(0),
        expected=CAUGHT,
        proof=amounts_to(
            dpa.SampledWithoutReplacementDpEvent(
                RECORDS, BATCH, dpa.GaussianDpEvent(NOISE_MULTIPLIER)
            ),
            REPLACE,
        ),
    ),
)
