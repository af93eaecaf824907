"""The seeds of the masks in a secure sum are folded to a few bits.

Why it breaks the claim: a mask hides a message as far as its seed is secret. A seed of 256 bits
that is folded, say by the exclusive or of its words, to the 32 that a generator takes, leaves 2^32
masks (two seeds, one mask): whoever tries them all finds the one under which the message makes
sense, and reads the message, with its client's own share of the noise only. Here the last fold is
to 16 bits, so that all can be tried in each draw; 32 bits cost minutes, once.

Why the twin keeps it: its masks come from the whole seed. To whoever cannot try 2^256 of them the
message is uniform whatever is in it, and the server learns the sum, with all shares of the noise.
"""

import functools
import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from accountants.arrays import FloatArray
from audits.pairs import Pair
from audits.specimens.specimen import CAUGHT, Specimen
from audits.specimens.sums import REPLACE, gaussian_claim, shifted
from audits.testing.statistics import Coordinate
from mechanisms import clip_rows

CLIENTS = 10
NOISE_MULTIPLIER = 2.0
_SEEDS = 2**16
_STEP = 2.0**-20
# No message is beyond: 64 standard deviations of a share.
_SENSIBLE = round((1.0 + 64.0 * NOISE_MULTIPLIER / math.sqrt(CLIENTS)) / _STEP)

_Words = npt.NDArray[np.uint64]


@functools.cache
def _masks() -> tuple[_Words, npt.NDArray[np.int64]]:
    """Both words of the mask of each folded seed, and the seeds in the order of the first word."""
    masks = np.random.default_rng(0).integers(2**64, size=(_SEEDS, 2), dtype=np.uint64)
    return masks, np.argsort(masks[:, 0])


def _fold(seeds: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """The exclusive or of a seed's words, and of that word's halves."""
    word = np.bitwise_xor.reduce(seeds, axis=-1)
    return np.asarray((word >> np.uint32(16)) ^ (word & np.uint32(0xFFFF)))


@dataclass(frozen=True, slots=True)
class SecureSum:
    """What a server makes of ten clients' masked messages: those that it can read, and the sum.

    Each client has one record, adds its share of the noise, and sends the message twice, as two
    words modulo 2^64, under its mask. A message that cannot be read is put down as 0.
    """

    folded: bool

    def __call__(self, data: FloatArray, rng: np.random.Generator, n: int) -> FloatArray:
        """The draws: n rows of ten messages and their sum."""
        vectors = clip_rows(data, 1.0).rows[:, 0]
        share = rng.normal(scale=NOISE_MULTIPLIER / math.sqrt(CLIENTS), size=(n, vectors.size))
        steps = np.round((vectors + share) / _STEP).astype(np.int64)
        if self.folded:
            seeds = rng.integers(2**32, size=(*steps.shape, 8), dtype=np.uint32)
            masks = _masks()[0][_fold(seeds)]
        else:
            masks = rng.integers(2**64, size=(*steps.shape, 2), dtype=np.uint64)
        sent = steps.astype(np.uint64)[..., None] + masks
        read = _tried(sent.reshape(-1, 2)).reshape(steps.shape)
        return np.column_stack([read * _STEP, steps.sum(axis=1) * _STEP])


def _tried(sent: _Words) -> npt.NDArray[np.int64]:
    """Under which of all masks is a message sensible, twice the same? What it says, or 0."""
    masks, order = _masks()
    first = masks[order, 0]
    found = np.zeros(len(sent), dtype=np.int64)
    lowest = sent[:, 0] - np.uint64(_SENSIBLE)  # modulo 2^64
    start = np.searchsorted(first, lowest)
    # Words of masks lie 2^48 apart in the mean: among the next two is every one within the range.
    for number in range(2):
        mask = masks[order[(start + number) % _SEEDS]]
        said = (sent - mask).astype(np.int64)
        sensible = (said[:, 0] == said[:, 1]) & (np.abs(said[:, 0]) <= _SENSIBLE)
        found[sensible] = said[sensible, 0]
    return found


_OTHERS = np.zeros((CLIENTS - 1, 1))

SPECIMENS = (
    Specimen(
        name="mask seeds folded",
        flaw="The seeds of a secure sum's masks are folded to so few bits that all masks can be "
        "tried.",
        reference="Flower 1.41, secaggplus_utils.pseudo_rand_gen: 32 bits by exclusive or; the "
        "twin: Bonawitz et al. 2017, section 4, and Kairouz, Liu, Steinke 2021 for the shares.",
        explanation=__doc__ or "",
        claim=gaussian_claim(NOISE_MULTIPLIER, relation=REPLACE),
        flawed=SecureSum(folded=True),
        repaired=SecureSum(folded=False),
        pair=Pair(
            np.concatenate([[[1.0]], _OTHERS]),
            np.concatenate([[[-1.0]], _OTHERS]),
            "client 0's record at one end or at the other",
        ),
        statistic=Coordinate(0),
        expected=CAUGHT,
        # A hair less than 2C over a share's deviation: words are whole steps.
        proof=shifted(0.999 * 2.0 * math.sqrt(CLIENTS) / NOISE_MULTIPLIER),
    ),
)
