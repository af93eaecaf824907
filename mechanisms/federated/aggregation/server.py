"""The server's side of a secure sum."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from accountants import validate
from mechanisms.federated.aggregation import shamir
from mechanisms.federated.aggregation.ciphers import MOST_SECRET, Ciphers, StandardCiphers
from mechanisms.federated.aggregation.masking import own_mask, pair_mask
from mechanisms.federated.aggregation.messages import (
    CODEC,
    Contributors,
    Delivered,
    Invitation,
    Masked,
    Offer,
    Roster,
    Sealed,
    Signatures,
    Signed,
    Unmasking,
)
from mechanisms.federated.aggregation.terms import AggregationTerms, word_of
from pvi import ProtocolError


class AggregationAbandonedError(RuntimeError):
    """Too many clients dropped out: there is no sum, and nothing was learnt of any vector."""


class SecureSum(NamedTuple):
    """What the server learns.

    Attributes:
      total: The sum of the contributors' vectors, in [−2^(bits−1), 2^(bits−1)): the sum itself if
        it is in that range, else what remains of it modulo 2^bits.
      contributors: Whose vectors are in it.
    """

    total: npt.NDArray[np.int64]
    contributors: tuple[int, ...]


class AggregationServer:
    """Asks in five rounds; whoever has not answered when a round is closed has dropped out.

    `requests` gives the bytes for each client that is still there, `receive` takes an answer,
    `close` ends the round. After the fifth, `result` is the sum. Calls are for one thread.

    Args:
      terms: What all have agreed upon.
      ciphers: For tests.
    """

    def __init__(self, terms: AggregationTerms, *, ciphers: Ciphers | None = None) -> None:
        self.terms = validate.instance("terms", terms, AggregationTerms)
        self.result: SecureSum | None = None
        self._ciphers = StandardCiphers() if ciphers is None else ciphers
        self._rounds: list[tuple[type[Any], Callable[[int], object]]] = [
            (Offer, lambda client: Invitation(client=client)),
            (Sealed, lambda _: Roster(offers=tuple(self._offers.values()))),
            (Masked, self._delivery),
            (Signed, lambda _: Contributors(clients=self._contributors)),
            (Unmasking, lambda _: Signatures(signatures=self._signatures)),
        ]
        self._present = tuple(range(terms.clients))
        self._answers: dict[int, Any] = {}
        self._offers: dict[int, Offer] = {}
        self._sealed: dict[int, dict[int, str]] = {}
        self._total = np.zeros(terms.dimension, dtype=word_of(terms.bits))
        self._contributors: tuple[int, ...] = ()
        self._signatures: tuple[tuple[int, str], ...] = ()

    @property
    def waiting_for(self) -> tuple[int, ...]:
        """Those who have not answered in this round."""
        return tuple(client for client in self._present if client not in self._answers)

    def requests(self) -> dict[int, bytes]:
        """For each client that is still there, this round's request."""
        _, ask = self._round()
        return {
            client: CODEC.encode(ask(client), run=self.terms.session) for client in self._present
        }

    def _round(self) -> tuple[type[Any], Callable[[int], object]]:
        if not self._rounds:
            raise ProtocolError("this sum has ended")
        return self._rounds[0]

    def _delivery(self, client: int) -> Delivered:
        parcels = [
            (sender, shares[client]) for sender, shares in self._sealed.items() if sender != client
        ]
        return Delivered(client=client, shares=tuple(sorted(parcels)))

    def receive(self, client: int, answer: bytes) -> None:
        """Takes a client's answer; who sent it is for the carrier to know.

        Raises:
          ProtocolError: It cannot follow, or the client has answered already.
          WireError: It is no message.
        """
        run, message = CODEC.decode(answer)
        kind, _ = self._round()
        if run != self.terms.session or type(message) is not kind or message.client != client:
            raise ProtocolError(f"this is no {kind.__name__} of client {client} in this session")
        if client not in self.waiting_for:
            raise ProtocolError(f"client {client} has answered already, or has dropped out")
        if kind is Masked:
            self._add(message.vector)
            message = None  # the sum is enough, and smaller
        elif kind is Sealed:
            others = {number for number in self._present if number != client}
            if {number for number, _ in message.shares} != others:
                raise ProtocolError(f"client {client} has not sealed a share for each other one")
        self._answers[client] = message

    def _add(self, vector: npt.NDArray[Any]) -> None:
        if vector.shape != self._total.shape or vector.dtype != self._total.dtype:
            raise ProtocolError(f"a vector must be {self.terms.dimension} words")
        self._total += vector

    def close(self) -> None:
        """Ends the round.

        Raises:
          AggregationAbandonedError: Fewer than `least` have answered. It is over, without a sum.
        """
        kind, _ = self._round()
        answers = {client: self._answers[client] for client in sorted(self._answers)}
        if len(answers) < self.terms.least:
            self._rounds = []
            raise AggregationAbandonedError(
                f"{len(answers)} of {self.terms.clients} clients have sent their "
                f"{kind.__name__}; {self.terms.least} are needed"
            )
        if kind is Offer:
            self._offers = answers
        elif kind is Sealed:
            self._sealed = {client: dict(answers[client].shares) for client in answers}
        elif kind is Masked:
            self._contributors = tuple(answers)
        elif kind is Signed:
            self._signatures = tuple((client, answers[client].signature) for client in answers)
        else:
            self._finish(answers)
        self._present = tuple(answers)
        self._answers = {}
        del self._rounds[0]

    def _finish(self, answers: dict[int, Unmasking]) -> None:
        seeds = {number: dict(answer.seeds) for number, answer in answers.items()}
        keys = {number: dict(answer.keys) for number, answer in answers.items()}
        for client in self._contributors:
            seed = self._joined(client, seeds)
            self._total -= own_mask(self._ciphers, self.terms, client, seed)
        for client in sorted(set(self._sealed) - set(self._contributors)):
            private = self._joined(client, keys)
            if self._ciphers.public(private).hex() != self._offers[client].mask_key:
                raise ProtocolError(f"the shares of client {client}'s key do not give its key")
            for other in self._contributors:
                public = self._offers[other].mask_key
                # What is left in the sum is the negative of what `client` would have added.
                self._total += pair_mask(self._ciphers, self.terms, client, private, other, public)
        self._total &= word_of(self.terms.bits).type(2**self.terms.bits - 1)
        self.result = SecureSum(self.terms.centred(self._total), self._contributors)

    def _joined(self, client: int, answers: dict[int, dict[int, str]]) -> int:
        """A client's secret, from `least` of the others' shares of it."""
        holders = [number for number, shares in answers.items() if client in shares]
        if len(holders) < self.terms.least:
            raise ProtocolError(f"{len(holders)} shares of client {client}'s secret are not enough")
        shares = {
            number + 1: int(answers[number][client], 16) for number in holders[: self.terms.least]
        }
        secret = shamir.join(shares, self._ciphers.prime)
        if secret >= MOST_SECRET:
            raise ProtocolError(f"the shares of client {client}'s secret do not fit together")
        return secret
