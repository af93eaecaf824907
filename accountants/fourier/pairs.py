r"""From elementary releases to loss laws: which pair of distributions stands for which release.

Every release has two ordered directions; for each there is a *dominating* pair, whose profile δ(ε)
is at least that of any neighbouring data sets, composed or not (Zhu, Dong, Wang 2022, Theorem 10),
and an *explicit* pair, realised by data, whose profile is a lower bound. Where they coincide the
accounting is tight. `pair_laws` knows the dominating pairs, `explicit_pair` the others; no other
module decides either.

**Users of k records, Poisson sampling.** All k are added or removed, zeroed, or replaced. The pair
is Σ_j b_j·N(j) against N(0) or, replaced, against Σ_j b_j·N(−j), with b = Binomial(k, q); k = 1 is
the usual pair. Proof, for all k and both relations at once. By joint convexity of the hockey-stick
divergence condition on what was answered before and on what the other records do; they shift both
laws alike, so let P = Σ_S w_S·N(x_S), Q = Σ_S w_S·N(x'_S) over the sets S of the user's records,
x_S = Σ_{i∈S} xᵢ, |xᵢ|, |x'ᵢ| ≤ 1, with x' = 0 if added, removed or zeroed; all of variance σ². With
Λ_S, Λ'_S the log ratios of N(x_S), N(x'_S) to N(0),

    H_α(P‖Q) = E_{N(0)}[f(Σ_S w_S·e^{Λ_S} − α·Σ_S w_S·e^{Λ'_S})],   f(x) = max(x, 0).

Under N(0) all Λ are jointly Gaussian with covariances ⟨x_S, x_R⟩/σ², ⟨x'_S, x'_R⟩/σ², ⟨x_S,
x'_R⟩/σ², and means minus half the variances. By Gaussian interpolation (Kahane 1986) the
expectation grows with a covariance if the second derivative of the integrand in these two e^Λ is
non-negative, and falls if it is non-positive. As f is convex, it is non-negative for two of P or
two of Q, and non-positive for one of each. So the worst case has ⟨x_S, x_R⟩ = ⟨x'_S, x'_R⟩ = |S||R|
and ⟨x_S, x'_R⟩ = −|S||R|, the extremes that vectors of length at most |S|, |R| allow, all at once:
xᵢ = e, x'ᵢ = −e. It is realised by data, and for every α, so it is a dominating pair and a lower
bound. ∎ (Ganesh 2024 has the pair that is added or removed.)

**A batch of fixed size** under REPLACE_ONE: see `SymmetrisedLaw` for the upper bound (Zhu, Dong,
Wang 2022); the explicit pair has all other records at −C, so that the record's swap from −C to +C
turns N(0) into (1−q)N(0) + qN(2/σ): the Poisson pair at noise multiplier σ/2. The two differ:
neither is the truth, which `accountants.fourier.fixed_size` encloses.

**Users of k records, batches of fixed size**, all k replaced. Draw a batch of others, and let the
first j of them, in random order, make place for the first j of the user's records, in random order,
j hypergeometric: that is the law of a batch. Given all but j, P = Σ_j b_j·N(u_j), Q = Σ_j
b_j·N(v_j), u_j and v_j sums of j differences of two records, of length at most 2j. By the argument
above the pair Σ_j b_j·N(2j) against Σ_j b_j·N(−2j) dominates: double mixtures at half the noise. It
is not attained; data have the same single mixture (others at −C) and double mixtures at the noise
itself (others at 0).

**Balls in bins**: see `accountants.fourier.allocation`; the pair is realised by data (others at 0),
but its law is computed from above and from below.

**Shuffled batches**: see `accountants.fourier.shuffling`; a plain Gaussian dominates, and two pairs
are realised.

**A mixture of Gaussians** costs more if any of its sensitivities grows. Under N(0), the log ratios
Λᵢ of N(cᵢ) to N(0) are Gaussian with covariances cᵢcⱼ/σ², and both (Σpᵢe^{Λᵢ} − α)₊ and (1 −
α·Σpᵢe^{Λᵢ})₊ are convex functions of the e^{Λᵢ} with second derivatives ≥ 0: the same argument. So
what a grid cannot hold, a sensitivity of very many standard deviations or very many components, is
bracketed by rounding sensitivities up and down (`bracket`).
"""

