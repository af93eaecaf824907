"""dp_learning_ff draws the noise of its least squares from the seed 42.

`LeastSquaresClassifier.dp_least_squares` has `seed=42` as its default and draws all noise from
`default_rng(seed)`. So every run of every user adds the same matrix and the same vectors, which
anyone can subtract: the output is a function of the data, and ε = ∞. With a seed that nobody knows
the three Gaussian releases (the covariance of all, of the class, the class's sum) have μ² = 3 / σ²
for a record more or less, and at most four times that for one exchanged.
"""

from typing import Any

NOISE, DIMENSION = 4.0, 2

ABOUT = {
    "library": "dp-learning-ff",
    "requirements": ["dp-learning-ff==0.0.8", "torch==2.13.0"],
    "promise": "Least squares with Gaussian noise, zero-concentrated privacy of 3 / (2 σ²) "
    "(docstrings of dp_least_squares and LeastSquaresCDPM)",
    "claim": {"mu": 2 * 3**0.5 / NOISE, "relation": "REPLACE_ONE"},
    "domain": {
        "dimension": DIMENSION,
        "bounds": (-1.0, 1.0),
        "min_records": 6,
        "max_records": 6,
    },
    "repair": "seed=None by default, so that the noise comes from the operating system",
}


def prepare() -> None:
    import dp_learning_ff.least_squares  # noqa: F401


def flawed(data: Any) -> Any:
    return _solved(data)


def repaired(data: Any) -> Any:
    """With a seed of its own for each run."""
    import random

    return _solved(data, seed=random.randrange(2**63))


def _solved(data: Any, **seed: Any) -> Any:
    import numpy as np
    from dp_learning_ff.least_squares import LeastSquaresClassifier

    labels = np.arange(len(data)) % 2
    return LeastSquaresClassifier.dp_least_squares(data, labels, 1.0, 50.0, 1.0, NOISE, **seed)
