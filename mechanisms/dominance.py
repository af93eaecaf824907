"""When one event is provably at least as revealing as another, at every δ.

For sampled Gaussians of one kind: a larger noise multiplier is more noise, a smaller sampling rate
is thinning (replace the output by one without the record with probability 1 − q'/q: a mixture
(1−q)N₀ + qN₁ becomes (1−q')N₀ + q'N₁), and fewer steps is leaving some out. All of these are
post-processing, and if every step dominates its counterpart then so does the composition (Zhu,
Dong, Wang 2022, Theorem 10). Balls in fewer bins dominate balls in more: the mean of T + 1 ratios
is that of the means of T of them, so it is smaller in convex order. Unsampled Gaussians
compose to one: 1/σ² = Σ 1/σᵢ².
"""

import math
from collections import Counter
from typing import NamedTuple

import dp_accounting as dpa

from accountants import validate
from accountants.elementary import NotSupportedError, effective_noise_multiplier
from accountants.events import BallsInBinsDpEvent
from pvi.validate import checked


class _Step(NamedTuple):
    kind: type[dpa.DpEvent]
    sampling_rate: float
    noise_multiplier: float

    def covers(self, other: "_Step") -> bool:
        return (
            self.kind is other.kind
            and self.sampling_rate >= other.sampling_rate
            and self.noise_multiplier <= other.noise_multiplier
        )


@checked(event=dpa.DpEvent, other=dpa.DpEvent)
def dominates(event: dpa.DpEvent, other: dpa.DpEvent) -> bool:
    """Whether `event` is provably no less revealing than `other`; False where no proof is found.

    Both must be meant under the same neighbouring relation.

    >>> dominates(dpa.GaussianDpEvent(1.0), dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(3.0), 9))
    True
    >>> dominates(dpa.GaussianDpEvent(1.0), dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(3.0), 10))
    False
    """
    try:
        if event == other or isinstance(event, dpa.NonPrivateDpEvent):
            return True
        if isinstance(other, dpa.NonPrivateDpEvent):
            return False
        squares, steps = _flatten(event, 1)
        other_squares, other_steps = _flatten(other, 1)
    except NotSupportedError:
        return False
    except RecursionError:
        raise ValueError("`event` and `other` must not be nested so deep.") from None
    if squares < other_squares * (1.0 - 1e-15):
        return False
    # Each of the other's steps needs one of ours that covers it; the weakest that does is taken.
    left = Counter(steps)
    for step, count in sorted(other_steps.items(), key=lambda item: _strength(item[0])):
        for ours in sorted(left, key=_strength, reverse=True):
            if count and ours.covers(step):
                taken = min(count, left[ours])
                left[ours] -= taken
                count -= taken
        if count:
            return False
    return True


def _strength(step: _Step) -> float:
    """Small for revealing steps; only an order of search."""
    return step.noise_multiplier / step.sampling_rate


def _flatten(event: dpa.DpEvent, count: int) -> tuple[float, Counter[_Step]]:
    """Σ 1/σ² of the unsampled Gaussians, and the sampled ones with multiplicity."""
    if isinstance(event, dpa.NoOpDpEvent):
        return 0.0, Counter()
    if isinstance(event, dpa.SelfComposedDpEvent):
        repeats = validate.count("count", event.count, minimum=0)
        return _flatten(event.event, validate.count("count", count * repeats, minimum=0))
    if isinstance(event, dpa.ComposedDpEvent):
        parts = [
            _flatten(validate.instance("events", inner, dpa.DpEvent), count)
            for inner in event.events
        ]
        merged: Counter[_Step] = Counter()
        for _, steps in parts:
            merged.update(steps)
        return math.fsum(squares for squares, _ in parts), merged
    if isinstance(event, dpa.PoissonSampledDpEvent):
        sigma = effective_noise_multiplier(event.event)
        sampling_rate = validate.rate("sampling_probability", event.sampling_probability)
        step = _Step(dpa.PoissonSampledDpEvent, sampling_rate, sigma)
        return 0.0, Counter({step: count})
    if isinstance(event, BallsInBinsDpEvent):
        sigma = effective_noise_multiplier(event.event)
        if event.steps_per_epoch == 1:
            return count / (sigma * sigma), Counter()
        step = _Step(BallsInBinsDpEvent, 1.0 / event.steps_per_epoch, sigma)
        return 0.0, Counter({step: count})
    if isinstance(event, dpa.SampledWithoutReplacementDpEvent):
        sigma = effective_noise_multiplier(event.event)
        size = validate.count("source_dataset_size", event.source_dataset_size)
        sampling_rate = validate.count("sample_size", event.sample_size, maximum=size) / size
        step = _Step(dpa.SampledWithoutReplacementDpEvent, sampling_rate, sigma)
        return 0.0, Counter({step: count})
    sigma = effective_noise_multiplier(event)
    if not 0.0 < sigma * sigma < math.inf:
        raise NotSupportedError("the noise's variance is no float")
    return count / (sigma * sigma), Counter()
