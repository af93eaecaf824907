"""Without a range in the settings, the noise is for the data's own.

Where least and largest value are not given, they are taken from the data, with a margin: noise and
limits of the published values follow the exact range. Data that are all alike but for one record
get noise for that record's distance, and none without it. ε = ∞.
"""

from typing import Any

ABOUT = {
    "library": "privlib",
    "requirements": ["privlib==0.0.4", "numpy==1.26.4", "pandas==2.2.3"],
    "promise": (
        "ε-differential privacy by microaggregation and Laplace noise (docstring of "
        "Differential_privacy); the settings' range is optional."
    ),
    "claim": {"epsilon": 1.0, "delta": 0.0, "relation": "REPLACE_ONE"},
    "domain": {"dimension": 0, "bounds": (0.0, 1.0), "min_records": 4, "max_records": 4},
    "repair": "Ask for the range.",
    "max_samples": 3000,
    "chunk_size": 32,
}


_SETTINGS = """<?xml version="1.0"?>
<dataset><attribute name="x" attribute_type="numerical_continuous"
 sensitivity_type="quasi_identifier" min_value="{least}" max_value="{largest}"/></dataset>
"""


def _published(data: Any, least: str, largest: str) -> Any:
    import pathlib

    import pandas as pd
    from privlib.anonymization.src.algorithms.differential_privacy import Differential_privacy
    from privlib.anonymization.src.algorithms.microaggregation import Microaggregation
    from privlib.anonymization.src.entities.dataset_DataFrame import Dataset_DataFrame

    settings = _SETTINGS.format(least=least, largest=largest)
    pathlib.Path("settings.xml").write_text(settings)
    table = pd.DataFrame({"x": data})
    table.name = "table"
    scheme = Differential_privacy(Dataset_DataFrame(table, "settings.xml"), 2, 1.0)
    scheme.calculate_anonymization(Microaggregation)
    return [float(str(record.values[0])) for record in scheme.anonymized_dataset.records]


def flawed(data: Any) -> Any:
    return _published(data, "", "")
