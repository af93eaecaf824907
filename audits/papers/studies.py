"""The studies by name, their records, and what runs them: the front door of a paper's experiment.

>>> load_study("tum-credit").seeds
5
"""

import importlib
from importlib import resources
from typing import Any

from accountants.seals import read_sealed
from audits.papers.runner import redraw_study, run_jobs, run_study
from audits.papers.study import COST_COLUMN, Cost, Job, Result, Results, Row, Study, Table

__all__ = [
    "COST_COLUMN",
    "STUDIES",
    "Cost",
    "Job",
    "Result",
    "Results",
    "Row",
    "Study",
    "Table",
    "load_study",
    "recorded",
    "redraw_study",
    "run_jobs",
    "run_study",
]

STUDIES = {
    "workshop-table5": "audits.papers.workshop.table5",
    "thesis-linreg": "audits.papers.thesis.linreg",
    "tmlr-adult": "audits.papers.tmlr.adult",
    "tum-credit": "audits.papers.tum.credit",
}
"""Names of the studies, and the module of each: imported when one is asked for."""


def load_study(name: str) -> Study[Any]:
    """The study of that name."""
    if name not in STUDIES:
        raise ValueError(f"`name` must be one of {sorted(STUDIES)}, got {name!r}.")
    study: Study[Any] = importlib.import_module(STUDIES[name]).STUDY
    return study


def recorded(name: str) -> dict[str, Any] | None:
    """The record of the last full run that ships with the package; `None` if there is none."""
    file = resources.files("audits.papers").joinpath("recorded", f"{name}.json")
    if not file.is_file():
        return None
    return read_sealed(file)
