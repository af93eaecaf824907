"""Generalised randomised response.

The true value with e^ε/(e^ε + k − 1), each other with 1/(e^ε + k − 1): a ratio of e^ε at most.
"""

from typing import Any

ABOUT = {
    "library": "multi-freq-ldpy",
    "requirements": ["multi-freq-ldpy==0.2.5", "numpy==1.26.4"],
    "promise": "ε local differential privacy of one report (docstring of GRR_Client).",
    "claim": {"epsilon": 1.0, "delta": 0.0, "relation": "REPLACE_ONE"},
    "domain": {"dimension": 0, "bounds": (0, 9), "dtype": int, "min_records": 1, "max_records": 1},
}


def sound(data: Any) -> Any:
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client

    return GRR_Client(int(data[0]), 10, 1.0)
