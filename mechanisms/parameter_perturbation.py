"""Clipping and perturbing a client's whole change of parameters (TMLR 3.2)."""

import math
from dataclasses import dataclass, field

from accountants.validate import count, flag
from mechanisms.part_noise import Kind, Memory, PartRule, PartwiseMechanism, check_common
from mechanisms.primitives.clipping import Clipping, as_clipping
from mechanisms.primitives.noise import NoiseSource, SimulationNoise
from pvi.validate import having


@dataclass(frozen=True, slots=True, kw_only=True)
class PartMechanism(PartwiseMechanism):
    """What parameter perturbation, local averaging and virtual clients have in common.

    Attributes:
      clip_norm: C, the norm bound of one part's change of natural parameters; or a `LayerClip`.
      noise_multiplier: σ: the noise on the sum of a client's parts has standard deviation σC, or
        σC/√M with a trusted aggregator.
      damping: α, which multiplies clipped change and noise.
      trusted_aggregator: Each of M clients adds a share σC/√M, so that the noise of a sum over all
        clients is that of one (TMLR Theorems 8 and 11).
      memory: What factors keep of the noise; see `mechanisms.part_noise`.
      reset_every: Rounds between resets, for memory="resets".
      noise: Where noise comes from; the default is for simulation only.
      precision_floor: A public lower bound of the posterior's precisions; see `PrivateRun`.
    """

    clip_norm: float | Clipping
    noise_multiplier: float
    damping: float = 1.0
    trusted_aggregator: bool = False
    memory: Memory = "remembers"
    reset_every: int = 1
    noise: NoiseSource = field(default_factory=SimulationNoise)
    precision_floor: float | None = None

    def __post_init__(self) -> None:
        as_clipping(self.clip_norm)
        flag("trusted_aggregator", self.trusted_aggregator)
        having("noise", self.noise, "grid", "noisy_sum", "silent")
        check_common(
            noise_multiplier=self.noise_multiplier,
            damping=self.damping,
            memory=self.memory,
            reset_every=self.reset_every,
            precision_floor=self.precision_floor,
        )

    @property
    def kind(self) -> Kind:
        """How parts are combined."""
        raise NotImplementedError

    def rule(self, clients: int) -> PartRule:
        """The rule for M = `clients` clients."""
        clip = as_clipping(self.clip_norm)
        std = self.noise_multiplier * clip.norm
        clients = count("clients", clients)
        shares = clients if self.trusted_aggregator else 1
        return PartRule(
            kind=self.kind,
            clip=clip,
            share_std=std / math.sqrt(shares),
            server_std=0.0,
            damping=self.damping,
            memory=self.memory,
            reset_every=self.reset_every,
            noise=self.noise,
            precision_floor=self.precision_floor,
            joint=self.trusted_aggregator,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterPerturbation(PartMechanism):
    """Each client's change of natural parameters is clipped to C and perturbed by σC.

    One record can move the clipped change from one end of the ball to the other, whatever the
    relation: a shift of 2C. Local steps are free; every message costs.

    >>> from mechanisms import Layout, Scope, project
    >>> mechanism = ParameterPerturbation(clip_norm=1.0, noise_multiplier=4.0)
    >>> project(mechanism.plan(Layout(clients=5), rounds=1), Scope())
    GaussianDpEvent(noise_multiplier=2.0)
    """

    @property
    def kind(self) -> Kind:
        """One part."""
        return "whole"
