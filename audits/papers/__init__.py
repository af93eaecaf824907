"""The ledger of claims: each checkable statement of the papers, with a check that runs.

`CLAIMS` maps an id to its entry. Adding a claim is one function with the `claim` decorator in the
paper's module; a new module is one word in `entries(...)` below. Nothing is checked on import.

>>> CLAIMS["workshop-kappa"].check().verdict.name
'REFUTED'
"""

from collections.abc import Collection

from audits.papers.checks import ClaimResult, as_json, run_entries
from audits.papers.ledger import Check, ClaimEntry, Finding, Standing, claim, entries, index
from audits.papers.numbers import Number
from audits.papers.thesis import accounting as thesis_accounting
from audits.papers.thesis import central_noise as thesis_central_noise
from audits.papers.thesis import dp_sgd as thesis_dp_sgd
from audits.papers.thesis import noise_splitting as thesis_noise_splitting
from audits.papers.thesis import variational as thesis_variational
from audits.papers.tmlr import linear as tmlr_linear
from audits.papers.tmlr import optimisation as tmlr_optimisation
from audits.papers.tmlr import perturbation as tmlr_perturbation
from audits.papers.tmlr import properties as tmlr_properties
from audits.papers.tmlr import shares as tmlr_shares
from audits.papers.tmlr import tables as tmlr_tables
from audits.papers.tum import accounting as tum
from audits.papers.tum import practice as tum_practice
from audits.papers.workshop import accounting as workshop
from audits.papers.workshop import data as workshop_data
from audits.papers.workshop import training as workshop_training

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
    "Standing",
    "as_json",
    "claim",
    "run_claims",
]
