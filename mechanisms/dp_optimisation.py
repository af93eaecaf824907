"""Clipped and perturbed gradients in every local step (Workshop Algorithm 1, TMLR 3.1)."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from accountants import validate
from accountants.arrays import FloatArray
from mechanisms.budget import Budget
from mechanisms.primitives.adaptive_clipping import AdaptiveClip, QuantileTracker
from mechanisms.primitives.clipping import Clipping, as_clipping
from mechanisms.primitives.noise import NoiseSource, SimulationNoise
from mechanisms.primitives.partition import Partition, as_partitions
from mechanisms.primitives.sampling import (
    AllRecords,
    BallsInBins,
    FixedSize,
    Poisson,
    Sampling,
    Shuffled,
)
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
from pvi import (
    Alteration,
    AlterUpdate,
    Client,
    Context,
    GradientSolver,
    MeanFieldGaussian,
    Rule,
    Shard,
    StepContext,
    WholeShard,
)
from pvi.validate import MOST, checked, having


@dataclass(frozen=True, slots=True, kw_only=True)
class DPOptimisation(Mechanism):
    """DP-SGD (or Adagrad, Adam) on the local free energy; messages are post-processing.

    In each local step every sampled record's gradient by mean and log-variance is clipped to C, the
    clipped gradients are summed, noise of standard deviation σC is added, and the result is scaled
    by a public constant: 1/q for Poisson sampling, T for balls in T bins, n/L for batches of fixed
    size L. The realised
    batch size is never used. The prior's gradient depends on released quantities only and is added
    after the noise. Each client has its own certificate: T steps in all, whatever the rounds.

    Attributes:
      clip_norm: C, a `LayerClip`, or an `AdaptiveClip`.
      noise_multiplier: σ.
      steps: Local steps per message.
      rule: SGD, Adagrad or Adam.
      sampling: `Poisson`, `BallsInBins`, `FixedSize`, `Shuffled` or `AllRecords`; one for all
        clients, or one for each.
      objective_divisor: A public number that the objective is divided by, a nominal number of
        records for instance, so that a learning rate means the same everywhere.
      persistent: Whether the rule keeps its state from one message to the next.
      damping: α of every message.
      noise: Where noise comes from; the default is for simulation only.
    """

    clip_norm: float | Clipping | AdaptiveClip
    noise_multiplier: float
    steps: int
    rule: Rule
    sampling: Sampling | tuple[Sampling, ...] = field(default_factory=AllRecords)
    objective_divisor: float = 1.0
    persistent: bool = True
    damping: float = 1.0
    noise: NoiseSource = field(default_factory=SimulationNoise)

    takes_solver: ClassVar[bool] = False

    def __post_init__(self) -> None:
        validate.positive("noise_multiplier", self.noise_multiplier)
        validate.count("steps", self.steps, maximum=MOST)
        having("rule", self.rule, "step")
        validate.flag("persistent", self.persistent)
        having("noise", self.noise, "grid", "noisy_sum", "silent")
        validate.positive("objective_divisor", self.objective_divisor)
        validate.rate("damping", self.damping)
        if not isinstance(self.clip_norm, AdaptiveClip):
            as_clipping(self.clip_norm)
        schemes = self.sampling if isinstance(self.sampling, tuple) else (self.sampling,)
        for scheme in schemes:
            if not isinstance(scheme, AllRecords | Poisson | BallsInBins | FixedSize | Shuffled):
                raise TypeError(
                    "`sampling` must be AllRecords, Poisson, BallsInBins, FixedSize or Shuffled (a "
                    f"bare sampler has no event), got {type(scheme).__name__}."
                )

    def scheme(self, client: int) -> Sampling:
        """The client's sampling."""
        most = len(self.sampling) - 1 if isinstance(self.sampling, tuple) else MOST
        client = validate.count("client", client, minimum=0, maximum=most)
        return self.sampling[client] if isinstance(self.sampling, tuple) else self.sampling

    @checked(layout=Layout)
    def contributions(self, layout: Layout) -> tuple[Contribution, ...]:
        """The facts behind a message of each client."""
        if isinstance(self.sampling, tuple) and len(self.sampling) != layout.clients:
            raise ValueError(
                f"`sampling` must have one entry per client ({layout.clients}), got "
                f"{len(self.sampling)}."
            )
        return tuple(self._contribution(m, layout.dimension) for m in range(layout.clients))

    @checked(layout=Layout)
    def server_noise(self, layout: Layout) -> ServerNoise:
        """None."""
        return ServerNoise()

    def _contribution(self, client: int, dimension: int) -> Contribution:
        """A client's facts; an adaptive norm moves noise and clipping alike."""
        adaptive = isinstance(self.clip_norm, AdaptiveClip)
        extra: tuple[float, ...] = ()
        if isinstance(self.clip_norm, AdaptiveClip):
            norm, extra = self.clip_norm.initial_norm, (self.clip_norm.count_multiplier,)
        else:
            norm = as_clipping(self.clip_norm).norm
        std = 0.0 if self.noise.silent else self.noise_multiplier * norm
        return Contribution(
            client=client,
            clips="record",
            clip_norm=norm,
            noise_std=std,
            steps=self.steps,
            sampling=self.scheme(client),
            extra_multipliers=extra,
            weight=self.damping,
            summed=False,
            grid=self.noise.grid(std) if std else None,
            coordinates=2 * dimension + (1 if adaptive else 0),
        )

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
        """A run; see `Mechanism.build`."""
        setting.refuse_solver()
        partitions = as_partitions(data)
        layout = Layout.of(partitions, setting.model.dimension)
        recorder = Recorder(keep_values=keep_values)
        parts = [
            self.build_client(setting, layout, m, partition, recorder=recorder)
            for m, partition in enumerate(partitions)
        ]
        return PrivateRun(
            prior=setting.prior,
            clients=[part.client for part in parts],
            schedule=setting.schedule,
            rng=rng,
            recorder=recorder,
            budget=budget,
            contributions=self.contributions(layout),
            hooks=[part.hook for part in parts],
        )

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
        own = contribution_of(self, layout, number)
        shard, scheme = _one_part(number, data), self.scheme(number)
        if isinstance(scheme, FixedSize | Shuffled) and scheme.size != shard.size:
            raise ValueError(
                f"`sampling` must be for client {number}'s {shard.size} records, got {scheme}."
            )
        aggregate = _PrivateSum(self, scheme)
        solver = GradientSolver(
            rule=self.rule,
            steps=self.steps,
            sampler=scheme.sampler(),
            aggregate=aggregate,
            objective_divisor=self.objective_divisor,
            persistent=self.persistent,
        )
        strategy = WholeShard(model=setting.variational_model(), shard=shard, solver=solver)
        alter = _recording(recorder_or_new(recorder), own)
        return ClientPart(Client(number, strategy, damping=self.damping, alter=alter), aggregate)


