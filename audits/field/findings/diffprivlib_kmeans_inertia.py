"""The fitted model carries the exact inertia.

inertia_, listed among the model's attributes, is the sum of squared distances of the training
points to the centres. The centres are noisy, the distances are not: with one cluster at c, and c
released beside, inertia_ − n·c² = Σx² − 2c·Σx, a function of the data without noise. One record
that moves from 0 to 1 changes it by 1 − 2c.
"""

from typing import Any

ABOUT = {
    "library": "diffprivlib",
    "requirements": ["diffprivlib==0.6.6", "scikit-learn==1.5.2", "numpy==2.1.3"],
    "promise": (
        "k-means with ε-differential privacy; inertia_ is documented as an attribute of the "
        "model (docstring of KMeans), bounds given."
    ),
    "claim": {"epsilon": 1.0, "delta": 0.0, "relation": "REPLACE_ONE"},
    "domain": {"dimension": 1, "bounds": ((0.0, 1.0),), "min_records": 8, "max_records": 8},
    "repair": ("Do not set inertia_ and labels_, or add noise to them from a share of the budget."),
    "max_samples": 4000,
    "chunk_size": 64,
}


def flawed(data: Any) -> Any:
    from diffprivlib.models import KMeans

    model = KMeans(n_clusters=1, epsilon=1.0, bounds=(0.0, 1.0)).fit(data)
    centre = float(model.cluster_centers_[0, 0])
    return [centre, model.inertia_, model.inertia_ - len(data) * centre**2]


def repaired(data: Any) -> Any:
    return flawed(data)[0]
