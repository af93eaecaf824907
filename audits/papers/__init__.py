"""What four papers say, and what we find of it: statements checked, experiments run again.

A paper has a room (`workshop/`, `thesis/`, `tmlr/`, `tum/`); the room's docstring says which module
holds which chapter. Two kinds of things live in it.

**Statements**, the ledger. A function with the decorator `claim` checks one statement: it computes
numbers and hands truth values to `decide`, and the verdict follows (`ledger.py`; the numbers are
`numbers.py`, drawn by `plots.py`). A room's `STATEMENTS` names its modules, `CLAIMS` holds all
entries by id, `run_claims` runs their checks (`checks.py`), and `python -m audits.papers.record`
writes `recorded.json`, from which slow checks are answered.

**A study**, a folder of the room. It trains as the paper did: independent jobs, then tables and
figures from their results alone, every row with its certified cost (`study.py`). `runner.py` runs
and resumes the jobs, `studies.py` knows the studies by name, `comparison.py` says whether a method
is better than another; what the last full run found is in `recorded/`. A study is imported when it
is asked for: nothing here needs its training code, torch or matplotlib.

A statement may quote a study's record; a study imports no statement. What both need is a module
of the room, or of this folder where papers share it (`costs.py`, `hidden_noise.py`,
`two_optima.py`). Nothing is checked on import.

>>> CLAIMS["workshop-kappa"].check().verdict.name
'REFUTED'
"""

from collections.abc import Collection

from audits.papers import thesis, tmlr, tum, workshop
from audits.papers.checks import ClaimResult, as_json, run_entries
from audits.papers.ledger import (
    KINDS,
    Check,
    ClaimEntry,
    Finding,
    Kind,
    Standing,
    claim,
    entries,
    index,
)
from audits.papers.numbers import Number

CLAIMS: dict[str, ClaimEntry] = index(
    entries(*workshop.STATEMENTS, *thesis.STATEMENTS, *tmlr.STATEMENTS, *tum.STATEMENTS)
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
    "KINDS",
    "Check",
    "ClaimEntry",
    "ClaimResult",
    "Finding",
    "Kind",
    "Number",
    "Standing",
    "as_json",
    "claim",
    "run_claims",
]
