"""The true value's bit is set by two coins where there should be one.

Unary encoding reports the bit of the true value as 1 with probability p, and other bits with q = 1
− p. Up to 1.1.2 the client draws all bits with q and then sets the true one with probability p: it
is 1 with probability p + (1 − p)q = 1 − q². Two values differ in two bits, and the ratio of a
report's probabilities is (1 − q²)(1 − q)/(q·q²): with q = 1/(1 + e^{ε/2}), its logarithm is 2.29
where ε = 1 is promised, and 1.69 for 0.5.
"""

from typing import Any

ABOUT = {
    "library": "pure-ldp",
    "requirements": [
        "pure-ldp==1.1.2",
        "numpy==1.26.4",
        "scipy==1.13.1",
        "scikit-learn==1.5.2",
        "statsmodels==0.14.4",
        "pandas==2.2.3",
        "xxhash==3.5.0",
    ],
    "repaired_requirements": [
        "pure-ldp==1.2.0",
        "numpy==1.26.4",
        "scipy==1.13.1",
        "scikit-learn==1.5.2",
        "statsmodels==0.14.4",
        "pandas==2.2.3",
        "xxhash==3.5.0",
    ],
    "promise": ("ε local differential privacy of unary encoding (docstring of UEClient)."),
    "claim": {"epsilon": 1.0, "delta": 0.0, "relation": "REPLACE_ONE"},
    "domain": {"dimension": 0, "bounds": (0, 9), "dtype": int, "min_records": 1, "max_records": 1},
    "repair": "Clear the true bit before it is set, as in 1.2.0.",
    "upstream": "https://github.com/Samuel-Maddock/pure-LDP/issues/11",
}


KEPT: dict[str, Any] = {}


def prepare() -> None:
    from pure_ldp.frequency_oracles.unary_encoding import UEClient

    KEPT["client"] = UEClient(epsilon=1.0, d=10, index_mapper=lambda value: value)


def flawed(data: Any) -> Any:
    return KEPT["client"].privatise(int(data[0]))


def repaired(data: Any) -> Any:
    return KEPT["client"].privatise(int(data[0]))
