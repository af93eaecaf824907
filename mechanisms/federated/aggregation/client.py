"""A client's side of a secure sum."""

from collections.abc import Callable, Mapping
from typing import Any

from accountants import validate
from mechanisms.federated.aggregation import shamir
from mechanisms.federated.aggregation.ciphers import Ciphers, KeyPair, StandardCiphers
from mechanisms.federated.aggregation.masking import (
    agreed,
    contributed,
    offered,
    own_mask,
    pair_mask,
    sealing_purpose,
)
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


class AggregationClient:
    """Answers a server's requests of one sum, each kind once and in order.

    It keeps its state in memory only: a process that dies has dropped out, and its secrets with it.
    A request that comes twice gets the same answer; any other deviation is a `ProtocolError`, and
    nothing is sent. Calls are for one thread.

    Args:
      number: Which client this is.
      terms: What all have agreed upon.
      identity: Its own key for signatures, see `StandardCiphers.identity`.
      directory: Each client's public key for signatures, from a source that is not the server.
      contribute: Gives the vector of whole numbers, noise included. It is called once, when the
        masked vector is about to leave: whatever that costs is to be booked in it. An error in it
        passes through, nothing has left then, and it is not called again.
      ciphers: For tests.
    """

    def __init__(
        self,
        number: int,
        terms: AggregationTerms,
        identity: KeyPair,
        directory: Mapping[int, bytes],
        contribute: Callable[[], Any],
        *,
        ciphers: Ciphers | None = None,
    ) -> None:
        self.terms = validate.instance("terms", terms, AggregationTerms)
        last = terms.clients - 1
        self.number = validate.count("number", number, minimum=0, maximum=last)
        self._identity = validate.instance("identity", identity, KeyPair)
        self._directory = dict(validate.mapping("directory", directory))
        if set(self._directory) != set(range(terms.clients)):
            raise validate.refusal("directory", f"of the clients 0, …, {last}", directory)
        if self._directory[number] != identity.public:
            raise ValueError("`directory` must have this client's own key under its number.")
        self._contribute = validate.function("contribute", contribute)
        self._ciphers = StandardCiphers() if ciphers is None else ciphers
        self._steps: list[tuple[type[Any], Callable[[Any], Any]]] = [
            (Invitation, self._offer),
            (Roster, self._share),
            (Delivered, self._mask),
            (Contributors, self._sign),
            (Signatures, self._unmask),
        ]
        self._last: tuple[bytes, bytes] = (b"", b"")
        self._spent = False
        self._sealing = self._masking = KeyPair(0, b"")
        self._seed = 0
        self._offers: dict[int, Offer] = {}
        self._own_shares: tuple[int, int] = (0, 0)
        self._received: dict[int, tuple[int, int]] = {}
        self._contributors: tuple[int, ...] = ()

    def answer(self, request: bytes) -> bytes:
        """The answer to a request, both as bytes.

        Raises:
          ProtocolError: The request cannot follow; nothing has changed.
          WireError: It is no message.
        """
        if request == self._last[0] and request:
            return self._last[1]
        run, message = CODEC.decode(request)
        if run != self.terms.session:
            raise ProtocolError(f"session {run!r} is not {self.terms.session!r}")
        if not self._steps:
            raise ProtocolError("this client has no more to say in this sum")
        kind, step = self._steps[0]
        if type(message) is not kind:
            got = type(message).__name__
            raise ProtocolError(f"a client that waits for {kind.__name__} has got {got}")
        answer = CODEC.encode(step(message), run=run)
        del self._steps[0]
        self._last = (request, answer)
        return answer

    def _offer(self, invitation: Invitation) -> Offer:
        if invitation.client != self.number:
            raise ProtocolError(f"an invitation of client {invitation.client} came to another")
        self._sealing, self._masking = self._ciphers.key_pair(), self._ciphers.key_pair()
        keys = self._sealing.public.hex(), self._masking.public.hex()
        signature = self._sign_text(offered(self.terms, self.number, *keys))
        own = Offer(client=self.number, sealing_key=keys[0], mask_key=keys[1], signature=signature)
        self._offers = {self.number: own}
        return own

    def _share(self, roster: Roster) -> Sealed:
        offers = {offer.client: offer for offer in roster.offers}
        self._require_enough(offers, "offer keys")
        if offers.get(self.number) != self._offers[self.number]:
            raise ProtocolError("the roster has other keys of this client")
        for number, offer in offers.items():
            text = offered(self.terms, number, offer.sealing_key, offer.mask_key)
            self._require_signed(number, offer.signature, text)
        keys = [key for offer in offers.values() for key in (offer.sealing_key, offer.mask_key)]
        if len(set(keys)) != len(keys):
            raise ProtocolError("two keys of the roster are the same")
        self._seed = self._ciphers.seed()
        points = [number + 1 for number in sorted(offers)]
        seeds, masking = (
            shamir.split(
                secret, points, self.terms.least, self._ciphers.prime, self._ciphers.randbelow
            )
            for secret in (self._seed, self._masking.private)
        )
        self._own_shares = seeds[self.number + 1], masking[self.number + 1]
        sealed = [
            (number, self._seal(offers[number], seeds[number + 1], masking[number + 1]).hex())
            for number in sorted(offers)
            if number != self.number
        ]
        self._offers = offers
        return Sealed(client=self.number, shares=tuple(sealed))

    def _seal(self, to: Offer, seed: int, masking: int) -> bytes:
        purpose = sealing_purpose(self.terms, self.number, to.client)
        key = self._sealing_key(to, purpose)
        prime = self._ciphers.prime
        plain = shamir.written(seed, prime) + shamir.written(masking, prime)
        return self._ciphers.seal(key, plain, purpose)

    def _sealing_key(self, other: Offer, purpose: bytes) -> bytes:
        private = self._sealing.private
        return agreed(self._ciphers, private, other.sealing_key, other.client, purpose)

    def _mask(self, delivered: Delivered) -> Masked:
        if delivered.client != self.number:
            raise ProtocolError(f"shares of client {delivered.client} came to another")
        shares = dict(delivered.shares)
        if self.number in shares or not shares.keys() <= self._offers.keys():
            raise ProtocolError("shares came from clients who have not offered keys")
        self._require_enough([self.number, *shares], "share their secrets")
        received = {number: self._opened(number, shares[number]) for number in shares}
        if self._spent:
            raise ProtocolError("this client's contribution failed; it does not make another")
        self._spent = True
        vector = self.terms.reduce(self._contribute())
        # New memory: the vector may be the caller's own.
        masked = vector + own_mask(self._ciphers, self.terms, self.number, self._seed)
        for number in shares:
            public, private = self._offers[number].mask_key, self._masking.private
            masked += pair_mask(self._ciphers, self.terms, self.number, private, number, public)
        masked &= word_of(self.terms.bits).type(2**self.terms.bits - 1)
        self._received = received
        return Masked(client=self.number, vector=masked)

    def _opened(self, sender: int, sealed: str) -> tuple[int, int]:
        """The shares that another client has sealed for this one."""
        purpose = sealing_purpose(self.terms, sender, self.number)
        key = self._sealing_key(self._offers[sender], purpose)
        try:
            plain = self._ciphers.unseal(key, bytes.fromhex(sealed), purpose)
        except ValueError as error:
            raise ProtocolError(f"the shares of client {sender} do not open: {error}") from error
        half = len(plain) // 2
        return int.from_bytes(plain[:half], "big"), int.from_bytes(plain[half:], "big")

    def _sign(self, told: Contributors) -> Signed:
        contributors = told.clients
        self._require_enough(contributors, "contribute")
        if self.number not in contributors or not set(contributors) <= self._partners:
            raise ProtocolError("contributors must have shared, and this client is one")
        signature = self._sign_text(self._statement(contributors))
        self._contributors = contributors
        return Signed(client=self.number, signature=signature)

    @property
    def _partners(self) -> set[int]:
        """Those with whom there is a mask, and this client."""
        return {self.number, *self._received}

    def _statement(self, contributors: tuple[int, ...]) -> bytes:
        return contributed(self.terms, self._offers, self._partners, contributors)

    def _unmask(self, told: Signatures) -> Unmasking:
        signatures = dict(told.signatures)
        self._require_enough(signatures, "sign")
        if not signatures.keys() <= set(self._contributors):
            raise ProtocolError("someone signed who has not contributed")
        statement = self._statement(self._contributors)
        for number, signature in signatures.items():
            self._require_signed(number, signature, statement)
        seeds = {self.number: self._own_shares[0]}
        keys: dict[int, int] = {}
        for number, (seed, masking) in self._received.items():
            if number in self._contributors:
                seeds[number] = seed
            else:
                keys[number] = masking
        seed_parcels, key_parcels = (
            tuple((number, self._hexadecimal(found[number])) for number in sorted(found))
            for found in (seeds, keys)
        )
        return Unmasking(client=self.number, seeds=seed_parcels, keys=key_parcels)

    def _hexadecimal(self, share: int) -> str:
        return shamir.written(share, self._ciphers.prime).hex()

    def _sign_text(self, content: bytes) -> str:
        return self._ciphers.sign(self._identity.private, content).hex()

    def _require_signed(self, number: int, signature: str, content: bytes) -> None:
        public = self._directory.get(number, b"")
        if not self._ciphers.verify(public, bytes.fromhex(signature), content):
            raise ProtocolError(f"what client {number} is said to have signed it has not")

    def _require_enough(self, clients: Any, deed: str) -> None:
        if len(clients) < self.terms.least:
            raise ProtocolError(f"{len(clients)} clients {deed}; {self.terms.least} are needed")
