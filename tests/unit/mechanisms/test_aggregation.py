"""Secure sums: exact, and nothing but the sum is seen.

Views are compared as whole laws: every value of every mask is gone through (`CountedCiphers`), so
equality is a proof for that size and not a matter of luck.
"""

import hashlib
import itertools

import flint
import numpy as np
import pytest
from aggregation_tools import (
    CheapCiphers,
    CountedCiphers,
    contribute_of,
    exchange,
    laws_of_views,
    parties,
)

from mechanisms.federated.aggregation import (
    AggregationAbandonedError,
    AggregationClient,
    AggregationServer,
    AggregationTerms,
    carry,
    shamir,
)
from mechanisms.federated.aggregation.ciphers import KeyPair, StandardCiphers
from mechanisms.federated.aggregation.messages import (
    CODEC,
    Contributors,
    Delivered,
    Masked,
    Offer,
    Roster,
    Sealed,
    Signatures,
    Signed,
    Unmasking,
)
from pvi import ProtocolError
from pvi.wire import WireError

TERMS = AggregationTerms(session="s", clients=3, least=2, dimension=2, bits=8)


def plain_sum(vectors, contributors, bits):
    """In Python's integers, which have no modulus of their own."""
    totals = [sum(int(vectors[c][j]) for c in contributors) for j in range(len(vectors[0]))]
    return [(total + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1) for total in totals]


# --- sums ---


