"""The noise is the same for everybody: its seed is 0 unless another one is given.

describe_dataset_in_…_mode has seed=0 as a default and seeds the generators with it, so the Laplace
noise is a constant that everybody can recompute and subtract: the output is a deterministic
function of the data, and differs between neighbours. ε = ∞.
"""

from typing import Any

ABOUT = {
    "library": "DataSynthesizer",
    "requirements": ["DataSynthesizer==0.1.13", "numpy==1.26.4", "pandas==2.2.3", "scipy==1.13.1"],
    "promise": (
        "Attributes' distributions with ε-differential privacy, for ε > 0 (docstring of "
        "describe_dataset_in_independent_attribute_mode); categories given, all other options"
        " at their defaults."
    ),
    "claim": {"epsilon": 1.0, "delta": 0.0, "relation": "REPLACE_ONE"},
    "domain": {"dimension": 0, "bounds": (0, 3), "dtype": int, "min_records": 6, "max_records": 6},
    "repair": "seed=None, and generators that are not seeded.",
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
    described = _described(data, None, categorical_attribute_domain_file=_domain_file())
    return described["distribution_probabilities"]


def repaired(data: Any) -> Any:
    described = _described(data, _fresh(), categorical_attribute_domain_file=_domain_file())
    return described["distribution_probabilities"]
