"""Noise for a probability is added to counts.

The conditional distributions are made of counts plus Lap(2(d − k)/(nε)). That is PrivBayes' noise
for a joint probability, which one of n records moves by 2/n; a count moves by 1, n times as much
as 2/n allows for but for the factor 2. So each table costs about nε/2, and not ε.
"""

from typing import Any

ABOUT = {
    "library": "DataSynthesizer",
    "requirements": ["DataSynthesizer==0.1.4", "numpy==1.26.4", "pandas==1.5.3", "scipy==1.13.1"],
    "repaired_requirements": [
        "DataSynthesizer==0.1.13",
        "numpy==1.26.4",
        "pandas==2.2.3",
        "scipy==1.13.1",
    ],
    "promise": (
        "Correlated attribute mode with ε-differential privacy (docstring of "
        "describe_dataset_in_correlated_attribute_mode); categories and a fresh seed given, "
        "and of the description only the conditional probabilities are looked at."
    ),
    "claim": {"epsilon": 1.0, "delta": 0.0, "relation": "REPLACE_ONE"},
    "domain": {
        "dimension": 2,
        "bounds": (0, 1),
        "dtype": int,
        "min_records": 16,
        "max_records": 16,
    },
    "repair": "Lap(2(d − k)/ε) on counts.",
    "upstream": "https://github.com/DataResponsibly/DataSynthesizer/issues/34",
    "max_samples": 1000,
    "chunk_size": 16,
}


def flawed(data: Any) -> Any:
    import json
    import pathlib

    import numpy as np
    import pandas as pd
    from DataSynthesizer.DataDescriber import DataDescriber

    table = pd.DataFrame(data, columns=["x", "y"])
    table.to_csv("data.csv", index=False)
    pathlib.Path("domain.json").write_text(json.dumps({"x": [0, 1], "y": [0, 1]}))
    describer = DataDescriber()
    np.random.seed()
    describer.describe_dataset_in_correlated_attribute_mode(
        "data.csv",
        k=1,
        epsilon=1.0,
        attribute_to_datatype={"x": "Integer", "y": "Integer"},
        attribute_to_is_categorical={"x": True, "y": True},
        attribute_to_is_candidate_key={"x": False, "y": False},
        categorical_attribute_domain_file="domain.json",
        seed=int(np.random.randint(2**31)),
    )
    told = describer.data_description["conditional_probabilities"]
    order = describer.data_description["bayesian_network"]
    return [str(order), json.dumps(sorted(told)), _numbers(told)]


def _numbers(told: Any) -> Any:
    if isinstance(told, dict):
        return [number for key in sorted(told) for number in _numbers(told[key])]
    return list(told)


def repaired(data: Any) -> Any:
    return flawed(data)
