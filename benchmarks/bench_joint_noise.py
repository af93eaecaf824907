"""The dilemma of joint noise, end to end: partitioned inference whose sums are secure sums.

python benchmarks/bench_joint_noise.py --runs 4        # writes results/joint_noise.json

Ten clients learn a mean. In every round each clips its change of natural parameters, rounds it,
adds its share of discrete noise and sends it into a secure sum with the real cryptography; nobody
but the client sees it. Then the three choices of what a factor keeps: with its share it leaks in
the next round (refused by `project`, rule 6); without, posterior and factors drift apart; reset
from public state, what was learnt of the clients' differences is lost where clipping bites.
"""

import argparse
from pathlib import Path

import numpy as np
from dp_accounting import NeighboringRelation

from accountants import seals, versions
from mechanisms import DistributedSum, Rounding
from mechanisms.federated.aggregation import (
    AggregationClient,
    AggregationServer,
    AggregationTerms,
    carry,
)
from mechanisms.federated.aggregation.ciphers import StandardCiphers

RESULT = Path(__file__).parent / "results" / "joint_noise.json"
CLIENTS, RECORDS, ROUNDS, DAMPING, DELTA = 10, 500, 30, 0.3, 1e-5
PRIOR = np.array([0.0, 1.0])
SUM = DistributedSum(
    rounding=Rounding(clip_norm=100.0, spacing=2.0**-10, coordinates=2),
    noise_multiplier=6.0,
    clients=CLIENTS,
    least=CLIENTS,
    colluders=1,
    bits=48,
)


def added_up(vectors, identities, session):
    terms = AggregationTerms(
        session=session, clients=CLIENTS, least=CLIENTS, dimension=2, bits=SUM.bits
    )
    directory = {number: pair.public for number, pair in enumerate(identities)}
    clients = [
        AggregationClient(number, terms, identities[number], directory, lambda v=vector: v)
        for number, vector in enumerate(vectors)
    ]
    return SUM.decode(carry(AggregationServer(terms), clients).total)


def learnt(memory, rng):
    """The posterior's natural parameters, the product of factors, and the exact posterior."""
    means = rng.normal(1.0, 1.0, CLIENTS)  # clients differ
    data = [rng.normal(mean, 1.0, RECORDS) for mean in means]
    likelihoods = np.array([[own.sum(), len(own)] for own in data])
    identities = [StandardCiphers().identity() for _ in data]
    factors, posterior = np.zeros((CLIENTS, 2)), PRIOR.copy()
    for number in range(ROUNDS):
        rounded = [
            SUM.rounding((own - t)[None], rng)[0]
            for own, t in zip(likelihoods, factors, strict=True)
        ]
        shares = np.array([SUM.share() for _ in data])
        sent = [row.astype(object) + share for row, share in zip(rounded, shares, strict=True)]
        posterior = posterior + DAMPING * added_up(sent, identities, f"round {number}")
        kept = np.array(rounded, dtype=float)
        if memory == "remembers":
            kept += shares.astype(float)
        factors += DAMPING * kept * SUM.rounding.spacing
        if memory == "resets":
            factors = np.tile((posterior - PRIOR) / CLIENTS, (CLIENTS, 1))
    return posterior, PRIOR + factors.sum(axis=0), PRIOR + likelihoods.sum(axis=0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--runs", type=int, default=4)
    runs = parser.parse_args().runs
    cost = SUM.epsilon_bounds(DELTA, NeighboringRelation.REPLACE_ONE, releases=ROUNDS)
    rows = []
    for memory in ("remembers", "forgets", "resets"):
        found = np.array([learnt(memory, np.random.default_rng(seed)) for seed in range(runs)])
        posterior, product, exact = found[:, 0], found[:, 1], found[:, 2]
        drift, error = posterior[:, 1] - product[:, 1], posterior - exact
        means = posterior[:, 0] / np.maximum(posterior[:, 1], 1.0) - exact[:, 0] / exact[:, 1]
        rows.append(
            {
                "memory": memory,
                "epsilon": "refused" if memory == "remembers" else [cost.lower, cost.upper],
                "root_mean_square_drift_of_precision": float(np.sqrt(np.mean(drift**2))),
                "root_mean_square_error_of_precision": float(np.sqrt(np.mean(error[:, 1] ** 2))),
                "mean_error_of_precision": float(error[:, 1].mean()),
                "root_mean_square_error_of_mean": float(np.sqrt(np.mean(means**2))),
            }
        )
        print(rows[-1], flush=True)
    content = {
        "what": __doc__.split("\n", 1)[0],
        "command": f"python benchmarks/bench_joint_noise.py --runs {runs}",
        "exact_precision": 1.0 + CLIENTS * RECORDS,
        "rows": rows,
        "versions": versions.installed(),
    }
    seals.write_sealed(RESULT, content)


if __name__ == "__main__":
    main()
