"""Elementary releases that are built from others, or that state no more than a guarantee.

The other elementary releases, and what they are, are in `accountants.elementary`; which event is
which of these is in `accountants.resolution`.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accountants.elementary import Elementary


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
