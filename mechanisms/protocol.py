"""What all mechanisms have in common: facts before a run, and a run."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import ClassVar, NamedTuple, Protocol, TypeAlias, cast

import numpy as np

from accountants import validate
from accountants.arrays import FloatArray
from mechanisms.budget import Budget
from mechanisms.plan import plan_rounds
from mechanisms.primitives.partition import Partition
from mechanisms.private_run import Recorder
from mechanisms.release import ASSIGNMENTS, Assignment, Contribution, ServerNoise, Transcript
from mechanisms.run_state import Hook
from mechanisms.server_rule import ServerRule
from pvi import (
    Callback,
    Client,
    LocalSolver,
    MeanFieldGaussian,
    Model,
    PointModel,
    Schedule,
    Shard,
    Synchronous,
)
from pvi.validate import MOST, checked, having

Data: TypeAlias = Sequence[Shard] | Sequence[Partition]
"""One `Shard` or `Partition` per client."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What is public of the clients' data before anything runs.

    Attributes:
      clients: M.
      parts: N, into how many parts a client's data are cut: the same for all clients, or one for
        each.
      assignment: How records get to parts, see `Partition`.
      sizes: The clients' numbers of records, where a mechanism uses them.
      dimension: Of θ.
    """

    clients: int
    parts: int | tuple[int, ...] = 1
    assignment: Assignment = "identity"
    sizes: tuple[int, ...] | None = None
    dimension: int = 1

    def __post_init__(self) -> None:
        validate.count("clients", self.clients, maximum=MOST)
        validate.count("dimension", self.dimension, maximum=MOST)
        validate.one_of("assignment", self.assignment, ASSIGNMENTS)
        if isinstance(self.parts, Real):
            validate.count("parts", self.parts, maximum=MOST)
        else:
            self._check_counts("parts", cast(Sequence[int], self.parts), 1)
        if self.sizes is not None:
            self._check_counts("sizes", self.sizes, 0)

    def _check_counts(self, name: str, value: Sequence[int], minimum: int) -> None:
        """One whole number per client."""
        entries: tuple[int, ...] = validate.sequence(name, value)
        for entry in entries:
            validate.count(name, entry, minimum=minimum, maximum=MOST)
        if len(entries) != self.clients:
            raise ValueError(
                f"`{name}` must have one entry per client ({self.clients}), got {value!r}."
            )

    @classmethod
    def of(cls, data: Sequence[Partition], dimension: int) -> "Layout":
        """The layout of these data."""
        validate.sequence("data", data, lambda name, one: validate.instance(name, one, Partition))
        cuts = {partition.assignment for partition in data}
        return cls(
            clients=len(data),
            parts=tuple(len(partition.shards) for partition in data),
            assignment="identity" if cuts == {"identity"} else "position",
            sizes=tuple(partition.size for partition in data),
            dimension=dimension,
        )

    def parts_of(self, client: int) -> int:
        """N of one client."""
        client = validate.count("client", client, minimum=0, maximum=self.clients - 1)
        return self.parts[client] if isinstance(self.parts, Sequence) else int(self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What is learnt and how: all that a run needs besides its mechanism and its data.

    Attributes:
      model: The likelihood, any that the engine has.
      prior: p, whose batch axes are independent repetitions.
      solver: The local solver; None for mechanisms that take their own local steps.
      schedule: Who updates when; it must not depend on the data.
    """

    model: Model | PointModel
    prior: MeanFieldGaussian
    solver: LocalSolver | None = None
    schedule: Schedule = field(default_factory=Synchronous)

    def __post_init__(self) -> None:
        having("model", self.model, "dimension")
        validate.instance("prior", self.prior, MeanFieldGaussian)
        if self.solver is not None:
            having("solver", self.solver, "solve")
        having("schedule", self.schedule, "groups", "stale")

    def variational_model(self) -> Model:
        """The model, if it has gradients of expected log-likelihoods."""
        if not isinstance(self.model, Model):
            raise TypeError(
                "`model` must have gradients by mean and log-variance, got "
                f"{type(self.model).__name__}."
            )
        return self.model

    def point_model(self) -> PointModel:
        """The model, if it has scores of point estimates."""
        if not isinstance(self.model, PointModel):
            raise TypeError(
                f"`model` must have scores of point estimates, got {type(self.model).__name__}."
            )
        return self.model

    def require_solver(self) -> LocalSolver:
        """The solver, or an error that asks for one."""
        if self.solver is None:
            raise ValueError("`solver` must be given for this mechanism, got None.")
        return self.solver

    def refuse_solver(self) -> None:
        """Raises where a solver was given that would not be used."""
        if self.solver is not None:
            raise ValueError(
                "`solver` must be left out: this mechanism takes its own local steps, got "
                f"{validate.shown(self.solver)}."
            )


