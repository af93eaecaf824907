"""Histogram encoding: a one-hot vector with Laplace noise.

Two one-hot vectors differ by 2 in the L1 norm, and the noise is Lap(2/ε) on each entry.
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
    "promise": "ε local differential privacy (docstring of HEClient).",
    "claim": {"epsilon": 1.0, "delta": 0.0, "relation": "REPLACE_ONE"},
    "domain": {"dimension": 0, "bounds": (0, 9), "dtype": int, "min_records": 1, "max_records": 1},
}


KEPT: dict[str, Any] = {}


def prepare() -> None:
    from pure_ldp.frequency_oracles.histogram_encoding import HEClient

    KEPT["client"] = HEClient(epsilon=1.0, d=10, index_mapper=lambda value: value)


def sound(data: Any) -> Any:
    return KEPT["client"].privatise(int(data[0]))
