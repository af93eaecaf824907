"""Results are rounded to the number of decimals that the data have.

A cluster's noisy mean is rounded to the largest number of decimals among the values of the
cluster. That number is a function of the data without noise: with one record at 0.637 among
records at 0.5 the published value has three decimals, without it one. ε = ∞.
"""

from typing import Any

ABOUT = {
    "library": "privlib",
    "requirements": ["privlib==0.0.4", "numpy==1.26.4", "pandas==2.2.3"],
    "promise": (
        "ε-differential privacy by microaggregation and Laplace noise (docstring of "
        "Differential_privacy), least and largest value given in the settings. The number of "
        "decimals is looked at beside each value."
    ),
    "claim": {"epsilon": 1.0, "delta": 0.0, "relation": "REPLACE_ONE"},
    "domain": {"dimension": 0, "bounds": (0.0, 1.0), "min_records": 4, "max_records": 4},
    "repair": "Round to a number of decimals that the settings give, or not at all.",
    "max_samples": 3000,
    "chunk_size": 32,
}


_SETTINGS = """<?xml version="1.0"?>
<dataset><attribute name="x" attribute_type="numerical_continuous"
 sensitivity_type="quasi_identifier" min_value="0" max_value="1"/></dataset>
"""


def flawed(data: Any) -> Any:
    import pathlib

    import pandas as pd
    from privlib.anonymization.src.algorithms.differential_privacy import Differential_privacy
    from privlib.anonymization.src.algorithms.microaggregation import Microaggregation
    from privlib.anonymization.src.entities.dataset_DataFrame import Dataset_DataFrame

    pathlib.Path("settings.xml").write_text(_SETTINGS)
    table = pd.DataFrame({"x": data})
    table.name = "table"
    scheme = Differential_privacy(Dataset_DataFrame(table, "settings.xml"), 2, 1.0)
    scheme.calculate_anonymization(Microaggregation)
    values = [str(record.values[0]) for record in scheme.anonymized_dataset.records]
    return [float(len(value.partition(".")[2])) for value in values] + [float(v) for v in values]
