"""Local hashing: randomised response on a hash that is public.

Given the seed, the hash takes g values, and the reported one is the true one with (p − q) + (1 − p
+ q)/g: e^ε times the probability of any other.
"""

from typing import Any

ABOUT = {
    "library": "pure-ldp",
    "requirements": [
        "pure-ldp==1.2.0",
        "numpy==1.26.4",
        "scipy==1.13.1",
        "scikit-learn==1.5.2",
        "statsmodels==0.14.4",
        "pandas==2.2.3",
        "xxhash==3.5.0",
    ],
    "promise": "ε local differential privacy (docstring of LHClient).",
    "claim": {"epsilon": 1.0, "delta": 0.0, "relation": "REPLACE_ONE"},
    "domain": {"dimension": 0, "bounds": (0, 9), "dtype": int, "min_records": 1, "max_records": 1},
}


KEPT: dict[str, Any] = {}


def prepare() -> None:
    from pure_ldp.frequency_oracles.local_hashing import LHClient

    KEPT["client"] = LHClient(epsilon=1.0, d=10, use_olh=True, index_mapper=lambda value: value)


def sound(data: Any) -> Any:
    return KEPT["client"].privatise(int(data[0]))
