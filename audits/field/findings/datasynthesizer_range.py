"""The least and the largest value are published as they are.

Where no range is given, min and max of a number's column are those of the data, stand in the
description, and are the ends of the histogram. One record that is the largest is there to be read.
ε = ∞.
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
    "domain": {
        "dimension": 0,
        "bounds": (0, 100),
        "dtype": int,
        "min_records": 6,
        "max_records": 6,
    },
    "repair": (
        "Ask for the range, as numerical_attribute_ranges allows, or find it by private quantiles."
    ),
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
        attribute_to_is_candidate_key={"x": False},
        seed=int(np.random.randint(2**31)),
    )
    described = describer.data_description["attribute_description"]["x"]
    return [described["min"], described["max"]]
