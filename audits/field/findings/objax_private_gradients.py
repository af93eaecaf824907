"""Gradients clipped one by one, and noise for one of them on their mean.

With microbatches of one, exchanging a record moves the mean of n clipped gradients by up to 2 C /
n; the noise has standard deviation σ C / n: μ = 2 / σ.
"""

from typing import Any

NOISE, CLIP = 2.0, 1.0

ABOUT = {
    "library": "objax",
    "requirements": [
        "objax==1.8.0", "jax==0.4.25", "jaxlib==0.4.25", "numpy==1.26.4", "scipy==1.12.0"
    ],
    "promise": "The gradients of DP-SGD with the given noise multiplier (PrivateGradValues)",
    "claim": {"mu": 2 / NOISE, "relation": "REPLACE_ONE"},
    "domain": {"dimension": 2, "bounds": (-2.0, 2.0), "min_records": 4, "max_records": 4},
}  # fmt: skip


def prepare() -> None:
    import objax  # noqa: F401


def sound(data: Any) -> Any:
    import random

    import jax.numpy as jnp
    import objax

    weights = objax.TrainVar(jnp.zeros(2))
    gradients = objax.privacy.dpsgd.PrivateGradValues(
        lambda records: (records @ weights.value).mean(),
        objax.VarCollection({"weights": weights}),
        NOISE,
        CLIP,
        microbatch=1,
        keygen=objax.random.Generator(random.randrange(2**31)),
    )
    (gradient,), _ = gradients(jnp.asarray(data))
    return gradient
