"""Gradients clipped one by one, summed, and noise for one of them on the sum.

`clipped_grad` states its sensitivity itself: the norm C, or 2 C under replacement. The noise has
standard deviation σ C: μ = 2 / σ.
"""

from typing import Any

NOISE, CLIP = 2.0, 1.0

ABOUT = {
    "library": "jax-privacy",
    "requirements": ["jax-privacy==2.0.0"],
    "promise": "A sum of clipped gradients of the stated L2 sensitivity, for NaN too, and Gaussian "
    "noise of the given deviation (clipped_grad, gaussian_privatizer)",
    "claim": {"mu": 2 / NOISE, "relation": "REPLACE_ONE"},
    "domain": {
        "dimension": 2,
        "bounds": (-2.0, 2.0),
        "min_records": 4,
        "max_records": 4,
        "special_values": (float("nan"), float("inf")),
    },
}


def prepare() -> None:
    import jax_privacy  # noqa: F401


def sound(data: Any) -> Any:
    import random

    import jax.numpy as jnp
    import jax_privacy

    weights = jnp.zeros(2)
    gradient = jax_privacy.clipped_grad(
        lambda weights, records: (records @ weights).mean(), l2_clip_norm=CLIP
    )
    key = random.randrange(2**31)
    noise = jax_privacy.noise_addition.gaussian_privatizer(stddev=NOISE * CLIP, prng_key=key)
    noisy, _ = noise.update(gradient(weights, jnp.asarray(data)), noise.init(weights))
    return noisy
