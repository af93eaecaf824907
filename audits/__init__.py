"""Audits: is the claim true? Nothing imports this package.

`audit` tests a claim on one pair of neighbouring data sets, `hunt` looks for the pair and the
statistic by itself, `assert_private` is for test suites, `estimate_epsilon` bounds ε from below.
`audits.fixed`, `audits.white_box`, `audits.one_run`, `audits.strategies` and `audits.plots` hold
what is needed less often; the last two need hypothesis and matplotlib.
"""

from audits.assertions import AuditFailedError, assert_private
from audits.auditor import audit, estimate_epsilon
from audits.claim import Claim, TabulatedProfile
from audits.evidence import Evidence
from audits.execute import Mechanism, WorkerLostError, repeat
from audits.fixed import clopper_pearson, gaussian_dp, judge
from audits.hunting import hunt
from audits.one_run import one_run_audit
from audits.pairs import Pair, candidate_pairs
from audits.statistics import Coordinate, LikelihoodRatio, LinearScore, Statistic, Summary
from audits.verdict import Verdict, Word
from audits.white_box import audit_noise

__all__ = [
    "AuditFailedError",
    "Claim",
    "Coordinate",
    "Evidence",
    "LikelihoodRatio",
    "LinearScore",
    "Mechanism",
    "Pair",
    "Statistic",
    "Summary",
    "TabulatedProfile",
    "Verdict",
    "Word",
    "WorkerLostError",
    "assert_private",
    "audit",
    "audit_noise",
    "candidate_pairs",
    "clopper_pearson",
    "estimate_epsilon",
    "gaussian_dp",
    "hunt",
    "judge",
    "one_run_audit",
    "repeat",
]