def _one_part(client: int, partition: Partition) -> Shard:
    if len(partition.shards) != 1:
        raise ValueError(f"`data` must be one part per client here, got {len(partition.shards)}.")
    if partition.muted:
        raise ValueError(
            f"`data` must not mute client {client}: records are clipped one by one here, which "
            "says nothing about a whole client."
        )
    return partition.shards[0]


def _recording(recorder: Recorder, contribution: Contribution) -> AlterUpdate:
    def alter(change: MeanFieldGaussian, context: Context) -> Alteration:
        recorder.message(change.vector, context.round, contribution)
        return Alteration(change)

    return alter


class _PrivateSum:
    """The `aggregate` hook of one client's solver.

    Attributes:
      screened: How many gradients were not finite and became zero. For the client's own eyes.
    """

    def __init__(self, mechanism: DPOptimisation, scheme: Sampling) -> None:
        self.screened = 0
        self._multiplier = mechanism.noise_multiplier
        self._noise = mechanism.noise
        self._scale = scheme.scale()
        self._tracker: QuantileTracker | None = None
        self._clip: Clipping | None = None
        if isinstance(mechanism.clip_norm, AdaptiveClip):
            self._tracker = QuantileTracker(mechanism.clip_norm)
        else:
            self._clip = as_clipping(mechanism.clip_norm)

    @property
    def memory(self) -> dict[str, FloatArray]:
        """The norm, where it moves."""
        return {} if self._tracker is None else {"norm": np.asarray(self._tracker.norm)}

    @memory.setter
    def memory(self, memory: dict[str, FloatArray]) -> None:
        if self._tracker is not None:
            norm = memory["norm"]
            self._tracker.norm = float(norm) if norm.ndim == 0 else norm

    def __call__(self, gradients: FloatArray, context: StepContext) -> FloatArray:
        """Clips, sums, perturbs and scales."""
        if self._tracker is not None:
            norm = self._tracker.norm
            rows, bits, screened = self._tracker.clip(gradients)
            total = self._noise.noisy_sum(rows, self._multiplier * norm, context.rng)
            self._tracker.update(bits, self._noise, context.rng)
        else:
            assert self._clip is not None
            rows, screened = self._clip(gradients)
            total = self._noise.noisy_sum(rows, self._multiplier * self._clip.norm, context.rng)
        self.screened += screened
        return np.asarray(total * self._scale)
