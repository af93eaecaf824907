"""Sensitivity C where one record is replaced: the clipped change can turn around, which is 2C.

Why it breaks the claim: a vector of norm at most C that depends on a record can move from +C·u to
−C·u when the record is replaced. Noise σC then gives a Gaussian release with μ = 2/σ, not 1/σ.

Why the twin keeps it: it adds noise 2σC, so the shift of at most 2C is 1/σ standard deviations
(TMLR eq. A.18–A.20 has the 2; Balle and Wang 2018, Theorem 8, has the curve).
"""

from audits.claims import GaussianClaim
from audits.pairs import Pair
from audits.specimens.federations import FAR, REPLACE, Watched
from audits.specimens.specimen import CAUGHT, Specimen
from audits.specimens.sums import shifted
from audits.testing.statistics import Coordinate
from mechanisms import MESSAGES, ParameterPerturbation


def _perturbation(noise_multiplier: float) -> ParameterPerturbation:
    return ParameterPerturbation(clip_norm=1.0, noise_multiplier=noise_multiplier)


SPECIMENS = (
    Specimen(
        name="C for 2C under replacement",
        flaw="The change of a client's parameters, clipped to C, is accounted for with "
        "sensitivity C although a replaced record can turn it around.",
        reference="TUM section 6.3 (the radius C of the projection is taken for the sensitivity of "
        "its Definition 2); TMLR eq. A.18–A.20 has the factor 2. dp-accounting 0.6.0's RDP "
        "accountant makes the same mistake under REPLACE_ONE.",
        explanation=__doc__ or "",
        claim=GaussianClaim(1.0, relation=REPLACE),
        flawed=Watched(_perturbation(1.0), 1, MESSAGES),
        repaired=Watched(_perturbation(2.0), 1, MESSAGES),
        pair=Pair(((FAR,),), ((-FAR,),), "the only record pulls far up or far down"),
        statistic=Coordinate(0),
        expected=CAUGHT,
        proof=shifted(2.0),
    ),
)
