"""Counts and sums by partition, contributions bounded, on the local backend.

One user's values are bounded to one partition and one record of at most 1; Laplace noise takes
half of ε for each of both metrics. The noise is Google's, on a grid.
"""

from typing import Any

ABOUT = {
    "library": "pipeline-dp",
    "requirements": ["pipeline-dp==0.3.1"],
    "promise": (
        "COUNT and SUM with ε-differential privacy for one user more or less, partitions "
        "public (documentation of AggregateParams)."
    ),
    "claim": {"epsilon": 1.0, "delta": 0.0, "relation": "ADD_OR_REMOVE_ONE"},
    "domain": {
        "dimension": 0,
        "bounds": (0.0, 1.0),
        "min_records": 1,
        "max_records": 6,
        "special_values": (5.0,),
    },
    "max_samples": 5000,
    "chunk_size": 64,
}


def sound(data: Any) -> Any:
    import pipeline_dp

    budget = pipeline_dp.NaiveBudgetAccountant(total_epsilon=1.0, total_delta=1e-10)
    engine = pipeline_dp.DPEngine(budget, pipeline_dp.LocalBackend())
    parameters = pipeline_dp.AggregateParams(
        metrics=[pipeline_dp.Metrics.COUNT, pipeline_dp.Metrics.SUM],
        noise_kind=pipeline_dp.NoiseKind.LAPLACE,
        max_partitions_contributed=1,
        max_contributions_per_partition=1,
        min_value=0.0,
        max_value=1.0,
    )
    extract = pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda row: row[0],
        partition_extractor=lambda row: "all",
        value_extractor=lambda row: row[1],
    )
    rows = [(number, float(value)) for number, value in enumerate(data)]
    released = engine.aggregate(rows, parameters, extract, public_partitions=["all"])
    budget.compute_budgets()
    return list(dict(released)["all"])