def one_random_sum(rng, ciphers, most_clients=5):
    """A sum with random drop-outs; whether it came about."""
    n = int(rng.integers(2, most_clients + 1))
    least = int(rng.integers(n // 2 + 1, n + 1))
    bits, dimension = int(rng.integers(1, 65)), int(rng.integers(1, 4))
    vectors = rng.integers(-(2**63), 2**63, size=(n, dimension), dtype=np.int64)
    lost = {c: int(rng.integers(0, 5)) for c in range(n) if rng.random() < 0.25}
    booked = set()

    def booking(client):
        def contribute():
            booked.add(client)
            return vectors[client]

        return contribute

    server, clients = parties(
        [Sized(booking(c), dimension) for c in range(n)], least, bits=bits, ciphers=ciphers
    )
    left = set()

    def watch(number, client, request, answer):
        if number == 2:
            left.add(client)

    there = [n - sum(last <= number for last in lost.values()) for number in range(5)]
    if there[-1] < least:
        with pytest.raises(AggregationAbandonedError, match=f"{least} are needed"):
            carry(server, clients, lost=lost, watch=watch)
        assert server.result is None
        assert left == booked
        assert bool(left) == (there[1] >= least and there[2] > 0)
        return False
    total, contributors = carry(server, clients, lost=lost, watch=watch)
    assert contributors == tuple(c for c in range(n) if lost.get(c, 5) > 2)
    assert total.tolist() == plain_sum(vectors, contributors, bits)
    assert left == booked == set(contributors)
    return True


class Sized:
    """A contribution that knows its length beforehand, as `parties` asks."""

    def __init__(self, contribute, dimension):
        self.contribute, self.dimension = contribute, dimension

    def __len__(self):
        return self.dimension

    def __call__(self):
        return self.contribute()


def test_sums_are_exact_and_too_few_clients_abandon_them():
    rng = np.random.default_rng(0)
    came = [one_random_sum(rng, CheapCiphers(rng)) for _ in range(200)]
    assert 30 < sum(came) < 170  # both happen


@pytest.mark.slow
def test_ten_thousand_sums_are_exact():
    rng = np.random.default_rng(1)
    came = [one_random_sum(rng, CheapCiphers(rng)) for _ in range(10_000)]
    assert 2_000 < sum(came) < 9_000


def test_sums_are_exact_with_the_real_cryptography():
    rng = np.random.default_rng(2)
    came = [one_random_sum(rng, StandardCiphers(), most_clients=4) for _ in range(30)]
    assert 3 < sum(came) < 30


@pytest.mark.parametrize("bits", [1, 7, 31, 32, 33, 63, 64])
def test_words_of_every_width(bits):
    largest = 2 ** (bits - 1)
    vectors = [[-largest, 0], [largest - 1, -1], [0, 0]]
    server, clients = parties(vectors, 2, bits=bits, ciphers=StandardCiphers())
    assert carry(server, clients).total.tolist() == [-1, -1]


# --- views ---


def check_views(patterns, *, bits=1, clients=3, least=2, kind=CountedCiphers):
    """Whether inputs of one sum of the honest contributors always give one law of the view."""
    coalitions = [
        members for size in range(least) for members in itertools.combinations(range(clients), size)
    ]
    for lost in patterns:
        contributors = [c for c in range(clients) if lost.get(c, 5) > 2]
        found = {}
        for values in itertools.product(range(2**bits), repeat=clients):
            vectors = [[value] for value in values]
            laws = laws_of_views(vectors, least, lost, coalitions, bits=bits, kind=kind)
            for coalition, law in laws.items():
                honest = [c for c in contributors if c not in coalition]
                known = tuple(values[c] for c in coalition)
                summed = sum(values[c] for c in honest) % 2**bits
                if found.setdefault((coalition, known, summed), law) != law:
                    return False
    return True


SLOW_PATTERNS = [{2: 1}, {0: 2}, {1: 3}, {0: 4}, {2: 0}]
PATTERNS = [{}, {2: 2}, *(pytest.param(p, marks=pytest.mark.slow) for p in SLOW_PATTERNS)]


@pytest.mark.parametrize("lost", PATTERNS, ids=str)
def test_a_view_depends_on_nothing_but_the_sum(lost):
    assert check_views([lost])


class NoOwnMask(CountedCiphers):
    def own_key(self, seed, purpose):
        return b"none"

    def mask(self, key, dimension, bits):
        return super().mask(key, dimension, bits) * (key != b"none")


class NoPairMask(CountedCiphers):
    def agree(self, private, public, purpose):
        return b"none"

    def mask(self, key, dimension, bits):
        return super().mask(key, dimension, bits) * (key != b"none")


class OnePairMask(CountedCiphers):
    """All pairs have the same mask."""

    def agree(self, private, public, purpose):
        return b"all"


class LowPairMask(CountedCiphers):
    """Pairwise masks have one bit, words have two; own masks are always known in the end."""

    def mask(self, key, dimension, bits):
        mask = super().mask(key, dimension, bits)
        return mask & np.uint32(1) if key.startswith(b"[") else mask


@pytest.mark.parametrize(
    ("kind", "lost", "bits", "clients"),
    [
        (NoOwnMask, {2: 2}, 1, 3),
        (NoPairMask, {}, 1, 3),
        (OnePairMask, {}, 1, 3),
        (LowPairMask, {}, 2, 2),
    ],
)
def test_views_of_flawed_masks_depend_on_more(kind, lost, bits, clients):
    assert not check_views([lost], kind=kind, bits=bits, clients=clients)


@pytest.mark.slow
def test_a_view_of_two_bits_depends_on_nothing_but_the_sum():
    assert check_views([{}], bits=2, clients=2)


@pytest.mark.slow
def test_without_late_vectors_own_masks_are_not_needed():
    """Own masks are for vectors that come too late: the flaw needs the pattern that shows it."""
    assert check_views([{}], kind=NoOwnMask)


# --- shares ---


@pytest.mark.parametrize("threshold", [1, 2, 3])
def test_fewer_shares_than_the_threshold_are_uniform(threshold):
    prime, points = 5, [1, 2, 3, 4]
    for secret in range(prime):
        for seen in itertools.combinations(points, threshold - 1):
            counts = {}
            for drawn in itertools.product(range(prime), repeat=threshold - 1):
                tape = iter(drawn)
                shares = shamir.split(secret, points, threshold, prime, lambda _, t=tape: next(t))
                key = tuple(shares[point] for point in seen)
                counts[key] = counts.get(key, 0) + 1
                for enough in itertools.combinations(points, threshold):
                    assert shamir.join({p: shares[p] for p in enough}, prime) == secret
            assert counts == dict.fromkeys(itertools.product(range(prime), repeat=threshold - 1), 1)


def test_the_field_is_one():
    prime = StandardCiphers.prime
    assert flint.fmpz(prime).is_prime()
    assert not any(flint.fmpz(n).is_prime() for n in range(2**256, prime))


def test_sealed_shares_have_one_length():
    """Leading zeros left out would tell the server of shares that begin with zeros."""
    lengths = set()
    for _ in range(12):
        server, clients = parties([[1], [2], [3]], 2, bits=8, ciphers=StandardCiphers())
        answers = exchange(server, clients, {})
        messages = [CODEC.decode(answer).message for answer in answers]
        lengths |= {len(s) for m in messages if isinstance(m, Sealed) for _, s in m.shares}
        lengths |= {len(s) + 98 for m in messages if isinstance(m, Unmasking) for _, s in m.seeds}
    # 12 · 12 numbers begin with a zero digit of sixteen each: missed with probability 1e-4 at most.
    assert lengths == {2 * (2 * 33 + 16)}


# --- a server that lies ---


def prepared(client=AggregationClient, ciphers=None, clients=3, least=2):
    """Clients who have sent their vectors, the server, and their answers by round."""
    ciphers = CheapCiphers(np.random.default_rng(3)) if ciphers is None else ciphers
    vectors = [[10 * (c + 1), 7] for c in range(clients)]
    server, there = parties(vectors, least, bits=8, ciphers=ciphers, client=client)
    for _ in range(3):
        for number, request in server.requests().items():
            server.receive(number, there[number].answer(request))
        server.close()
    return server, there


def told(message):
    return CODEC.encode(message, run="s")


def test_two_lists_of_contributors_are_not_signed():
    _, clients = prepared()
    clients[0].answer(told(Contributors(clients=(0, 1))))
    with pytest.raises(ProtocolError, match="waits for Signatures has got Contributors"):
        clients[0].answer(told(Contributors(clients=(0, 1, 2))))


def test_a_list_that_others_have_not_signed_unmasks_nobody():
    """Clients 0 and 1 are told different lists, to get client 2's seed and its key."""
    _, clients = prepared()
    first = CODEC.decode(clients[0].answer(told(Contributors(clients=(0, 1))))).message
    second = CODEC.decode(clients[1].answer(told(Contributors(clients=(0, 1, 2))))).message
    both = Signatures(signatures=((0, first.signature), (1, second.signature)))
    for client in clients[:2]:
        with pytest.raises(ProtocolError, match="is said to have signed it has not"):
            client.answer(told(both))


class Trusting(AggregationClient):
    """Unmasks without looking at signatures: the flaw that the consistency round repairs."""

    def _require_signed(self, number, signature, content):
        pass


def test_a_client_that_does_not_look_at_signatures_is_unmasked_by_two_lists():
    _, clients = prepared(Trusting)
    shares = {"seeds": {}, "keys": {}}
    for client, members in ((0, (0, 1)), (1, (0, 1, 2))):
        clients[client].answer(told(Contributors(clients=members)))
        signatures = Signatures(signatures=((0, "00"), (1, "00")))
        message = CODEC.decode(clients[client].answer(told(signatures))).message
        for kind, found in shares.items():
            found.update({(o, client): share for o, share in getattr(message, kind) if o == 2})
    # A share of client 2's key from one, of its seed from the other: of a larger group both whole.
    assert [len(found) for found in shares.values()] == [1, 1]


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (Contributors(clients=(0,)), "2 are needed"),
        (Contributors(clients=(1, 2)), "this client is one"),
        (Signatures(signatures=()), "waits for Contributors"),
    ],
)
def test_false_lists_are_refused(message, reason):
    _, clients = prepared()
    with pytest.raises(ProtocolError, match=reason):
        clients[0].answer(told(message))
    # And nothing has changed by it.
    clients[0].answer(told(Contributors(clients=(0, 1, 2))))


