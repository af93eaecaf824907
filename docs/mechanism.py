"""A mechanism to audit: it says that its noise has standard deviation 1, and it has 0.7."""

import numpy as np

PAIR = (np.array([0.0, 1.0]), np.array([0.0]))


def noisy_sum(data: np.ndarray, rng: np.random.Generator, n: int) -> np.ndarray:
    """`n` releases of the sum of records in [0, 1]."""
    return data.sum() + rng.normal(scale=0.7, size=n)
