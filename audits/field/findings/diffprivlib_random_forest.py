"""Random splits, and leaves whose labels are chosen by permute-and-flip.

Splits do not look at the data. A record is in one leaf of one tree, and moves the count of one
label there by 1; leaves and trees have disjoint records. A replaced record may change two leaves:
the claim is for a record more or less.
"""

from typing import Any

ABOUT = {
    "library": "diffprivlib",
    "requirements": ["diffprivlib==0.6.6", "scikit-learn==1.5.2", "numpy==2.1.3"],
    "promise": (
        "Random forest with ε-differential privacy (docstring of RandomForestClassifier), "
        "bounds and classes given."
    ),
    "claim": {"epsilon": 1.0, "delta": 0.0, "relation": "ADD_OR_REMOVE_ONE"},
    "domain": {"dimension": 2, "bounds": ((0.0, 1.0), (0, 1)), "min_records": 5, "max_records": 6},
    "max_samples": 3000,
    "chunk_size": 32,
}


def sound(data: Any) -> Any:
    from diffprivlib.models import RandomForestClassifier

    model = RandomForestClassifier(
        n_estimators=1, epsilon=1.0, bounds=(0.0, 1.0), classes=[0, 1], max_depth=1
    )
    model.fit(data[:, :1], data[:, 1].round().astype(int))
    return [float(label) for label in model.predict([[0.0], [0.5], [1.0]])]
