"""What client and server must compute alike: purposes, statements that are signed, masks."""

import hashlib
from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

from mechanisms.federated.aggregation.ciphers import Ciphers
from mechanisms.federated.aggregation.messages import Offer
from mechanisms.federated.aggregation.terms import AggregationTerms, Word
from pvi import ProtocolError


def offered(terms: AggregationTerms, client: int, sealing_key: str, mask_key: str) -> bytes:
    """What a client signs of its keys."""
    return terms.digest + f"offer {client} {sealing_key} {mask_key}".encode("ascii")


def contributed(
    terms: AggregationTerms,
    offers: Mapping[int, Offer],
    partners: Iterable[int],
    contributors: Iterable[int],
) -> bytes:
    """What a client signs of who contributed: with everyone's keys, so that it is of this sum."""
    keys = [f"{n} {offers[n].sealing_key} {offers[n].mask_key}" for n in sorted(offers)]
    text = f"{keys} shared: {sorted(partners)} contributed: {sorted(contributors)}"
    return terms.digest + hashlib.sha256(text.encode("ascii")).digest()


def sealing_purpose(terms: AggregationTerms, sender: int, receiver: int) -> bytes:
    """Of the key that seals shares in this direction."""
    return terms.digest + f"seal {sender} {receiver}".encode("ascii")


def agreed(ciphers: Ciphers, private: int, public: str, other: int, purpose: bytes) -> bytes:
    """The key that is shared with client `other`, if its public key is one."""
    try:
        return ciphers.agree(private, bytes.fromhex(public), purpose)
    except ValueError as error:
        raise ProtocolError(f"client {other} has offered what is no key: {error}") from error


def own_mask(
    ciphers: Ciphers, terms: AggregationTerms, client: int, seed: int
) -> npt.NDArray[Word]:
    """The mask of a client's own."""
    key = ciphers.own_key(seed, terms.digest + f"mask {client}".encode("ascii"))
    return ciphers.mask(key, terms.dimension, terms.bits)


def pair_mask(
    ciphers: Ciphers, terms: AggregationTerms, client: int, private: int, other: int, public: str
) -> npt.NDArray[Word]:
    """What `client` adds for its pair with `other`; the other adds its negative."""
    low, high = sorted((client, other))
    purpose = terms.digest + f"mask {low} {high}".encode("ascii")
    key = agreed(ciphers, private, public, other, purpose)
    mask = ciphers.mask(key, terms.dimension, terms.bits)
    return mask if client == low else np.negative(mask)
