"""A cohort's clipped statistics with Gaussian noise on their sum.

Each user's statistics are clipped to L2 norm C, so that exchanging one user's moves the sum by up
to 2 C; the noise has standard deviation σ C: μ = 2 / σ (Dong, Roth and Su 2022, Theorem 2.7).
"""

from typing import Any

NOISE, CLIP = 2.0, 1.0

ABOUT = {
    "library": "pfl",
    "requirements": ["pfl==0.6.0"],
    "promise": "Gaussian noise of relative_noise_stddev times the clipping bound on the "
    "clipped sum (docstring of GaussianMechanism)",
    "claim": {"mu": 2 / NOISE, "relation": "REPLACE_ONE"},
    "domain": {"dimension": 2, "bounds": (-2.0, 2.0), "min_records": 4, "max_records": 4},
}


def prepare() -> None:
    from pfl.internal.ops import numpy_ops
    from pfl.internal.ops.selector import set_framework_module

    set_framework_module(numpy_ops)


def sound(data: Any) -> Any:
    from pfl.privacy.gaussian_mechanism import GaussianMechanism
    from pfl.stats import MappedVectorStatistics

    mechanism = GaussianMechanism(CLIP, NOISE)
    total = None
    for values in data:
        one = MappedVectorStatistics({"weights": values.astype("float32")}, weight=1)
        clipped, _ = mechanism.constrain_sensitivity(one)
        total = clipped if total is None else total + clipped
    noisy, _ = mechanism.add_noise(total, len(data))
    return noisy["weights"]
