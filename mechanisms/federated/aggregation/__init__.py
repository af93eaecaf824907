"""Secure aggregation: a server learns the sum of its clients' integer vectors, and nothing else.

The protocol of Bonawitz et al. 2017 ("Practical Secure Aggregation for Privacy-Preserving Machine
Learning", figure 4) as two state machines that speak bytes, `AggregationClient` and
`AggregationServer`; who carries the bytes is free: a federation's courier (`sum_over`), or `carry`
within a process. Five rounds:

1. *keys*: each client offers two X25519 keys, signed.
2. *shares*: it shares its mask key and the seed of its own mask among all, any `least` of whom can
   put them together again (Shamir), sealed for each.
3. *masked*: it sends x + (own mask) ± (a mask with each other client) modulo 2^bits. The pairwise
   masks cancel in the sum.
4. *signed*: it is told who contributed, and signs that list once.
5. *unmasked*: having seen `least` signatures of one list, it gives its shares of the seeds of those
   who contributed and of the keys of those who dropped out: for nobody both.

**What holds** (their Theorems 6.3 to 6.5; X25519, HKDF and ChaCha20 taken for what they are meant
to be, honest clients' identity keys known to all, the server and c clients pooling what they see):
the pool learns the sum over the contributors outside of it, and nothing more, if c < least and the
server is only curious; if it may also lie about anything, if c ≤ 2·least − clients − 1. There are
`least` contributors or more, or there is no sum. *Not covered:* wrong sums by clients that send
nonsense, who takes part and when, lengths and times. A sum is as private as the noise in it: none
is added here.

Needs the extra `aggregation` (the package `cryptography`).
"""

from mechanisms.federated.aggregation.carrying import carry, serve_client, sum_over
from mechanisms.federated.aggregation.client import AggregationClient
from mechanisms.federated.aggregation.server import (
    AggregationAbandonedError,
    AggregationServer,
    SecureSum,
)
from mechanisms.federated.aggregation.terms import AggregationTerms

__all__ = [
    "AggregationAbandonedError",
    "AggregationClient",
    "AggregationServer",
    "AggregationTerms",
    "SecureSum",
    "carry",
    "serve_client",
    "sum_over",
]
