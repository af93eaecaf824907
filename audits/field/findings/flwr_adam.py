"""Flower's central DP wrappers add noise to an optimiser's step that they take for a mean.

They clip each update, let the inner strategy aggregate, and add noise of z C / K. `FedAdam` does
not return the mean Δ but about η Δ / (|Δ| + τ) in each weight, with η = .1 and τ = .001 by default.
With C = .01 and K = 2, means of 0 and −.01 differ by the 2 C / K that the noise is for, but the
steps by .05 and more. Noise must be added to the mean, before the optimiser.
"""

from typing import Any

NOISE, CLIP, CLIENTS = 2.0, 0.01, 2

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
    "repair": "add the noise to the mean of the clipped updates, before the server's optimiser",
}


def flawed(data: Any) -> Any:
    """The wrapper around FedAdam as it comes."""
    from flwr.serverapp.strategy import FedAdam

    return _round(FedAdam, data)


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
