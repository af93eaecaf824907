r"""Events that are built from others, as elementary releases: samples, choices, guarantees.

`resolve` is `accountants.elementary.resolve` and more; every accountant asks it. What each event
means under which relation, and why its pair dominates:

* **A Poisson sample** of anything whose pair (P, Q) dominates for a record that is added: the pairs
  ((1−q)Q + qP, Q) and (Q, (1−q)Q + qP) dominate, and data realise them if they realise (P, Q) (Zhu,
  Dong, Wang 2022, Theorem 11). Zeroing a record is the same, a record that is not drawn being as
  good as zero. Under REPLACE_ONE the theorem says nothing. Of randomised response the event does
  not say whether a record that is not drawn is seen to be silent.
* **(ε, δ)**, a statement about the very relation that is asked for: with probability δ all is
  revealed, else the response ±ε (Kairouz, Oh, Viswanath 2015, Theorem 2: it dominates).
* **Bounded range**: see `BoundedRangeLaw`; what data realise are two candidates, for each t with
  losses t and t − ε. Which t costs most depends on the composition: a few are tried.
* **Permute-and-flip** is ε-DP (McKenna & Sheldon 2020, Theorem 1). Two candidates of equal score,
  of which a neighbour lowers one by Δ and raises the other: ½ against e^{−ε}/2.
* **The discrete Gaussian**: see `DiscreteGaussianLaw`. To replace moves the integer by 2Δ.
* **A tree** of N(0, σ²) on each node: a record is in one leaf, so in ⌈log₂(steps + 1)⌉ nodes at
  most, on each of which it is a Gaussian (Kairouz et al. 2021, appendix D). The record may not move
  others to other leaves: zero-out or replace-one.
* **Truncated Poisson sampling** keeps a uniform subset of B records of a larger sample. Let S be
  the sample of the other records. With |S| < B, whose chance 1 − τ does not depend on the record,
  it is an ordinary sample. With |S| ≥ B, let T be a uniform subset of S of B records and y uniform
  in T: the record joins with probability q′ = q·E[B/(|S|+1) | |S| ≥ B] = B·P(N > B)/(n·τ), N ~
  Bin(n, q), and takes y's place. T is uniform whatever |S| is. Given T and y, that moves the sum by
  at most 2C: a Poisson-sampled Gaussian at rate q′ and noise σ/2, or, under the other relations,
  where both sides take y's place, a batch of fixed size. By joint convexity it may be said which of
  the two it was, and T and y. As in dp-accounting, `dataset_size` is that of the larger data set.
  If all others are at 0, the sum is a Poisson sample at rate (1−τ)q + τq′: the explicit pair.
* **A batch drawn with replacement** has the record k ~ Bin(m, 1/n) times. Condition on what the
  others would be in all m places, and on the places. With p the chance of k > 0, for α ≥ 1,
  H_α ≤ Σ_k P(k)·H_{α′}(k-th pair), α′ = 1 + (α−1)/p, by joint convexity, and each term is largest
  for a move by 2k from the batch without the record, by the argument for Poisson sampling in
  `accountants.fourier.pairs` (see also Balle, Barthe, Gaboardi 2018, Theorem 10). The explicit pair
  has all others at −C. Only REPLACE_ONE: to add a record changes the chances of all others.
* **Repeat and select**, a sample of **zCDP**: bounds of Rényi divergences, see
  `accountants.repetition` and `accountants.renyi_divergence`.
"""

import math
from collections import Counter
from typing import Any

import dp_accounting as dpa
from dp_accounting import NeighboringRelation
from dp_accounting.dp_event import (
    DiscreteLaplaceDpEvent,
    RepeatAndSelectDpEvent,
    TruncatedSubsampledGaussianDpEvent,
)
from scipy import stats

from accountants import elementary, events, pure, releases, validate
from accountants.elementary import NotSupportedError
from accountants.releases import NonPrivate, NoOp, Resolution

__all__ = ["resolve"]

