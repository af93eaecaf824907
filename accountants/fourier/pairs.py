r"""From elementary releases to loss laws: which pair of distributions stands for which release.

Every release has two ordered directions; for each there is a *dominating* pair, whose profile δ(ε)
is at least that of any neighbouring data sets, composed or not (Zhu, Dong, Wang 2022, Theorem 10),
and an *explicit* pair, realised by data, whose profile is a lower bound. Where they coincide the
accounting is tight. `pair_laws` knows the dominating pairs, `explicit_pair` the others; no other
module decides either.

**Poisson sampling under REPLACE_ONE** is tight with the pair P = (1−q)N(0) + qN(−1), Q = (1−q)N(0)
+ qN(+1). Proof. By joint convexity of H_α condition on what the other records do; they shift both
laws alike, so let P = (1−q)N₀ + qN_x, Q = (1−q)N₀ + qN_{x'} with |x|, |x'| ≤ 1, all of variance
σ². For α ≥ 1, with Λ₀, Λ' the log ratios of N₀ and N_{x'} to N_x,

    H_α(P‖Q) = ∫(P − αQ)₊ = q·E_{N_x}[(1 − c₁e^{Λ₀} − c₂e^{Λ'})₊],   c₁ = (α−1)(1−q)/q,  c₂ = α.

Under N_x, (Λ₀, Λ') is Gaussian with covariance matrix [[|x|², ⟨x, x−x'⟩], [·, |x−x'|²]]/σ² and
means minus half the variances. The integrand is a convex function of (e^{Λ₀}, e^{Λ'}) whose second
derivatives are cᵢcⱼ times a positive measure on a line, all non-negative; so by Gaussian
interpolation (Kahane 1986) the expectation increases in every entry of that matrix. All entries
are largest at |x| = 1, x' = −x. For α < 1 use H_α(P‖Q) = 1 − α + α·H_{1/α}(Q‖P). The pair is
realised by data sets that differ in one record, so it is a lower bound as well. ∎

**A batch of fixed size** under REPLACE_ONE: see `SymmetrisedLaw` for the upper bound (Zhu, Dong,
Wang 2022); the explicit pair has all other records at −C, so that the record's swap from −C to +C
turns N(0) into (1−q)N(0) + qN(2/σ): the Poisson pair at noise multiplier σ/2. The two differ: the
theory gap is real.
"""

import math
from typing import TypeAlias

from accountants import elementary
from accountants.fourier.grid.laws.discrete import AtomicLaw, LaplaceLaw, SymmetrisedLaw
from accountants.fourier.grid.laws.gaussian import GaussianMixtureLaw, Kind
from accountants.fourier.grid.laws.law import LossLaw

__all__ = ["PairLaws", "explicit_pair", "pair_laws"]

PairLaws: TypeAlias = tuple[LossLaw, LossLaw]
"""The loss laws of a pair: first with P the law of the data that has the record, then reversed.

Under composition all releases are taken in the same direction; the answer is the larger of the two.
"""
_MOST_ATOMS = 2**20


def explicit_pair(release: elementary.Elementary) -> elementary.Elementary:
    """The release whose pair is realised by data sets: `release` itself where its pair is.

    For a batch of fixed size all other records are at −C, and the one moves from −C to +C: the
    pair of Poisson sampling at half the noise multiplier (see the module's docstring).

    >>> explicit_pair(elementary.FixedSizeGaussian(0.1, 2.0))
    PoissonGaussian(sampling_rate=0.1, noise_multiplier=1.0)
    """
    if isinstance(release, elementary.FixedSizeGaussian):
        return elementary.PoissonGaussian(release.sampling_rate, 0.5 * release.noise_multiplier)
    return release


def _sampled(sampling_rate: float, shift: float, kind: Kind) -> GaussianMixtureLaw:
    """The law for weights (1−q, q) at shifts (0, m); a rate of 1 is no mixture."""
    if sampling_rate == 1.0:
        # REPLACE at rate 1 is N(m) against N(−m).
        width = 2.0 * shift if kind is Kind.REPLACE else shift
        return GaussianMixtureLaw(Kind.REMOVE, (1.0,), (width,))
    return GaussianMixtureLaw(kind, (1.0 - sampling_rate, sampling_rate), (0.0, shift))


def _mixture(release: elementary.MixtureOfGaussians) -> PairLaws:
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


def _randomized_response(release: elementary.RandomizedResponse) -> PairLaws:
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


def _discrete_laplace(release: elementary.DiscreteLaplace) -> PairLaws:
    """Mass tanh(a/2)e^{−a|x|} at x, loss a(|x−Δ| − |x|): a multiple of a, in steps of 2a."""
    a, shift = release.noise_parameter, release.sensitivity
    if shift > _MOST_ATOMS:
        raise elementary.NotSupportedError(
            f"a discrete Laplace law of sensitivity {shift} has more than {_MOST_ATOMS} losses"
        )
    end = 1.0 / (1.0 + math.exp(-a))  # P(x ≤ 0)
    inner = range(shift - 1, 0, -1)
    losses = (-a * shift, *(a * (shift - 2 * x) for x in inner), a * shift)
    masses = (
        end * math.exp(-a * shift),
        *(math.tanh(0.5 * a) * math.exp(-a * x) for x in inner),
        end,
    )
    law = AtomicLaw(losses, masses, (0.0, a))
    return law, law


def pair_laws(release: elementary.Elementary) -> PairLaws:
    """The loss laws of a release's dominating pair, in both directions.

    Raises:
      elementary.NotSupportedError: The release has no pair of distributions.
    """
    if isinstance(release, elementary.Gaussian):
        law = GaussianMixtureLaw(Kind.REMOVE, (1.0,), (release.mu,))
        return law, law
    if isinstance(release, elementary.PoissonGaussian):
        rate, shift = release.sampling_rate, 1.0 / release.noise_multiplier
        return _sampled(rate, shift, Kind.REMOVE), _sampled(rate, shift, Kind.ADD)
    if isinstance(release, elementary.PoissonGaussianReplace):
        law = _sampled(release.sampling_rate, 1.0 / release.noise_multiplier, Kind.REPLACE)
        return law, law
    if isinstance(release, elementary.FixedSizeGaussian):
        rate, shift = release.sampling_rate, 2.0 / release.noise_multiplier
        remove = _sampled(rate, shift, Kind.REMOVE)
        symmetric: LossLaw = remove if rate == 1.0 else SymmetrisedLaw(remove)
        return symmetric, symmetric
    if isinstance(release, elementary.Laplace):
        laplace = LaplaceLaw(release.scale)
        return laplace, laplace
    if isinstance(release, elementary.DiscreteLaplace):
        return _discrete_laplace(release)
    if isinstance(release, elementary.RandomizedResponse):
        return _randomized_response(release)
    if isinstance(release, elementary.MixtureOfGaussians):
        return _mixture(release)
    raise elementary.NotSupportedError(
        "zero-concentrated DP bounds Rényi divergences; it names no pair of distributions whose "
        "privacy loss could be composed"
    )
