"""A trusted server adds the noise (Thesis Algorithm 4), with likelihood resets (eq. 3.18)."""

from dataclasses import dataclass, field

from accountants.validate import count
from mechanisms.part_noise import Memory, PartRule, PartwiseMechanism, check_common
from mechanisms.primitives.clipping import Clipping, as_clipping
from mechanisms.primitives.noise import NoiseSource, SimulationNoise
from pvi.validate import having


@dataclass(frozen=True, slots=True, kw_only=True)
class CentralNoise(PartwiseMechanism):
    """Clients send clipped changes; the server adds α·σC·z to their sum and releases that.

    Privacy is against those who see the released sums, colluding clients included, not against the
    server or an observer of messages (no noise: not private). Per round, a client that contributes
    zero instead moves the sum by C.

    The three memories:

    * "forgets" is the Thesis's Algorithm 4. Factors never hear of the noise, so q performs a random
      walk about the product of the factors: after T rounds its variance is α²·T·(σC)².
    * "resets" sets every factor to (q/p)^(1/M) after each `reset_every` rounds (public state:
      post-processing). The walk starts afresh each time; where clients differ and clipping bites,
      the clients' differences have to be learnt anew each time, which is a bias.
    * "remembers" tells each client a part 1/M of the noise. q stays the product of the factors; the
      noise is then no secret from colluders, and later messages depend on it: refused.

    Attributes:
      clip_norm: C, of a client's change of natural parameters; or a `LayerClip`.
      noise_multiplier: σ.
      damping: α.
      memory: What factors keep of the noise.
      reset_every: k.
      noise: Where noise comes from; the default is for simulation only.
      precision_floor: A public lower bound of the posterior's precisions; see `PrivateRun`.
    """

    clip_norm: float | Clipping
    noise_multiplier: float
    damping: float = 1.0
    memory: Memory = "forgets"
    reset_every: int = 1
    noise: NoiseSource = field(default_factory=SimulationNoise)
    precision_floor: float | None = None

    def __post_init__(self) -> None:
        as_clipping(self.clip_norm)
        having("noise", self.noise, "grid", "noisy_sum", "silent")
        check_common(
            noise_multiplier=self.noise_multiplier,
            damping=self.damping,
            memory=self.memory,
            reset_every=self.reset_every,
            precision_floor=self.precision_floor,
        )

    def rule(self, clients: int) -> PartRule:
        """The rule, the same for any number of clients."""
        count("clients", clients)
        clip = as_clipping(self.clip_norm)
        return PartRule(
            kind="whole",
            clip=clip,
            share_std=0.0,
            server_std=self.noise_multiplier * clip.norm,
            damping=self.damping,
            memory=self.memory,
            reset_every=self.reset_every,
            noise=self.noise,
            precision_floor=self.precision_floor,
            joint=True,
        )
