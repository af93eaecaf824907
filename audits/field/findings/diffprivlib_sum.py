"""A sum of clipped values with truncated Laplace noise.

One record moves the sum of values in [0, 1] by 1; the noise is for that.
"""

from typing import Any

ABOUT = {
    "library": "diffprivlib",
    "requirements": ["diffprivlib==0.6.6", "scikit-learn==1.5.2", "numpy==2.1.3"],
    "promise": "ε-differential privacy, bounds given (docstring of tools.sum).",
    "claim": {"epsilon": 1.0, "delta": 0.0, "relation": "REPLACE_ONE"},
    "domain": {"dimension": 0, "bounds": (0.0, 1.0), "min_records": 6, "max_records": 6},
}


def sound(data: Any) -> Any:
    from diffprivlib import tools

    return tools.sum(data, epsilon=1.0, bounds=(0.0, 1.0))
