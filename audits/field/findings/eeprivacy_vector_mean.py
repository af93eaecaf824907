"""All coordinates of a vector get the same single draw of Laplace noise.

PrivateVectorClampedMeanLaplace passes the vector of sums to LaplaceMechanism.execute, which draws
one number and adds it to the array: sums + Lap(k·(b − a)/ε) broadcasts. The difference of two
coordinates of the output is then exactly the difference of their means, without any noise, and
differs between neighbours whose records differ in them: ε = ∞.
"""

from typing import Any

ABOUT = {
    "library": "eeprivacy",
    "requirements": ["eeprivacy==0.0.5"],
    "promise": "The elementwise mean of clamped vectors, ε-differentially private by the Laplace "
    "mechanism scaled to the L1 norm (docstring of PrivateVectorClampedMeanLaplace).",
    "claim": {"epsilon": 1.0, "delta": 0.0, "relation": "REPLACE_ONE"},
    "domain": {"dimension": 3, "bounds": (0.0, 1.0), "min_records": 4, "max_records": 4},
    "repair": "LaplaceMechanism.execute_batch, or size=sums.shape in the draw.",
}


def _mean(data: Any, mechanism: str) -> Any:
    from eeprivacy import operations

    kind = getattr(operations, f"PrivateVectorClampedMean{mechanism}")
    mean = kind(lower_bound=0.0, upper_bound=1.0, k=data.shape[1], N=len(data))
    return mean.execute(vectors=data, epsilon=1.0, delta=1e-5)


def flawed(data: Any) -> Any:
    return _mean(data, "Laplace")


def repaired(data: Any) -> Any:
    import numpy as np
    from eeprivacy.mechanisms import LaplaceMechanism

    sums = np.clip(data, 0.0, 1.0).sum(axis=0)
    noisy = LaplaceMechanism.execute_batch(values=sums, epsilon=1.0, sensitivity=data.shape[1])
    return noisy / len(data)
