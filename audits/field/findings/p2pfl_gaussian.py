"""p2pfl's Gaussian noise is for a record that comes or goes, where two updates may differ.

Local privacy is about any two updates of a client. Both are clipped to norm C, so they differ by up
to 2 C; the noise is C √(2 ln(1.25/δ)) / ε, that of sensitivity C. At the defaults ε = 3, δ = 1e-5
it is 1.61 C, so μ = 1.24. A Gaussian mechanism satisfies (3, 1e-5) if and only if μ ≤ .719 (Balle
and Wang 2018, Theorem 8), which is what is tested; at μ = 1.24 the ε at 1e-5 is about 5.7.
"""

from typing import Any

EPSILON, DELTA, CLIP = 3.0, 1e-5, 1.0

ABOUT = {
    "library": "p2pfl",
    "requirements": ["p2pfl[dp]==0.4.4"],
    "chunk_size": 64,
    "promise": "(ε, δ)-local differential privacy of a client's update by Gaussian noise, at the "
    "defaults ε = 3, δ = 1e-5 (DifferentialPrivacyCompressor, its docstrings)",
    "claim": {"mu": 0.7191, "relation": "REPLACE_ONE"},
    "domain": {"dimension": 2, "bounds": (-2.0, 2.0), "min_records": 1, "max_records": 1},
    "repair": "scale for a sensitivity of 2 C, and the analytic Gaussian mechanism for ε > 1",
}


def prepare() -> None:
    import p2pfl.learning.compression.dp_strategy  # noqa: F401


def flawed(data: Any) -> Any:
    return _sent(data[0], EPSILON)


def repaired(data: Any) -> Any:
    """With half of ε, which doubles the noise."""
    return _sent(data[0], EPSILON / 2)


def _sent(update: Any, epsilon: float) -> Any:
    from p2pfl.learning.compression.dp_strategy import DifferentialPrivacyCompressor

    sent, _ = DifferentialPrivacyCompressor().apply_strategy(
        [update], clip_norm=CLIP, epsilon=epsilon, delta=DELTA
    )
    return sent[0]
