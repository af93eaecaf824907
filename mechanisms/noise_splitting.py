"""The Thesis's flawed Algorithm 3, kept as a specimen."""

from dataclasses import dataclass, field

from mechanisms.parameter_perturbation import ParameterPerturbation
from mechanisms.part_noise import PartRule, PartwiseMechanism
from mechanisms.primitives.clipping import Clipping
from mechanisms.primitives.noise import NoiseSource, SimulationNoise


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseSplitting(PartwiseMechanism):
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
        self.rule(1)

    def rule(self, clients: int) -> PartRule:
        """The rule of shares that are remembered."""
        return ParameterPerturbation(
            clip_norm=self.clip_norm,
            noise_multiplier=self.noise_multiplier,
            damping=self.damping,
            trusted_aggregator=True,
            memory="remembers",
            noise=self.noise,
            precision_floor=self.precision_floor,
        ).rule(clients)