def offers_of(clients, server):
    return [
        CODEC.decode(clients[c].answer(request)).message for c, request in server.requests().items()
    ]


def test_rosters_with_other_keys_are_refused():
    server, clients = parties([[1], [2], [3]], 2, bits=8, ciphers=StandardCiphers())
    offers = offers_of(clients, server)
    stranger = StandardCiphers().key_pair().public.hex()
    forged = Offer(client=1, sealing_key=stranger, mask_key=stranger, signature=offers[1].signature)
    own = Offer(client=0, sealing_key=stranger, mask_key=stranger, signature="00")
    for roster, reason in (
        ((offers[0], forged, offers[2]), "is said to have signed it has not"),
        ((own, offers[1], offers[2]), "other keys of this client"),
        ((offers[0],), "2 are needed"),
        ((offers[1], offers[2]), "other keys of this client"),
    ):
        with pytest.raises(ProtocolError, match=reason):
            clients[0].answer(told(Roster(offers=roster)))
    assert clients[0].answer(told(Roster(offers=tuple(offers))))


def test_altered_and_exchanged_shares_do_not_open():
    server, clients = parties([[1], [2], [3]], 2, bits=8, ciphers=StandardCiphers())
    for _ in range(2):
        for number, request in server.requests().items():
            server.receive(number, clients[number].answer(request))
        server.close()
    shares = dict(CODEC.decode(server.requests()[0]).message.shares)
    flipped = f"{int(shares[1][:2], 16) ^ 1:02x}{shares[1][2:]}"
    for altered in ({**shares, 1: flipped}, {1: shares[2], 2: shares[1]}):
        with pytest.raises(ProtocolError, match="do not open"):
            clients[0].answer(told(Delivered(client=0, shares=tuple(sorted(altered.items())))))
    with pytest.raises(ProtocolError, match="came to another"):
        clients[1].answer(server.requests()[0])
    strange = tuple(sorted({**shares, 0: "00"}.items()))
    with pytest.raises(ProtocolError, match="not offered"):
        clients[0].answer(told(Delivered(client=0, shares=strange)))


