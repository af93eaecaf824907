"""A quantile by the exponential mechanism over gaps.

The utility of a gap is its rank's distance from the quantile, which one record moves by 1 at most;
the choice has weights e^{εu/2} times the gap's length (Smith 2011).
"""

from typing import Any

ABOUT = {
    "library": "diffprivlib",
    "requirements": ["diffprivlib==0.6.6", "scikit-learn==1.5.2", "numpy==2.1.3"],
    "promise": "ε-differential privacy, bounds given (docstring of tools.quantile).",
    "claim": {"epsilon": 1.0, "delta": 0.0, "relation": "REPLACE_ONE"},
    "domain": {"dimension": 0, "bounds": (0.0, 1.0), "min_records": 6, "max_records": 6},
}


def sound(data: Any) -> Any:
    from diffprivlib import tools

    return tools.quantile(data, 0.5, epsilon=1.0, bounds=(0.0, 1.0))
