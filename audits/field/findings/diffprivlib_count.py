"""A count of non-zero entries with geometric noise.

One record moves the count by 1; the two-sided geometric law with ratio e^{−ε} is ε-differentially
private and has no rounding.
"""

from typing import Any

ABOUT = {
    "library": "diffprivlib",
    "requirements": ["diffprivlib==0.6.6", "scikit-learn==1.5.2", "numpy==2.1.3"],
    "promise": ("ε-differential privacy, bounds given (docstring of tools.count_nonzero)."),
    "claim": {"epsilon": 1.0, "delta": 0.0, "relation": "REPLACE_ONE"},
    "domain": {"dimension": 0, "bounds": (0, 1), "dtype": int, "min_records": 6, "max_records": 6},
}


def sound(data: Any) -> Any:
    from diffprivlib import tools

    return tools.count_nonzero(data, epsilon=1.0)
