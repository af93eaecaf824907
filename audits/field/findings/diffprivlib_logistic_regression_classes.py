"""The set of labels is taken from the data.

fit() takes the classes from np.unique(y) and publishes them as classes_, and as the number of rows
of its coefficients. If one record has a label of its own, the model without it has one class less:
the two outputs have different shapes with probability 1, ε = ∞. Unlike for missing bounds, no
warning is given, and fit() has no parameter for the classes.

Where only one class is left, fit() raises an error instead, which tells as much: that is what the
recorded audit saw.
"""

from typing import Any

ABOUT = {
    "library": "diffprivlib",
    "requirements": ["diffprivlib==0.6.6", "scikit-learn==1.5.2", "numpy==2.1.3"],
    "promise": (
        "Logistic regression with ε-differential privacy (docstring of LogisticRegression), "
        "data norm given."
    ),
    "claim": {"epsilon": 1.0, "delta": 0.0, "relation": "REPLACE_ONE"},
    "domain": {"dimension": 2, "bounds": ((-0.5, 0.5), (0, 2)), "min_records": 6, "max_records": 6},
    "repair": "A parameter `classes`, as RandomForestClassifier has one.",
    "upstream": "https://github.com/IBM/differential-privacy-library/issues/106",
    "max_samples": 4000,
    "chunk_size": 64,
}


def flawed(data: Any) -> Any:
    from diffprivlib.models import LogisticRegression

    model = LogisticRegression(epsilon=1.0, data_norm=1.0).fit(data[:, :1], data[:, 1].round())
    return model.coef_.ravel()
