"""Flower's central DP wrappers add noise for an equal average to one weighted by examples.

`FedAvg` weights client k by w_k = n_k / Σ n_j, its default. Replacing that client's clipped update
moves the average by up to 2 C w_k. The wrapper's noise has standard deviation z C / K: right only
if w_k = 1/K. With K = 4 clients of (1, 1, 1, 100) examples w_k = .97, and the noise multiplier is z
/ 3.9 for the largest client. Since 1.41 the strategies ask for equal weights if they are given an
accountant, and only then.
"""

from typing import Any

NOISE, CLIP, CLIENTS = 2.0, 1.0, 4

ABOUT = {
    "library": "flwr",
    "requirements": ("flwr==1.41.0",),
    "promise": "Gaussian noise of the given multiplier for a client's clipped update "
    "(DifferentialPrivacyServerSideFixedClipping, its docstring and the how-to on DP)",
    # A client's update is exchanged: twice the norm to which it is clipped.
    "claim": {"mu": 2 / NOISE, "relation": "REPLACE_ONE"},
    # A client: its update, and how many examples it says it has.
    "domain": {
        "dimension": 2,
        "bounds": ((-1.0, 1.0), (1, 100)),
        "min_records": CLIENTS,
        "max_records": CLIENTS,
    },
    "repair": "noise z · C · max_k w_k, or the uniform average that the accounted mode demands",
    "upstream": None,
}


def flawed(data: Any) -> Any:
    """A round as in the documentation, clients weighted by their examples."""
    return _round(data, "num-examples", data[:, 1])


def repaired(data: Any) -> Any:
    """Every client counts once."""
    return _round(data, "num-examples", [1] * len(data))


def _round(data: Any, key: str, examples: Any) -> Any:
    from drivers import flower
    from flwr.serverapp.strategy import DifferentialPrivacyServerSideFixedClipping, FedAvg

    inner = FedAvg(min_train_nodes=CLIENTS, fraction_evaluate=0.0, weighted_by_key=key)
    strategy = DifferentialPrivacyServerSideFixedClipping(inner, NOISE, CLIP, CLIENTS)
    clients = list(zip(data[:, 0], examples, strict=True))
    # A zero update would end the run: see flwr_zero_update.
    grid = flower.LocalGrid(clients, lambda one: flower.training([one[0], 1e-6], int(one[1])))
    return flower.trained(strategy, grid, 2)
