"""The true value stands first in the subset that is reported.

Subset selection reports a set of m of k values that contains the true one with probability p =
m·e^ε/(m·e^ε + k − m). The client returns an array, and puts the true value into its first place
whenever it is in the set. So the first entry is v with probability p if v is true, and with (1 −
p)/(k − 1) if another value is: a ratio of m·e^ε·(k − 1)/(k − m), not e^ε; at k = 10, ε = 0.5 (m =
4) it is 6·e^ε.
"""

from typing import Any

ABOUT = {
    "library": "multi-freq-ldpy",
    "requirements": ["multi-freq-ldpy==0.2.5", "numpy==1.26.4"],
    "promise": ("Subset selection under ε local differential privacy (docstring of SS_Client)."),
    "claim": {"epsilon": 0.5, "delta": 0.0, "relation": "REPLACE_ONE"},
    "domain": {"dimension": 0, "bounds": (0, 9), "dtype": int, "min_records": 1, "max_records": 1},
    "repair": "Shuffle or sort the subset before it is returned.",
}


def flawed(data: Any) -> Any:
    from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Client

    return SS_Client(int(data[0]), 10, 0.5)


def repaired(data: Any) -> Any:
    return sorted(flawed(data))
