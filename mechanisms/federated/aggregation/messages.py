"""What client and server say to each other, and the codec that makes bytes of it.

Keys, signatures and shares are hexadecimal text, so that all but the vector is plain JSON.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from accountants import validate
from mechanisms.federated.aggregation.terms import MOST_CLIENTS, Word
from pvi.archive import Packed
from pvi.wire import Codec, Kind

Parcels: TypeAlias = tuple[tuple[int, str], ...]
"""For each of some clients one text, by the clients' numbers."""

_LONGEST_TEXT = 1024


def _client(name: str, value: Any) -> int:
    return validate.count(name, value, minimum=0, maximum=MOST_CLIENTS - 1)


def _text(name: str, value: Any) -> str:
    """Hexadecimal."""
    try:
        fits = len(validate.text(name, value)) <= _LONGEST_TEXT
        bytes.fromhex(value)
    except ValueError:
        fits = False
    if not fits:
        raise validate.refusal(name, "hexadecimal", value)
    return str(value)


def _clients(name: str, value: Any) -> tuple[int, ...]:
    clients = validate.sequence(name, value, _client)
    if list(clients) != sorted(set(clients)):
        raise validate.refusal(name, "different and increasing", value)
    return clients


def _parcels(name: str, value: Any) -> Parcels:
    pairs: list[tuple[Any, ...]] = [
        validate.sequence(name, pair) for pair in _sequence(name, value)
    ]
    if any(len(pair) != 2 for pair in pairs):
        raise validate.refusal(name, "pairs (client, text)", value)
    _clients(name, [pair[0] for pair in pairs])
    return tuple((_client(name, pair[0]), _text(name, pair[1])) for pair in pairs)


def _sequence(name: str, value: Any) -> tuple[Any, ...]:
    entries: tuple[Any, ...] = validate.sequence(name, value)
    return entries


def _checked(message: Any, **checks: Any) -> None:
    for name, check in checks.items():
        object.__setattr__(message, name, check(name, getattr(message, name)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Invitation:
    """To a client: the sum begins."""

    client: int

    def __post_init__(self) -> None:
        _checked(self, client=_client)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """From a client: its public keys for sealing shares and for masks, signed."""

    client: int
    sealing_key: str
    mask_key: str
    signature: str

    def __post_init__(self) -> None:
        _checked(self, client=_client, sealing_key=_text, mask_key=_text, signature=_text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Roster:
    """To all: the offers."""

    offers: tuple[Offer, ...]

    def __post_init__(self) -> None:
        _checked(self, offers=lambda name, value: validate.sequence(name, value, _offer))
        _clients("offers", [offer.client for offer in self.offers])


def _offer(name: str, value: Any) -> Offer:
    if isinstance(value, dict):
        return Offer(**value)
    return validate.instance(name, value, Offer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """From a client: for each other one its two shares, sealed."""

    client: int
    shares: Parcels

    def __post_init__(self) -> None:
        _checked(self, client=_client, shares=_parcels)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """To a client: the shares that each other one has sealed for it."""

    client: int
    shares: Parcels

    def __post_init__(self) -> None:
        _checked(self, client=_client, shares=_parcels)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Masked:
    """From a client: its vector under masks."""

    client: int
    vector: npt.NDArray[Word]

    def __post_init__(self) -> None:
        _checked(self, client=_client)
        if self.vector.dtype not in (np.uint32, np.uint64):
            raise TypeError(f"`vector` must be words, got {self.vector.dtype}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Contributors:
    """To all who contributed: who they are."""

    clients: tuple[int, ...]

    def __post_init__(self) -> None:
        _checked(self, clients=_clients)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """From a client: its signature of the contributors."""

    client: int
    signature: str

    def __post_init__(self) -> None:
        _checked(self, client=_client, signature=_text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signatures:
    """To all who signed: the signatures."""

    signatures: Parcels

    def __post_init__(self) -> None:
        _checked(self, signatures=_parcels)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmasking:
    """From a client: shares of contributors' seeds, and of the others' mask keys."""

    client: int
    seeds: Parcels
    keys: Parcels

    def __post_init__(self) -> None:
        _checked(self, client=_client, seeds=_parcels, keys=_parcels)
        if {client for client, _ in self.seeds} & {client for client, _ in self.keys}:
            raise ValueError("`seeds` and `keys` must not be of the same client.")


def _plain(name: str, kind: type[Any]) -> Kind:
    """The kind of a message without arrays."""

    def pack(message: Any) -> Packed:
        return Packed(dataclasses.asdict(message), {})

    def unpack(packed: Packed) -> Any:
        if packed.arrays:
            raise ValueError(f"a {name!r} has no arrays")
        return kind(**packed.facts)

    return Kind(name=name, message=kind, pack=pack, unpack=unpack)


def _pack_masked(message: Masked) -> Packed:
    signed = np.int32 if message.vector.dtype == np.uint32 else np.int64
    return Packed({"client": message.client}, {"vector": message.vector.view(signed)})


def _unpack_masked(packed: Packed) -> Masked:
    (vector,) = (packed.arrays[name] for name in packed.arrays if name == "vector")
    if len(packed.arrays) != 1 or vector.dtype not in (np.int32, np.int64):
        raise ValueError("`vector` must be words")
    word = np.uint32 if vector.dtype == np.int32 else np.uint64
    return Masked(vector=vector.view(word), **packed.facts)


CODEC = Codec(
    kinds=(
        _plain("invitation", Invitation),
        _plain("offer", Offer),
        _plain("roster", Roster),
        _plain("sealed", Sealed),
        _plain("delivered", Delivered),
        Kind(name="masked", message=Masked, pack=_pack_masked, unpack=_unpack_masked),
        _plain("contributors", Contributors),
        _plain("signed", Signed),
        _plain("signatures", Signatures),
        _plain("unmasking", Unmasking),
    ),
    most_bytes=2**30,
    longest_header=2**23,
)
"""Knows these messages; the run that it names is the session."""
