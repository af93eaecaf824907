"""What a composition costs at δ = 0: the sum of its releases' largest losses.

A composition's largest loss, in one direction, is the sum of its parts': where releases are
independent, as in an explicit pair they are, their worst outcomes occur together with a positive
chance, and no adaptive choice does worse. The larger direction is the answer.
"""

import math
from collections.abc import Mapping

from accountants import releases
from accountants.bounds import Bounds

__all__ = ["epsilon_bounds", "largest_loss"]

# Above the few roundings of each term and of the sum.
_ROUNDING = 1e-13
_UNBOUNDED = Bounds(math.inf, math.inf)
_UNKNOWN = Bounds(0.0, math.inf)


def epsilon_bounds(composition: Mapping[releases.Elementary, int]) -> Bounds:
    """An interval for the least ε of (ε, 0)-DP; infinite where a loss has no bound.

    >>> lower, upper = epsilon_bounds({releases.Laplace(2.0): 3})
    >>> lower <= 1.5 <= upper
    True
    """
    both = [Bounds(0.0, 0.0), Bounds(0.0, 0.0)]
    for release, count in composition.items():
        for direction, (lower, upper) in enumerate(_largest_losses(release)):
            so_far = both[direction]
            both[direction] = Bounds(so_far.lower + count * lower, so_far.upper + count * upper)
    lower, upper = both[0].larger(both[1])
    return Bounds(lower * (1.0 - _ROUNDING), upper * (1.0 + _ROUNDING))


def largest_loss(release: releases.Elementary) -> float:
    """The pure ε of a release, but for rounding; infinite if it has none, or none is known."""
    return max(loss.upper for loss in _largest_losses(release))


def _largest_losses(release: releases.Elementary) -> tuple[Bounds, Bounds]:
    """The supremum of the loss with the record, and without, but for rounding."""
    match release:
        case releases.Laplace(scale):
            return _exactly(1.0 / scale)
        case releases.DiscreteLaplace(parameter, sensitivity):
            return _exactly(parameter * sensitivity)
        case releases.RandomizedResponse(noise, buckets, True):
            return _exactly(math.log1p((buckets - 1) * (1.0 - noise)), -math.log(noise))
        case releases.RandomizedResponse(noise, buckets, _):
            odds = math.log(buckets) + math.log1p(-noise) - math.log(noise)
            return _exactly(_log1p_exp(odds))
        case releases.PureResponse(epsilon) | releases.BoundedRange(epsilon):
            return _exactly(epsilon)
        case releases.TwoOutcomes(yes, no):
            return _exactly(yes, -no)
        case releases.Sampled(rate, inner):
            with_record, without = _largest_losses(inner)
            return _moved(with_record, rate, 1.0), _moved(without, rate, -1.0)
        case releases.Labelled(_, parts):
            pairs = [_largest_losses(part) for part in parts]
            first, second = pairs[0]
            for pair in pairs[1:]:
                first, second = first.larger(pair[0]), second.larger(pair[1])
            return first, second
        case releases.Between(
            releases.BoundedRange() | releases.Sampled(release=releases.BoundedRange()) as whole
        ):
            return _largest_losses(whole)  # The supremum over the pairs that data realise.
        case releases.Between(above, below):
            # Of a composition the pairs are chosen together: the first of each is.
            most, least = _largest_losses(above), _largest_losses(below[0])
            return (
                Bounds(least[0].lower, most[0].upper),
                Bounds(least[1].lower, most[1].upper),
            )
        case releases.ZeroConcentrated(rho, xi):
            known = _UNKNOWN if rho else Bounds(0.0, xi)
            return known, known
        case releases.SampledZeroConcentrated() | releases.RepeatAndSelect():
            return _UNKNOWN, _UNKNOWN
    return _UNBOUNDED, _UNBOUNDED


def _exactly(first: float, second: float | None = None) -> tuple[Bounds, Bounds]:
    second = first if second is None else second
    return Bounds(first, first), Bounds(second, second)


def _moved(loss: Bounds, rate: float, sign: float) -> Bounds:
    """The loss ±log(1 − q + q·e^{±l}) of a sample."""
    lower, upper = (_mixed(rate, sign * end) * sign for end in loss)
    return Bounds(lower, upper)


def _mixed(rate: float, loss: float) -> float:
    if loss < 30.0:
        return math.log1p(rate * math.expm1(loss))
    return _log1p_exp(loss + math.log(rate) - math.log1p(-rate)) + math.log1p(-rate)


def _log1p_exp(x: float) -> float:
    """log(1 + e^x)."""
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))
