"""A column with a single value is published as it is.

TableBinner.fit takes columns with one distinct value out of the table, keeps the value, and puts
it into every synthetic record; bounds that were given do not matter. If one of n records differs,
the column goes through the noisy histogram instead, and samples spread over the bins. So "all
synthetic values are equal to 0" has probability 1 on one data set and almost 0 on its neighbour,
far beyond e^ε and δ.
"""

from typing import Any

ABOUT = {
    "library": "dpmm",
    "requirements": ["dpmm==0.1.9"],
    "promise": (
        "End-to-end differentially private pipelines, (ε, δ) = (1, 1e-5) for the model and "
        "0.1 for the processing (README), with the data's domain given."
    ),
    "claim": {"epsilon": 1.1, "delta": 1e-05, "relation": "REPLACE_ONE"},
    "domain": {"dimension": 0, "bounds": (0.0, 1.0), "min_records": 8, "max_records": 8},
    "repair": "Let columns through the histogram whatever they hold.",
    "max_samples": 300,
    "chunk_size": 2,
}


def flawed(data: Any) -> Any:
    import numpy as np
    import pandas as pd
    from dpmm.pipelines import AIMPipeline

    even = np.linspace(0.0, 1.0, len(data))
    table = pd.DataFrame({"x": data, "y": even, "z": even})
    domain = {name: {"lower": 0.0, "upper": 1.0} for name in table}
    model = AIMPipeline(
        epsilon=1.0, delta=1e-5, proc_epsilon=0.1, n_bins=4, n_jobs=1, gen_kwargs={"n_iters": 10}
    )
    model.fit(table, domain)
    made = model.generate(n_records=10)["x"]
    return [float(made.min()), float(made.max())]
