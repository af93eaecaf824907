"""Floating-point noise shows by its last bits what it was added to.

Noise is drawn as a double and added to the value. 0 + Lap keeps the noise with all of its bits,
down to 2^−60 and below where it is small; 1 + Lap is a double near 1 before the ones cancel, a
multiple of 2^−53. An output whose lowest bit lies below 2^−53 cannot have come from 1 (Mironov
2012). The mechanism sums four draws to blur which noises exist, which leaves the rounding of the
last sum as it is. ε = ∞.
"""

from typing import Any

ABOUT = {
    "library": "diffprivlib",
    "requirements": ["diffprivlib==0.6.6", "scikit-learn==1.5.2", "numpy==2.1.3"],
    "promise": (
        "ε-differential privacy by the Laplace mechanism, hardened against floating-point "
        "attacks (docstring of mechanisms.Laplace, which cites Holohan and Braghin 2021). The"
        " place of an output's lowest bit is looked at beside it."
    ),
    "claim": {"epsilon": 1.0, "delta": 0.0, "relation": "REPLACE_ONE"},
    "domain": {"dimension": 0, "bounds": (0.0, 1.0), "min_records": 1, "max_records": 1},
    "repair": "Noise on a fixed grid: mechanisms.Geometric or Snapping.",
    "upstream": "https://github.com/IBM/differential-privacy-library/issues/94",
}


def _with_lowest_bit(value: float) -> Any:
    import math

    mantissa, exponent = math.frexp(value)
    whole = int(abs(mantissa) * 2**53)
    return [value, exponent - 53 + (whole & -whole).bit_length()]


def flawed(data: Any) -> Any:
    from diffprivlib.mechanisms import Laplace

    mechanism = Laplace(epsilon=1.0, sensitivity=1.0)
    return _with_lowest_bit(mechanism.randomise(float(data[0])))


def repaired(data: Any) -> Any:
    from diffprivlib.mechanisms import Geometric

    mechanism = Geometric(epsilon=1.0, sensitivity=1)
    return _with_lowest_bit(float(mechanism.randomise(round(data[0]))))
