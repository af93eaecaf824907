"""Flower's central DP wrappers take Krum's choice of one client for a mean.

They clip each update, let the inner strategy aggregate, and add noise of z C / K: right for a mean
of K clients, in which one client moves 2 C / K. `Krum` returns the update of one client, the one
nearest to the others: exchanging a client's update can move the choice by up to 2 C, K times what
the noise is for. The wrapper accepts every strategy and says so.
"""

from typing import Any

NOISE, CLIP, CLIENTS = 4.0, 1.0, 3

ABOUT = {
    "library": "flwr",
    "requirements": ["flwr==1.41.0"],
    "promise": "Gaussian noise of the given multiplier for a client's clipped update, around any "
    "strategy (DifferentialPrivacyServerSideFixedClipping, its docstring and the how-to on DP)",
    # A client's update is exchanged: twice the norm to which it is clipped.
    "claim": {"mu": 2 / NOISE, "relation": "REPLACE_ONE"},
    "pair": ([-1.0, 1.0, 1.0], [-1.0, 1.0, -1.0]),
    "repair": "refuse strategies that do not average; noise z · C for a choice of one, no 1 / K",
}


def flawed(data: Any) -> Any:
    """The wrapper around Krum."""
    from flwr.serverapp.strategy import Krum

    return _round(Krum, data, num_malicious_nodes=0)


def repaired(data: Any) -> Any:
    """The wrapper around FedAvg."""
    from flwr.serverapp.strategy import FedAvg

    return _round(FedAvg, data)


def _round(kind: Any, data: Any, **named: Any) -> Any:
    from drivers import flower
    from flwr.serverapp.strategy import DifferentialPrivacyServerSideFixedClipping

    inner = flower.uniform(kind, CLIENTS, **named)
    strategy = DifferentialPrivacyServerSideFixedClipping(inner, NOISE, CLIP, CLIENTS)
    return flower.round_of(strategy, data)
