"""The Thesis's flawed Algorithm 3, kept as a specimen."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from mechanisms.budget import Budget
from mechanisms.parameter_perturbation import ParameterPerturbation
from mechanisms.primitives.clipping import Clipping
from mechanisms.primitives.noise import NoiseSource, SimulationNoise
from mechanisms.private_run import PrivateRun
from mechanisms.release import Transcript
from pvi import LocalSolver, MeanFieldGaussian, Model, Schedule, Shard


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseSplitting:
    """**Flawed on purpose.** M clients each add noise σC/√M and keep it in their factors.

    The Thesis (Algorithm 3, eq. 3.4–3.6) accounts for each round as one Gaussian of multiplier σ.
    Whoever sees messages sees σ/√M. Whoever sees only sums sees σ in the first round; but each
    factor remembers its own share, so the next message depends on noise that the adversary has not
    seen, and no multiplier is proven (`project` refuses; where nothing is clipped, two rounds'
    sums do add up to signal plus the second noise). The Thesis's eq. 3.7 drops the α in front of
    the noise; eq. 3.4 and this code have it.

    Attributes:
      clip_norm: C.
      noise_multiplier: σ, of the sum over clients.
      damping: α.
      noise: Where noise comes from.
      precision_floor: See `PrivateRun`.
    """

    clip_norm: float | Clipping
    noise_multiplier: float
    damping: float = 1.0
    noise: NoiseSource = field(default_factory=SimulationNoise)
    precision_floor: float | None = None

    def __post_init__(self) -> None:
        self._inner()

    def _inner(self) -> ParameterPerturbation:
        return ParameterPerturbation(
            clip_norm=self.clip_norm,
            noise_multiplier=self.noise_multiplier,
            damping=self.damping,
            trusted_aggregator=True,
            memory="remembers",
            noise=self.noise,
            precision_floor=self.precision_floor,
        )

    def build(
        self,
        *,
        model: Model,
        data: Sequence[Shard],
        solver: LocalSolver,
        prior: MeanFieldGaussian,
        rng: np.random.Generator,
        schedule: Schedule | None = None,
        budget: Budget | None = None,
        keep_values: bool = True,
    ) -> PrivateRun:
        """A run; see `PartMechanism.build`."""
        return self._inner().build(
            model=model,
            data=data,
            solver=solver,
            prior=prior,
            rng=rng,
            schedule=schedule,
            budget=budget,
            keep_values=keep_values,
        )

    def plan(self, *, clients: int, rounds: int, dimension: int = 1) -> Transcript:
        """The costs of a synchronous run, without values."""
        return self._inner().plan(clients=clients, rounds=rounds, dimension=dimension)
