"""pfl's Laplace mechanism, applied locally, costs twice the ε that it was given.

As a LocalPrivacyMechanism it clips a user's statistics to L1 norm C and adds Lap(C/ε). Local
privacy is about any two users' statistics (the paper that its docstring names: Definition 2.4 with
databases of one row): these differ by up to 2 C, so the cost is 2 ε. The scale is right for a sum
over users to which one is added, which is the central mechanism's business.
"""

from typing import Any

EPSILON, CLIP = 1.0, 1.0

ABOUT = {
    "library": "pfl",
    "requirements": ["pfl==0.6.0"],
    "promise": "A user's statistics in a local differentially private version, at the given ε "
    "(docstrings of LocalPrivacyMechanism and LaplaceMechanism)",
    "claim": {"epsilon": EPSILON, "delta": 0.0, "relation": "REPLACE_ONE"},
    "domain": {"dimension": 2, "bounds": (-1.0, 1.0), "min_records": 1, "max_records": 1},
    "repair": "scale 2 C / ε where the mechanism is applied to a single user",
}


def prepare() -> None:
    from pfl.internal.ops import numpy_ops
    from pfl.internal.ops.selector import set_framework_module

    set_framework_module(numpy_ops)


def flawed(data: Any) -> Any:
    return _sent(data[0], EPSILON)


def repaired(data: Any) -> Any:
    """With half of ε."""
    return _sent(data[0], EPSILON / 2)


def _sent(values: Any, epsilon: float) -> Any:
    from pfl.privacy.laplace_mechanism import LaplaceMechanism
    from pfl.stats import MappedVectorStatistics

    statistics = MappedVectorStatistics({"weights": values.astype("float32")}, weight=1)
    sent, _ = LaplaceMechanism(CLIP, epsilon).privatize(statistics)
    return sent["weights"]
