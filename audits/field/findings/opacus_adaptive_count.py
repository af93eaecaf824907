"""Opacus books the noise multiplier that adaptive clipping has enlarged, not the one asked for.

Adaptive clipping (Andrew and others 2021) releases a noisy sum and a noisy count of unclipped
records. To stay at z in all, the sum gets z' = (z⁻² − (2 σ_b)⁻²)^(−1/2) > z. AdaClipDPOptimizer
sets its `noise_multiplier` to z', and that is what the accountant's hook reads: the count is free.
Exchanging a record moves the sum by 2 C and the count by 1, so μ² = 4 / z'² + 1 / σ_b² = 4 / z²,
and 4 / z'² is booked. With σ_b = 1, z = 1.99 is booked as 20: μ = .1 instead of 1. (For one record
more or less the count costs twice that: its bits are not centred as in the paper.)
"""

from typing import Any

NOISE, COUNT_NOISE, CLIP, BATCH = 1.99, 1.0, 1.0, 2
ENLARGED = (NOISE**-2 - (2 * COUNT_NOISE) ** -2) ** -0.5

ABOUT = {
    "library": "opacus",
    "requirements": ["opacus==1.6.0", "torch==2.13.0"],
    "chunk_size": 32,
    "promise": "The accountant's ε for AdaClipDPOptimizer: of a Gaussian with the multiplier that "
    "its step hook records, for model and clipping norm together",
    # The number of records is fixed: another of Opacus's troubles.
    "claim": {"mu": 2 / ENLARGED, "relation": "REPLACE_ONE"},
    # One norm just below the first limit, the other above it and on the other side.
    "pair": ([[2.0], [-0.99]], [[2.0], [2.0]]),
    "repair": "book the multiplier that was asked for; keep the enlarged one for the noise alone",
}


def prepare() -> None:
    import opacus  # noqa: F401


def flawed(data: Any) -> Any:
    """A step with the multiplier that was asked for: the accountant books another."""
    return _step(data, NOISE)


def repaired(data: Any) -> Any:
    """A step with so much noise that what is booked holds for model and norm together."""
    return _step(data, ENLARGED, 2 * ENLARGED)


def _step(data: Any, noise: float, count: float = COUNT_NOISE) -> Any:
    import torch
    from drivers import linear
    from opacus import PrivacyEngine

    plain = linear.model(1)
    model, optimizer, batches = PrivacyEngine().make_private(
        module=plain,
        optimizer=torch.optim.SGD(plain.parameters(), lr=1.0),
        data_loader=linear.loader(data, BATCH),
        noise_multiplier=noise,
        max_grad_norm=CLIP,
        clipping="adaptive",
        target_unclipped_quantile=0.5,
        clipbound_learning_rate=0.2,
        max_clipbound=10.0,
        min_clipbound=0.01,
        unclipped_num_std=count,
    )
    weights = linear.step(model, optimizer, batches)
    return [*weights.tolist(), float(optimizer.max_grad_norm)]
