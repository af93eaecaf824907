"""What is true of an interval for ε(δ) or δ(ε), by ball arithmetic; knows nothing of `accountants`.

`check_epsilon` and `check_delta` take a composition, [(event, count)], a relation and an interval,
and say of each end "right" (proved), "wrong" (the opposite is proved) or "unknown" (nothing could
be proved within the limits of work). Where each ball comes from: `oracle_direction` chooses between
`oracle_exact` (finite formulas), `oracle_two_steps` (one rigorous integral) and `oracle_line` (a
line integral with proved errors).

A batch of fixed size has no exact answer: its truth lies between an explicit pair of data sets,
the Poisson pair at half the noise multiplier, and the symmetrised profile. An end is right or wrong
only where one of the two proves it.
"""

import math
from dataclasses import dataclass

import dp_accounting as dpa
import oracle_exact as exact
from dp_accounting import NeighboringRelation
from dp_accounting.dp_event import DiscreteLaplaceDpEvent, MixtureOfGaussiansDpEvent
from flint import arb, ctx
from oracle_direction import PREC, Direction
from oracle_exact import UnknownError
from oracle_sampled import SampledLaw

REPLACE = NeighboringRelation.REPLACE_ONE
SPECIAL = NeighboringRelation.REPLACE_SPECIAL
RIGHT, WRONG, UNKNOWN = "right", "wrong", "unknown"
REASONS = []  # why nothing could be proved, since it was cleared last
_LAST = {}


@dataclass
class Truth:
    """δ(ε) of a composition lies between the larger of `below` and the larger of `above`."""

    below: list
    above: list

    def compare(self, epsilon, delta):
        """What is proved of δ(ε) against delta: "above", "below", "equal" or "unknown"."""
        same = self.below is self.above
        seen = [_compare(pair, epsilon, delta) for pair in self.below]
        if "above" in seen:
            return "above"
        tops = seen if same else [_compare(pair, epsilon, delta) for pair in self.above]
        if all(word == "below" for word in tops):
            return "below"
        if all(word in ("below", "equal") for word in tops) and "equal" in seen:
            return "equal"
        return UNKNOWN


def _compare(pair, epsilon, delta):
    if pair.total_variation() < delta:
        return "below"
    if pair.largest_loss() <= epsilon:
        return "below" if delta > 0 else "equal"
    try:
        if delta > 0.5 and pair.is_above(float(epsilon), delta):
            return "above"
        if delta > 0 and pair.is_below(float(epsilon), delta):
            return "below"
    except UnknownError:
        pass
    try:
        if pair.without_sampling(arb(epsilon)) < delta:
            return "below"
    except UnknownError:
        pass
    try:
        value = pair.delta(epsilon)
    except UnknownError as reason:
        REASONS.append(str(reason))
        return UNKNOWN
    if value > delta:
        return "above"
    if value < delta:
        return "below"
    if value == delta:
        return "equal"
    REASONS.append("the ball is too wide")
    return UNKNOWN


def truth(parts, relation):
    """The ordered pairs of a composition of (event, count) under a relation."""
    key = (repr(parts), relation)
    if key not in _LAST:
        _LAST.clear()  # one composition is asked about twice in a row, seldom later
        _LAST[key] = _truth(parts, relation)
    return _LAST[key]


def _truth(parts, relation):
    with ctx.workprec(PREC):
        both = [Direction(), Direction()]
        explicit = [Direction(), Direction()]
        for index in (0, 1):
            for event, count in parts:
                _add(both[index], event, count, relation, index)
                _add(explicit[index], event, count, relation, index, explicit=True)
    if any(direction.symmetric for direction in both):  # REPLACE_ONE: the profile is symmetric
        return Truth(explicit, both[:1])
    if relation is REPLACE or not (both[0].sampled or relation is SPECIAL):
        both = both[:1]
    return Truth(both, both)


def _multiplier(event):
    """σ⁻² of Gaussians on one batch."""
    if isinstance(event, dpa.GaussianDpEvent):
        return 1 / arb(event.noise_multiplier) ** 2
    if isinstance(event, dpa.SelfComposedDpEvent):
        return event.count * _multiplier(event.event)
    return sum((_multiplier(inner) for inner in event.events), arb(0))


