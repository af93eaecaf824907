"""A bit of the Bloom filter that is 1 is never turned to 0.

Permanent randomised response must report each bit truthfully with probability 1 − f/2, so that
every report is possible for every value. The client sets a bit to 1 if (bit = 1 and u < 1 − f/2) or
(bit = 0 and u < f/2), and otherwise leaves it as it is: a bit that is 1 stays 1 in either case. So
a report with a 0 where a value has a 1 has probability 0 under that value and 1 − f/2 under others:
ε = ∞, and each report rules out all values whose bits it does not have.
"""

from typing import Any

ABOUT = {
    "library": "pure-ldp",
    "requirements": [
        "pure-ldp==1.2.0",
        "numpy==1.26.4",
        "scipy==1.13.1",
        "scikit-learn==1.5.2",
        "statsmodels==0.14.4",
        "pandas==2.2.3",
        "xxhash==3.5.0",
    ],
    "promise": "The client implements RAPPOR's permanent randomised response, and "
    "convert_eps_to_f(ε) gives the f at which a report costs ε (docstrings of RAPPORClient). It "
    "rounds f to two digits, .76 for ε = 1, which costs 0.98. One cohort.",
    "claim": {"epsilon": 1.0, "delta": 0.0, "relation": "REPLACE_ONE"},
    "domain": {
        "dimension": 0,
        "bounds": (0, 9),
        "dtype": int,
        "min_records": 1,
        "max_records": 1,
    },
    "repair": "data[i] = int(u < 1 - f/2) if bit else int(u < f/2), for every bit.",
}
KEPT: dict[str, Any] = {}


def prepare() -> None:
    from pure_ldp.frequency_oracles.rappor import RAPPORClient, RAPPORServer

    f = RAPPORClient.convert_eps_to_f(None, 1.0)
    hashes = RAPPORServer(f=f, m=16, k=1, d=10, num_of_cohorts=1).get_hash_funcs()
    # Values start at 1 unless the user maps them otherwise.
    KEPT["client"] = RAPPORClient(
        f=f, m=16, hash_funcs=hashes, num_of_cohorts=1, index_mapper=lambda value: value
    )


def flawed(data: Any) -> Any:
    report, cohort = KEPT["client"].privatise(int(data[0]))
    return [*report, cohort]
