"""Flower's central DP wrappers take the median for a mean.

They clip each update, let the inner strategy aggregate, and add noise of z C / K: right for a mean
of K clients, in which one client moves 2 C / K. `FedMedian` takes the median of each weight. With K
= 3 and the others at ±C one client moves it from −C to +C: by 2 C, three times what the noise is
for, at any K that is odd. The wrapper accepts every strategy and says so.
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
    "repair": "refuse strategies that do not average; noise z · C for the median, no 1 / K",
}


def flawed(data: Any) -> Any:
    """The wrapper around FedMedian."""
    from flwr.serverapp.strategy import FedMedian

    return _round(FedMedian, data)


def repaired(data: Any) -> Any:
    """The wrapper around FedAvg."""
    from flwr.serverapp.strategy import FedAvg

    return _round(FedAvg, data)


def _round(kind: Any, data: Any) -> Any:
    from drivers import flower
    from flwr.serverapp.strategy import DifferentialPrivacyServerSideFixedClipping

    inner = flower.uniform(kind, CLIENTS)
    strategy = DifferentialPrivacyServerSideFixedClipping(inner, NOISE, CLIP, CLIENTS)
    return flower.round_of(strategy, data)
