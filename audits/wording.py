"""Numbers and terms as people read them; a rounded bound stays a bound."""

import math

from dp_accounting import NeighboringRelation

from accountants import Bounds
from accountants.rounding import DIGITS, down, up

__all__ = ["DIGITS", "PAPERS", "RELATIONS", "down", "finite", "interval", "up"]

RELATIONS = {
    NeighboringRelation.ADD_OR_REMOVE_ONE: "one record added or removed",
    NeighboringRelation.REPLACE_ONE: "one record replaced",
    NeighboringRelation.REPLACE_SPECIAL: "one record zeroed out",
}
"""How neighbouring data sets differ."""
PAPERS = {
    "Workshop": "Differentially Private Federated Variational Inference (workshop paper, 2019)",
    "Thesis": "Distributed Variational Inference and Privacy (MPhil thesis, Cambridge, 2019)",
    "TMLR": "Differentially private partitioned variational inference (submission to TMLR)",
    "TUM": "Federated Learning: Collaborative Machine Learning without Centralized Training Data "
    "(project report, TU München, 2018)",
}
"""The papers of the ledger, by the names that it has for them."""


def interval(bounds: Bounds, digits: int = DIGITS) -> str:
    """Both ends, rounded outwards.

    >>> interval(Bounds(1.23456, 2.34561), 3)
    '[1.23, 2.35]'
    """
    return f"[{down(bounds.lower, digits)}, {up(bounds.upper, digits)}]"


def finite(value: float) -> float | None:
    """The value for JSON, which has no infinity."""
    return float(value) if math.isfinite(value) else None
