"""The set of categories is taken from the data and published.

Without a file of categories, distribution_bins are the values that occur, and min and max the
least and the largest, all without noise. A value that one record alone has is in the description
with it and missing without it. ε = ∞.
"""

from typing import Any

ABOUT = {
    "library": "DataSynthesizer",
    "requirements": ["DataSynthesizer==0.1.13", "numpy==1.26.4", "pandas==2.2.3", "scipy==1.13.1"],
    "promise": (
        "Attributes' distributions with ε-differential privacy, for ε > 0 (docstring of "
        "describe_dataset_in_independent_attribute_mode); a fresh seed for each call."
    ),
    "claim": {"epsilon": 1.0, "delta": 0.0, "relation": "REPLACE_ONE"},
    "domain": {"dimension": 0, "bounds": (0, 3), "dtype": int, "min_records": 6, "max_records": 6},
    "repair": "Ask for the categories, or choose them by a private threshold.",
    "max_samples": 3000,
    "chunk_size": 64,
}


def _described(data: Any, seed: Any, **options: Any) -> Any:
    import pandas as pd
    from DataSynthesizer.DataDescriber import DataDescriber

    pd.DataFrame({"x": data}).to_csv("data.csv", index=False)
    describer = DataDescriber()
    seeded = {} if seed is None else {"seed": seed}
    describer.describe_dataset_in_independent_attribute_mode(
        "data.csv",
        epsilon=1.0,
        attribute_to_datatype={"x": "Integer"},
        attribute_to_is_categorical={"x": True},
        attribute_to_is_candidate_key={"x": False},
        **options,
        **seeded,
    )
    return describer.data_description["attribute_description"]["x"]


def _domain_file() -> str:
    import json
    import pathlib

    pathlib.Path("domain.json").write_text(json.dumps({"x": [0, 1, 2, 3]}))
    return "domain.json"


def _fresh() -> int:
    import numpy as np

    return int(np.random.randint(2**31))


def flawed(data: Any) -> Any:
    described = _described(data, _fresh())
    return [described["distribution_bins"], described["distribution_probabilities"]]
