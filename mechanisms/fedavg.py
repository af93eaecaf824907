"""Federated averaging with projected and perturbed updates (TUM 6.3)."""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from accountants import validate
from accountants.arrays import FloatArray
from mechanisms.averaging_strategy import AveragingStrategy
from mechanisms.budget import Budget
from mechanisms.primitives.clipping import Clipping, as_clipping
from mechanisms.primitives.noise import NoiseSource, SimulationNoise
from mechanisms.primitives.partition import Partition, as_partitions
from mechanisms.private_run import Recorder
from mechanisms.protocol import (
    ClientPart,
    Data,
    Layout,
    Mechanism,
    Setting,
    contribution_of,
    recorder_or_new,
)
from mechanisms.release import Contribution, ServerNoise, Transcript, check_contributions
from mechanisms.run_state import RunState
from mechanisms.server_rule import ServerRule
from pvi import (
    Alteration,
    Callback,
    Client,
    Context,
    FederatedAveraging,
    MeanFieldGaussian,
    Rule,
    Synchronous,
    restore,
    save,
)
from pvi.validate import checked, function, having, sequence


class AveragingRun:
    """Weights of a point estimate, and what was released for them.

    Attributes:
      averaging: The engine's federated averaging.
    """

    def __init__(
        self,
        *,
        setting: Setting,
        partitions: Sequence[Partition],
        mechanism: "FedAvgPerturbation",
        contributions: Sequence[Contribution],
        rng: np.random.Generator,
        keep_values: bool,
    ) -> None:
        validate.instance("setting", setting, Setting)
        validate.instance("mechanism", mechanism, FedAvgPerturbation)
        sequence("partitions", partitions, Partition, least=1)
        self._recorder = Recorder(keep_values=keep_values)
        self._contributions = check_contributions(contributions)
        self._muted = frozenset(m for m, own in enumerate(partitions) if own.muted)
        self._clip = as_clipping(mechanism.clip_norm)
        self._std = mechanism.share_std(len(partitions))
        self._noise = mechanism.noise
        self.averaging = FederatedAveraging(
            setting.point_model(),
            [partition.shards[0] for partition in partitions],
            rule=mechanism.rule,
            local_steps=mechanism.local_steps,
            rng=rng,
            start=setting.prior.mean,
            regularisation=mechanism.regularisation,
            persistent=mechanism.persistent,
            alter=self._alter,
            after_round=self._close,
            shares=mechanism.weights,
        )
        self.averaging.companion = RunState(self._recorder, contributions)

    @property
    def round(self) -> int:
        """The number of rounds made."""
        return self.averaging.round

    @property
    def estimate(self) -> FloatArray:
        """The present weights."""
        return self.averaging.weights

    @property
    def history(self) -> FloatArray:
        """The weights after each round, (rounds, ..., d)."""
        return self.averaging.history

    @property
    def transcript(self) -> Transcript:
        """All releases so far."""
        return tuple(self._recorder.releases)

    def run(self, rounds: int, *, callbacks: Sequence[Callback] = ()) -> FloatArray:
        """Makes `rounds` more rounds; the weights after the last.

        Raises:
          ValueError: Callbacks are told of a posterior, which averaged weights do not have.
        """
        if sequence("callbacks", callbacks, function):
            raise ValueError("`callbacks` must be empty: federated averaging has no posterior.")
        try:
            return self.averaging.run(rounds)
        except BaseException:
            self._recorder.abandon_group()
            raise

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the run's state, transcript included; see `PrivateRun.save`."""
        save(path, self.averaging)

    def restore(self, path: str | os.PathLike[str]) -> None:
        """Puts a saved state into this run; see `PrivateRun.restore`."""
        restore(path, self.averaging)

    def _alter(self, change: FloatArray, context: Context) -> FloatArray:
        rows = 0.0 * change if context.client in self._muted else self._clip(change).rows
        sent = self._noise.noisy_sum(rows[..., None, :], self._std, context.rng)
        self._recorder.message(sent, context.round, self._contributions[context.client])
        return sent

    def _close(self, total: FloatArray, round_number: int) -> None:
        self._recorder.close_group(total, round_number, ServerNoise())


