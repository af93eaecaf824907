"""Clients that clip for themselves and count alike, and a server that adds the noise.

The server tells the norm C, the client's mod clips its update to it, FedAvg averages K of them with
equal weights: exchanging one moves the mean by up to 2 C / K, and the noise of z C / K makes that a
Gaussian mechanism with μ = 2 / z. Two rounds: μ = √2 · 2 / z.
"""

from typing import Any

NOISE, CLIP, CLIENTS, ROUNDS = 2.0, 1.0, 3, 2

ABOUT = {
    "library": "flwr",
    "requirements": ["flwr==1.41.0"],
    "promise": "Gaussian noise of the given multiplier for a client's clipped update "
    "(DifferentialPrivacyClientSideFixedClipping with fixedclipping_mod)",
    "claim": {"mu": 2 / NOISE * ROUNDS**0.5, "relation": "REPLACE_ONE"},
    "domain": {
        "dimension": 0,
        "bounds": (-2.0, 2.0),
        "min_records": CLIENTS,
        "max_records": CLIENTS,
    },
}


def sound(data: Any) -> Any:
    """Two rounds."""
    from drivers import flower
    from flwr.clientapp.mod import fixedclipping_mod
    from flwr.serverapp.strategy import DifferentialPrivacyClientSideFixedClipping, FedAvg

    inner = flower.uniform(FedAvg, CLIENTS)
    strategy = DifferentialPrivacyClientSideFixedClipping(inner, NOISE, CLIP, CLIENTS)
    grid = flower.LocalGrid(
        data, lambda update: flower.training([float(update), 1e-6], 1, mods=[fixedclipping_mod])
    )
    return flower.trained(strategy, grid, 2, ROUNDS)
