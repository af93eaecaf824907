"""Privacy accountants: what a release costs, as a certified interval for ε(δ).

The names below are the way in. Under them lies a floor that the packages above stand on as well,
public module by module:

* `validate`: checks of arguments, with one shape of message;
* `arrays`: types of arrays;
* `bounds`: `Bounds`, the interval that contains the truth;
* `rounding`: bounds as people read them, rounded to their safe side;
* `sampling`: the one vocabulary of how records get into a batch;
* `certificate`, `codec`: statements of cost and events as JSON, through an allow-list;
* `files`, `seals`: files written in one step, records with a checksum;
* `versions`: which packages computed a number.

All else is an accountant, named by its module. `fourier/DERIVATION.md` says which formula of which
paper is where.
"""

from accountants import classical, gaussian, hidden_state
from accountants.base import IntervalAccountant
from accountants.bounds import Bounds, BoundsError
from accountants.calibrate import calibrate_noise, calibrate_steps, remaining_steps
from accountants.calibrate_risk import calibrate_noise_to_risk
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
from accountants.events import (
    BallsInBinsDpEvent,
    DiscreteGaussianDpEvent,
    EpsilonDeltaDpEvent,
    ExponentialMechanismDpEvent,
    PermuteAndFlipDpEvent,
    ShuffledDpEvent,
    UserDpEvent,
    cyclic_poisson_event,
)
from accountants.filters import CombinedFilter, GaussianFilter, RenyiFilter
from accountants.fourier import FourierAccountant, TradeOff
from accountants.gdp import gdp_bounds
from accountants.moments import MomentsAccountant
from accountants.renyi import RenyiAccountant
from accountants.risk import MembershipRisk, membership_risk, true_positive_rate
from accountants.support import support_table

__all__ = [
    "BallsInBinsDpEvent",
    "Bounds",
    "BoundsError",
    "Certificate",
    "CombinedFilter",
    "CrossCheck",
    "DiscreteGaussianDpEvent",
    "EpsilonCurve",
    "EpsilonDeltaDpEvent",
    "ExponentialMechanismDpEvent",
    "FourierAccountant",
    "GaussianFilter",
    "IntervalAccountant",
    "MembershipRisk",
    "MomentsAccountant",
    "PermuteAndFlipDpEvent",
    "RenyiAccountant",
    "RenyiFilter",
    "ShuffledDpEvent",
    "TradeOff",
    "UserDpEvent",
    "calibrate_noise",
    "calibrate_noise_to_risk",
    "calibrate_steps",
    "classical",
    "crosscheck",
    "cyclic_poisson_event",
    "delta_bounds",
    "epsilon_bounds",
    "epsilon_curve",
    "event_from_json",
    "event_from_opacus_history",
    "event_to_json",
    "gaussian",
    "gdp_bounds",
    "hidden_state",
    "membership_risk",
    "remaining_steps",
    "support_table",
    "trade_off",
    "true_positive_rate",
]
