"""Values are not clamped before they are averaged.

PrivateClampedMean adds Lap((b − a)/ε)/n to the mean of the values as they come and clamps only the
noisy result to [a, b]. One value v moves the mean by (v − v')/n, and for |v − v'| far above b − a
the result sits at one end of the interval with one data set and inside of it, or at the other end,
with its neighbour: the ratio of their probabilities is e^{ε|v − v'|/(b − a)}, without bound.
"""

from typing import Any

ABOUT = {
    "library": "eeprivacy",
    "requirements": ["eeprivacy==0.0.5"],
    "promise": (
        "A mean of bounded sensitivity by clamping, ε-differentially private by the Laplace "
        "mechanism (docstring of PrivateClampedMean): values outside of the bounds are what "
        "clamping is for."
    ),
    "claim": {"epsilon": 1.0, "delta": 0.0, "relation": "REPLACE_ONE"},
    "domain": {
        "dimension": 0,
        "bounds": (0.0, 1.0),
        "min_records": 4,
        "max_records": 4,
        "special_values": (20.0,),
    },
    "repair": "S = np.sum(np.clip(values, a, b)), as PrivateClampedSum does.",
}


def _mean(values: Any) -> Any:
    from eeprivacy.operations import PrivateClampedMean

    return PrivateClampedMean(lower_bound=0.0, upper_bound=1.0).execute(values=values, epsilon=1.0)


def flawed(data: Any) -> Any:
    return _mean(data)


def repaired(data: Any) -> Any:
    return _mean(data.clip(0.0, 1.0))
