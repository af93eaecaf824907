"""Parties of secure sums with ideal or cheap cryptography, and a pool that looks at all it may."""

import hashlib
import itertools

import numpy as np

from mechanisms.federated.aggregation import (
    AggregationClient,
    AggregationServer,
    AggregationTerms,
    shamir,
)
from mechanisms.federated.aggregation.ciphers import KeyPair
from mechanisms.federated.aggregation.masking import own_mask, pair_mask
from mechanisms.federated.aggregation.messages import CODEC, Masked, Unmasking
from mechanisms.federated.aggregation.terms import word_of

ROUNDS = 5


class CheapCiphers:
    """Nothing is secret, everything is quick: for sums, which must be exact whatever the masks."""

    prime = 2**256 + 297

    def __init__(self, rng):
        self._rng = rng

    def randbelow(self, below):
        return int.from_bytes(self._rng.bytes(40), "big") % below

    def seed(self):
        return int.from_bytes(self._rng.bytes(32), "big")

    def key_pair(self):
        private = self.seed()
        return KeyPair(private, self.public(private))

    identity = key_pair

    def public(self, private):
        return private.to_bytes(32, "big")

    def agree(self, private, public, purpose):
        both = sorted((self.public(private), public))
        return hashlib.sha256(b"".join(both) + purpose).digest()

    def own_key(self, seed, purpose):
        return hashlib.sha256(self.public(seed) + purpose).digest()

    def mask(self, key, dimension, bits):
        word = word_of(bits)
        stream = hashlib.shake_128(key).digest(dimension * word.itemsize)
        return np.frombuffer(stream, dtype=word) & word.type(2**bits - 1)

    def seal(self, key, plain, about):
        return plain

    def unseal(self, key, content, about):
        return content

    def sign(self, private, content):
        return hashlib.sha256(self.public(private) + content).digest()

    def verify(self, public, signature, content):
        return signature == hashlib.sha256(public + content).digest()


class CountedCiphers(CheapCiphers):
    """Ideal masks: a table says what each is, so that all tables can be gone through.

    Keys and seeds are the numbers 1, 2, …; keys of masks say whose they are.
    """

    prime = 251

    def __init__(self, table):
        self.table = table
        self._next = itertools.count(1)

    def randbelow(self, below):
        return 3 % below

    def seed(self):
        return next(self._next)

    def public(self, private):
        return bytes([private])

    def agree(self, private, public, purpose):
        return b"%r" % sorted((private, public[0])) + purpose[32:]

    def own_key(self, seed, purpose):
        return b"%d " % seed + purpose[32:]

    def mask(self, key, dimension, bits):
        if key not in self.table:
            self.table[key] = (0,) * dimension
        return np.array(self.table[key], dtype=word_of(bits))


def parties(vectors, least, *, bits, ciphers, client=AggregationClient, session="s"):
    """The server and the clients of a sum."""
    clients, dimension = len(vectors), len(vectors[0])
    terms = AggregationTerms(
        session=session, clients=clients, least=least, dimension=dimension, bits=bits
    )
    identities = [ciphers.identity() for _ in range(clients)]
    directory = {number: pair.public for number, pair in enumerate(identities)}
    return AggregationServer(terms, ciphers=ciphers), [
        client(number, terms, identities[number], directory, contribute_of(vector), ciphers=ciphers)
        for number, vector in enumerate(vectors)
    ]


def contribute_of(vector):
    return vector if callable(vector) else lambda: np.array(vector)


def exchange(server, clients, lost):
    """All answers that were made, the first of a lost client's included: it comes too late."""
    answers = []
    for number in range(ROUNDS):
        for client, request in server.requests().items():
            last = lost.get(client, ROUNDS)
            if last < number:
                continue
            answers.append(clients[client].answer(request))
            if last > number:
                server.receive(client, answers[-1])
        server.close()
    return answers


def known(server, clients, answers, coalition, ciphers):
    """Vectors under masks, and the seeds and keys that server and coalition can put together."""
    terms = server.terms
    messages = [CODEC.decode(answer).message for answer in answers]
    shares = {"seeds": {}, "keys": {}}
    for message in messages:
        if isinstance(message, Unmasking):
            for kind, known in shares.items():
                for owner, share in getattr(message, kind):
                    known.setdefault(owner, {})[message.client + 1] = int(share, 16)
    for member in coalition:
        for owner, pair in clients[member]._received.items():
            for kind, share in zip(("seeds", "keys"), pair, strict=True):
                shares[kind].setdefault(owner, {})[member + 1] = share
    seeds, keys = (
        {
            owner: shamir.join(dict(list(found.items())[: terms.least]), ciphers.prime)
            for owner, found in shares[kind].items()
            if len(found) >= terms.least
        }
        for kind in ("seeds", "keys")
    )
    for member in coalition:
        seeds[member], keys[member] = clients[member]._seed, clients[member]._masking.private
    sent = {m.client: m.vector for m in messages if isinstance(m, Masked)}
    return sent, seeds, keys


def view(server, clients, answers, coalition, ciphers):
    """All that server and coalition can work out, each mask that they can make included."""
    terms = server.terms
    sent, seeds, keys = known(server, clients, answers, coalition, ciphers)
    seen = {("vector", client): vector.tolist() for client, vector in sent.items()}
    for owner, seed in seeds.items():
        seen["own", owner] = own_mask(ciphers, terms, owner, seed).tolist()
    for owner, key in keys.items():
        for other, offer in server._offers.items():
            if other != owner:
                mask = pair_mask(ciphers, terms, owner, key, other, offer.mask_key)
                seen["pair", owner, other] = mask.tolist()
    return repr(sorted(seen.items()))


def readable(server, clients, answers, coalition, ciphers):
    """Each client's vector without the masks that the pool can make, as numbers in [−½, ½)."""
    terms = server.terms
    sent, seeds, keys = known(server, clients, answers, coalition, ciphers)
    rows = []
    for client, vector in sorted(sent.items()):
        left = vector.copy()
        if client in seeds:
            left -= own_mask(ciphers, terms, client, seeds[client])
        for other, offer in server._offers.items():
            if other == client or other not in server._sealed:
                continue
            if client in keys:
                left -= pair_mask(ciphers, terms, client, keys[client], other, offer.mask_key)
            elif other in keys:
                own = server._offers[client].mask_key
                left += pair_mask(ciphers, terms, other, keys[other], client, own)
        rows.append(terms.centred(left) / 2.0**terms.bits)
    return np.concatenate(rows)


def laws_of_views(vectors, least, lost, coalitions, *, bits, kind=CountedCiphers):
    """For each coalition how often each view occurs, over all masks that there can be."""
    laws = {coalition: {} for coalition in coalitions}

    def once(table):
        ciphers = kind(table)
        server, clients = parties(vectors, least, bits=bits, ciphers=ciphers)
        answers = exchange(server, clients, lost)
        for coalition, law in laws.items():
            seen = view(server, clients, answers, coalition, kind(table))
            law[seen] = law.get(seen, 0) + 1

    discovered = {}
    once(discovered)
    for law in laws.values():
        law.clear()
    values = list(itertools.product(range(2**bits), repeat=len(vectors[0])))
    for masks in itertools.product(values, repeat=len(discovered)):
        once(dict(zip(discovered, masks, strict=True)))
    return laws
