"""p2pfl's Laplace noise is scaled to the L2 norm.

The update is clipped to L2 norm C and each coordinate gets Lap(C/ε). The Laplace mechanism needs
the L1 sensitivity: two updates of that ball differ by up to 2 C in L2, and by up to 2 C √d in L1
norm. So what is called ε is 2 √d ε for local privacy: with d = 25 coordinates ten times the ε that
was asked for, with a model of a million weights two thousand times.
"""

from typing import Any

EPSILON, CLIP, DIMENSION = 2.0, 1.0, 25

ABOUT = {
    "library": "p2pfl",
    "requirements": ["p2pfl[dp]==0.4.4"],
    "chunk_size": 64,
    "promise": "Local differential privacy of a client's update at the given ε "
    "(DifferentialPrivacyCompressor with noise_type='laplace', its docstrings)",
    "claim": {"epsilon": EPSILON, "delta": 0.0, "relation": "REPLACE_ONE"},
    "domain": {
        "dimension": DIMENSION,
        "bounds": (-1.0, 1.0),
        "min_records": 1,
        "max_records": 1,
    },
    "repair": "clip to L1 norm C and use scale 2 C / ε",
}


def prepare() -> None:
    import p2pfl.learning.compression.dp_strategy  # noqa: F401


def flawed(data: Any) -> Any:
    return _sent(data[0], EPSILON)


def repaired(data: Any) -> Any:
    """With ε divided by 2 √d."""
    return _sent(data[0], EPSILON / (2 * DIMENSION**0.5))


def _sent(update: Any, epsilon: float) -> Any:
    from p2pfl.learning.compression.dp_strategy import DifferentialPrivacyCompressor

    sent, _ = DifferentialPrivacyCompressor().apply_strategy(
        [update], clip_norm=CLIP, epsilon=epsilon, noise_type="laplace"
    )
    return sent[0]
