"""The result shows by its last bits between which data points it was drawn.

A gap [a, b] between sorted data points is chosen by the exponential mechanism, and the result is
U·(b − a) + a. U is a multiple of 2^−53. If the gap is [0, 1], the result is such a multiple; if it
ends at a data point b < 1, U·b is rounded to other doubles, most of which U alone never gives:
they rule out the gap [0, 1], however small the difference of b from 1. The law of the trailing
zero bits differs between gaps that are equal but for 2^−53, and results off the grid have
probability 0 for one of two neighbours. ε = ∞. The hunt found this by itself in what was meant as
a control.
"""

from typing import Any

ABOUT = {
    "library": "diffprivlib",
    "requirements": ["diffprivlib==0.6.6", "scikit-learn==1.5.2", "numpy==2.1.3"],
    "promise": (
        "A quantile with ε-differential privacy, bounds given (docstring of tools.quantile)."
    ),
    "claim": {"epsilon": 1.0, "delta": 0.0, "relation": "REPLACE_ONE"},
    "domain": {"dimension": 0, "bounds": (0.0, 1.0), "min_records": 6, "max_records": 6},
    "repair": ("Round the result to a grid that is coarse beside the precision of doubles."),
}


def flawed(data: Any) -> Any:
    from diffprivlib import tools

    return tools.quantile(data, 0.5, epsilon=1.0, bounds=(0.0, 1.0))


def repaired(data: Any) -> Any:
    return round(float(flawed(data)) * 2**20) / 2**20
