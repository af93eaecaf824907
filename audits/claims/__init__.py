"""What is asserted about a mechanism, in any of the forms that people assert it: one class each.

An event, a profile, μ and ρ are whole curves of (ε, δ), and a false one is refuted with few draws.
A single (ε, δ) is a weak claim: it allows so much that a test needs many draws to contradict it.
"""

from audits.claims.base import Claim
from audits.claims.event import EventClaim
from audits.claims.gaussian import GaussianClaim
from audits.claims.point import PointClaim
from audits.claims.profile import ProfileClaim, TabulatedProfile
from audits.claims.region import Region
from audits.claims.zero_concentrated import ZeroConcentratedClaim

__all__ = [
    "Claim",
    "EventClaim",
    "GaussianClaim",
    "PointClaim",
    "ProfileClaim",
    "Region",
    "TabulatedProfile",
    "ZeroConcentratedClaim",
]
