"""An experiment: a mechanism with all that it runs on but the data, as one value and one file."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from dp_accounting import UnsupportedEventError

from accountants import Certificate, validate
from mechanisms import experiment_file
from mechanisms.budget import Budget
from mechanisms.certify import certify
from mechanisms.observation import Observation
from mechanisms.primitives.partition import Partition, as_partitions
from mechanisms.prior import Prior
from mechanisms.private_run import Recorder
from mechanisms.projection import check_transcript
from mechanisms.protocol import ClientPart, Data, Layout, Mechanism, Run, Setting
from mechanisms.release import Assignment, Release, Transcript
from mechanisms.scope import Scope
from pvi import (
    Callback,
    LocalSolver,
    Model,
    PointModel,
    Schedule,
    Shard,
    Synchronous,
)
from pvi.validate import MOST, having

# A posterior of so many coordinates fills a gigabyte for a handful of clients.
_LARGEST_DIMENSION = 10**7


def _scope(name: str, value: Any) -> Scope:
    return validate.instance(name, value, Scope)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopedCost:
    """What a run costs in one scope: a certificate, or why there is none.

    Attributes:
      scope: The question.
      certificate: The answer; None where no proof is known.
      refusal: The reason where there is none, else "".
    """

    scope: Scope
    certificate: Certificate | None
    refusal: str = ""

    def __post_init__(self) -> None:
        validate.instance("scope", self.scope, Scope)
        if self.certificate is not None:
            validate.instance("certificate", self.certificate, Certificate)
        validate.text("refusal", self.refusal)


def cost_by_scope(
    transcript: Sequence[Release], scopes: Sequence[Scope], delta: float
) -> tuple[ScopedCost, ...]:
    """The cost of a transcript, planned or recorded, in each scope."""
    transcript = tuple(check_transcript(transcript))
    delta = validate.open_unit("delta", delta)
    found = []
    for scope in validate.sequence("scopes", scopes, _scope):
        try:
            found.append(ScopedCost(scope=scope, certificate=certify(transcript, scope, [delta])))
        except UnsupportedEventError as error:
            found.append(ScopedCost(scope=scope, certificate=None, refusal=str(error)))
    return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """What will be run, and what is asked about it.

    Attributes:
      mechanism: How messages are made private; damping is among its attributes.
      model: The likelihood.
      clients: M.
      rounds: T.
      delta: δ of the certificates.
      scopes: Against whom and about whom they speak.
      prior: p(θ).
      solver: The local solver; None for mechanisms that take their own local steps.
      schedule: Who updates when.
      parts: N, into how many parts each client's data are cut; see `Layout`.
      assignment: How; by position, plain shards are cut here.
      sizes: The clients' numbers of records, where they are public and matter.
      name: For people.

    >>> from mechanisms import ParameterPerturbation
    >>> from pvi import ExactSolver, LinearRegression
    >>> experiment = Experiment(
    ...     mechanism=ParameterPerturbation(clip_norm=1.0, noise_multiplier=8.0),
    ...     model=LinearRegression(dimension=2, noise_std=1.0),
    ...     clients=5, rounds=3, delta=1e-5, solver=ExactSolver(),
    ... )
    >>> round(experiment.certify(Scope()).bounds(1e-5).upper, 4)
    1.698
    """

    mechanism: Mechanism
    model: Model | PointModel
    clients: int
    rounds: int
    delta: float
    scopes: tuple[Scope, ...] = (Scope(),)
    prior: Prior = field(default_factory=Prior)
    solver: LocalSolver | None = None
    schedule: Schedule = field(default_factory=Synchronous)
    parts: int | tuple[int, ...] = 1
    assignment: Assignment = "identity"
    sizes: tuple[int, ...] | None = None
    name: str = ""

    def __post_init__(self) -> None:
        having("mechanism", self.mechanism, "contributions", "plan", "build", "takes_solver")
        validate.count("clients", self.clients, maximum=MOST)
        validate.count("rounds", self.rounds, maximum=MOST)
        validate.open_unit("delta", self.delta)
        validate.sequence("scopes", self.scopes, _scope, least=1)
        validate.instance("prior", self.prior, Prior)
        validate.text("name", self.name)
        dimension = having("model", self.model, "dimension").dimension
        validate.count("dimension", dimension, maximum=_LARGEST_DIMENSION)
        if self.mechanism.takes_solver:
            self.setting().require_solver()
        else:
            self.setting().refuse_solver()
        # Refuses now what would be refused in the middle of a run: counts, weights, schedules.
        self.transcript()

    @property
    def layout(self) -> Layout:
        """What is public of the data."""
        return Layout(
            clients=self.clients,
            parts=self.parts,
            assignment=self.assignment,
            sizes=self.sizes,
            dimension=self.model.dimension,
        )

    def setting(self, repetitions: tuple[int, ...] = ()) -> Setting:
        """What is learnt and how, for independent repetitions at once if asked for."""
        return Setting(
            model=self.model,
            prior=self.prior.gaussian(self.model.dimension, repetitions),
            solver=self.solver,
            schedule=self.schedule,
        )

    def transcript(self) -> Transcript:
        """All releases that the run will make at most, without values."""
        return self.mechanism.plan(self.layout, rounds=self.rounds, schedule=self.schedule)

    def plan(self) -> tuple[ScopedCost, ...]:
        """What the run will cost, before it is made: an upper bound in each scope, or a refusal."""
        return cost_by_scope(self.transcript(), self.scopes, self.delta)

    def certify(self, scope: Scope, delta: float | None = None) -> Certificate:
        """The planned cost in one scope.

        Raises:
          UnsupportedEventError: No proof is known; the reason is given.
        """
        return certify(self.transcript(), scope, [self.delta if delta is None else delta])

    def build(
        self,
        data: Data,
        rng: np.random.Generator,
        *,
        repetitions: tuple[int, ...] = (),
        budget: Budget | None = None,
        keep_values: bool = True,
    ) -> Run:
        """The run, before its first round."""
        return self.mechanism.build(
            self.setting(repetitions),
            self.partitions(data),
            rng,
            budget=budget,
            keep_values=keep_values,
        )

    def build_client(
        self, number: int, data: Shard | Partition, *, recorder: Recorder | None = None
    ) -> ClientPart:
        """One client of the run, from its own data and what is public of the others'."""
        return self.mechanism.build_client(
            self.setting(), self.layout, number, self.partition_of(number, data), recorder=recorder
        )

    def run(
        self,
        data: Data,
        rng: np.random.Generator,
        *,
        budget: Budget | None = None,
        callbacks: Sequence[Callback] = (),
    ) -> Run:
        """Makes the run; `cost_by_scope(run.transcript, …)` is what it did cost."""
        run = self.build(data, rng, budget=budget)
        run.run(self.rounds, callbacks=callbacks)
        return run

    def sampler(self, scope: Scope) -> Observation:
        """`(data, rng, n) ->` what the scope's adversary sees of n independent runs, (n, …)."""
        return Observation(self, scope)

    def to_json(self) -> str:
        """The experiment as versioned JSON text."""
        return experiment_file.to_json(self)

    def to_toml(self) -> str:
        """The experiment as a TOML file's text, for people to edit."""
        return experiment_file.to_toml(self)

    @classmethod
    def from_json(cls, text: str) -> "Experiment":
        """Reads what `to_json` wrote; refuses anything else with a `ValueError`."""
        return experiment_file.from_json(cls, text)

    @classmethod
    def from_toml(cls, text: str) -> "Experiment":
        """Reads a TOML file's text; refuses anything that is not an experiment."""
        return experiment_file.from_toml(cls, text)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Experiment":
        """The experiment in a file, by its ending: `.toml` or `.json`."""
        if not isinstance(path, str | os.PathLike):
            raise TypeError(f"`path` must be a file's path, got {validate.shown(path)}.")
        file = Path(path)
        readers = {".toml": cls.from_toml, ".json": cls.from_json}
        if file.suffix not in readers:
            got = validate.shown(file.name)
            raise ValueError(f"`path` must end in .toml or .json, got {got}.")
        return readers[file.suffix](file.read_text(encoding="utf-8"))

    def partitions(self, data: Data) -> tuple[Partition, ...]:
        """The clients' data as they enter the run; plain shards are cut by position if need be.

        Raises:
          ValueError: The data do not have the layout that was planned for.
        """
        layout = self.layout
        if len(validate.sequence("data", data)) != layout.clients:
            raise ValueError(
                f"`data` must be those of {layout.clients} clients, as planned, got {len(data)}."
            )
        return tuple(self.partition_of(m, data[m]) for m in range(layout.clients))

    def partition_of(self, number: int, data: Shard | Partition) -> Partition:
        """One client's data as they enter the run; see `partitions`."""
        parts = self.layout.parts_of(number)
        if isinstance(data, Shard) and self.assignment == "position":
            data = Partition.by_position(data, parts)
        (partition,) = as_partitions([data])  # type: ignore[arg-type]
        self._check_partition(number, partition)
        return partition

    def _check_partition(self, client: int, partition: Partition) -> None:
        layout = self.layout
        if len(partition.shards) != layout.parts_of(client):
            raise ValueError(
                f"`data` of client {client} must be cut into {layout.parts_of(client)} parts, as "
                f"planned, got {len(partition.shards)}; use Partition.by_identity, or "
                'assignment="position".'
            )
        if partition.assignment == "position" and layout.assignment == "identity":
            raise ValueError(
                f"`data` of client {client} must be cut by identity, as planned, got a partition "
                "by position."
            )
        counted = self.mechanism.contributions(layout)[client].uses_size
        if counted and layout.sizes is not None and partition.size != layout.sizes[client]:
            raise ValueError(
                f"`data` of client {client} must have {layout.sizes[client]} records, as planned, "
                f"got {partition.size}."
            )
