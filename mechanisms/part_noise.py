"""The shared machinery of mechanisms that clip parts' changes and add noise to their sum.

A client's parts each propose a change of natural parameters; the message is

    α·w·(Σ_k clip(Δ_k) + noise),    w = 1, or 1/N for an average of N parts,

with α the damping: it multiplies signal and noise alike and costs nothing. What a client's factor
keeps of the noise is the choice that `Memory` names.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from accountants import validate
from accountants.arrays import FloatArray
from mechanisms.budget import Budget
from mechanisms.primitives.clipping import Clipping
from mechanisms.primitives.noise import NoiseSource
from mechanisms.primitives.partition import Partition, as_partitions
from mechanisms.private_run import PrivateRun, Recorder
from mechanisms.protocol import (
    ClientPart,
    Data,
    Layout,
    Mechanism,
    Setting,
    contribution_of,
    recorder_or_new,
)
from mechanisms.release import Contribution, ServerNoise
from mechanisms.server_rule import ServerRule
from pvi import (
    Alteration,
    AveragedShards,
    Client,
    Context,
    LocalProblem,
    LocalResult,
    LocalSolver,
    MeanFieldGaussian,
    ServerContext,
    Strategy,
    VirtualShards,
    WholeShard,
    reset_factors,
)
from pvi.validate import checked

Memory: TypeAlias = Literal["remembers", "forgets", "resets"]
MEMORIES: tuple[Memory, ...] = ("remembers", "forgets", "resets")
"""What factors do with noise.

remembers: a factor changes by what was sent, noise included; q stays the product of the factors,
  but where the noise is not public, later messages leak it.
forgets: a factor changes by the clipped change; nothing leaks, but q drifts from the product.
resets: forgets, and every k rounds all factors are set from public state to (q/p)^(1/M).
"""

Kind: TypeAlias = Literal["whole", "average", "virtual"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartRule:
    """What the mechanisms of this family differ in.

    Attributes:
      kind: How parts are combined: one whole part, averaged, or summed as virtual clients.
      clip: Bounds a part's change.
      share_std: The standard deviation of each client's noise; 0 for none.
      server_std: The standard deviation of the server's noise; 0 for none.
      damping: α.
      memory: What factors keep of the noise.
      reset_every: k, for memory="resets".
      noise: The source of noise.
      precision_floor: See `PrivateRun`.
      joint: Whether a client's noise is only a share of what protects it.
    """

    kind: Kind
    clip: Clipping
    share_std: float
    server_std: float
    damping: float
    memory: Memory
    reset_every: int
    noise: NoiseSource
    precision_floor: float | None
    joint: bool

    def contribution(self, client: int, layout: Layout) -> Contribution:
        """A client's facts."""
        parts = layout.parts_of(client)
        if self.kind == "whole" and parts != 1:
            raise ValueError(f"`parts` must be 1 for this mechanism, got {parts}.")
        std = 0.0 if self.noise.silent else self.share_std
        remembers = self.memory == "remembers" and std > 0.0
        return Contribution(
            client=client,
            clips="part",
            clip_norm=self.clip.norm,
            noise_std=std,
            parts=parts,
            weight=self.damping / (parts if self.kind == "average" else 1),
            assignment=layout.assignment,
            noise_shares=parts if remembers and self.kind == "virtual" else 1,
            remembers_noise=remembers,
            # Noise that protects its own message and is remembered: sums are answered as messages.
            summed=self.joint or not remembers,
            grid=self.noise.grid(std) if std else None,
            coordinates=2 * layout.dimension,
        )

    def noisy_sum(self, sent: FloatArray, rng: np.random.Generator) -> FloatArray:
        """The damped sum of clients' messages (..., clients, p), with the server's noise.

        They are clipped once more, so that whoever sent them, none moves the sum by more than C.
        """
        rows = self.clip(sent / self.damping).rows
        return self.damping * self.noise.noisy_sum(rows, self.server_std, rng)

    def server_noise(self, layout: Layout) -> ServerNoise:
        """The server's facts; its noise is in units of the damped sum."""
        std = 0.0 if self.noise.silent else self.server_std
        spacing = self.noise.grid(std) if std else None
        return ServerNoise(
            noise_std=self.damping * std,
            told_to_clients=self.memory == "remembers" and std > 0.0,
            grid=None if spacing is None else self.damping * spacing,
            coordinates=2 * layout.dimension,
        )


