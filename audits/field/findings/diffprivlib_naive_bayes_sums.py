"""A class's sum gets noise for the width of the bounds, not for their size.

The sum of a class's values gets Laplace noise for the sensitivity upper − lower. A record whose
label is replaced leaves one class's sum by x and joins another's: at bounds (9, 10) that is 10
where the noise is for 1. The sum is held within (n_c·lower, n_c·upper) for the noisy number n_c of
the class: the true sum then lies far outside, on one side or the other, and the mean sits at one
end of the bounds.
"""

from typing import Any

ABOUT = {
    "library": "diffprivlib",
    "requirements": ["diffprivlib==0.6.6", "scikit-learn==1.5.2", "numpy==2.1.3"],
    "promise": (
        "Gaussian naive Bayes with ε-differential privacy (docstring of GaussianNB), bounds "
        "given, and the classes, in partial_fit."
    ),
    "claim": {"epsilon": 1.0, "delta": 0.0, "relation": "REPLACE_ONE"},
    "domain": {"dimension": 2, "bounds": ((9.0, 10.0), (0, 1)), "min_records": 8, "max_records": 8},
    "repair": ("Sensitivity max(|lower|, |upper|), or subtract the middle of the bounds first."),
    "max_samples": 4000,
}


def _moments(data: Any, shift: float) -> Any:
    from diffprivlib.models import GaussianNB

    model = GaussianNB(epsilon=1.0, bounds=(9.0 + shift, 10.0 + shift))
    model.partial_fit(data[:, :1] + shift, data[:, 1].round(), classes=[0, 1])
    return [*model.theta_.ravel(), *model.class_count_.ravel()]


def flawed(data: Any) -> Any:
    return _moments(data, 0.0)
