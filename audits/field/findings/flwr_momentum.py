"""Flower's central DP wrappers leave the server's momentum without noise, round after round.

Noise is added to what `FedAvgM` returns, but its momentum keeps the exact mean Δ_t of each round:
v_t = β v_{t−1} + Δ_t. So Δ_1 is released again, with factors β, β², …, under fresh noise. A client
that moves each Δ_t by 2 C / K moves the model after R rounds by Σ_{r ≤ R} (1 + β + … + β^{r−1}) · 2
C / K, which is 9.05 · 2 C / K for β = .9 and R = 4, with noise of √R z C / K in it: μ = 9.05 / z
from the last model alone, where R Gaussian rounds would cost √R · 2 / z = 4 / z.
"""

from typing import Any

NOISE, CLIP, CLIENTS, ROUNDS = 4.0, 1.0, 2, 4

ABOUT = {
    "library": "flwr",
    "requirements": ["flwr==1.41.0"],
    "chunk_size": 32,
    "promise": "Gaussian noise of the given multiplier for a client's clipped update, around any "
    "strategy (DifferentialPrivacyServerSideFixedClipping, its docstring and the how-to on DP)",
    # A client's update is exchanged: twice the norm to which it is clipped.
    "claim": {"mu": 2 / NOISE * ROUNDS**0.5, "relation": "REPLACE_ONE"},
    "pair": ([-1.0, -1.0], [-1.0, 1.0]),
    "repair": "add the noise to the mean of the clipped updates, before the server's optimiser",
}


def flawed(data: Any) -> Any:
    """Four rounds with momentum."""
    return _rounds(data, 0.9)


def repaired(data: Any) -> Any:
    """Four rounds without."""
    return _rounds(data, 0.0)


def _rounds(data: Any, momentum: float) -> Any:
    from drivers import flower
    from flwr.serverapp.strategy import DifferentialPrivacyServerSideFixedClipping, FedAvgM

    inner = flower.uniform(FedAvgM, CLIENTS, server_momentum=momentum)
    strategy = DifferentialPrivacyServerSideFixedClipping(inner, NOISE, CLIP, CLIENTS)
    return flower.round_of(strategy, data, ROUNDS)
