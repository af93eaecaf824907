"""The quadratic terms get noise for the lower bound of a feature only.

The objective's coefficient of ω² is the sum of x_i², whose sensitivity is max(|lower|, |upper|)².
The code takes the largest of |lower| and |lower|: for a feature in [0, 1] the sensitivity is 0, no
noise is added at all, and the minimiser ω = (Σxy + Lap)/Σx² is scaled by the exact Σx². Where all
but one x are small, Σx² tells that one by the width of what is released: 4·0.01 or 1.03, where ε
allows a factor e^ε in its density. (With Σx² = 0 the objective is linear and the minimiser runs
away.)
"""

from typing import Any

ABOUT = {
    "library": "diffprivlib",
    "requirements": ["diffprivlib==0.6.6", "scikit-learn==1.5.2", "numpy==2.1.3"],
    "promise": (
        "Linear regression with ε-differential privacy for the training sample (docstring of "
        "LinearRegression), bounds given, no intercept."
    ),
    "claim": {"epsilon": 1.0, "delta": 0.0, "relation": "REPLACE_ONE"},
    "domain": {
        "dimension": 2,
        "bounds": ((0.1, 1.0), (-1.0, 1.0)),
        "min_records": 4,
        "max_records": 4,
    },
    "repair": "sensitivity = max(|bounds_X[0][i]|, |bounds_X[1][i]|) ** 2.",
    "upstream": "https://github.com/IBM/differential-privacy-library/issues/105",
    "max_samples": 5000,
    "chunk_size": 8,
}


def _slope(x: Any, y: Any, bounds: tuple[float, float]) -> Any:
    from diffprivlib.models import LinearRegression

    model = LinearRegression(
        epsilon=1.0, bounds_X=bounds, bounds_y=(-1.0, 1.0), fit_intercept=False
    )
    return float(model.fit(x, y).coef_[0])


def flawed(data: Any) -> Any:
    return _slope(data[:, :1], data[:, 1], (0.0, 1.0))


def repaired(data: Any) -> Any:
    # Of a feature in [-1, 1] both ends count alike.
    return _slope(data[:, :1], data[:, 1], (-1.0, 1.0))
