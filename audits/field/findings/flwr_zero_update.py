"""A client whose update is exactly zero ends the run with Flower's central DP.

The clipping factor is min(1, C / norm) with Python floats: a norm of 0 raises ZeroDivisionError in
the server's aggregation, and nothing is released. With any other update of that client the round
goes on. So the end of the run shows, with probability 1 against 0, that some client trained on
nothing new (no data, a learning rate of 0, gradients that vanish).
"""

from typing import Any

NOISE, CLIP, CLIENTS = 2.0, 1.0, 3

ABOUT = {
    "library": "flwr",
    "requirements": ["flwr==1.41.0"],
    "promise": "Gaussian noise of the given multiplier for a client's clipped update, around any "
    "strategy (DifferentialPrivacyServerSideFixedClipping, its docstring and the how-to on DP)",
    # A client's update is exchanged: twice the norm to which it is clipped.
    "claim": {"mu": 2 / NOISE, "relation": "REPLACE_ONE"},
    "domain": {
        "dimension": 0,
        "bounds": (0.0, 1.0),
        "min_records": CLIENTS,
        "max_records": CLIENTS,
    },
    "repair": "scaling_factor = 1.0 if input_norm <= clipping_norm else clipping_norm / input_norm",
}


def flawed(data: Any) -> Any:
    """A round of clients that may send zero."""
    return _round(data, 0.0)


def repaired(data: Any) -> Any:
    """The same, where another weight always moves a little."""
    return _round(data, 1e-6)


def _round(data: Any, other: float) -> Any:
    from drivers import flower
    from flwr.serverapp.strategy import DifferentialPrivacyServerSideFixedClipping, FedAvg

    inner = flower.uniform(FedAvg, CLIENTS)
    strategy = DifferentialPrivacyServerSideFixedClipping(inner, NOISE, CLIP, CLIENTS)
    grid = flower.LocalGrid(data, lambda update: flower.training([float(update), other], 1))
    return flower.trained(strategy, grid, 2)
