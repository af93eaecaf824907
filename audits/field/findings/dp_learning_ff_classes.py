"""dp_learning_ff shows which classes there are, and whether a record is the only one of its class.

`give_private_prototypes` takes the classes from `np.unique(train_targets)` and returns a prototype
for each. If the only record of a class is exchanged for one of another class, a prototype less
comes back: the number of rows tells the two data sets apart with certainty, at any noise.
"""

from typing import Any

BUDGETS = (0.02, 0.03)

ABOUT = {
    "library": "dp-learning-ff",
    "requirements": ["dp-learning-ff==0.0.8", "torch==2.13.0"],
    "promise": "Prototypes of all classes whose privacy cost is the sum of the given ρ's "
    "(docstring of give_private_prototypes)",
    "claim": {"mu": (2 * sum(BUDGETS)) ** 0.5, "relation": "REPLACE_ONE"},
    # A feature and a class.
    "domain": {
        "dimension": 2,
        "bounds": ((-1.0, 1.0), (0, 1)),
        "min_records": 6,
        "max_records": 6,
    },
    "repair": "take the classes as an argument, and return a prototype for each, empty or not",
}


def prepare() -> None:
    import dp_learning_ff.prototypes  # noqa: F401


def flawed(data: Any) -> Any:
    return _prototypes(data[:, :1], data[:, 1].round())


def repaired(data: Any) -> Any:
    """Classes that are public."""
    import numpy as np

    return _prototypes(data[:, :1], np.arange(len(data)) % 2)


def _prototypes(features: Any, classes: Any) -> Any:
    from dp_learning_ff.prototypes import give_private_prototypes

    return give_private_prototypes(features, classes, BUDGETS)
