"""What all parties of a secure sum agree upon beforehand."""

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from accountants import validate

Word: TypeAlias = np.uint32 | np.uint64
MOST_CLIENTS = 10_000
MOST_COORDINATES = 10**8


def word_of(bits: int) -> np.dtype[Any]:
    """The type that holds a number modulo 2^bits."""
    return np.dtype(np.uint32 if bits <= 32 else np.uint64)


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregationTerms:
    """Who adds up what.

    Attributes:
      session: A name that no other sum of these clients has.
      clients: n, numbered 0, …, n − 1.
      least: How many contributors there must be, and how many shares give a secret back: above n/2,
        or a server could have two lists of contributors signed, and unmask a client by both.
      dimension: Of the vectors.
      bits: Sums are modulo 2^bits.

    >>> terms = AggregationTerms(session="a", clients=5, least=4, dimension=3)
    >>> terms.tolerated_by_curious, terms.tolerated_by_lying
    (3, 2)
    """

    session: str
    clients: int
    least: int
    dimension: int
    bits: int = 32

    def __post_init__(self) -> None:
        if not 0 < len(validate.text("session", self.session)) <= 64:
            raise validate.refusal("session", "1 to 64 signs", self.session)
        if not (self.session.isprintable() and self.session.isascii()):
            raise validate.refusal("session", "printable ASCII", self.session)
        for name, minimum, maximum in (
            ("clients", 2, MOST_CLIENTS),
            ("dimension", 1, MOST_COORDINATES),
            ("bits", 1, 64),
        ):
            self._whole(name, minimum, maximum)
        self._whole("least", self.clients // 2 + 1, self.clients)

    def _whole(self, name: str, minimum: int, maximum: int) -> None:
        value = validate.count(name, getattr(self, name), minimum=minimum, maximum=maximum)
        object.__setattr__(self, name, value)

    @property
    def tolerated_by_curious(self) -> int:
        """How many clients may pool their knowledge with a server that follows the protocol."""
        return self.least - 1

    @property
    def tolerated_by_lying(self) -> int:
        """How many may with a server that does anything: two lists need 2·least signatures."""
        return min(self.least - 1, 2 * self.least - self.clients - 1)

    @property
    def digest(self) -> bytes:
        """Of all terms: what is signed and derived under others does not hold under these."""
        text = json.dumps(asdict(self), sort_keys=True).encode("ascii")
        return hashlib.sha256(b"dp-assay aggregation 1 " + text).digest()

    def reduce(self, vector: Any) -> npt.NDArray[Word]:
        """Whole numbers, positive or negative, modulo 2^bits."""
        array = np.asarray(vector)
        if array.shape != (self.dimension,):
            allowed = f"of shape ({self.dimension},)"
            raise ValueError(f"`vector` must be {allowed}, got {array.shape}.")
        word = word_of(self.bits)
        if array.dtype.kind == "O" and all(
            isinstance(one, int) and not isinstance(one, bool) for one in array
        ):
            return np.array([one % 2**self.bits for one in array], dtype=word)
        if array.dtype.kind not in "iu":
            raise TypeError(f"`vector` must be whole numbers, got {array.dtype}.")
        # Two's complement: a cast keeps residues modulo every power of two that fits.
        residues: npt.NDArray[Word] = array.astype(np.uint64).astype(word)
        residues &= word.type(2**self.bits - 1)
        return residues

    def centred(self, residues: npt.NDArray[Word]) -> npt.NDArray[np.int64]:
        """The numbers in [−2^(bits−1), 2^(bits−1)) with these residues.

        >>> terms = AggregationTerms(session="a", clients=2, least=2, dimension=3, bits=4)
        >>> terms.centred(terms.reduce([-8, -1, 23])).tolist()
        [-8, -1, 7]
        """
        shift = np.uint64(64 - self.bits)
        return (residues.astype(np.uint64) << shift).astype(np.int64) >> np.int64(shift)
