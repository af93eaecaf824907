"""The server damps its noise by α, the clients do not damp their changes.

Why it breaks the claim: damping is free because it multiplies signal and noise alike. Where clients
send their clipped changes in full while the server, which thinks of damped ones, adds α·σC, the sum
has the multiplier α·σ.

Why the twin keeps it: `mechanisms.CentralNoise` has one α for both, so that a round is α times the
Gaussian mechanism of multiplier σ, which is post-processing; `mechanisms.project` proves the claim.
"""

from audits.pairs import Pair
from audits.specimens.federations import FAR, ClientTargets, Watched, certified_claim
from audits.specimens.specimen import CAUGHT, Specimen
from audits.specimens.sums import shifted
from audits.testing.statistics import Coordinate
from mechanisms import AGGREGATE, CentralNoise

CLIENTS, NOISE_MULTIPLIER, DAMPING = 3, 2.0, 0.5

_TWIN = CentralNoise(clip_norm=1.0, noise_multiplier=NOISE_MULTIPLIER, damping=DAMPING)
# Undamped changes with the noise of damped ones.
_FLAWED = CentralNoise(clip_norm=1.0, noise_multiplier=DAMPING * NOISE_MULTIPLIER, damping=1.0)
_OTHERS: ClientTargets = ((),) * (CLIENTS - 1)

SPECIMENS = (
    Specimen(
        name="damping of noise and changes differs",
        flaw="The server adds noise scaled for damped changes to changes that were not damped.",
        reference="Folklore: a common implementation mistake, not made in the papers. Thesis eq. "
        "3.12 and 3.14 have one α for changes and noise, which is the twin; eq. 3.7 loses the "
        "noise's α in the harmless direction.",
        explanation=__doc__ or "",
        claim=certified_claim(_TWIN, clients=CLIENTS, rounds=1, view=AGGREGATE),
        flawed=Watched(_FLAWED, 1, AGGREGATE),
        repaired=Watched(_TWIN, 1, AGGREGATE),
        pair=Pair(
            ((FAR,), *_OTHERS), ((-FAR,), *_OTHERS), "client 0's record pulls far up or far down"
        ),
        statistic=Coordinate(0),
        expected=CAUGHT,
        proof=shifted(2.0 / (DAMPING * NOISE_MULTIPLIER)),
    ),
)
