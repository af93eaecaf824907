"""Counts in bins that are given beforehand, with Laplace noise on each.

One record more or less changes one count by 1, so that Lap(1/ε) on each is ε-differentially private
(by Dwork and others 2006, on reals; floating point is left aside).
"""

from typing import Any

ABOUT = {
    "library": "eeprivacy",
    "requirements": ["eeprivacy==0.0.5"],
    "promise": "A histogram with counts that are ε-differentially private (docstring of "
    "PrivateHistogram).",
    "claim": {"epsilon": 1.0, "delta": 0.0, "relation": "ADD_OR_REMOVE_ONE"},
    "domain": {"dimension": 0, "bounds": (0.0, 1.0), "min_records": 1, "max_records": 8},
}


def sound(data: Any) -> Any:
    from eeprivacy.operations import PrivateHistogram

    return PrivateHistogram(bins=[0.0, 0.25, 0.5, 0.75, 1.0]).execute(values=data, epsilon=1.0)
