"""What the TUM report says that secure aggregation cannot do (section 3.2)."""

import math

import numpy as np

from audits.papers.ledger import Finding, claim, decide, decide_against, decide_if
from audits.papers.numbers import computed, stated

# A Mersenne prime. Who can compute what does not depend on it; security would.
_PRIME = 2**521 - 1
_BASE = 3


@claim(
    id="tum-aggregation-integers",
    paper="TUM",
    kind="mathematics",
    place="section 3.2, limitation 1 of secure aggregation",
    statement="Secure aggregation works for vectors of integers only.",
)
def integers() -> Finding:
    """Sums of real vectors through masks modulo 2⁶⁴, as integers in units of 2⁻³²."""
    rng = np.random.default_rng(5)
    clients, unit = 20, 2.0**-32
    values = rng.normal(size=(clients, 200))
    encoded = np.rint(values / unit).astype(np.int64).view(np.uint64)
    masks = rng.integers(0, 2**64, size=encoded.shape, dtype=np.uint64)
    masks[-1] = 0 - masks[:-1].sum(axis=0, dtype=np.uint64)  # all masks add up to 0 modulo 2⁶⁴
    opened = (encoded + masks).sum(axis=0, dtype=np.uint64).view(np.int64) * unit
    error = float(np.abs(opened - values.sum(axis=0)).max())
    allowed = 0.5 * clients * unit * (1.0 + 1e-6)
    return decide_if(
        condition="what is added must be exact: real numbers come through after they are rounded "
        "to a unit that is as small as one likes, which costs half a unit for each client",
        with_condition=error > 0.0,
        without=error > allowed,
        figure=f"sum of {clients} real vectors in units of 2⁻³²: off by at most {error:.1e}, "
        f"half a unit for each client is {0.5 * clients * unit:.1e}",
        argument="A mask hides a summand only if it is uniform, and there is no uniform law on the "
        "reals; modulo 2^k there is one. So the arithmetic is in integers, but the unit is free: "
        "gradients fit as well as counts, if nothing wraps around.",
        numbers=[computed("error of a sum of reals", error)],
    )


@claim(
    id="tum-aggregation-keys",
    paper="TUM",
    kind="privacy",
    place="section 3.2, limitation 2 of secure aggregation",
    statement="Secure aggregation needs connections between clients, or a trusted server that "
    "handles the agreement on keys.",
)
def keys() -> Finding:
    """Keys agreed upon through a server that forwards public values, honestly and not."""
    rng = np.random.default_rng(6)
    first, second, server = (int.from_bytes(rng.bytes(60), "big") for _ in range(3))
    public = {secret: pow(_BASE, secret, _PRIME) for secret in (first, second, server)}
    forwarded = (pow(public[second], first, _PRIME), pow(public[first], second, _PRIME))
    # What the server can compute of what it forwards, without either secret: nothing short of a
    # discrete logarithm; its products and its own powers are not the key.
    tried = {
        public[first] * public[second] % _PRIME,
        pow(public[first], server, _PRIME),
        pow(public[second], server, _PRIME),
    }
    known = sum(value == forwarded[0] for value in tried)
    honest = forwarded[0] == forwarded[1] and not known
    # A server that puts its own value in place of each public one shares a key with either side.
    split = (pow(public[server], first, _PRIME), pow(public[server], second, _PRIME))
    between = split == (pow(public[first], server, _PRIME), pow(public[second], server, _PRIME))
    return decide_against(
        stated=not honest,
        reading="the server may lie about public keys, and nothing signs them: then it sits "
        "between each two clients and reads all masks",
        under_reading=between,
        figure="keys agreed through a server that forwards: equal on both sides, and "
        f"{known} of the {len(tried)} values that it can form; a server that swaps public keys "
        "knows both",
        argument="Diffie and Hellman's exchange needs no secret channel: a server that forwards "
        "public keys, and looks at all it likes, learns no key (Bonawitz et al. 2017, for "
        "servers that are curious but honest). Against one that lies, the clients need "
        "signatures or a list of keys that they trust, which is less than a server that they do.",
        numbers=[
            stated("keys known to a server that forwards", 1.0),
            computed("keys known to a server that forwards", float(known)),
        ],
    )


@claim(
    id="tum-aggregation-sum",
    paper="TUM",
    kind="privacy",
    place="section 3.2, limitation 3 of secure aggregation",
    statement="The sum of gradients, which secure aggregation opens, could still reveal something "
    "of the records.",
)
def opened_sum() -> Finding:
    """A record recovered from the opened sum, by one who knows the other records."""
    rng = np.random.default_rng(7)
    inputs, labels = rng.normal(size=(50, 4)), np.where(rng.random(50) < 0.5, 1.0, -1.0)
    weights = rng.normal(size=4)

    def gradient(x: np.ndarray, t: np.ndarray) -> np.ndarray:
        return np.asarray((-t / (1.0 + np.exp(t * (x @ weights))))[:, None] * x)

    left = gradient(inputs, labels).sum(axis=0) - gradient(inputs[1:], labels[1:]).sum(axis=0)
    # What is left is the one record's gradient, a multiple of its input.
    cosine = float(abs(left @ inputs[0]) / (np.linalg.norm(left) * np.linalg.norm(inputs[0])))
    epsilon = math.inf if cosine > 1.0 - 1e-9 else 0.0
    return decide(
        epsilon == math.inf,
        figure=f"direction of the missing record's input recovered, cosine {cosine:.12f}; ε = ∞",
        argument="The sum is a deterministic function of the records: whoever knows all but one "
        "subtracts, and has that one's gradient, which is a multiple of its input. Hiding the "
        "summands from the server does not change that; noise in the sum does.",
        numbers=[
            stated("cosine of what is recovered", 1.0),
            computed("cosine of what is recovered", cosine),
        ],
    )
