"""A first report after permanent and instantaneous randomisation.

The two rounds are chosen so that one report costs ε_1 = 1 of the longitudinal ε_∞ = 2; the two
bits in which values differ give ln of the ratio of their chained probabilities.
"""

from typing import Any

ABOUT = {
    "library": "multi-freq-ldpy",
    "requirements": ["multi-freq-ldpy==0.2.5", "numpy==1.26.4"],
    "promise": ("ε local differential privacy of one report (docstring of L_OSUE_Client)."),
    "claim": {"epsilon": 1.0, "delta": 0.0, "relation": "REPLACE_ONE"},
    "domain": {"dimension": 0, "bounds": (0, 9), "dtype": int, "min_records": 1, "max_records": 1},
}


def sound(data: Any) -> Any:
    from multi_freq_ldpy.long_freq_est.L_OSUE import L_OSUE_Client

    return L_OSUE_Client(int(data[0]), 10, 2.0, 1.0)
