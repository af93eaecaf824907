"""Elementary releases: what one release does to one neighbouring pair of data sets.

Frozen values, with every factor of the sensitivity in place. Which event is which of them under
which relation is in `accountants.elementary` and, for events that are built from others, in
`accountants.resolution`.
"""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Gaussian:
    """N(0, 1) against N(`mu`, 1)."""

    mu: float


@dataclass(frozen=True, slots=True)
class PoissonGaussian:
    """N(0, σ²) against (1−q)·N(0, σ²) + q·N(1, σ²), in both directions."""

    sampling_rate: float
    noise_multiplier: float


@dataclass(frozen=True, slots=True)
class PoissonGaussianReplace:
    """Poisson sampling under REPLACE_ONE: a record at −1 becomes a record at +1."""

    sampling_rate: float
    noise_multiplier: float


@dataclass(frozen=True, slots=True)
class GroupGaussian:
    """N(0, σ²) against Σ_j b(j)·N(j, σ²), k = `records` > 1, in both directions.

    If `replaced`, Σ_j b(j)·N(−j, σ²) against Σ_j b(j)·N(j, σ²). b is Binomial(k, q) or, with a
    `population`, how many of k are in a batch of that share without replacement.
    """

    records: int
    sampling_rate: float
    noise_multiplier: float
    replaced: bool = False
    population: int = 0

    @property
    def reach(self) -> int:
        """How far the two sums are apart at most, in units of C."""
        return self.records * (2 if self.replaced else 1)


SampledGaussian: TypeAlias = PoissonGaussian | PoissonGaussianReplace | GroupGaussian


@dataclass(frozen=True, slots=True)
class FixedSizeGaussian:
    """A batch of fixed size without replacement under REPLACE_ONE; sensitivity 2 in the batch."""

    sampling_rate: float
    noise_multiplier: float


@dataclass(frozen=True, slots=True)
class FixedSizeGroupGaussian:
    """As `FixedSizeGaussian`, with `records` > 1 of the `population` records replaced."""

    records: int
    sampling_rate: float
    noise_multiplier: float
    population: int


@dataclass(frozen=True, slots=True)
class AllocatedGaussian:
    """N(0, σ²I_T) against (1/T)·Σ_t N(e_t, σ²I_T), T = `steps`, in both directions.

    The loss laws are computed, from above or, where `from_below`, from below; see
    `accountants.fourier.allocation`. A `share` below 1, from below only: a record is left out of an
    epoch with probability 1 − share.
    """

    steps: int
    noise_multiplier: float
    from_below: bool = False
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class ShuffledGaussian:
    """An epoch of shuffled batches, of which a record is in one with probability `share`.

    No amplification is proved, so that from above it is one Gaussian release; for the pairs that
    data realise see `accountants.fourier.shuffling`.
    """

    steps: int
    noise_multiplier: float
    share: float
    replaced: bool


@dataclass(frozen=True, slots=True)
class LargestOfShuffled:
    """The largest of an epoch's sums, others at −C and the record at +C or 0; from below only."""

    steps: int
    noise_multiplier: float
    share: float


@dataclass(frozen=True, slots=True)
class Laplace:
    """Lap(0, `scale`) against Lap(1, `scale`)."""

    scale: float


@dataclass(frozen=True, slots=True)
class DiscreteLaplace:
    """The two-sided geometric law ∝ e^{−a|x|} against its shift by the integer `sensitivity`."""

    noise_parameter: float
    sensitivity: int


@dataclass(frozen=True, slots=True)
class RandomizedResponse:
    """One bucket's response against another's; against the uniform response if `special`."""

    noise_parameter: float
    num_buckets: int
    special: bool


@dataclass(frozen=True, slots=True)
class MixtureOfGaussians:
    """N(0, σ²) against Σ pᵢ·N(cᵢ, σ²), in both directions."""

    standard_deviation: float
    sensitivities: tuple[float, ...]
    probabilities: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ZeroConcentrated:
    """Any mechanism whose Rényi divergence of order α is at most ξ + ρα, for all α > 1."""

    rho: float
    xi: float