@dataclass(frozen=True, slots=True, kw_only=True)
class FedAvgPerturbation(Mechanism):
    """Each client's change of weights is projected to the ball of radius C; noise is added.

    One record can move the projected change by 2C; a client that contributes zero moves its own by
    C. TUM counts C for records. The server averages with weights w_k. By default these are n_k/n,
    which makes the numbers of records public (no add or remove); public constants can be given.
    Training begins at the prior's mean; nothing else of the prior is used, and all clients take
    part in every round.

    Attributes:
      clip_norm: C; or a `LayerClip`.
      noise_multiplier: σ; a client's noise has standard deviation σC, with a trusted aggregator
        σC/√M.
      rule: SGD or Adam, for the local full-batch steps, which are free.
      local_steps: E, local steps per round.
      weights: Public averaging weights that add up to 1; None for n_k/n.
      trusted_aggregator: Whether noise is split over the clients.
      regularisation: Strength of the squared penalty. It is divided by the number of all records,
        which must then be public.
      persistent: Whether a client's rule keeps its state between rounds.
      noise: Where noise comes from; the default is for simulation only.
    """

    clip_norm: float | Clipping
    noise_multiplier: float
    rule: Rule
    local_steps: int = 1
    weights: tuple[float, ...] | None = None
    trusted_aggregator: bool = False
    regularisation: float = 0.0
    persistent: bool = False
    noise: NoiseSource = field(default_factory=SimulationNoise)

    takes_solver: ClassVar[bool] = False

    def __post_init__(self) -> None:
        as_clipping(self.clip_norm)
        validate.positive("noise_multiplier", self.noise_multiplier)
        having("rule", self.rule, "step")
        having("noise", self.noise, "grid", "noisy_sum", "silent")
        validate.flag("trusted_aggregator", self.trusted_aggregator)
        validate.flag("persistent", self.persistent)
        validate.count("local_steps", self.local_steps)
        validate.non_negative("regularisation", self.regularisation)
        if self.weights is not None:
            validate.sequence("weights", self.weights, validate.positive)
            if not math.isclose(sum(self.weights), 1.0, rel_tol=1e-9):
                raise ValueError(f"`weights` must add up to 1, got {self.weights!r}.")

    def share_std(self, clients: int) -> float:
        """The standard deviation of one client's noise."""
        clients = validate.count("clients", clients)
        shares = clients if self.trusted_aggregator else 1
        return self.noise_multiplier * as_clipping(self.clip_norm).norm / math.sqrt(shares)

    @checked(layout=Layout)
    def contributions(self, layout: Layout) -> tuple[Contribution, ...]:
        """The facts behind a message of each client."""
        std = 0.0 if self.noise.silent else self.share_std(layout.clients)
        return tuple(
            Contribution(
                client=client,
                clips="part",
                clip_norm=as_clipping(self.clip_norm).norm,
                noise_std=std,
                weight=weight,
                uses_size=self.weights is None or self.regularisation > 0.0,
                grid=self.noise.grid(std) if std else None,
                coordinates=layout.dimension,
            )
            for client, weight in enumerate(self._shares(layout))
        )

    def _shares(self, layout: Layout) -> tuple[float, ...]:
        if self.weights is None:
            if layout.sizes is None:
                raise ValueError("`sizes` must be given where clients are averaged by n_k/n.")
            return tuple(size / sum(layout.sizes) for size in layout.sizes)
        if len(self.weights) != layout.clients:
            raise ValueError(
                f"`weights` must have one entry per client ({layout.clients}), got "
                f"{len(self.weights)}."
            )
        return self.weights

    @checked(layout=Layout)
    def server_noise(self, layout: Layout) -> ServerNoise:
        """None."""
        return ServerNoise()

    @checked(setting=Setting)
    def build(
        self,
        setting: Setting,
        data: Data,
        rng: np.random.Generator,
        *,
        budget: Budget | None = None,
        keep_values: bool = True,
    ) -> AveragingRun:
        """A run; see `Mechanism.build`. There is no budget and no schedule but the synchronous."""
        setting.refuse_solver()
        if budget is not None:
            raise ValueError("`budget` must be None: averaging has no round without a client.")
        if setting.schedule != Synchronous():
            raise ValueError(f"`schedule` must be Synchronous(), got {setting.schedule!r}.")
        partitions = as_partitions(data)
        for partition in partitions:
            if len(partition.shards) != 1:
                raise ValueError(
                    f"`data` must be one part per client here, got {len(partition.shards)}."
                )
        layout = Layout.of(partitions, setting.model.dimension)
        return AveragingRun(
            setting=setting,
            partitions=partitions,
            mechanism=self,
            contributions=self.contributions(layout),
            rng=rng,
            keep_values=keep_values,
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
        """One client; see `Mechanism.build_client` and `AveragingStrategy`."""
        setting.refuse_solver()
        own = contribution_of(self, layout, number)
        penalty = 0.0
        if self.regularisation:
            if layout.sizes is None:
                raise ValueError("`sizes` must be given where weights are penalised, got None.")
            penalty = self.regularisation / sum(layout.sizes)
        strategy = AveragingStrategy(
            model=setting.point_model(),
            shard=data.shards[0],
            rule=self.rule,
            local_steps=self.local_steps,
            penalty=penalty,
            persistent=self.persistent,
        )
        hook = _AveragingHook(self, layout.clients, own, data.muted, recorder_or_new(recorder))
        return ClientPart(Client(number, strategy, alter=hook.alter), hook)

    @checked(layout=Layout)
    def server_rule(self, layout: Layout) -> ServerRule:
        """An average of weights; joint noise is all or nothing."""
        return ServerRule(averages=True, joint=self.trusted_aggregator and not self.noise.silent)


class _AveragingHook:
    """One client's projection and noise, for messages of a `Client`.

    Attributes:
      screened: How many changes were not finite and became zero.
    """

    def __init__(
        self,
        mechanism: FedAvgPerturbation,
        clients: int,
        contribution: Contribution,
        muted: bool,
        recorder: Recorder,
    ) -> None:
        self.screened = 0
        self._clip = as_clipping(mechanism.clip_norm)
        self._std = mechanism.share_std(clients)
        self._noise = mechanism.noise
        self._contribution = contribution
        self._muted = muted
        self._recorder = recorder

    @property
    def memory(self) -> dict[str, FloatArray]:
        """Nothing."""
        return {}

    @memory.setter
    def memory(self, memory: dict[str, FloatArray]) -> None:
        pass

    def alter(self, change: MeanFieldGaussian, context: Context) -> Alteration:
        """Gives the weighted message."""
        own, moved = self._contribution, change.natural_mean
        clipped = self._clip(moved)
        self.screened += clipped.screened
        rows = 0.0 * moved if self._muted else clipped.rows
        sent = self._noise.noisy_sum(rows[..., None, :], self._std, context.rng)
        self._recorder.message(sent, context.round, own)
        return Alteration(
            MeanFieldGaussian(natural_mean=own.weight * sent, precision=change.precision)
        )
