"""Equal values show which records lie next to each other.

Records are sorted and cut into clusters of k, and all records of a cluster get the same noisy
mean, in the place of their own values. So the published table shows, without noise, which records
share a cluster: a function of the order of the data. A record that moves from the lower end to the
upper shares its value with others. ε = ∞, whatever the noise of the means.
"""

from typing import Any

ABOUT = {
    "library": "privlib",
    "requirements": ["privlib==0.0.4", "numpy==1.26.4", "pandas==2.2.3"],
    "promise": (
        "ε-differential privacy by microaggregation and Laplace noise (docstring of "
        "Differential_privacy), least and largest value given in the settings."
    ),
    "claim": {"epsilon": 1.0, "delta": 0.0, "relation": "REPLACE_ONE"},
    "pair": ([0.1, 0.3, 0.7, 0.9], [0.1, 0.3, 0.7, 0.2]),
    "repair": "Publish the means without the records, or noise for each record.",
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
    values = _published(data, "0", "1")
    return [float(values[-1] == other) for other in values[:-1]] + values
