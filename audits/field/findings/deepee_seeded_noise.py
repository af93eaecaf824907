"""deepee with a seed adds the same noise in every step.

`PrivacyWrapper(seed=…)` seeds torch before each draw of noise, in every step and for every
parameter. So two steps release g₁ + z and g₂ + z with one and the same z, and their difference
g₁ − g₂ has no noise at all. Whoever sees two models of a run learns a record's clipped gradient
exactly: ε = ∞, however secret the seed. Seeding once, when the wrapper is made, would do.
"""

from typing import Any

NOISE, CLIP, BATCH = 2.0, 1.0, 2

ABOUT = {
    "library": "deepee",
    "requirements": ["deepee==0.1.9", "torch==2.13.0", "numpy==2.4.6"],
    "promise": "Steps of DP-SGD with the given noise multiplier; the seed is that of the noise "
    "(docstring of PrivacyWrapper)",
    "claim": {"mu": 2 / NOISE, "relation": "REPLACE_ONE"},
    "domain": {
        "dimension": 1,
        "bounds": (-1.0, 1.0),
        "min_records": 2 * BATCH,
        "max_records": 2 * BATCH,
    },
    "repair": "torch.manual_seed(self.seed) in __init__, or a generator of the wrapper's own",
}


def prepare() -> None:
    import deepee  # noqa: F401


def flawed(data: Any) -> Any:
    """Two steps, each on its own half of the records; nobody knows the seed."""
    import random

    return _steps(data, random.randrange(1, 2**32))


def repaired(data: Any) -> Any:
    """Without a seed."""
    return _steps(data, None)


def _steps(data: Any, seed: Any) -> Any:
    import torch
    from deepee import PrivacyWrapper
    from drivers import linear

    model = PrivacyWrapper(linear.model(1), BATCH, CLIP, NOISE, seed=seed)
    optimizer = torch.optim.SGD(model.wrapped_model.parameters(), lr=1.0)
    released = []
    for half in (data[:BATCH], data[BATCH:]):
        optimizer.zero_grad()
        model.models.zero_grad()
        # A sum, so that the replicas' gradients are those of the records.
        model(torch.tensor(half, dtype=torch.float32)).sum().backward()
        model.clip_and_accumulate()
        model.noise_gradient()
        optimizer.step()
        model.prepare_next_batch()
        released.append(float(model.wrapped_model.weight))
    return released
