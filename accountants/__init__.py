"""Privacy accountants: what a release costs, as a certified interval for ε(δ)."""

from accountants import classical, gaussian
from accountants.base import IntervalAccountant
from accountants.bounds import Bounds
from accountants.certificate import Certificate
from accountants.codec import event_from_json, event_from_opacus_history, event_to_json
from accountants.crosscheck import CrossCheck, crosscheck
from accountants.moments import MomentsAccountant
from accountants.renyi import RenyiAccountant
from accountants.renyi_filter import RenyiFilter

__all__ = [
    "Bounds",
    "Certificate",
    "CrossCheck",
    "IntervalAccountant",
    "MomentsAccountant",
    "RenyiAccountant",
    "RenyiFilter",
    "classical",
    "crosscheck",
    "event_from_json",
    "event_from_opacus_history",
    "event_to_json",
    "gaussian",
]
