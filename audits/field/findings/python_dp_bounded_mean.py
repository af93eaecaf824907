"""Google's library through its Python wrapper: a mean of clamped values.

A noisy sum of differences from the middle over a noisy count, half of ε each; values are clamped.
"""

from typing import Any

ABOUT = {
    "library": "python-dp",
    "requirements": ["python-dp==1.1.5"],
    "promise": "ε-differential privacy (docstring of BoundedMean), bounds given.",
    "claim": {"epsilon": 1.0, "delta": 0.0, "relation": "ADD_OR_REMOVE_ONE"},
    "domain": {
        "dimension": 0,
        "bounds": (0.0, 1.0),
        "min_records": 1,
        "max_records": 8,
        "special_values": (5.0,),
    },
}


def sound(data: Any) -> Any:
    from pydp.algorithms.laplacian import BoundedMean

    values = [float(value) for value in data]
    return BoundedMean(epsilon=1.0, dtype="float", lower_bound=0, upper_bound=1).quick_result(
        values
    )
