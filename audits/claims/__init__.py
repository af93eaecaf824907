"""The ledger of claims: each checkable statement of the papers, with a check that runs.

`CLAIMS` maps an id to its entry. Adding a claim is one function with the `claim` decorator in the
paper's module; a new module is one word in `entries(...)` below. Nothing is checked on import.

>>> CLAIMS["workshop-kappa"].check().verdict.name
'REFUTED'
"""

from collections.abc import Collection

from audits.claims import (
    thesis_accounting,
    thesis_central_noise,
    thesis_dp_sgd,
    thesis_noise_splitting,
    thesis_variational,
    tmlr_linear,
    tmlr_optimisation,
    tmlr_perturbation,
    tmlr_properties,
    tmlr_shares,
    tmlr_tables,
    tum,
    tum_practice,
    workshop,
    workshop_data,
    workshop_training,
)
from audits.claims.ledger import Check, ClaimEntry, Finding, Verdict, claim, entries, index
from audits.claims.numbers import Number
from audits.claims.run import ClaimResult, as_json, run_entries

CLAIMS: dict[str, ClaimEntry] = index(
    entries(
        workshop,
        workshop_data,
        workshop_training,
        thesis_accounting,
        thesis_dp_sgd,
        thesis_noise_splitting,
        thesis_central_noise,
        thesis_variational,
        tmlr_optimisation,
        tmlr_perturbation,
        tmlr_shares,
        tmlr_linear,
        tmlr_properties,
        tmlr_tables,
        tum,
        tum_practice,
    )
)


def run_claims(ids: Collection[str] | None = None, include_slow: bool = False) -> list[ClaimResult]:
    """Runs the checks of the claims named, of all of them by default.

    A slow check that is not asked for is answered from `recorded.json`.

    Raises:
      KeyError: An id that no entry has.
    """
    unknown = sorted(set(ids or ()) - CLAIMS.keys())
    if unknown:
        raise KeyError(f"no claims {unknown}; there are {sorted(CLAIMS)}")
    chosen = CLAIMS.values() if ids is None else [CLAIMS[name] for name in ids]
    return run_entries(chosen, include_slow=include_slow)


__all__ = [
    "CLAIMS",
    "Check",
    "ClaimEntry",
    "ClaimResult",
    "Finding",
    "Number",
    "Verdict",
    "as_json",
    "claim",
    "run_claims",
]