class PartwiseMechanism(Mechanism):
    """A mechanism of this family: all that it adds is its `PartRule`."""

    __slots__ = ()
    takes_solver: ClassVar[bool] = True

    def rule(self, clients: int) -> PartRule:
        """The rule for M = `clients` clients."""
        raise NotImplementedError

    @checked(layout=Layout)
    def contributions(self, layout: Layout) -> tuple[Contribution, ...]:
        """The facts behind a message of each client."""
        rule = self.rule(layout.clients)
        return tuple(rule.contribution(m, layout) for m in range(layout.clients))

    def server_noise(self, layout: Layout) -> ServerNoise:
        """What the server adds to a group's sum."""
        validate.instance("layout", layout, Layout)
        return self.rule(layout.clients).server_noise(layout)

    @checked(setting=Setting)
    def build(
        self,
        setting: Setting,
        data: Data,
        rng: np.random.Generator,
        *,
        budget: Budget | None = None,
        keep_values: bool = True,
    ) -> PrivateRun:
        """A run; see `Mechanism.build`. What the solver does is free: its result is clipped."""
        partitions = as_partitions(data)
        layout = Layout.of(partitions, setting.model.dimension)
        rule = self.rule(layout.clients)
        recorder = Recorder(keep_values=keep_values)
        hooks = [_PartHook(rule, own, recorder) for own in self.contributions(layout)]
        clients = [
            _client(rule, setting, partition, hook)
            for partition, hook in zip(partitions, hooks, strict=True)
        ]
        return _private_run(rule, layout, setting, clients, hooks, recorder, rng, budget)

    @checked(setting=Setting, layout=Layout, data=Partition)
    def build_client(
        self,
        setting: Setting,
        layout: Layout,
        number: int,
        data: Partition,
        *,
        recorder: Recorder | None = None,
    ) -> ClientPart:
        """One client; see `Mechanism.build_client`."""
        rule, own = self.rule(layout.clients), contribution_of(self, layout, number)
        if len(data.shards) != own.parts:
            raise ValueError(f"`data` must be cut into {own.parts} parts, got {len(data.shards)}.")
        hook = _PartHook(rule, own, recorder_or_new(recorder))
        return ClientPart(_client(rule, setting, data, hook), hook)

    @checked(layout=Layout)
    def server_rule(self, layout: Layout) -> ServerRule:
        """What the server adds, and whether factors are reset or told of it."""
        rule = self.rule(layout.clients)
        told = rule.memory == "remembers" and rule.server_std > 0.0
        virtual = range(layout.clients) if rule.kind == "virtual" else ()
        return ServerRule(
            noise=rule.server_noise(layout),
            noisy_sum=rule.noisy_sum if rule.server_std else None,
            after_round="reset" if rule.memory == "resets" else "share" if told else "nothing",
            reset_every=rule.reset_every,
            precision_floor=rule.precision_floor,
            joint=rule.joint and rule.share_std > 0.0,
            factors={m: layout.parts_of(m) for m in virtual},
        )


def _private_run(
    rule: PartRule,
    layout: Layout,
    setting: Setting,
    clients: Sequence[Client],
    hooks: "Sequence[_PartHook]",
    recorder: Recorder,
    rng: np.random.Generator,
    budget: Budget | None,
) -> PrivateRun:
    """The run of clients with the rule's hooks and a server that adds the rule's noise."""

    def sum_rule(total: MeanFieldGaussian, context: ServerContext) -> MeanFieldGaussian:
        sent = np.stack([rule.damping * hooks[m].clean for m in context.clients], axis=-2)
        return MeanFieldGaussian.from_vector(rule.noisy_sum(sent, context.rng))

    def after_round(run: PrivateRun, number: int) -> None:
        if rule.memory == "resets" and number % rule.reset_every == 0:
            reset_factors(run.federation.server, run.federation.clients)
        elif rule.memory == "remembers" and rule.server_std:
            _share_offset(run)

    return PrivateRun(
        prior=setting.prior,
        clients=clients,
        schedule=setting.schedule,
        rng=rng,
        recorder=recorder,
        server_noise=rule.server_noise(layout),
        sum_rule=sum_rule if rule.server_std else None,
        after_round=after_round,
        precision_floor=rule.precision_floor,
        budget=budget,
        contributions=[hook.contribution for hook in hooks],
        hooks=hooks,
    )


