"""A clamped sum with Laplace noise for the width of its bounds.

Where a record is replaced, a sum of values in [a, b] moves by at most b − a, so that Lap((b −
a)/ε) is ε-differentially private (Dwork and others 2006, on reals).
"""

from typing import Any

ABOUT = {
    "library": "eeprivacy",
    "requirements": ["eeprivacy==0.0.5"],
    "promise": ("A clamped sum that is ε-differentially private (docstring of PrivateClampedSum)."),
    "claim": {"epsilon": 1.0, "delta": 0.0, "relation": "REPLACE_ONE"},
    "domain": {
        "dimension": 0,
        "bounds": (0.0, 1.0),
        "min_records": 4,
        "max_records": 4,
        "special_values": (20.0,),
    },
}


def sound(data: Any) -> Any:
    from eeprivacy.operations import PrivateClampedSum

    return PrivateClampedSum(lower_bound=0.0, upper_bound=1.0).execute(values=data, epsilon=1.0)
