"""A variance with Laplace noise on a bounded domain.

One record of n moves the variance of values in [0, 1] by (n − 1)/n² at most, which is the
sensitivity that is used; the bounded domain enlarges the noise as Holohan and others (2018) prove.
"""

from typing import Any

ABOUT = {
    "library": "diffprivlib",
    "requirements": ["diffprivlib==0.6.6", "scikit-learn==1.5.2", "numpy==2.1.3"],
    "promise": "ε-differential privacy, bounds given (docstring of tools.var).",
    "claim": {"epsilon": 1.0, "delta": 0.0, "relation": "REPLACE_ONE"},
    "domain": {"dimension": 0, "bounds": (0.0, 1.0), "min_records": 6, "max_records": 6},
}


def sound(data: Any) -> Any:
    from diffprivlib import tools

    return tools.var(data, epsilon=1.0, bounds=(0.0, 1.0))