import bisect
import math
from dataclasses import replace
from typing import TypeAlias

from scipy import special

from accountants import elementary, groups, releases
from accountants.fourier import allocation, shuffling
from accountants.fourier.grid.laws.bounded_range import BoundedRangeLaw
from accountants.fourier.grid.laws.derived import MixedLaw, SampledLaw
from accountants.fourier.grid.laws.discrete import AtomicLaw, SymmetrisedLaw
from accountants.fourier.grid.laws.discrete_gaussian import MOST_NOISE, DiscreteGaussianLaw
from accountants.fourier.grid.laws.gaussian import GaussianMixtureLaw, Kind
from accountants.fourier.grid.laws.laplace import DiscreteLaplaceLaw, LaplaceLaw
from accountants.fourier.grid.laws.law import LossLaw

__all__ = [
    "CHOICES",
    "PairLaws",
    "bracket",
    "composed_laws",
    "dominating_pair",
    "explicit_pair",
    "pair_laws",
    "unheld",
]

PairLaws: TypeAlias = tuple[LossLaw, LossLaw]
"""The loss laws of a pair: first with P the law of the data that has the record, then reversed.

Under composition all releases are taken in the same direction; the answer is the larger of the two.
"""
# What a grid can hold: a shift in standard deviations, components, a discrete sensitivity. A law
# has as many points as the square of its shift: a million at 512, which takes a minute.
_STEEPEST = 256.0
_MOST_COMPONENTS = 128
_MOST_SENSITIVE = 2**48
# Chances that no δ sees.
_RAREST = 1e-60
# With less noise, likelihood ratios of an epoch leave the range of doubles.
_LEAST_ALLOCATED_NOISE = 0.05
CHOICES = 5
"""How many explicit pairs a release has at most."""


def dominating_pair(release: releases.Elementary) -> releases.Elementary:
    """The release whose pair dominates: `release` itself where it names one.

    >>> dominating_pair(releases.ShuffledGaussian(10, 2.0, 1.0, replaced=True))
    Gaussian(mu=1.0)
    """
    if isinstance(release, releases.Between):
        return dominating_pair(release.above)
    if isinstance(release, releases.FixedSizeGroupGaussian):
        return _fixed_size_group(release, 0.5, replaced=True)
    if isinstance(release, releases.ShuffledGaussian):
        return releases.Gaussian((2.0 if release.replaced else 1.0) / release.noise_multiplier)
    return release


def explicit_pair(release: releases.Elementary, choice: int = 0) -> releases.Elementary:
    """The release whose pair is realised by data sets: `release` itself where its pair is.

    Where several are known, `choice` picks one; each is a lower bound.

    For a batch of fixed size all other records are at −C, and the one moves from −C to +C: the
    pair of Poisson sampling at half the noise multiplier (see the module's docstring).

    >>> explicit_pair(releases.FixedSizeGaussian(0.1, 2.0))
    PoissonGaussian(sampling_rate=0.1, noise_multiplier=1.0)
    """
    if isinstance(release, releases.FixedSizeGaussian):
        return releases.PoissonGaussian(release.sampling_rate, 0.5 * release.noise_multiplier)
    if isinstance(release, releases.AllocatedGaussian):
        return replace(release, from_below=True)
    if isinstance(release, releases.FixedSizeGroupGaussian):
        # All others at −C, or all at 0.
        if choice == 1:
            return _fixed_size_group(release, 1.0, replaced=True)
        return _fixed_size_group(release, 0.5, replaced=False)
    if isinstance(release, releases.ShuffledGaussian):
        steps, noise, share = release.steps, release.noise_multiplier, release.share
        if choice == 1 and not release.replaced:
            return releases.LargestOfShuffled(steps, noise, share)
        if release.replaced:
            noise *= 0.5
        return releases.AllocatedGaussian(steps, noise, from_below=True, share=share)
    if isinstance(release, releases.Between):
        return release.below[min(choice, len(release.below) - 1)]
    return release


def _fixed_size_group(
    release: releases.FixedSizeGroupGaussian, scale: float, *, replaced: bool
) -> releases.GroupGaussian:
    noise, population = scale * release.noise_multiplier, release.population
    return releases.GroupGaussian(
        release.records, release.sampling_rate, noise, replaced, population
    )