def test_signatures_of_another_session_or_sum_do_not_hold():
    """The same clients, the same lists, another session; or the same session again."""
    for other in ("s", "t"):
        rng = np.random.default_rng(4)
        ciphers = CheapCiphers(rng)
        terms = [AggregationTerms(session=s, clients=2, least=2, dimension=1) for s in ("s", other)]
        identities = [ciphers.identity() for _ in range(2)]
        directory = {n: pair.public for n, pair in enumerate(identities)}
        signed = []
        for one in terms:
            clients = [
                AggregationClient(
                    n, one, identities[n], directory, contribute_of([n]), ciphers=ciphers
                )
                for n in range(2)
            ]
            server = AggregationServer(one, ciphers=ciphers)
            for _ in range(4):
                for number, request in server.requests().items():
                    server.receive(number, clients[number].answer(request))
                server.close()
            signed.append(server._signatures)
        with pytest.raises(ProtocolError, match="signed it has not"):
            clients[0].answer(CODEC.encode(Signatures(signatures=signed[0]), run=other))


# --- manners ---


def test_requests_that_come_twice_get_one_answer_and_cost_once():
    calls = []
    vectors = [Sized(lambda: calls.append(1) or np.array([1]), 1), [2], [3]]
    server, clients = parties(vectors, 2, bits=8, ciphers=StandardCiphers())
    for _ in range(5):
        for number, request in server.requests().items():
            answer = clients[number].answer(request)
            assert clients[number].answer(request) == answer
            server.receive(number, answer)
            with pytest.raises(ProtocolError, match="answered already"):
                server.receive(number, answer)
        server.close()
    assert calls == [1]
    assert server.result.total.tolist() == [6]
    with pytest.raises(ProtocolError, match="has ended"):
        server.requests()
    with pytest.raises(ProtocolError, match="no more to say"):
        clients[0].answer(told(Contributors(clients=(0, 1))))


def test_a_contribution_that_fails_is_not_made_again():
    class EmptyError(Exception):
        pass

    def contribute():
        raise EmptyError

    server, clients = parties(
        [Sized(contribute, 1), [2], [3]], 2, bits=8, ciphers=StandardCiphers()
    )
    for _ in range(2):
        for number, request in server.requests().items():
            server.receive(number, clients[number].answer(request))
        server.close()
    request = server.requests()[0]
    with pytest.raises(EmptyError):
        clients[0].answer(request)
    with pytest.raises(ProtocolError, match="does not make another"):
        clients[0].answer(request)


def test_answers_of_others_are_refused():
    server, clients = parties([[1], [2], [3]], 2, bits=8, ciphers=StandardCiphers())
    answers = {n: clients[n].answer(request) for n, request in server.requests().items()}
    with pytest.raises(ProtocolError, match="no Offer of client 1"):
        server.receive(1, answers[0])
    message = CODEC.decode(answers[0]).message
    with pytest.raises(ProtocolError, match="in this session"):
        server.receive(0, CODEC.encode(message, run="another"))
    with pytest.raises(ProtocolError, match="no Offer"):
        server.receive(0, told(Signed(client=0, signature="00")))
    with pytest.raises(WireError):
        server.receive(0, b"nonsense")


