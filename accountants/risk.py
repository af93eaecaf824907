r"""What an ε means for a person: how well can someone tell whether a record was used?

An adversary who knows everything but one record, and gives it a prior probability p of being there,
guesses right with probability

    max over sets S of p·P(S) + (1−p)·(1 − Q(S)) = (1−p) + p·H_α(P‖Q),    α = (1−p)/p,

with the hockey-stick divergence H. For p ≤ ½ that is (1−p) + p·δ(log((1−p)/p)) at worst, and for
p > ½ the same with p and 1−p, P and Q exchanged (Dong, Roth, Su 2022, section 2, in terms of
testing; Kaissis et al. 2022 for priors). So two numbers on the profile answer the question
exactly, with no detour through a single (ε, δ). An adversary who may accuse wrongly with
probability α only is told by the trade-off curve: the best true positive rate is 1 − f(α).
"""

import math
from typing import NamedTuple

from accountants import base, validate
from accountants.base import IntervalAccountant
from accountants.bounds import Bounds
from accountants.fourier.accountant import FourierAccountant
from accountants.fourier.profile import one_by_one
from accountants.fourier.trade_off import checked, trade_off_from_profile


class MembershipRisk(NamedTuple):
    """What the worst adversary against the worst record attains.

    Attributes:
      prior: The prior probability that the record is there.
      accuracy: Bounds of the probability of a right guess.
      advantage: Bounds of (true positive rate − false positive rate), the total variation δ(0).
    """

    prior: float
    accuracy: Bounds
    advantage: Bounds


def true_positive_rate(accountant: IntervalAccountant, false_positive_rate: float) -> Bounds:
    """The best true positive rate at a false positive rate, over all pairs of neighbours.

    It is 1 − f(α), f the trade-off curve (Dong, Roth, Su 2022, Definition 2.1), in both directions
    of the worst pair. Both ends are as exact as the curve's, about 1e-9; the accountants that prove
    no lower end give α itself, what a guess without data attains.

    >>> from dp_accounting import GaussianDpEvent
    >>> from accountants import FourierAccountant
    >>> accountant = FourierAccountant().compose(GaussianDpEvent(1.0))
    >>> round(true_positive_rate(accountant, 0.01).upper, 6)  # Φ(Φ⁻¹(0.01) + 1)
    0.092362
    """
    base.checked(accountant)
    rate = validate.closed_unit("false_positive_rate", false_positive_rate)
    if isinstance(accountant, FourierAccountant):
        curve = accountant.trade_off([rate])
    else:
        curve = trade_off_from_profile(one_by_one(accountant.get_delta_bounds), checked([rate]))
    # One rounding each.
    lower = math.nextafter(1.0 - float(curve.upper[0]), 0.0)
    upper = math.nextafter(1.0 - float(curve.lower[0]), 2.0)
    return Bounds(min(1.0, max(rate, lower)), min(1.0, max(rate, upper)))


def membership_risk(accountant: IntervalAccountant, prior: float = 0.5) -> MembershipRisk:
    """The risk of membership inference for what `accountant` has composed.

    Without any release the accuracy is max(prior, 1 − prior) and the advantage 0.

    >>> from dp_accounting import GaussianDpEvent
    >>> from accountants import FourierAccountant
    >>> risk = membership_risk(FourierAccountant().compose(GaussianDpEvent(1.0)))
    >>> round(risk.accuracy.upper, 4)  # Φ(1/2)
    0.6915
    """
    base.checked(accountant)
    prior = validate.open_unit("prior", prior)
    rarer = min(prior, 1.0 - prior)
    # The logarithms apart: their argument's quotient may lie beyond all floats.
    advantage = accountant.get_delta_bounds(0.0)
    odds = math.log1p(-rarer) - math.log(rarer)
    profile = accountant.get_delta_bounds(odds) if odds else advantage
    accuracy = Bounds(*((1.0 - rarer) + rarer * delta for delta in profile))
    # Three roundings of numbers of at most 1.
    accuracy = Bounds(accuracy.lower - 4e-16, min(1.0, accuracy.upper + 4e-16))
    return MembershipRisk(prior, accuracy, advantage)