def unheld(release: releases.Resolution) -> str | None:
    """Why no grid holds a release, not even one that brackets it; None if one does."""
    if isinstance(release, releases.Between):
        return unheld(release.above)
    if isinstance(release, releases.Sampled):
        return unheld(release.release)
    if isinstance(release, releases.DiscreteGaussian) and release.standard_deviation > MOST_NOISE:
        return (
            f"a discrete Gaussian of parameter above {MOST_NOISE:g} has more atoms than a grid "
            f"holds, got {release.standard_deviation!r}; RenyiAccountant accounts for it"
        )
    return None


def bracket(
    release: releases.Elementary,
) -> tuple[releases.Elementary | None, releases.Elementary]:
    """Releases that a grid can hold: one that dominates `release` (None: none), one dominated.

    Both are `release` itself if a grid can hold it. Less noise costs more, whatever the sampling.

    >>> bracket(releases.PoissonGaussian(0.1, 0.0001))
    (None, PoissonGaussian(sampling_rate=0.1, noise_multiplier=0.00390625))
    """
    if isinstance(release, releases.Gaussian) and release.mu > _STEEPEST:
        return None, releases.Gaussian(_STEEPEST)
    if isinstance(release, releases.DiscreteLaplace) and release.sensitivity > _MOST_SENSITIVE:
        return None, replace(release, sensitivity=_MOST_SENSITIVE)
    if isinstance(
        release,
        releases.PoissonGaussian
        | releases.PoissonGaussianReplace
        | releases.FixedSizeGaussian
        | releases.LargestOfShuffled,
    ):
        width = 2.0 if isinstance(release, releases.FixedSizeGaussian) else 1.0
        if release.noise_multiplier < width / _STEEPEST:
            return None, replace(release, noise_multiplier=width / _STEEPEST)
    if isinstance(release, releases.GroupGaussian):
        least = release.reach / _STEEPEST
        if release.noise_multiplier < least:
            return None, replace(release, noise_multiplier=least)
    if isinstance(release, releases.AllocatedGaussian):
        if release.noise_multiplier < _LEAST_ALLOCATED_NOISE:
            # Who knows the record's step sees a plain Gaussian.
            revealed = releases.Gaussian(1.0 / release.noise_multiplier)
            return revealed, replace(release, noise_multiplier=_LEAST_ALLOCATED_NOISE)
        return release, release
    if isinstance(release, releases.MixtureOfGaussians):
        return _mixture_bracket(release)
    if isinstance(release, releases.Between):
        return bracket(release.above)
    if isinstance(release, releases.Sampled):
        above, below = bracket(release.release)
        return above and replace(release, release=above), replace(release, release=below)
    if isinstance(release, releases.Labelled):
        return _labelled_bracket(release)
    return release, release


def _labelled_bracket(
    release: releases.Labelled,
) -> tuple[releases.Elementary | None, releases.Elementary]:
    pairs = [bracket(part) for part in release.releases]
    above = tuple(high for high, _ in pairs if high is not None)
    below = replace(release, releases=tuple(low for _, low in pairs))
    return replace(release, releases=above) if len(above) == len(pairs) else None, below