@pytest.mark.parametrize("vector", [np.zeros(3, np.uint32), np.zeros(1, np.uint64)])
def test_vectors_of_other_shapes_are_refused(vector):
    server, clients = parties([[1], [2], [3]], 2, bits=8, ciphers=StandardCiphers())
    for _ in range(2):
        for number, request in server.requests().items():
            server.receive(number, clients[number].answer(request))
        server.close()
    with pytest.raises(ProtocolError, match="must be 1 words"):
        server.receive(0, told(Masked(client=0, vector=vector)))


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"clients": 1}, "clients"),
        ({"least": 1}, "least"),
        ({"least": 4}, "least"),
        ({"clients": 4, "least": 2}, "least"),
        ({"bits": 0}, "bits"),
        ({"bits": 65}, "bits"),
        ({"dimension": 0}, "dimension"),
        ({"session": ""}, "session"),
        ({"session": "ü"}, "session"),
    ],
)
def test_terms_that_cannot_hold_are_refused(changed, named):
    fields = {"session": "s", "clients": 3, "least": 2, "dimension": 2, "bits": 8}
    with pytest.raises(ValueError, match=f"`{named}` must be"):
        AggregationTerms(**fields | changed)


@pytest.mark.parametrize(
    ("vector", "error"),
    [([1.0, 2.0], TypeError), ([1], ValueError), ([True, False], TypeError), ("ab", ValueError)],
)
def test_what_is_not_whole_numbers_is_not_summed(vector, error):
    with pytest.raises(error, match="`vector` must be"):
        TERMS.reduce(vector)


def test_integers_beyond_words_are_reduced():
    assert TERMS.reduce([2**100 + 3, -(2**90) - 1]).tolist() == [3, 255]


def test_clients_that_know_no_directory_are_refused():
    pair = StandardCiphers().identity()
    with pytest.raises(ValueError, match="`directory` must be"):
        AggregationClient(0, TERMS, pair, {0: pair.public}, lambda: None)
    directory = dict.fromkeys(range(3), b"")
    with pytest.raises(ValueError, match="own key"):
        AggregationClient(0, TERMS, pair, directory, lambda: None)


def test_private_keys_are_not_shown():
    pair = KeyPair(123456789, b"\1")
    assert "123456789" not in repr(pair)


def test_keys_of_small_order_are_refused():
    """A public key of zeros would make every shared secret zero (RFC 7748, section 6.1)."""
    ciphers = StandardCiphers()
    with pytest.raises(ValueError, match=r"(?i)error|low order|computing"):
        ciphers.agree(ciphers.seed(), bytes(32), b"")


def test_the_mask_is_the_stream_of_chacha20():
    """RFC 8439, appendix A.1, test vector 1: key, nonce and counter of zeros."""
    expected = bytes.fromhex("76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7")
    mask = StandardCiphers().mask(bytes(32), 8, 32)
    assert mask.tobytes() == expected
    # Not a prefix of it folded to fewer bits: two keys that differ in one bit share no word.
    other = StandardCiphers().mask(bytes(31) + b"\1", 8, 32)
    assert not set(mask.tolist()) & set(other.tolist())


@pytest.mark.slow
def test_what_folded_seeds_do_and_ours_do_not():
    """Flower's generator of masks, as it is installed: two seeds of 32 bytes, one mask."""
    flower = pytest.importorskip("flwr.common.secure_aggregation.secaggplus_utils")
    first, second = bytes(32), (b"\1" + bytes(3)) * 2 + bytes(24)
    masks = [flower.pseudo_rand_gen(seed, 2**30, [(50,)])[0] for seed in (first, second)]
    assert (masks[0] == masks[1]).all()
    ours = [StandardCiphers().mask(seed, 50, 30) for seed in (first, second)]
    assert not (ours[0] == ours[1]).any()


def test_the_digest_names_all_terms():
    texts = {TERMS.digest}
    for changed in ({"session": "t"}, {"clients": 4, "least": 3}, {"least": 3}, {"bits": 9}):
        fields = {"session": "s", "clients": 3, "least": 2, "dimension": 2, "bits": 8}
        texts.add(AggregationTerms(**fields | changed).digest)
    assert len(texts) == 5
    assert {len(text) for text in texts} == {hashlib.sha256().digest_size}