# Above the relative error of binomial probabilities, as the tests measure it.
_BINOMIAL = 1e-9
# More draws with replacement have more multiplicities than can be summed.
_MOST_DRAWS = 10**5
# Pure ε beyond which likelihood ratios leave the doubles.
_LARGEST_EPSILON = 1e100
_LEAST_EPSILON = 1e-100
_LARGE_EPSILON = 500.0
# Noise of more than this ε is not sampled: likelihood ratios leave the doubles.
_LARGEST_SAMPLED = 1e4
# Places t/ε of two candidates' losses t and t − ε; 1 − t/ε is the other direction.
_SHARES = (0.5, 0.58, 0.67, 0.8, 0.95)
# Chances of a truncation that no δ sees.
_RAREST = 1e-300
# A distance in standard deviations beyond which no divergence is a double.
_MOST_DISTANT = 1e100
_NOT_GAUSSIAN = (
    dpa.LaplaceDpEvent,
    dpa.ZCDpEvent,
    DiscreteLaplaceDpEvent,
    events.DiscreteGaussianDpEvent,
    events.EpsilonDeltaDpEvent,
    events.ExponentialMechanismDpEvent,
    events.PermuteAndFlipDpEvent,
)


def resolve(event: dpa.DpEvent, relation: NeighboringRelation) -> Resolution:
    """The release of one uncomposed event under one relation.

    Raises:
      NotSupportedError: No proof is known; the message is the reason.
      ValueError, TypeError: A parameter of the event is impossible.
    """
    if isinstance(event, dpa.PoissonSampledDpEvent):
        return _poisson(event, relation)
    if isinstance(event, events.EpsilonDeltaDpEvent):
        return _epsilon_delta(event)
    if isinstance(event, events.ExponentialMechanismDpEvent):
        return _bounded_range(_checked(event.epsilon))
    if isinstance(event, events.PermuteAndFlipDpEvent):
        return _permute_and_flip(_checked(event.epsilon))
    if isinstance(event, events.DiscreteGaussianDpEvent):
        return _discrete_gaussian(event, relation)
    if isinstance(event, dpa.SingleEpochTreeAggregationDpEvent):
        return _tree(event, relation)
    if isinstance(event, TruncatedSubsampledGaussianDpEvent):
        return _truncated(event, relation)
    if isinstance(event, dpa.SampledWithReplacementDpEvent):
        return _with_replacement(event, relation)
    if isinstance(event, RepeatAndSelectDpEvent):
        return _repeat_and_select(event, relation)
    return elementary.resolve(event, relation)


def _checked(value: Any) -> float:
    epsilon = validate.non_negative("epsilon", value)
    if epsilon and not _LEAST_EPSILON <= epsilon <= _LARGEST_EPSILON:
        raise validate.refusal(
            "epsilon", f"0 or in [{_LEAST_EPSILON:g}, {_LARGEST_EPSILON:g}]", value
        )
    return epsilon


def _epsilon_delta(event: events.EpsilonDeltaDpEvent) -> Resolution:
    """One of the two parts; `IntervalAccountant` takes an event that has both apart."""
    epsilon, delta = _checked(event.epsilon), validate.closed_unit("delta", event.delta)
    if delta == 1.0:
        return NonPrivate
    if delta:
        return releases.Revealed(delta)
    return releases.PureResponse(epsilon) if epsilon else NoOp


def _bounded_range(epsilon: float) -> Resolution:
    if not epsilon:
        return NoOp
    pairs, whole = [], epsilon
    epsilon *= 1.0 - 1e-14  # Not a rounding more than the range that is allowed.
    for share in _SHARES:
        yes, no = share * epsilon, (share - 1.0) * epsilon
        # (e^ε − e^t)/(e^ε − 1) and its complement, (e^t − 1)/(e^ε − 1).
        log_yes = math.log(-math.expm1(no)) - math.log(-math.expm1(-epsilon))
        log_no = math.log(-math.expm1(-yes)) - math.log(-math.expm1(-epsilon)) + no
        pairs.append(releases.TwoOutcomes(yes, no, log_yes, log_no))
    # Of so large a range nothing is gained over pure ε.
    above = releases.BoundedRange if whole <= _LARGE_EPSILON else releases.PureResponse
    return releases.Between(above(whole), tuple(pairs))


def _permute_and_flip(epsilon: float) -> Resolution:
    if not epsilon:
        return NoOp
    half = -math.log(2.0)
    unlikely = -math.log1p(-math.expm1(-epsilon))  # ½ against 1 − e^{−ε}/2.
    explicit = releases.TwoOutcomes(epsilon, unlikely, half, half)
    return releases.Between(releases.PureResponse(epsilon), (explicit,))


