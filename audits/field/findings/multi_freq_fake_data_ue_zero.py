"""Fake data of empty vectors: the drawn attribute costs the larger ε.

One of d attributes is drawn, its value reported with ε' = ln(d(e^ε − 1) + 1), the others as fakes.
The amplification by sampling behind ε' is for records that are left out with probability 1 − 1/d.
Here no user is left out: whichever attribute is drawn, it is the user's. Two users who differ in
all attributes give a report y with probabilities (1/d)Σ_j P(y_j | x_j)·Π_{i≠j} fake(y_i), and for
y = x each summand is e^{ε'} times the other user's, and more where fakes are empty vectors. So the
cost of a tuple is ε', at ε = 1 that is 1.49 for d = 2 and 2.06 for d = 4.
"""

from typing import Any

ABOUT = {
    "library": "multi-freq-ldpy",
    "requirements": ["multi-freq-ldpy==0.2.5", "numpy==1.26.4"],
    "promise": (
        "RS+FD: a tuple of d attributes under ε local differential privacy (docstring of "
        "RSpFD_UE_zero_Client)."
    ),
    "claim": {"epsilon": 1.0, "delta": 0.0, "relation": "REPLACE_ONE"},
    "pair": ([[1, 1, 1]], [[0, 0, 0]]),
    "repair": "amp_eps = epsilon.",
}


def _report(data: Any, epsilon: float) -> Any:
    import numpy as np
    from multi_freq_ldpy.mdim_freq_est.RSpFD_solution import RSpFD_UE_zero_Client

    values = [int(value) for value in data[0]]
    report = RSpFD_UE_zero_Client(values, [2] * len(values), len(values), epsilon)
    entries = [np.asarray(entry) for entry in report]
    return [*np.concatenate(entries), sum(one[1] - one[0] for one in entries)]


def flawed(data: Any) -> Any:
    return _report(data, 1.0)


def repaired(data: Any) -> Any:
    import math

    # The ε at which ln(d(e^ε − 1) + 1) is 1.
    return _report(data, math.log(1 + (math.e - 1) / len(data[0])))
