"""Audits: is the claim true? Nothing imports this package."""

from audits.audit import audit, estimate_epsilon
from audits.claim import Claim
from audits.evidence import Evidence
from audits.execute import repeat
from audits.pairs import Pair, candidate_pairs
from audits.verdict import Verdict, Word

__all__ = [
    "Claim",
    "Evidence",
    "Pair",
    "Verdict",
    "Word",
    "audit",
    "candidate_pairs",
    "estimate_epsilon",
    "repeat",
]
