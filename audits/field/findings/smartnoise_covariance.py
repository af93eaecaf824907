"""Data are clipped, and the covariance is taken of the others.

release() censors the data to their bounds and fills what is missing, into new_data, and then
computes the covariance of `data`. The noise is for the sensitivity 2(b − a)²/n of clipped records,
so a record beyond the bounds moves the result by as much as it likes.
"""

from typing import Any

ABOUT = {
    "library": "smartnoise-synth",
    "requirements": [
        "smartnoise-sql==1.0.6",
        "pandas==2.2.3",
        "numpy==1.26.4",
        "scipy==1.13.1",
        "scikit-learn==1.5.2",
        "Faker==30.8.2",
    ],
    "alone": ["smartnoise-synth==1.0.5"],
    "promise": (
        "A covariance matrix with ε-differential privacy; values outside of the bounds are "
        "censored (docstrings of DPcovariance and censor_data)."
    ),
    "claim": {"epsilon": 1.0, "delta": 0.0, "relation": "REPLACE_ONE"},
    "domain": {
        "dimension": 2,
        "bounds": (0.0, 1.0),
        "min_records": 5,
        "max_records": 5,
        "special_values": (30.0,),
    },
    "repair": "covar(new_data.values.T, …), as in 1.0.6.",
    "upstream": "https://github.com/opendp/smartnoise-sdk/issues/622",
    "stand_in": (
        "Its package imports scikit-learn from where it was before 0.24: that name is put back."
    ),
    "max_samples": 4000,
}


def prepare() -> None:
    import sys

    from sklearn.linear_model import _base

    sys.modules["sklearn.linear_model.base"] = _base


def _covariance(data: Any) -> Any:
    import pandas as pd
    from snsynth.models.dp_covariance import DPcovariance

    table = pd.DataFrame(data, columns=["x", "y"])
    bounds = pd.DataFrame({"x": [0.0, 1.0], "y": [0.0, 1.0]})
    return DPcovariance(len(table), ["x", "y"], bounds, 1.0).release(table)


def flawed(data: Any) -> Any:
    return _covariance(data)


def repaired(data: Any) -> Any:
    return _covariance(data.clip(0.0, 1.0))
