"""One setting of the Thesis's chapter 4: data, clipping rule, noise, sampling, learning rate."""

from dataclasses import dataclass
from typing import TypeAlias

from accountants.arrays import FloatArray
from audits.papers.thesis.linreg.sparse_poisson import SparsePoisson
from audits.papers.thesis.linreg.variant import OWN_WAY, Variant
from mechanisms import AdaptiveClip, AllRecords, DPOptimisation, Sampling, clip_rows
from pvi import SGD, Rule, State

# Far above what a working run has: it only keeps an improper cavity from throwing q to infinity.
LARGEST_GRADIENT = 10.0


@dataclass(frozen=True, slots=True)
class FixedNorm:
    """C is a constant."""

    norm: float

    def __str__(self) -> str:
        return f"fixed C = {self.norm:g}"


@dataclass(frozen=True, slots=True)
class BatchPercentile:
    """C is a percentile of the batch's own gradient norms (Thesis 4.3). Not private."""

    percentile: int

    def __str__(self) -> str:
        return f"batch percentile {self.percentile}"


@dataclass(frozen=True, slots=True)
class PrivateQuantile:
    """C follows a quantile by noisy counts (Andrew et al. 2021), at the cost of a fixed C.

    The count's noise is a twentieth of the batch, as that paper recommends. The sum's noise is
    raised so that both together have the noise multiplier that the case asks for.
    """

    percentile: int
    initial_norm: float

    def __str__(self) -> str:
        return f"private quantile {self.percentile}"


ClipRule: TypeAlias = FixedNorm | BatchPercentile | PrivateQuantile


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One setting of the Thesis's hyperparameters.

    Attributes:
      theta: True coefficients, the intercept first.
      noise_scale: σ_e of the data, known to the model.
      clients: M.
      records: N, of each client.
      clip: How the clipping norm is chosen.
      noise_multiplier: σ.
      sampling_rate: q of Poisson sampling; 1 takes all records.
      learning_rate: α, on the objective divided by N.
      steps: DP-SGD steps of a client in one server update.
      updates: Server updates, each with a message of every client.
      variant: How a client descends and how messages are combined.
    """

    theta: tuple[float, float] = (-1.0, 2.0)
    noise_scale: float = 1.0
    clients: int = 1
    records: int = 1000
    clip: ClipRule
    noise_multiplier: float = 1.0
    sampling_rate: float
    learning_rate: float
    steps: int
    updates: int
    variant: Variant = OWN_WAY

    @property
    def sampling(self) -> Sampling:
        """How records are chosen for a step."""
        return AllRecords() if self.sampling_rate == 1.0 else SparsePoisson(self.sampling_rate)

    @property
    def damping(self) -> float:
        """1/M, as undamped updates of five clients at once diverge (see the study's variants)."""
        return 1.0 / self.clients if self.variant.damped else 1.0

    @property
    def rule(self) -> Rule:
        """Gradient descent with the threshold that Thesis 4.2.2 proposes against instability."""
        if not self.variant.limited:
            return SGD(learning_rate=self.learning_rate)
        return LimitedSGD(self.learning_rate, LARGEST_GRADIENT)

    def mechanism(self) -> DPOptimisation | None:
        """The accounted mechanism; None for the rule that has none.

        A variant's own descent clips and perturbs by the same amounts, so that the mechanism's plan
        is also the variant's; but for the division by the realised batch, see `certified`.
        """
        if isinstance(self.clip, BatchPercentile):
            return None
        multiplier = self.noise_multiplier
        clip: float | AdaptiveClip
        if isinstance(self.clip, FixedNorm):
            clip = self.clip.norm
        else:
            batch = self.sampling_rate * self.records
            clip = AdaptiveClip(
                initial_norm=self.clip.initial_norm,
                batch_size=batch,
                count_std=batch / 20.0,
                target_quantile=self.clip.percentile / 100.0,
            )
            multiplier = (multiplier**-2.0 - clip.count_multiplier**-2.0) ** -0.5
        return DPOptimisation(
            clip_norm=clip,
            noise_multiplier=multiplier,
            steps=self.steps,
            rule=self.rule,
            sampling=self.sampling,
            objective_divisor=self.records,
            damping=self.damping,
        )


@dataclass(frozen=True, slots=True)
class LimitedSGD:
    """Gradient ascent whose gradient has at most a given norm. Post-processing: it costs nothing.

    Attributes:
      learning_rate: α.
      largest: The norm.
    """

    learning_rate: float
    largest: float

    def step(self, gradient: FloatArray, state: State) -> tuple[FloatArray, State]:
        """Gives the step; there is no state."""
        return self.learning_rate * clip_rows(gradient, self.largest).rows, state