def _discrete_gaussian(
    event: events.DiscreteGaussianDpEvent, relation: NeighboringRelation
) -> Resolution:
    deviation = validate.non_negative("standard_deviation", event.standard_deviation)
    sensitivity = validate.count("sensitivity", event.sensitivity)
    if deviation == 0.0:
        return NonPrivate
    sensitivity *= elementary.sensitivity_factor(relation)
    if not 1e-2 <= deviation / sensitivity <= _MOST_DISTANT or deviation < 1e-2:
        raise NotSupportedError(
            "a discrete Gaussian of less noise than a hundredth, or than a hundredth of its "
            f"sensitivity, is not accounted for, got {deviation!r} and {sensitivity}"
        )
    return releases.DiscreteGaussian(deviation, sensitivity)


def _tree(
    event: dpa.SingleEpochTreeAggregationDpEvent, relation: NeighboringRelation
) -> Resolution:
    if relation is NeighboringRelation.ADD_OR_REMOVE_ONE:
        raise NotSupportedError(
            "a tree is accounted for where the records keep their steps: a record that is added "
            "or removed may move all others; use REPLACE_SPECIAL or REPLACE_ONE"
        )
    counts = event.step_counts
    if not isinstance(counts, list | tuple):
        counts = [counts]
    steps = validate.sequence(
        "step_counts", counts, lambda n, v: validate.count(n, v, minimum=0), least=1
    )
    gaussian = elementary.resolve(dpa.GaussianDpEvent(event.noise_multiplier), relation)
    depth = max(steps).bit_length()  # ⌈log₂(n + 1)⌉
    if not depth or not isinstance(gaussian, releases.Gaussian):
        return gaussian if depth else NoOp
    return releases.Gaussian(gaussian.mu * math.sqrt(depth))


def _poisson(event: dpa.PoissonSampledDpEvent, relation: NeighboringRelation) -> Resolution:
    """Of other noise than Gaussian; the rest is for `elementary`."""
    rate = validate.closed_unit("sampling_probability", event.sampling_probability)
    inner = event.event
    while isinstance(inner, dpa.PoissonSampledDpEvent):  # A sample of a sample is a sample.
        rate *= validate.closed_unit("sampling_probability", inner.sampling_probability)
        inner = inner.event
    if not isinstance(inner, _NOT_GAUSSIAN):
        return elementary.resolve(event, relation)
    if isinstance(inner, events.EpsilonDeltaDpEvent) and inner.delta:
        raise NotSupportedError("sampling around (epsilon, delta) is accounted for at delta = 0")
    found = resolve(inner, relation)
    if rate == 0.0 or found is NoOp:
        return NoOp
    if found is NonPrivate or rate == 1.0:
        return found
    assert not isinstance(found, type)
    if rate < elementary.SMALLEST_RATE:
        raise NotSupportedError(
            f"sampling at a rate below {elementary.SMALLEST_RATE:g} is not accounted for, got "
            f"{rate!r}"
        )
    if relation is NeighboringRelation.REPLACE_ONE:
        raise NotSupportedError(
            "Poisson sampling under REPLACE_ONE is accounted for around Gaussians only: for other "
            f"noise no dominating pair is known; found {type(inner).__name__}"
        )
    epsilon = pure.largest_loss(found)
    if _LARGEST_SAMPLED < epsilon < math.inf:
        raise NotSupportedError(
            f"sampling around noise of pure epsilon above {_LARGEST_SAMPLED:g} is not accounted "
            f"for, got {epsilon!r}"
        )
    if isinstance(found, releases.ZeroConcentrated):
        return releases.SampledZeroConcentrated(rate, found.rho, found.xi)
    if isinstance(found, releases.Between):
        below = tuple(releases.Sampled(rate, pair) for pair in found.below)
        return releases.Between(releases.Sampled(rate, found.above), below)
    return releases.Sampled(rate, found)


