"""Randomised response over ten categories.

The true category with probability e/(e + 9), each other with 1/(e + 9).
"""

from typing import Any

ABOUT = {
    "library": "opendp",
    "requirements": ["opendp==0.16.0"],
    "promise": "measurement.map(1) = 1: one answer replaced costs ε = 1.",
    "claim": {"epsilon": 1.0, "delta": 0.0, "relation": "REPLACE_ONE"},
    "domain": {"dimension": 0, "bounds": (0, 9), "dtype": int, "min_records": 1, "max_records": 1},
}


KEPT: dict[str, Any] = {}


def prepare() -> None:
    import math

    import opendp.prelude as dp

    dp.enable_features("contrib")
    keep = math.e / (math.e + 9)
    KEPT["answer"] = dp.m.make_randomized_response(list(range(10)), keep)


def sound(data: Any) -> Any:
    return KEPT["answer"](int(data[0]))
