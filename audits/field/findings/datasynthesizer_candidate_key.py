"""Whether all values of a column differ is published.

A column is described as a candidate key if and only if no value occurs twice in the data. That is
a function of the data without noise: one record that repeats another's value changes it. ε = ∞.
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
    "pair": ([0, 25, 50, 75, 100], [0, 25, 50, 75, 75]),
    "repair": "Ask which columns are keys, as attribute_to_is_candidate_key allows.",
    "max_samples": 3000,
    "chunk_size": 32,
}


def flawed(data: Any) -> Any:
    import numpy as np
    import pandas as pd
    from DataSynthesizer.DataDescriber import DataDescriber

    pd.DataFrame({"x": data}).to_csv("data.csv", index=False)
    describer = DataDescriber()
    describer.describe_dataset_in_independent_attribute_mode(
        "data.csv",
        epsilon=1.0,
        attribute_to_datatype={"x": "Integer"},
        attribute_to_is_categorical={"x": False},
        seed=int(np.random.randint(2**31)),
    )
    described = describer.data_description["attribute_description"]["x"]
    return float(described["is_candidate_key"])
