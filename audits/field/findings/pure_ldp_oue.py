"""Optimised unary encoding: each bit is reported on its own.

A one is kept with probability 1/2, a zero turned with 1/(1 + e^ε); two values differ in two bits,
and the ratio of a report's probabilities is (1/2)/(1/(1 + e^ε)) · (e^ε/(1 + e^ε))/(1/2) = e^ε at
most.
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
    "promise": "ε local differential privacy (docstring of UEClient).",
    "claim": {"epsilon": 1.0, "delta": 0.0, "relation": "REPLACE_ONE"},
    "domain": {"dimension": 0, "bounds": (0, 9), "dtype": int, "min_records": 1, "max_records": 1},
}


KEPT: dict[str, Any] = {}


def prepare() -> None:
    from pure_ldp.frequency_oracles.unary_encoding import UEClient

    KEPT["client"] = UEClient(epsilon=1.0, d=10, use_oue=True, index_mapper=lambda value: value)


def sound(data: Any) -> Any:
    return KEPT["client"].privatise(int(data[0]))
