"""Clipping and perturbing a client's whole change of parameters (TMLR 3.2)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from accountants.validate import count
from mechanisms.budget import Budget
from mechanisms.part_noise import Kind, Memory, PartRule, build_run, check_common
from mechanisms.plan import plan_rounds
from mechanisms.primitives.clipping import Clipping, as_clipping
from mechanisms.primitives.noise import NoiseSource, SimulationNoise
from mechanisms.primitives.partition import Partition, as_partitions
from mechanisms.private_run import PrivateRun
from mechanisms.release import Transcript
from pvi import LocalSolver, MeanFieldGaussian, Model, Schedule, Shard, Synchronous


@dataclass(frozen=True, slots=True, kw_only=True)
class PartMechanism:
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
        shares = count("clients", clients) if self.trusted_aggregator else 1
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

    def build(
        self,
        *,
        model: Model,
        data: Sequence[Shard] | Sequence[Partition],
        solver: LocalSolver,
        prior: MeanFieldGaussian,
        rng: np.random.Generator,
        schedule: Schedule | None = None,
        budget: Budget | None = None,
        keep_values: bool = True,
    ) -> PrivateRun:
        """A run of this mechanism.

        Args:
          model: The likelihood.
          data: One `Shard` or `Partition` per client.
          solver: The local solver; what it does is free, only its result is clipped.
          prior: p, whose batch axes are independent repetitions.
          rng: The simulation's generator.
          schedule: Who updates when; `Synchronous()` if not given.
          budget: Limits per client.
          keep_values: Whether the transcript keeps what was sent.
        """
        partitions = as_partitions(data)
        return build_run(
            self.rule(len(partitions)),
            model=model,
            partitions=partitions,
            solver=solver,
            prior=prior,
            schedule=Synchronous() if schedule is None else schedule,
            rng=rng,
            budget=budget,
            keep_values=keep_values,
        )

    def plan(
        self,
        *,
        clients: int,
        rounds: int,
        parts: int | Sequence[int] = 1,
        assignment: str = "identity",
        dimension: int = 1,
    ) -> Transcript:
        """The transcript of a synchronous run that has not been made: its costs, without values.

        Args:
          clients: M.
          rounds: Messages of each client.
          parts: N, the same for all clients or one for each.
          assignment: See `Partition`.
          dimension: Of θ.
        """
        rule = self.rule(clients)
        counts = [parts] * clients if isinstance(parts, int) else parts
        if len(counts) != clients:
            raise ValueError(f"`parts` must have {clients} entries, got {len(counts)}.")
        contributions = [
            rule.contribution(m, own_parts, assignment, dimension)
            for m, own_parts in enumerate(counts)
        ]
        return plan_rounds(contributions, rule.server_noise(dimension), rounds)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterPerturbation(PartMechanism):
    """Each client's change of natural parameters is clipped to C and perturbed by σC.

    One record can move the clipped change from one end of the ball to the other, whatever the
    relation: a shift of 2C. Local steps are free; every message costs.

    >>> from mechanisms import Scope, project
    >>> mechanism = ParameterPerturbation(clip_norm=1.0, noise_multiplier=4.0)
    >>> project(mechanism.plan(clients=5, rounds=1), Scope())
    GaussianDpEvent(noise_multiplier=2.0)
    """

    @property
    def kind(self) -> Kind:
        """One part."""
        return "whole"
