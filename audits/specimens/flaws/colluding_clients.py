"""Noise shares under a trusted aggregator, with the full claim kept against clients who collude.

Why it breaks the claim: the noise of the sum is M shares. Clients who pool what they know subtract
their own messages from the sum, and their shares with them: of the variance, (M − k)/M is left, and
the multiplier is σ·√((M − k)/M). TMLR's Theorems 8 and 11 hold for an outsider.

Why the twin keeps it: the shares are larger by √(M/(M − k)), so that the honest clients' shares
alone are noise σC. `mechanisms.project` proves this for the view `colluding(k)`; the claim is taken
from there.
"""

from dataclasses import dataclass

import numpy as np

from accountants.arrays import FloatArray
from audits.pairs import Pair
from audits.specimens.federations import FAR, ClientTargets, Watched, certified_claim
from audits.specimens.specimen import CAUGHT, Specimen
from audits.specimens.sums import shifted
from audits.testing.statistics import Coordinate
from mechanisms import ParameterPerturbation, colluding

CLIENTS, COLLUDERS, NOISE_MULTIPLIER = 4, 2, 2.0


def _mechanism(noise_multiplier: float) -> ParameterPerturbation:
    return ParameterPerturbation(
        clip_norm=1.0, noise_multiplier=noise_multiplier, trusted_aggregator=True, memory="resets"
    )


@dataclass(frozen=True, slots=True)
class ColludersView:
    """The sum of a round less the messages of the last k clients, who know them."""

    mechanism: ParameterPerturbation

    def __call__(self, data: ClientTargets, rng: np.random.Generator, n: int) -> FloatArray:
        """The draws."""
        seen = Watched(self.mechanism, 1, colluding(COLLUDERS))(data, rng, n)
        known, total = seen[:, :-2], seen[:, -2:]
        return np.asarray(total - known.reshape(n, COLLUDERS, 2).sum(axis=1))


_TWIN = _mechanism(NOISE_MULTIPLIER * (CLIENTS / (CLIENTS - COLLUDERS)) ** 0.5)
_OTHERS: ClientTargets = ((),) * (CLIENTS - 1)

SPECIMENS = (
    Specimen(
        name="colluders know half of the noise",
        flaw="Two of four clients pool their noise shares, and the claim is still that of the "
        "whole sum's noise.",
        reference="TMLR Theorems 8 and 11 (eq. A.36–A.37: the whole sum's noise, which is an "
        "outsider's view) with section 3, which says that curious clients need minor changes of "
        "the bounds and does not give them; the twin: Scope.view = colluding(2) of this project.",
        explanation=__doc__ or "",
        claim=certified_claim(_TWIN, clients=CLIENTS, rounds=1, view=colluding(COLLUDERS)),
        flawed=ColludersView(_mechanism(NOISE_MULTIPLIER)),
        repaired=ColludersView(_TWIN),
        pair=Pair(
            ((FAR,), *_OTHERS), ((-FAR,), *_OTHERS), "client 0's record pulls far up or far down"
        ),
        statistic=Coordinate(0),
        expected=CAUGHT,
        proof=shifted(2.0 / (NOISE_MULTIPLIER * (1.0 - COLLUDERS / CLIENTS) ** 0.5)),
    ),
)