def _truncated(
    event: TruncatedSubsampledGaussianDpEvent, relation: NeighboringRelation
) -> Resolution:
    size = validate.count("dataset_size", event.dataset_size, minimum=0)
    most = validate.count("truncated_batch_size", event.truncated_batch_size, minimum=0)
    rate = validate.closed_unit("sampling_probability", event.sampling_probability)
    gaussian = dpa.GaussianDpEvent(event.noise_multiplier)
    plain = _resolve_gaussian_sample(rate, gaussian, relation)
    if not size or not most:
        return NoOp
    if isinstance(plain, type) or most >= size:
        return plain
    truncates = float(stats.binom.sf(most - 1, size - 1, rate))
    whole = float(stats.binom.cdf(most - 1, size - 1, rate))
    # The chance of both a truncation and the record's being in: q′·τ.
    both = float(stats.binom.sf(most, size, rate)) * most / size
    truncates, up = max(truncates, _RAREST), 1.0 + _BINOMIAL
    joins = rate if truncates == _RAREST else min(both / truncates * up**3, rate)
    explicit = _resolve_gaussian_sample((whole * rate + both) / up**2, gaussian, relation)
    if isinstance(explicit, type) or joins < elementary.SMALLEST_RATE:
        raise NotSupportedError(f"a sample at so low a rate is not accounted for, got {rate!r}")
    noise = float(event.noise_multiplier)
    if relation is NeighboringRelation.ADD_OR_REMOVE_ONE:
        cut: releases.Elementary = releases.PoissonGaussian(joins, 0.5 * noise)
    else:
        cut = releases.FixedSizeGaussian(joins, noise)
    parts = [(min(1.0, whole * up), plain), (min(1.0, truncates * up), cut)]
    chances, found = zip(*((chance, part) for chance, part in parts if chance), strict=True)
    above = releases.Labelled(chances, found) if len(found) > 1 else found[0]
    return releases.Between(above, (explicit,))


def _resolve_gaussian_sample(
    rate: float, gaussian: dpa.GaussianDpEvent, relation: NeighboringRelation
) -> Resolution:
    return elementary.resolve(dpa.PoissonSampledDpEvent(rate, gaussian), relation)


def _with_replacement(
    event: dpa.SampledWithReplacementDpEvent, relation: NeighboringRelation
) -> Resolution:
    if relation is not NeighboringRelation.REPLACE_ONE:
        raise NotSupportedError(
            "a batch with replacement is accounted for under REPLACE_ONE only: adding or removing "
            f"a record changes the chances of all others; the relation is {relation.name}"
        )
    size = validate.count("source_dataset_size", event.source_dataset_size)
    draws = validate.count("sample_size", event.sample_size, minimum=0)
    noise = elementary.effective_noise_multiplier(event.event)
    if not draws or math.isinf(noise):
        return NoOp
    if noise == 0.0:
        return NonPrivate
    if size == 1:
        return releases.Gaussian(2.0 * draws / noise)
    if draws > _MOST_DRAWS:
        raise NotSupportedError(
            f"more than {_MOST_DRAWS} draws with replacement are not accounted for, got {draws}"
        )
    chances = stats.binom.pmf(range(draws + 1), draws, 1.0 / size)
    some = -math.expm1(draws * math.log1p(-1.0 / size))
    times = [k for k in range(1, draws + 1) if chances[k] > 0.0]
    up = 1.0 + _BINOMIAL
    above = releases.FixedSizeGroups(
        min(some * up, 1.0 - 2.0**-53),
        tuple(float(chances[k]) / some * up for k in times),
        tuple(2.0 * k / noise for k in times),
    )
    # Rounded down, the rest of the probability at no move.
    seen = [k for k in times if chances[k] > 1e-30]
    weights = [float(chances[k]) / up for k in seen]
    below: releases.Elementary = releases.MixtureOfGaussians(
        noise, (0.0, *(2.0 * k for k in seen)), (1.0 - math.fsum(weights), *weights)
    )
    if len(seen) == 1:
        below = releases.PoissonGaussian(weights[0], noise / (2.0 * seen[0]))
    return releases.Between(above, (below,))


def _repeat_and_select(event: RepeatAndSelectDpEvent, relation: NeighboringRelation) -> Resolution:
    mean, shape = event.mean, event.shape
    if not (isinstance(shape, float) and shape == math.inf):
        shape = validate.non_negative("shape", shape)
    mean = validate.real("mean", mean)
    if mean < 1.0:
        raise validate.refusal("mean", "at least 1", event.mean)
    found: Counter[releases.Elementary] = Counter()
    waiting = [(event.event, 1)]
    while waiting:
        inner, times = waiting.pop()
        if isinstance(inner, dpa.SelfComposedDpEvent):
            repeats = validate.count("count", inner.count, minimum=0)
            waiting.append((inner.event, times * repeats))
        elif isinstance(inner, dpa.ComposedDpEvent):
            waiting.extend((part, times) for part in reversed(inner.events))
        elif times:
            release = resolve(inner, relation)
            if release is NonPrivate:
                return NonPrivate
            if not isinstance(release, type):
                found[release] += times
    return releases.RepeatAndSelect(tuple(found.items()), mean, shape) if found else NoOp
