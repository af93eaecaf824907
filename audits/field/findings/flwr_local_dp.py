"""A client's clipped update with the textbook's Gaussian noise, where the textbook proves it.

The update is clipped to C, so exchanging all of a client's data moves it by up to 2 C, which is
given as the sensitivity S. Noise of S √(2 ln(1.25/δ)) / ε gives (ε, δ) for ε < 1 (Dwork and Roth
2014, Theorem A.1): μ = ε / √(2 ln(1.25/δ)), which is what is tested, being the sharper promise.
Beyond ε of about 9 at δ = 1e-5 the formula fails (Balle and Wang 2018), which draws cannot show:
outcomes that differ by a factor of exp(9) are too rare.
"""

from typing import Any

EPSILON, DELTA, CLIP = 1.0, 1e-5, 1.0

ABOUT = {
    "library": "flwr",
    "requirements": ["flwr==1.41.0"],
    "promise": "(ε, δ)-local differential privacy of a client's update (LocalDpMod)",
    # √(2 ln(1.25/δ)) = 4.8448 at this δ.
    "claim": {"mu": EPSILON / 4.8448, "relation": "REPLACE_ONE"},
    "domain": {"dimension": 0, "bounds": (-2.0, 2.0), "min_records": 1, "max_records": 1},
}


def sound(data: Any) -> Any:
    """What a client sends."""
    import numpy as np
    from drivers import flower
    from flwr.app import Message, RecordDict
    from flwr.clientapp.mod import LocalDpMod

    mod = LocalDpMod(CLIP, 2 * CLIP, EPSILON, DELTA)
    grid = flower.LocalGrid(
        data, lambda update: flower.training([float(update), 1e-6], 1, mods=[mod])
    )
    asked = RecordDict({"arrays": flower.arrays(np.zeros(2))})
    (reply,) = grid.send_and_receive([Message(asked, 1, "train")])
    return reply.content["arrays"].to_numpy_ndarrays()[0]
