"""A truthful answer is a list, a perturbed one a zip object.

The Hadamard mechanism draws t coefficients and replaces their signs with probability 1 − p.
Untouched, the answer is returned as the list that was made; replaced, as the iterator `zip(…)`.
Whoever receives the object knows which of both it is: the signs in a list are those of the true
value, each of them ruling out half of the others. ε = ∞.
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
        "ε local differential privacy of what privatise returns (docstring of HadamardMechClient)."
    ),
    "claim": {"epsilon": 1.0, "delta": 0.0, "relation": "REPLACE_ONE"},
    "domain": {"dimension": 0, "bounds": (0, 7), "dtype": int, "min_records": 1, "max_records": 1},
    "repair": "output = list(zip(indexes, new_hash)).",
}


KEPT: dict[str, Any] = {}


def prepare() -> None:
    from pure_ldp.frequency_oracles.hadamard_mechanism import HadamardMechClient

    KEPT["client"] = HadamardMechClient(epsilon=1.0, d=8, t=1, index_mapper=lambda value: value)


def flawed(data: Any) -> Any:
    answer = KEPT["client"].privatise(int(data[0]))
    ((index, sign),) = list(answer)
    # What the signs say of the value 7, from answers whose type tells that they are true.
    told = isinstance(answer, list)
    return [float(told), float(index), float(sign), sign * _sign(7, index) * told]


def repaired(data: Any) -> Any:
    ((index, sign),) = list(KEPT["client"].privatise(int(data[0])))
    return [float(index), float(sign), sign * _sign(7, index)]


def _sign(value: int, index: int) -> float:
    return (-1.0) ** (value & index).bit_count()
