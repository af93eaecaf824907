"""Shuffled batches, accounted for as Poisson batches of the same rate.

Why it breaks the claim: in one epoch of shuffled batches a record is in exactly one of them. Under
Poisson sampling it is in none with probability (1 − 1/B)^B (a quarter for B = 2, about a third for
many), and then nothing leaks at all. With the others at −C in batches of one record, an epoch is B
Gaussians at −C of which one, at random, is moved by 2C.

Why the twin keeps it: every batch draws each record on its own with probability 1/B, anew, which is
the event that is claimed. The others' draws are independent of the record's and only add noise.
"""

from dataclasses import dataclass
from typing import Any

import dp_accounting as dpa
import numpy as np

from accountants import epsilon_bounds
from accountants.arrays import FloatArray
from audits.claims import EventClaim
from audits.pairs import Pair
from audits.specimens.specimen import CAUGHT, Specimen
from audits.specimens.sums import REPLACE
from audits.testing.statistics import as_matrix

BATCHES, NOISE_MULTIPLIER = 2, 1.0


@dataclass(frozen=True, slots=True)
class OneEpoch:
    """The noisy sums of B batches; data are B numbers in [−1, 1]."""

    shuffled: bool

    def __call__(self, data: FloatArray, rng: np.random.Generator, n: int) -> FloatArray:
        """The draws."""
        noise = rng.normal(scale=NOISE_MULTIPLIER, size=(n, BATCHES))
        values = np.clip(data, -1.0, 1.0)
        if self.shuffled:
            return np.asarray(noise + rng.permuted(np.tile(values, (n, 1)), axis=1))
        chosen = rng.random((n, BATCHES, values.size)) < 1.0 / BATCHES
        return np.asarray(noise + chosen.astype(np.float64) @ values)


@dataclass(frozen=True, slots=True)
class OneIsMoved:
    """log of the mean over batches of e^{2y/σ²}: the likelihood ratio for one batch moved by 2."""

    def __call__(self, outputs: Any) -> FloatArray:
        """The score of each output."""
        tilted = 2.0 * as_matrix(outputs) / NOISE_MULTIPLIER**2
        return np.asarray(np.logaddexp.reduce(tilted, axis=1))

    def __str__(self) -> str:
        return "the likelihood ratio for one batch moved"


def _shuffled_costs(delta: float) -> float:
    return epsilon_bounds(
        noise_multiplier=NOISE_MULTIPLIER,
        sampling_rate=1.0 / BATCHES,
        steps=BATCHES,
        delta=delta,
        relation=REPLACE,
        sampling="shuffled",
    ).lower


_OTHERS = np.full(BATCHES - 1, -1.0)

SPECIMENS = (
    Specimen(
        name="shuffling as Poisson",
        flaw="Batches are cut from a random order of the records, and accounted for as if each "
        "record had been drawn on its own.",
        reference="Chua, Ghazi, Kamath, Kumar, Manurangsi, Sinha and Zhang 2024 (How Private are "
        "DP-SGD Implementations?).",
        explanation=__doc__ or "",
        claim=EventClaim(
            dpa.SelfComposedDpEvent(
                dpa.PoissonSampledDpEvent(1.0 / BATCHES, dpa.GaussianDpEvent(NOISE_MULTIPLIER)),
                BATCHES,
            ),
            relation=REPLACE,
        ),
        flawed=OneEpoch(shuffled=True),
        repaired=OneEpoch(shuffled=False),
        pair=Pair(
            np.append(_OTHERS, 1.0),
            np.append(_OTHERS, -1.0),
            "all others at −C, the last record at +C or −C",
        ),
        statistic=OneIsMoved(),
        expected=CAUGHT,
        proof=_shuffled_costs,
    ),
)