def _mixture_bracket(
    release: releases.MixtureOfGaussians,
) -> tuple[releases.Elementary | None, releases.Elementary]:
    sensitivities = release.sensitivities
    most = _STEEPEST * release.standard_deviation
    if max(sensitivities) > most:
        below = replace(release, sensitivities=tuple(min(c, most) for c in sensitivities))
        return None, _mixture_bracket(below)[1]
    if len(set(sensitivities)) <= _MOST_COMPONENTS:
        return release, release
    # The sensitivities that are kept divide all of them into parts of about equal number.
    distinct = sorted(set(sensitivities))
    kept = [distinct[0], *distinct[:: -(-len(distinct) // (_MOST_COMPONENTS - 2))], distinct[-1]]
    up = tuple(kept[bisect.bisect_left(kept, c)] for c in sensitivities)
    down = tuple(kept[bisect.bisect_right(kept, c) - 1] for c in sensitivities)
    return replace(release, sensitivities=up), replace(release, sensitivities=down)


def _sampled(sampling_rate: float, shift: float, kind: Kind) -> GaussianMixtureLaw:
    """The law for weights (1−q, q) at shifts (0, m); a rate of 1 is no mixture."""
    if sampling_rate == 1.0:
        # REPLACE at rate 1 is N(m) against N(−m).
        width = 2.0 * shift if kind is Kind.REPLACE else shift
        return GaussianMixtureLaw(Kind.REMOVE, (1.0,), (width,))
    return GaussianMixtureLaw(kind, (1.0 - sampling_rate, sampling_rate), (0.0, shift))


def _group(release: releases.GroupGaussian) -> PairLaws:
    weights = groups.counts(release.records, release.sampling_rate, release.population)
    shifts = tuple(j / release.noise_multiplier for j in range(release.records + 1))
    kinds = (Kind.REPLACE, Kind.REPLACE) if release.replaced else (Kind.REMOVE, Kind.ADD)
    with_records, without = (GaussianMixtureLaw(kind, weights, shifts) for kind in kinds)
    return with_records, without


def _mixture(release: releases.MixtureOfGaussians) -> PairLaws:
    merged: dict[float, float] = {}
    for sensitivity, probability in zip(release.sensitivities, release.probabilities, strict=True):
        if probability > 0.0:
            shift = sensitivity / release.standard_deviation
            merged[shift] = merged.get(shift, 0.0) + probability
    shifts = tuple(sorted(merged))
    weights = tuple(merged[shift] for shift in shifts)
    kinds = (Kind.REMOVE, Kind.REMOVE) if len(shifts) == 1 else (Kind.REMOVE, Kind.ADD)
    with_record, without = (GaussianMixtureLaw(kind, weights, shifts) for kind in kinds)
    return with_record, without


def _randomized_response(release: releases.RandomizedResponse) -> PairLaws:
    noise, buckets = release.noise_parameter, release.num_buckets
    other = noise / buckets
    same = (1.0 - noise) + other
    if not release.special:
        # One bucket's response against another's: symmetric, with buckets − 2 indifferent ones.
        step = math.log1p(buckets * (1.0 - noise) / noise)
        law = AtomicLaw((-step, 0.0, step), (other, (buckets - 2) * other, same), (0.0, step))
        return law, law
    # Against the uniform response; log(p) is negative, log(1 + (k−1)(1−p)) positive.
    low, high = math.log(noise), math.log1p((buckets - 1) * (1.0 - noise))
    has = AtomicLaw((low, high), ((buckets - 1) * other, same), (low, high - low))
    has_not = AtomicLaw(
        (-high, -low), (1.0 / buckets, (buckets - 1) / buckets), (-high, high - low)
    )
    return has, has_not


def _fixed_size_groups(release: releases.FixedSizeGroups) -> PairLaws:
    """The Gaussians' choice, sampled, and symmetrised: see the module's docstring.

    Choices that are too rare to be told from none, or beyond any grid, count as giving all away.
    The Gaussian pair has mirror images and no atom at 0: P(L > 0) = 1 − Q(L > 0), so that the atom
    at 0 is 1 − q − 2(1 − q)·Q(L > 0), with Q(L > 0) = (1 − erf(μ/√8))/2 for each Gaussian.
    """
    kept, agree, revealed = [], 0.0, 0.0
    for weight, mu in zip(release.probabilities, release.mus, strict=True):
        if weight < _RAREST or mu > _STEEPEST:
            revealed += weight * (1.0 + 1e-15)
        else:
            kept.append((weight, GaussianMixtureLaw(Kind.REMOVE, (1.0,), (mu,))))
        agree += weight * math.erf(mu / math.sqrt(8.0))
    choice = MixedLaw(tuple(law for _, law in kept), tuple(w for w, _ in kept), revealed)
    sampled = SampledLaw(choice, choice, release.sampling_rate, removes=True)
    law = SymmetrisedLaw(sampled, (1.0 - release.sampling_rate) * agree)
    return law, law


def _labelled(release: releases.Labelled) -> PairLaws:
    laws = [pair_laws(part) for part in release.releases]
    first, second = (
        MixedLaw(tuple(pair[index] for pair in laws), release.probabilities) for index in (0, 1)
    )
    return first, second


def composed_laws(
    release: releases.Elementary, count: int, *, coarse: bool = False
) -> tuple[PairLaws, int]:
    """Loss laws of `count` releases, and how often they are still to be composed.

    `coarse`: a percent is near enough.
    """
    if isinstance(release, releases.AllocatedGaussian):
        steps, noise = release.steps, release.noise_multiplier
        nodes = allocation.COARSE if coarse else allocation.NODES
        if release.from_below:
            return allocation.laws_from_below(steps, noise, count, release.share, nodes), 1
        return allocation.laws_from_above(steps, noise, count, nodes), 1
    return pair_laws(release), count


def pair_laws(release: releases.Elementary) -> PairLaws:
    """The loss laws of a release's dominating pair, in both directions.

    Raises:
      elementary.NotSupportedError: The release has no pair of distributions.
    """
    if isinstance(release, releases.Gaussian):
        law = GaussianMixtureLaw(Kind.REMOVE, (1.0,), (release.mu,))
        return law, law
    if isinstance(release, releases.PoissonGaussian):
        rate, shift = release.sampling_rate, 1.0 / release.noise_multiplier
        return _sampled(rate, shift, Kind.REMOVE), _sampled(rate, shift, Kind.ADD)
    if isinstance(release, releases.PoissonGaussianReplace):
        law = _sampled(release.sampling_rate, 1.0 / release.noise_multiplier, Kind.REPLACE)
        return law, law
    if isinstance(release, releases.GroupGaussian):
        return _group(release)
    if isinstance(release, releases.FixedSizeGaussian):
        rate, shift = release.sampling_rate, 2.0 / release.noise_multiplier
        remove = _sampled(rate, shift, Kind.REMOVE)
        agree = (1.0 - rate) * math.erf(shift / math.sqrt(8.0))
        symmetric: LossLaw = remove if rate == 1.0 else SymmetrisedLaw(remove, agree)
        return symmetric, symmetric
    if isinstance(release, releases.AllocatedGaussian):
        return composed_laws(release, 1)[0]
    if isinstance(release, releases.ShuffledGaussian | releases.FixedSizeGroupGaussian):
        return pair_laws(dominating_pair(release))
    if isinstance(release, releases.LargestOfShuffled):
        return shuffling.largest_laws(release.steps, release.noise_multiplier, release.share)
    if isinstance(release, releases.Laplace):
        laplace = LaplaceLaw(release.scale)
        return laplace, laplace
    if isinstance(release, releases.DiscreteLaplace):
        discrete = DiscreteLaplaceLaw(release.noise_parameter, release.sensitivity)
        return discrete, discrete
    if isinstance(release, releases.RandomizedResponse):
        return _randomized_response(release)
    if isinstance(release, releases.MixtureOfGaussians):
        return _mixture(release)
    return _derived_laws(release)


def _rounded_down(log_mass: float) -> float:
    """A mass below that of a logarithm that is off by few roundings: for explicit pairs only."""
    return math.exp(log_mass - 1e-14 * (1.0 + abs(log_mass)))


def _derived_laws(release: releases.Elementary) -> PairLaws:
    """`pair_laws` of `accountants.releases`."""
    match release:
        case releases.Between(above, _):
            return pair_laws(above)
        case releases.PureResponse(epsilon):
            low, high = float(special.expit(-epsilon)), float(special.expit(epsilon))
            law: LossLaw = AtomicLaw((-epsilon, epsilon), (low, high), (epsilon, 2.0 * epsilon))
            return law, law
        case releases.TwoOutcomes(yes, no, log_yes, log_no):
            p = _rounded_down(log_no), _rounded_down(log_yes)
            q = _rounded_down(log_yes - yes), _rounded_down(log_no - no)
            forward = AtomicLaw((no, yes), p, (yes, yes - no))
            return forward, AtomicLaw((-yes, -no), q, (-no, yes - no))
        case releases.BoundedRange(epsilon):
            law = BoundedRangeLaw(epsilon)
            return law, law
        case releases.DiscreteGaussian(deviation, sensitivity):
            law = DiscreteGaussianLaw(deviation, sensitivity)
            return law, law
        case releases.Sampled(rate, inner):
            pair = pair_laws(inner)
            return SampledLaw(*pair, rate, removes=True), SampledLaw(*pair, rate, removes=False)
        case releases.Labelled():
            return _labelled(release)
        case releases.FixedSizeGroups():
            return _fixed_size_groups(release)
    raise elementary.NotSupportedError(
        "zero-concentrated DP and repeat-and-select bound Rényi divergences; they name no pair of "
        "distributions whose privacy loss could be composed"
    )
