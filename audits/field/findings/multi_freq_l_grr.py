"""A first report after randomised response twice.

Chained randomised responses are one randomised response; its parameter is solved for ε_1 = 1.
"""

from typing import Any

ABOUT = {
    "library": "multi-freq-ldpy",
    "requirements": ["multi-freq-ldpy==0.2.5", "numpy==1.26.4"],
    "promise": ("ε local differential privacy of one report (docstring of L_GRR_Client)."),
    "claim": {"epsilon": 1.0, "delta": 0.0, "relation": "REPLACE_ONE"},
    "domain": {"dimension": 0, "bounds": (0, 9), "dtype": int, "min_records": 1, "max_records": 1},
}


def sound(data: Any) -> Any:
    from multi_freq_ldpy.long_freq_est.L_GRR import L_GRR_Client

    return L_GRR_Client(int(data[0]), 10, 2.0, 1.0)