class _PartHook:
    """One client's clipping and noise.

    Attributes:
      contribution: The client's facts.
      clean: The clipped change of the client's last message, without noise, weight and damping.
      screened: How many changes were not finite and became zero.
    """

    def __init__(self, rule: PartRule, contribution: Contribution, recorder: Recorder) -> None:
        self.rule = rule
        self.contribution = contribution
        self.recorder = recorder
        self.clean: FloatArray = np.zeros(0)
        self.screened = 0
        self._noise_per_part = (
            rule.kind == "virtual" and rule.memory == "remembers" and rule.share_std > 0.0
        )
        self._parts: list[FloatArray] = []
        self._noisy: list[FloatArray] = []

    @property
    def memory(self) -> dict[str, FloatArray]:
        """What the server's noise will be added to."""
        return {"clean": self.clean}

    @memory.setter
    def memory(self, memory: dict[str, FloatArray]) -> None:
        self.clean = memory["clean"]

    def alter_part(
        self, change: MeanFieldGaussian, part: int, context: Context
    ) -> MeanFieldGaussian:
        """Clips a part's change; for virtual clients that remember, adds the part's noise too."""
        if part == 0:
            self._parts, self._noisy = [], []
        clipped = self.rule.clip(change.vector)
        self.screened += clipped.screened
        self._parts.append(clipped.rows)
        remembered = clipped.rows
        if self._noise_per_part:
            std = self.rule.share_std / np.sqrt(self.contribution.parts)
            remembered = self.rule.noise.noisy_sum(clipped.rows[..., None, :], std, context.rng)
            self._noisy.append(remembered)
        scale = self.rule.damping if self.rule.kind == "virtual" else 1.0
        return MeanFieldGaussian.from_vector(scale * remembered)

    def alter(self, change: MeanFieldGaussian, context: Context) -> Alteration:
        """Gives the message, and what the factor keeps of it."""
        rule, own = self.rule, self.contribution
        if rule.kind == "whole":
            self.alter_part(change, 0, context)
        rows = np.stack(self._parts, axis=-2)
        self.clean = rows.sum(axis=-2)
        if self._noisy:
            total = np.sum(self._noisy, axis=0)
        elif rule.share_std:
            total = rule.noise.noisy_sum(rows, rule.share_std, context.rng)
        else:
            total = self.clean
        sent = MeanFieldGaussian.from_vector(own.weight * total)
        self.recorder.message(sent.vector, context.round, own)
        if rule.memory == "remembers":
            return Alteration(sent)
        return Alteration(sent, kept=MeanFieldGaussian.from_vector(own.weight * self.clean))


@dataclass(frozen=True, slots=True)
class _Unmoved(LocalSolver):
    """The solver of a muted client: whatever its data, no change."""

    def solve(self, problem: LocalProblem) -> LocalResult:
        """Gives `start`."""
        return LocalResult(problem.start, problem.state)


def _client(rule: PartRule, setting: Setting, partition: Partition, hook: _PartHook) -> Client:
    strategy = _strategy(rule, setting, partition, hook)
    return Client(hook.contribution.client, strategy, alter=hook.alter)


def _strategy(rule: PartRule, setting: Setting, partition: Partition, hook: _PartHook) -> Strategy:
    solver = _Unmoved() if partition.muted else setting.require_solver()
    if rule.kind == "whole":
        return WholeShard(
            model=setting.variational_model(), shard=partition.shards[0], solver=solver
        )
    strategy = AveragedShards if rule.kind == "average" else VirtualShards
    return strategy(
        model=setting.variational_model(),
        shards=partition.shards,
        solver=solver,
        alter_part=hook.alter_part,
    )


def _share_offset(run: PrivateRun) -> None:
    """Tells every client its part of the server's noise, so that q is the factors' product."""
    server, clients = run.federation.server, run.federation.clients
    share = server.offset ** (1.0 / len(clients))
    for client in clients:
        client.adopt(client.factor * share)
    server.offset = MeanFieldGaussian.unit(server.prior.dimension)


def check_common(
    *,
    noise_multiplier: float,
    damping: float,
    memory: str,
    reset_every: int,
    precision_floor: float | None,
) -> None:
    """Checks the arguments that the mechanisms of this family share."""
    validate.positive("noise_multiplier", noise_multiplier)
    validate.rate("damping", damping)
    validate.one_of("memory", memory, MEMORIES)
    validate.count("reset_every", reset_every)
    if precision_floor is not None:
        validate.positive("precision_floor", precision_floor)
