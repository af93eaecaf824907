"""Floating-point noise shows by its last bits what it was added to.

The mechanism returns value + np.random.laplace(0, b) in doubles. 0 + noise keeps all bits of the
noise, down to 2^−60 and below where it is small; 1 + noise is a multiple of 2^−53. An output whose
lowest bit lies below 2^−53 cannot have come from 1 (Mironov 2012). ε = ∞.
"""

from typing import Any

ABOUT = {
    "library": "eeprivacy",
    "requirements": ["eeprivacy==0.0.5"],
    "promise": (
        "ε-differential privacy of LaplaceMechanism.execute for the sensitivity that is given"
        " (its docstring). The place of an output's lowest bit is looked at beside it."
    ),
    "claim": {"epsilon": 1.0, "delta": 0.0, "relation": "REPLACE_ONE"},
    "domain": {"dimension": 0, "bounds": (0.0, 1.0), "min_records": 1, "max_records": 1},
    "repair": "Discrete noise on a grid that does not depend on the value.",
}


def _with_lowest_bit(value: float) -> Any:
    import math

    mantissa, exponent = math.frexp(value)
    whole = int(abs(mantissa) * 2**53)
    return [value, exponent - 53 + (whole & -whole).bit_length()]


def flawed(data: Any) -> Any:
    from eeprivacy.mechanisms import LaplaceMechanism

    value = LaplaceMechanism.execute(value=float(data[0]), epsilon=1.0, sensitivity=1.0)
    return _with_lowest_bit(value)
