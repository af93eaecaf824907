"""Numbers are cut at the quantiles of the data, and sampled between them.

BinEncoder fits scikit-learn's KBinsDiscretizer to the column, with its default strategy: the edges
are quantiles of the data, the first and the last its least and largest value, without noise;
bounds that were given do not change that. Samples are uniform between edges: none is above the
largest value. With one record at 1 among records at 0 samples reach up to 1, without it none does.
ε = ∞.
"""

from typing import Any

ABOUT = {
    "library": "dpart",
    "requirements": [
        "diffprivlib==0.6.3",
        "scikit-learn==1.1.3",
        "numpy==1.26.4",
        "pandas==1.5.3",
        "scipy==1.11.4",
    ],
    "alone": ["dpart==0.1.2"],
    "promise": (
        "Synthetic data with ε-differential privacy where ε and bounds are given (README)."
    ),
    "claim": {"epsilon": 1.0, "delta": 0.0, "relation": "REPLACE_ONE"},
    "pair": ([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 1.0], [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]),
    "repair": "KBinsDiscretizer on np.linspace(min, max, n_bins + 1) of the bounds.",
    "upstream": "https://github.com/hazy/dpart/pull/6",
    "max_samples": 3000,
    "chunk_size": 32,
}


def flawed(data: Any) -> Any:
    import warnings

    import pandas as pd
    from dpart import dpart

    warnings.simplefilter("ignore")
    model = dpart(epsilon=1.0, bounds={"x": {"min": 0.0, "max": 1.0}})
    model.fit(pd.DataFrame({"x": data}))
    return float(model.sample(20)["x"].max())
