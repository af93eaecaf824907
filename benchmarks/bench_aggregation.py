"""What a secure sum costs a client: bytes and milliseconds, against dimension and clients.

python benchmarks/bench_aggregation.py             # minutes; writes results/aggregation.{json,png}

Milliseconds are the process's CPU time within client 0, all five rounds; bytes are all that it
sends and is sent. The four rounds whose cost does not depend on the dimension are run once for each
number of clients, at dimension 1; the third, in which the masked vector is made, for every
dimension. Beside it the plain sum: the vector as it is, written and read by the same codec.
"""

import argparse
import time
from pathlib import Path

import numpy as np

from accountants import seals, versions
from mechanisms.federated.aggregation import AggregationClient, AggregationServer, AggregationTerms
from mechanisms.federated.aggregation.ciphers import StandardCiphers
from mechanisms.federated.aggregation.messages import CODEC, Masked

RESULTS = Path(__file__).parent / "results"
DIMENSIONS = (100, 1_000, 10_000, 100_000, 1_000_000)
CLIENTS = (5, 10, 20, 50, 100)
MASKED = 2


def parties(clients, dimension):
    terms = AggregationTerms(
        session="bench", clients=clients, least=clients * 2 // 3 + 1, dimension=dimension
    )
    ciphers = StandardCiphers()
    identities = [ciphers.identity() for _ in range(clients)]
    directory = {n: pair.public for n, pair in enumerate(identities)}
    vector = np.arange(dimension, dtype=np.int64) % 1000
    return AggregationServer(terms), [
        AggregationClient(n, terms, identities[n], directory, lambda: vector)
        for n in range(clients)
    ]


def rounds(clients, dimension, last):
    """(CPU seconds, bytes) of client 0 in each round up to `last`; others as far as is needed."""
    server, there = parties(clients, dimension)
    found = []
    for number in range(last + 1):
        for client, request in server.requests().items():
            began = time.process_time()
            answer = there[client].answer(request)
            if client == 0:
                found.append((time.process_time() - began, len(request) + len(answer)))
                if number == last:
                    return found
            server.receive(client, answer)
        server.close()
    return found


def plain(dimension):
    """(CPU seconds, bytes) of the vector as it is."""
    began = time.process_time()
    content = CODEC.encode(Masked(client=0, vector=np.zeros(dimension, np.uint32)), run="bench")
    return time.process_time() - began, len(content)


def measure():
    rounds(3, 1, 4)  # what is imported and compiled once is not a sum's cost
    rows = []
    for clients in CLIENTS:
        all_five = rounds(clients, 1, 4)
        seconds, size = (
            sum(part[k] for n, part in enumerate(all_five) if n != MASKED) for k in (0, 1)
        )
        for dimension in DIMENSIONS:
            masked = rounds(clients, dimension, MASKED)[MASKED]
            own = plain(dimension)
            rows.append(
                {
                    "clients": clients,
                    "dimension": dimension,
                    "milliseconds": 1e3 * (seconds + masked[0]),
                    "bytes": size + masked[1],
                    "plain_milliseconds": 1e3 * own[0],
                    "plain_bytes": own[1],
                }
            )
            print(rows[-1], flush=True)
    return rows


def draw(rows):
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    colours = plt.get_cmap("viridis")(np.linspace(0.0, 0.85, len(CLIENTS)))
    for axis, what, words in zip(
        axes,
        ("milliseconds", "bytes"),
        ("CPU milliseconds a client", "bytes a client"),
        strict=True,
    ):
        for clients, colour in zip(CLIENTS, colours, strict=True):
            own = [row for row in rows if row["clients"] == clients]
            values = [row[what] for row in own]
            axis.plot(DIMENSIONS, values, "o-", ms=4, color=colour, label=f"{clients} clients")
        values = [row[f"plain_{what}"] for row in own]
        axis.plot(DIMENSIONS, values, "--", color="#b3402e", label="plain sum")
        axis.set(xscale="log", yscale="log", xlabel="dimension", ylabel=words)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].legend(frameon=False, fontsize=9)
    figure.savefig(RESULTS / "aggregation.png", dpi=110)


def main():
    argparse.ArgumentParser(description=__doc__.split("\n", 1)[0]).parse_args()
    rows = measure()
    content = {
        "what": __doc__.split("\n", 1)[0],
        "command": "python benchmarks/bench_aggregation.py",
        "bits": 32,
        "rows": rows,
        "versions": versions.installed(),
    }
    seals.write_sealed(RESULTS / "aggregation.json", content)
    draw(rows)


if __name__ == "__main__":
    main()
