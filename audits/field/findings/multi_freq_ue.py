"""Optimised unary encoding.

Two values differ in two bits, which are kept with 1/2 and turned with 1/(1 + e^ε): e^ε in all.
"""

from typing import Any

ABOUT = {
    "library": "multi-freq-ldpy",
    "requirements": ["multi-freq-ldpy==0.2.5", "numpy==1.26.4"],
    "promise": "ε local differential privacy of one report (docstring of UE_Client).",
    "claim": {"epsilon": 1.0, "delta": 0.0, "relation": "REPLACE_ONE"},
    "domain": {"dimension": 0, "bounds": (0, 9), "dtype": int, "min_records": 1, "max_records": 1},
}


def sound(data: Any) -> Any:
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Client

    return UE_Client(int(data[0]), 10, 1.0, True)
