"""Flower's central DP wrappers add noise for as many clients as they were told, whoever came.

The noise has standard deviation z C / K with K from the constructor. If only m < K clients answer
or are connected, the average moves by up to 2 C / m when one update is exchanged, and the noise
multiplier is z m / K. Flower logs a warning ("could impact the differential privacy guarantees")
and releases the model; only with an accountant, since 1.41, does it refuse.
"""

from typing import Any

NOISE, CLIP, TOLD, CLIENTS = 2.0, 1.0, 10, 3

ABOUT = {
    "library": "flwr",
    "requirements": ["flwr==1.41.0"],
    "promise": "Gaussian noise of the given multiplier for a client's clipped update, around any "
    "strategy (DifferentialPrivacyServerSideFixedClipping, its docstring and the how-to on DP)",
    # A client's update is exchanged: twice the norm to which it is clipped.
    "claim": {"mu": 2 / NOISE, "relation": "REPLACE_ONE"},
    "domain": {
        "dimension": 0,
        "bounds": (-1.0, 1.0),
        "min_records": CLIENTS,
        "max_records": CLIENTS,
    },
    "repair": "noise z · C / len(replies), or refuse the round as the accounted mode does",
    # The warning is the library's own, in its public source and log.
    "upstream": "https://github.com/flwrlabs/flower/pull/2798",
}


def flawed(data: Any) -> Any:
    """Ten clients were expected and three are there."""
    return _round(data, TOLD)


def repaired(data: Any) -> Any:
    """The wrapper is told how many there are."""
    return _round(data, len(data))


def _round(data: Any, told: int) -> Any:
    from drivers import flower
    from flwr.serverapp.strategy import DifferentialPrivacyServerSideFixedClipping, FedAvg

    inner = flower.uniform(FedAvg, CLIENTS)
    strategy = DifferentialPrivacyServerSideFixedClipping(inner, NOISE, CLIP, told)
    return flower.round_of(strategy, data)
