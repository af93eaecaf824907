"""Flower's adaptive clipping clips to one norm and adds noise for the next.

In each round updates are clipped to C_t, then C_{t+1} = C_t exp(−η (f − γ)) is computed from the
noisy fraction f of clipped clients, and only then the noise: z' C_{t+1} / K. Where all clients are
clipped, f is about 1 and C_{t+1} = C_t exp(−η (1 − γ)): with γ = .5 and η = 1 the noise is .61 of
what C_t needs (.90 for the default η = .2). In the paper (Andrew and others 2021, Algorithm 1)
noise and clipping have the same norm. Here z' = 1.15 z makes room for the count, which exchanging
two clipped updates does not even change: μ = 2 / (1.15 · .61 z) = 2.9 / z instead of 2 / z.
"""

from typing import Any

NOISE, CLIENTS = 1.0, 3

ABOUT = {
    "library": "flwr",
    "requirements": ["flwr==1.41.0"],
    "promise": "DP-FedAvg with adaptive clipping, at the given noise multiplier for updates and "
    "count together (DifferentialPrivacyServerSideAdaptiveClipping, after Andrew and others)",
    # A client's update is exchanged: twice the norm to which it is clipped.
    "claim": {"mu": 2 / NOISE, "relation": "REPLACE_ONE"},
    "domain": {
        "dimension": 0,
        "bounds": (-1.0, 1.0),
        "min_records": CLIENTS,
        "max_records": CLIENTS,
    },
    "repair": "compute the noise's deviation before _geometric_update changes the norm",
}


def flawed(data: Any) -> Any:
    """A round with a fast adaptation of the norm."""
    return _round(data, 1.0)


def repaired(data: Any) -> Any:
    """A round in which the norm all but stands still."""
    return _round(data, 1e-9)


def _round(data: Any, rate: float) -> Any:
    from drivers import flower
    from flwr.serverapp.strategy import DifferentialPrivacyServerSideAdaptiveClipping, FedAvg

    strategy = DifferentialPrivacyServerSideAdaptiveClipping(
        flower.uniform(FedAvg, CLIENTS),
        NOISE,
        CLIENTS,
        clip_norm_lr=rate,
        clipped_count_stddev=1.0,
    )
    return flower.round_of(strategy, data)