@dataclass(frozen=True, slots=True)
class PureResponse:
    """The worst of all `epsilon`-DP mechanisms: the loss is ±ε, with odds e^ε to 1."""

    epsilon: float


@dataclass(frozen=True, slots=True)
class Revealed:
    """With this `probability` it is said which of the two data sets it was; else nothing is."""

    probability: float


@dataclass(frozen=True, slots=True)
class BoundedRange:
    """The worst of all mechanisms whose losses lie within an interval of length `epsilon`."""

    epsilon: float


@dataclass(frozen=True, slots=True)
class TwoOutcomes:
    """P says yes with chance e^`log_yes`, of loss `yes`, and no otherwise, of loss `no` < 0.

    `log_no` is the logarithm of P's chance to say no.
    """

    yes: float
    no: float
    log_yes: float
    log_no: float


@dataclass(frozen=True, slots=True)
class DiscreteGaussian:
    """The law ∝ e^{−x²/2s²} on the integers against its shift by the integer `sensitivity`."""

    standard_deviation: float
    sensitivity: int


@dataclass(frozen=True, slots=True)
class Sampled:
    """Q against (1−q)·Q + q·P, in both directions, (P, Q) being the pair of `release`."""

    sampling_rate: float
    release: "Elementary"


@dataclass(frozen=True, slots=True)
class Labelled:
    """One of `releases`, chosen with these `probabilities`, and it is said which.

    The probabilities are rounded up: together they may be a little more than 1.
    """

    probabilities: tuple[float, ...]
    releases: tuple["Elementary", ...]


@dataclass(frozen=True, slots=True)
class FixedSizeGroups:
    """A batch that has the one record k times, under REPLACE_ONE, where it is said how often.

    Attributes:
      sampling_rate: The chance that it is there at all.
      probabilities: Given that it is, those of each k, rounded up.
      mus: For each k the distance of the two sums in standard deviations of the noise.
    """

    sampling_rate: float
    probabilities: tuple[float, ...]
    mus: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Between:
    """A release that `above` dominates, and of which data sets realise each of `below`.

    Which of them costs most may depend on the composition.
    """

    above: "Elementary"
    below: tuple["Elementary", ...]


@dataclass(frozen=True, slots=True)
class SampledZeroConcentrated:
    """A Poisson sample of rate q, and a mechanism with D_α ≤ ξ + ρα on it."""

    sampling_rate: float
    rho: float
    xi: float


@dataclass(frozen=True, slots=True)
class RepeatAndSelect:
    """Runs of `parts`, a random number of them, of which the best is released.

    The number is Poisson with this `mean` if `shape` is infinite, else a truncated negative
    binomial; see `accountants.repetition`.
    """

    parts: tuple[tuple["Elementary", int], ...]
    mean: float
    shape: float


Elementary: TypeAlias = (
    Gaussian
    | PoissonGaussian
    | PoissonGaussianReplace
    | GroupGaussian
    | FixedSizeGaussian
    | FixedSizeGroupGaussian
    | AllocatedGaussian
    | ShuffledGaussian
    | LargestOfShuffled
    | Laplace
    | DiscreteLaplace
    | RandomizedResponse
    | MixtureOfGaussians
    | ZeroConcentrated
    | PureResponse
    | Revealed
    | BoundedRange
    | TwoOutcomes
    | DiscreteGaussian
    | Sampled
    | Labelled
    | FixedSizeGroups
    | Between
    | SampledZeroConcentrated
    | RepeatAndSelect
)


class NonPrivate:
    """The resolution of an event with no noise: every ε is infinite."""


class NoOp:
    """The resolution of an event that releases nothing about the data."""


Resolution: TypeAlias = Elementary | type[NonPrivate] | type[NoOp]
