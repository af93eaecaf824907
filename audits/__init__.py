"""Audits: is the claim true? Nothing imports this package.

`audit` tests a claim on one pair of neighbouring data sets, `hunt` looks for the pair and the
statistic by itself, `assert_private` is for test suites, `estimate_epsilon` bounds ε from below.
`audits.estimators.fixed`, `audits.estimators.white_box`, `audits.estimators.one_run`,
`audits.testing.strategies` and `audits.plots` hold what is needed less often; the last two need
hypothesis and matplotlib.
"""

from audits import starting as starting  # before all that takes its time to load

# isort: split
from audits.assay import Assay, assay
from audits.claims import (
    Claim,
    EventClaim,
    GaussianClaim,
    PointClaim,
    ProfileClaim,
    TabulatedProfile,
    ZeroConcentratedClaim,
)
from audits.domain import Domain
from audits.estimators.canaries import Canaries, make_canaries
from audits.estimators.fixed import clopper_pearson, gaussian_dp, judge
from audits.estimators.one_run import canaries_needed, one_run_audit
from audits.estimators.white_box import audit_noise
from audits.evidence import Evidence, Method
from audits.pairs import Pair
from audits.testing.assertions import AuditFailedError, assert_private
from audits.testing.auditor import audit, estimate_epsilon
from audits.testing.draws import DrawFunction, WorkerLostError, repeat
from audits.testing.hunting import hunt
from audits.testing.learnt import LinearScore, QuadraticScore
from audits.testing.statistics import Coordinate, LikelihoodRatio, Statistic, Summary
from audits.verdict import Verdict, Word

__all__ = [
    "Assay",
    "AuditFailedError",
    "Canaries",
    "Claim",
    "Coordinate",
    "Domain",
    "DrawFunction",
    "EventClaim",
    "Evidence",
    "GaussianClaim",
    "LikelihoodRatio",
    "LinearScore",
    "Method",
    "Pair",
    "PointClaim",
    "ProfileClaim",
    "QuadraticScore",
    "Statistic",
    "Summary",
    "TabulatedProfile",
    "Verdict",
    "Word",
    "WorkerLostError",
    "ZeroConcentratedClaim",
    "assay",
    "assert_private",
    "audit",
    "audit_noise",
    "canaries_needed",
    "clopper_pearson",
    "estimate_epsilon",
    "gaussian_dp",
    "hunt",
    "judge",
    "make_canaries",
    "one_run_audit",
    "repeat",
]