class ClientPart(NamedTuple):
    """One client of a run, without the others.

    Attributes:
      client: The engine's client, whose messages are private.
      hook: What clips for it, with what later messages depend on besides the client's own state.
    """

    client: Client
    hook: Hook


class Run(Protocol):
    """A run: `PrivateRun` of partitioned inference, or `AveragingRun` of federated averaging."""

    @property
    def round(self) -> int:
        """The number of rounds made."""
        ...

    @property
    def transcript(self) -> Transcript:
        """All releases so far."""
        ...

    @property
    def estimate(self) -> FloatArray:
        """The present estimate of θ, (..., d)."""
        ...

    def run(self, rounds: int, *, callbacks: Sequence[Callback] = ()) -> object:
        """Makes `rounds` more rounds."""
        ...

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the run's state, with all that was released and paid."""
        ...

    def restore(self, path: str | os.PathLike[str]) -> None:
        """Puts a saved state into a run that was built alike and has released nothing yet."""
        ...


class Mechanism(Protocol):
    """A way to learn from clients' data in which every message has a cost.

    A mechanism says, before anything runs, which facts stand behind each client's message
    (`contributions`) and what the server adds (`server_noise`); `build` makes a run whose releases
    carry those very facts. `plan` follows from them.
    """

    __slots__ = ()

    takes_solver: ClassVar[bool]
    """Whether a local solver is asked for; otherwise the mechanism takes its own local steps."""

    def contributions(self, layout: Layout) -> tuple[Contribution, ...]:
        """The facts behind a message of each client."""
        ...

    def server_noise(self, layout: Layout) -> ServerNoise:
        """What the server adds to a group's sum."""
        ...

    def build_client(
        self,
        setting: Setting,
        layout: Layout,
        number: int,
        data: Partition,
        *,
        recorder: Recorder | None = None,
    ) -> ClientPart:
        """One client, built of public facts and its own data: nobody else's are needed.

        Args:
          setting: What is learnt and how.
          layout: What is public of all clients' data.
          number: Which client it is.
          data: Its own data.
          recorder: Where its messages are recorded; in one of its own if not given.
        """
        ...

    def server_rule(self, layout: Layout) -> ServerRule:
        """What the server does beside multiplying changes: nothing, where nothing else is said."""
        return ServerRule(noise=self.server_noise(layout))

    def build(
        self,
        setting: Setting,
        data: Data,
        rng: np.random.Generator,
        *,
        budget: Budget | None = None,
        keep_values: bool = True,
    ) -> Run:
        """A run of this mechanism that has made no round yet.

        Args:
          setting: What is learnt and how.
          data: One `Shard` or `Partition` per client.
          rng: The simulation's generator.
          budget: Limits per client.
          keep_values: Whether the transcript keeps what was sent.
        """
        ...

    @checked(layout=Layout)
    def plan(self, layout: Layout, *, rounds: int, schedule: Schedule | None = None) -> Transcript:
        """The transcript of a run that has not been made: its costs, without values.

        Args:
          layout: What is public of the data.
          rounds: How many rounds the run will make.
          schedule: Who updates when; `Synchronous()` if not given. Where the schedule is random,
            every client is counted as often as it can possibly report.
        """
        return plan_rounds(
            self.contributions(layout),
            self.server_noise(layout),
            rounds,
            Synchronous() if schedule is None else schedule,
        )


def contribution_of(mechanism: Mechanism, layout: Layout, number: int) -> Contribution:
    """The facts behind one client's message."""
    number = validate.count("number", number, minimum=0, maximum=layout.clients - 1)
    return mechanism.contributions(layout)[number]


def recorder_or_new(recorder: Recorder | None) -> Recorder:
    """The recorder, or one that keeps no values."""
    if recorder is None:
        return Recorder(keep_values=False)
    return validate.instance("recorder", recorder, Recorder)
