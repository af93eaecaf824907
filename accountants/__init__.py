"""Privacy accountants: what a release costs, as a certified interval for ε(δ)."""

from accountants import classical, gaussian
from accountants.base import IntervalAccountant
from accountants.bounds import Bounds
from accountants.calibrate import calibrate_noise, calibrate_steps
from accountants.certificate import Certificate
from accountants.codec import event_from_json, event_from_opacus_history, event_to_json
from accountants.crosscheck import CrossCheck, crosscheck
from accountants.dp_sgd import (
    EpsilonCurve,
    delta_bounds,
    epsilon_bounds,
    epsilon_curve,
    trade_off,
)
from accountants.filters import RenyiFilter
from accountants.fourier import FourierAccountant, TradeOff
from accountants.fourier.shuffling import shuffled_epsilon_bounds
from accountants.moments import MomentsAccountant
from accountants.renyi import RenyiAccountant
from accountants.risk import MembershipRisk, membership_risk
from accountants.support import support_table

__all__ = [
    "Bounds",
    "Certificate",
    "CrossCheck",
    "EpsilonCurve",
    "FourierAccountant",
    "IntervalAccountant",
    "MembershipRisk",
    "MomentsAccountant",
    "RenyiAccountant",
    "RenyiFilter",
    "TradeOff",
    "calibrate_noise",
    "calibrate_steps",
    "classical",
    "crosscheck",
    "delta_bounds",
    "epsilon_bounds",
    "epsilon_curve",
    "event_from_json",
    "event_from_opacus_history",
    "event_to_json",
    "gaussian",
    "membership_risk",
    "shuffled_epsilon_bounds",
    "support_table",
    "trade_off",
]
