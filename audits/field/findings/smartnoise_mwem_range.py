"""The histogram reaches from the least to the largest value of the data.

MWEM makes its histogram from min(column) to max(column) of the data, whatever the transformer says
of their range, and samples from its cells. No sample lies above the largest value in the data:
with one record in the highest bin samples reach it, without that record none does. ε = ∞.
"""

from typing import Any

ABOUT = {
    "library": "smartnoise-synth",
    "requirements": [
        "pandas==2.2.3",
        "numpy==1.26.4",
        "scipy==1.13.1",
        "scikit-learn==1.5.2",
        "Faker==30.8.2",
        "smartnoise-sql==1.0.10",
    ],
    "alone": ["smartnoise-synth==1.0.8"],
    "promise": (
        "Synthetic data with ε-differential privacy (docstring of MWEMSynthesizer), with a "
        "transformer that is given the bounds."
    ),
    "claim": {"epsilon": 1.0, "delta": 0.0, "relation": "ADD_OR_REMOVE_ONE"},
    "domain": {"dimension": 0, "bounds": (0.5, 3.5), "min_records": 7, "max_records": 8},
    "repair": "Ranges from the transformer's cardinality.",
    "max_samples": 3000,
    "chunk_size": 32,
}


def flawed(data: Any) -> Any:
    import warnings

    import pandas as pd
    from snsynth.mwem import MWEMSynthesizer
    from snsynth.transform import BinTransformer
    from snsynth.transform.table import TableTransformer

    warnings.simplefilter("ignore")
    table = pd.DataFrame({"x": data, "y": data})
    columns = [BinTransformer(bins=4, lower=0.1, upper=4.1) for _ in range(2)]
    synthesizer = MWEMSynthesizer(epsilon=1.0, iterations=2, q_count=3, marginal_width=1)
    synthesizer.fit(table, transformer=TableTransformer(columns))
    values = synthesizer.sample(20)
    values = values["x"] if hasattr(values, "columns") else [row[0] for row in values]
    return [float(min(values)), float(max(values))]
