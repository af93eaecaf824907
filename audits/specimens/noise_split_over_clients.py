r"""Each of M clients adds noise σC/√M to its message, accounted for as noise σC.

Why it breaks the claim: whoever sees a client's message sees that client's data under its own share
of the noise only. One replaced record moves the clipped change by up to 2C, so a round is Gaussian
with multiplier σ/√M, not σ. The shares add up to σC in the *sum*, which protects against those who
see nothing but sums (TMLR Theorem 8); the server of the Thesis's Algorithm 3 is sent the messages.

Why the twin keeps it: every client adds σC, so that its own message is the Gaussian mechanism of
multiplier σ on a vector of norm at most C; `mechanisms.project` proves this event for the view of
messages, and the claim is taken from there.
"""

import math
from dataclasses import dataclass

import numpy as np

from audits.pairs import Pair
from audits.specimens.federations import (
    FAR,
    ClientTargets,
    Federated,
    certified_claim,
    messages,
    transcript_of,
)
from audits.specimens.specimen import CAUGHT, Specimen
from audits.statistics import Coordinate, FloatArray
from mechanisms import MESSAGES, NoiseSplitting, ParameterPerturbation

NOISE_MULTIPLIER = 2.0


@dataclass(frozen=True, slots=True)
class OneRoundOfMessages:
    """All clients' messages of one round."""

    mechanism: Federated

    def __call__(self, data: ClientTargets, rng: np.random.Generator, n: int) -> FloatArray:
        """The draws."""
        return messages(transcript_of(self.mechanism, data, rng, n, 1), n)


def _specimen(clients: int) -> Specimen:
    flawed = NoiseSplitting(clip_norm=1.0, noise_multiplier=NOISE_MULTIPLIER)
    repaired = ParameterPerturbation(clip_norm=1.0, noise_multiplier=NOISE_MULTIPLIER)
    others: ClientTargets = ((0.0,),) * (clients - 1)
    return Specimen(
        name=f"noise split over {clients} clients",
        flaw=f"Each of {clients} clients adds noise σC/√{clients} = "
        f"{NOISE_MULTIPLIER / math.sqrt(clients):.3g}·C to a message that is seen, and σC is "
        "accounted for.",
        reference="Thesis, Algorithm 3, eq. 3.4 and line 12, for the adversary of section 3.1, who "
        "intercepts messages; the twin: Thesis eq. 3.8, TMLR section 3.2.",
        explanation=__doc__ or "",
        claim=certified_claim(repaired, clients=clients, rounds=1, view=MESSAGES),
        flawed=OneRoundOfMessages(flawed),
        repaired=OneRoundOfMessages(repaired),
        pair=Pair(
            ((FAR,), *others), ((-FAR,), *others), "client 0's record pulls far up or far down"
        ),
        statistic=Coordinate(0),
        expected=CAUGHT,
    )


SPECIMENS = (_specimen(2), _specimen(10))
