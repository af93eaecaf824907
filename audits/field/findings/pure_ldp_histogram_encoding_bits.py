"""The last bits of an entry show that it was not the one.

A one-hot vector of doubles gets Laplace noise on each entry. 0 + noise keeps all bits of the
noise, down to 2^−60 and below where it is small; 1 + noise is a multiple of 2^−53. An entry whose
lowest bit lies below 2^−53 is not the user's value, for certain (Mironov 2012). ε = ∞.
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
    "promise": (
        "ε local differential privacy by histogram encoding (docstring of HEClient). The "
        "place of the first entry's lowest bit is looked at beside it."
    ),
    "claim": {"epsilon": 1.0, "delta": 0.0, "relation": "REPLACE_ONE"},
    "domain": {"dimension": 0, "bounds": (0, 9), "dtype": int, "min_records": 1, "max_records": 1},
    "repair": "Discrete noise on a grid.",
}


KEPT: dict[str, Any] = {}


def prepare() -> None:
    from pure_ldp.frequency_oracles.histogram_encoding import HEClient

    KEPT["client"] = HEClient(epsilon=1.0, d=10, index_mapper=lambda value: value)


def _with_lowest_bit(value: float) -> Any:
    import math

    mantissa, exponent = math.frexp(value)
    whole = int(abs(mantissa) * 2**53)
    return [value, exponent - 53 + (whole & -whole).bit_length()]


def flawed(data: Any) -> Any:
    return _with_lowest_bit(float(KEPT["client"].privatise(int(data[0]))[0]))
