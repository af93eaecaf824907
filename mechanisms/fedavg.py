"""Federated averaging with projected and perturbed updates (TUM 6.3)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from accountants import validate
from accountants.arrays import FloatArray
from mechanisms.plan import plan_rounds
from mechanisms.primitives.clipping import Clipping, as_clipping
from mechanisms.primitives.noise import NoiseSource, SimulationNoise
from mechanisms.private_run import Recorder
from mechanisms.release import Contribution, ServerNoise, Transcript
from pvi import Context, FederatedAveraging, PointModel, Rule, Shard


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AveragingRun:
    """Weights after the last round and after each, and what was released for them."""

    weights: FloatArray
    history: FloatArray
    transcript: Transcript


@dataclass(frozen=True, slots=True, kw_only=True)
class FedAvgPerturbation:
    """Each client's change of weights is projected to the ball of radius C; noise is added.

    One record can move the projected change by 2C; a client that contributes zero moves its own by
    C. TUM counts C for records. The server averages with weights w_k. By default these are n_k/n,
    which makes the numbers of records public (no add or remove); public constants can be given.

    Attributes:
      clip_norm: C; or a `LayerClip`.
      noise_multiplier: σ; a client's noise has standard deviation σC, with a trusted aggregator
        σC/√M.
      weights: Public averaging weights that add up to 1; None for n_k/n.
      trusted_aggregator: Whether noise is split over the clients.
      noise: Where noise comes from; the default is for simulation only.
    """

    clip_norm: float | Clipping
    noise_multiplier: float
    weights: tuple[float, ...] | None = None
    trusted_aggregator: bool = False
    noise: NoiseSource = field(default_factory=SimulationNoise)

    def __post_init__(self) -> None:
        as_clipping(self.clip_norm)
        validate.positive("noise_multiplier", self.noise_multiplier)
        if self.weights is not None:
            for weight in self.weights:
                validate.positive("weights", weight)
            if not math.isclose(sum(self.weights), 1.0, rel_tol=1e-9):
                raise ValueError(f"`weights` must add up to 1, got {self.weights!r}.")

    def share_std(self, clients: int) -> float:
        """The standard deviation of one client's noise."""
        shares = validate.count("clients", clients) if self.trusted_aggregator else 1
        return self.noise_multiplier * as_clipping(self.clip_norm).norm / math.sqrt(shares)

    def contributions(
        self, sizes: Sequence[int], dimension: int = 1, *, regularised: bool = False
    ) -> list[Contribution]:
        """Each client's facts.

        Args:
          sizes: The clients' numbers of records.
          dimension: The number of weights.
          regularised: Whether a penalty scaled by the number of all records is used.
        """
        if self.weights is not None and len(self.weights) != len(sizes):
            raise ValueError(
                f"`weights` must have one entry per client ({len(sizes)}), got {len(self.weights)}."
            )
        weights = self.weights or tuple(size / sum(sizes) for size in sizes)
        std = 0.0 if self.noise.silent else self.share_std(len(sizes))
        return [
            Contribution(
                client=k,
                clips="part",
                clip_norm=as_clipping(self.clip_norm).norm,
                noise_std=std,
                weight=weight,
                uses_size=self.weights is None or regularised,
                grid=self.noise.grid(std) if std else None,
                coordinates=dimension,
            )
            for k, weight in enumerate(weights)
        ]

    def plan(self, *, sizes: Sequence[int], rounds: int, dimension: int = 1) -> Transcript:
        """The costs of a run without regularisation, without values."""
        return plan_rounds(self.contributions(sizes, dimension), ServerNoise(), rounds)

    def run(
        self,
        *,
        model: PointModel,
        data: Sequence[Shard],
        rule: Rule,
        rounds: int,
        local_steps: int,
        rng: np.random.Generator,
        start: FloatArray | None = None,
        regularisation: float = 0.0,
        persistent: bool = False,
        keep_values: bool = True,
    ) -> AveragingRun:
        """Trains for `rounds` rounds; `start` (..., d) may have batch axes of repetitions.

        Args:
          model: A likelihood with per-record scores.
          data: One shard per client.
          rule: SGD or Adam.
          rounds: Rounds of communication.
          local_steps: Local full-batch steps per round; free.
          rng: The simulation's generator.
          start: Initial weights; zeros if not given.
          regularisation: Strength of the squared penalty. It is divided by the number of all
            records, which must then be public.
          persistent: Whether a client's rule keeps its state between rounds.
          keep_values: Whether the transcript keeps what was sent.
        """
        if not data:
            raise ValueError("`data` must hold the data of at least one client, got none.")
        recorder = Recorder(keep_values=keep_values)
        sources = self.contributions(
            [shard.size for shard in data], model.dimension, regularised=regularisation > 0.0
        )
        clip, std = as_clipping(self.clip_norm), self.share_std(len(data))

        def alter(change: FloatArray, context: Context) -> FloatArray:
            rows = clip(change).rows[..., None, :]
            sent = self.noise.noisy_sum(rows, std, context.rng)
            recorder.message(sent, context.round, sources[context.client])
            return sent

        def after_round(average: FloatArray, number: int) -> None:
            recorder.close_group(average, number, ServerNoise())

        training = FederatedAveraging(
            model,
            data,
            rule=rule,
            local_steps=local_steps,
            rng=rng,
            start=start,
            regularisation=regularisation,
            persistent=persistent,
            alter=alter,
            after_round=after_round,
            shares=self.weights,
        )
        training.run(rounds)
        return AveragingRun(
            weights=training.weights,
            history=training.history,
            transcript=tuple(recorder.releases),
        )
