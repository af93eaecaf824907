"""DP-SGD for logistic regression with canaries, in a page: the fixture of the one-run audit."""

import numpy as np
from scipy import sparse, special


def train(
    included: np.ndarray, rng: np.random.Generator, *, noise: float, steps: int = 4
) -> np.ndarray:
    """Full-batch DP-SGD on 200 ordinary records and the included canaries; returns the weights.

    Canary i has a feature of its own, so its clipped gradient points along one coordinate. One
    canary in or out is one record added or removed; clipping to norm 1 makes each step a Gaussian
    release with the given noise multiplier.
    """
    ordinary, features = 200, 20
    base = rng.normal(size=(ordinary, features))
    labels = (base[:, 0] > 0).astype(float)
    canaries = included.size
    rows = sparse.vstack(
        [
            sparse.hstack([sparse.csr_matrix(base), sparse.csr_matrix((ordinary, canaries))]),
            sparse.hstack([sparse.csr_matrix((canaries, features)), 50.0 * sparse.eye(canaries)]),
        ]
    ).tocsr()
    targets = np.concatenate([labels, np.ones(canaries)])
    present = np.concatenate([np.ones(ordinary, dtype=bool), included])
    rows, targets = rows[present], targets[present]
    lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    weights = np.zeros(features + canaries)
    for _ in range(steps):
        residual = special.expit(rows @ weights) - targets
        scale = 1.0 / np.maximum(1.0, np.abs(residual) * lengths)
        gradient = rows.T @ (residual * scale)
        # A step so small that the canaries' gradients stay longer than the clip norm.
        weights -= 1e-3 * (gradient + rng.normal(scale=noise, size=weights.size))
    return weights


def scores(weights: np.ndarray, canaries: int) -> np.ndarray:
    return weights[-canaries:]
