"""Google's library through its Python wrapper: a count.

One record moves the count by 1; the noise is drawn on a grid, so that no bit tells what it was
added to.
"""

from typing import Any

ABOUT = {
    "library": "python-dp",
    "requirements": ["python-dp==1.1.5"],
    "promise": "ε-differential privacy (docstring of Count).",
    "claim": {"epsilon": 1.0, "delta": 0.0, "relation": "ADD_OR_REMOVE_ONE"},
    "domain": {"dimension": 0, "bounds": (0, 10), "dtype": int, "min_records": 1, "max_records": 8},
}


def sound(data: Any) -> Any:
    from pydp.algorithms.laplacian import Count

    values = [int(value) for value in data]
    return Count(epsilon=1.0, dtype="int").quick_result(values)