def _add(direction, event, count, relation, index, explicit=False):
    """Adds `count` releases to one ordered pair; index 0: P has the record."""
    if count == 0 or isinstance(event, dpa.NoOpDpEvent):
        return
    factor = 2 if relation is REPLACE else 1
    kind = "remove" if index == 0 else "add"
    if isinstance(event, dpa.SelfComposedDpEvent):
        _add(direction, event.event, count * event.count, relation, index, explicit)
    elif isinstance(event, dpa.ComposedDpEvent):
        for inner in event.events:
            _add(direction, inner, count, relation, index, explicit)
    elif isinstance(event, dpa.GaussianDpEvent):
        direction.mu_squared += count * (factor / arb(event.noise_multiplier)) ** 2
    elif isinstance(event, dpa.LaplaceDpEvent):
        direction.exact.append((exact.Laplace(factor / arb(event.noise_multiplier)), count))
    elif isinstance(event, DiscreteLaplaceDpEvent):
        shift = factor * int(event.sensitivity)
        direction.geometric.append((arb(event.noise_parameter), shift, count))
    elif isinstance(event, dpa.RandomizedResponseDpEvent):
        direction.exact.append((_response(event, relation, index), count))
    elif isinstance(event, MixtureOfGaussiansDpEvent):
        merged = {}
        for c, p in zip(event.sensitivities, event.sampling_probs, strict=True):
            if p > 0:
                merged[float(c)] = merged.get(float(c), arb(0)) + arb(float(p))
        total = sum(merged.values(), arb(0))  # 1, but for the rounding of the event's floats
        merged = {c: p / total for c, p in merged.items()}
        _add_mixture(direction, event, merged, count, kind)
    elif isinstance(event, dpa.PoissonSampledDpEvent):
        rate, inner = arb(event.sampling_probability), event.event
        while isinstance(inner, dpa.PoissonSampledDpEvent):
            rate, inner = rate * arb(inner.sampling_probability), inner.event
        shift = _multiplier(inner).sqrt()
        if rate == 1:
            direction.mu_squared += count * (factor * shift) ** 2
        elif not rate.is_zero():
            law = SampledLaw(
                [1 - rate, rate], [arb(0), shift], "replace" if relation is REPLACE else kind
            )
            direction.sampled.append((law, count))
    elif isinstance(event, dpa.SampledWithoutReplacementDpEvent):
        rate = arb(event.sample_size) / arb(event.source_dataset_size)
        shift = 2 * _multiplier(event.event).sqrt()
        if rate == 1:
            direction.mu_squared += count * shift**2
        elif explicit:
            direction.sampled.append((SampledLaw([1 - rate, rate], [arb(0), shift], kind), count))
        elif not rate.is_zero():
            direction.symmetric.append((rate, shift, count))
    else:
        raise UnknownError(f"no oracle for {type(event).__name__}")


def _add_mixture(direction, event, merged, count, kind):
    shifts = sorted(merged)
    if shifts == [0.0]:
        return
    scale = arb(event.standard_deviation)
    if len(shifts) == 1:
        direction.mu_squared += count * (arb(shifts[0]) / scale) ** 2
        return
    law = SampledLaw([merged[c] for c in shifts], [arb(c) / scale for c in shifts], kind)
    direction.sampled.append((law, count))


def _response(event, relation, index):
    noise, buckets = arb(event.noise_parameter), int(event.num_buckets)
    other = noise / buckets
    same = 1 - noise + other
    if relation is not SPECIAL:
        step = (same / other).log()
        middle = (buckets - 2) * other
        if buckets == 2:
            return exact.Atoms([(other, -step), (same, step)])
        return exact.Atoms([(other, -step), (middle, arb(0)), (same, step)], (-step, step))
    low, high = noise.log(), (buckets * same).log()
    if index == 0:
        return exact.Atoms([((buckets - 1) * other, low), (same, high)])
    return exact.Atoms([(arb(1) / buckets, -high), (arb(buckets - 1) / buckets, -low)])


def check_epsilon(parts, relation, delta, lower, upper):
    """Verdicts on [lower, upper] for ε(δ): (of the lower end, of the upper end)."""
    known = truth(parts, relation)
    first = RIGHT
    if math.isinf(lower):
        first = UNKNOWN
    elif lower > 0.0:
        words = {"above": RIGHT, "equal": RIGHT, "below": WRONG, UNKNOWN: UNKNOWN}
        first = words[known.compare(lower, delta)]
    second = RIGHT
    if not math.isinf(upper):
        words = {"above": WRONG, "equal": RIGHT, "below": RIGHT, UNKNOWN: UNKNOWN}
        second = words[known.compare(upper, delta)]
    return first, second


def check_delta(parts, relation, epsilon, lower, upper):
    """Verdicts on [lower, upper] for δ(ε): (of the lower end, of the upper end)."""
    known = truth(parts, relation)
    first = second = RIGHT
    if lower > 0.0:
        words = {"above": RIGHT, "equal": RIGHT, "below": WRONG, UNKNOWN: UNKNOWN}
        first = words[known.compare(epsilon, lower)]
    if upper < 1.0:
        words = {"above": WRONG, "equal": RIGHT, "below": RIGHT, UNKNOWN: UNKNOWN}
        second = words[known.compare(epsilon, upper)]
    return first, second
