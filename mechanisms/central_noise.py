"""A trusted server adds the noise (Thesis Algorithm 4), with likelihood resets (eq. 3.18)."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from mechanisms.budget import Budget
from mechanisms.part_noise import Memory, PartRule, build_run, check_common
from mechanisms.plan import plan_rounds
from mechanisms.primitives.clipping import Clipping, as_clipping
from mechanisms.primitives.noise import NoiseSource, SimulationNoise
from mechanisms.primitives.partition import as_partitions
from mechanisms.private_run import PrivateRun
from mechanisms.release import Transcript
from pvi import LocalSolver, MeanFieldGaussian, Model, Schedule, Shard, Synchronous


@dataclass(frozen=True, slots=True, kw_only=True)
class CentralNoise:
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
        check_common(
            noise_multiplier=self.noise_multiplier,
            damping=self.damping,
            memory=self.memory,
            reset_every=self.reset_every,
            precision_floor=self.precision_floor,
        )

    def rule(self) -> PartRule:
        """The rule of the shared machinery."""
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
        """A run of this mechanism; see `PartMechanism.build`."""
        return build_run(
            self.rule(),
            model=model,
            partitions=as_partitions(data),
            solver=solver,
            prior=prior,
            schedule=Synchronous() if schedule is None else schedule,
            rng=rng,
            budget=budget,
            keep_values=keep_values,
        )

    def plan(self, *, clients: int, rounds: int, dimension: int = 1) -> Transcript:
        """The costs of a synchronous run, without values."""
        rule = self.rule()
        contributions = [rule.contribution(m, 1, "identity", dimension) for m in range(clients)]
        return plan_rounds(contributions, rule.server_noise(dimension), rounds)
