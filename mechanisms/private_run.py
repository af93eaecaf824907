"""A federation whose releases are recorded, each with its cost, as they leave."""

import os
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from accountants import validate
from accountants.arrays import FloatArray
from mechanisms.budget import Budget
from mechanisms.budgeted_schedule import BudgetedSchedule
from mechanisms.primitives.noise import warn_of_simulation
from mechanisms.release import (
    SERVER,
    Contribution,
    Release,
    ServerNoise,
    Transcript,
    check_contributions,
    check_server_noise,
)
from mechanisms.run_state import Hook, RunState
from pvi import (
    Callback,
    Client,
    Federation,
    MeanFieldGaussian,
    Report,
    RoundEvent,
    Schedule,
    ServerContext,
    restore,
    save,
)
from pvi.schedule import Explained
from pvi.validate import function, having, sequence

_HOOK = ("memory", "screened")

SumRule: TypeAlias = Callable[[MeanFieldGaussian, ServerContext], MeanFieldGaussian]
AfterRound: TypeAlias = Callable[["PrivateRun", int], None]


class Recorder:
    """Collects releases in order. A message counts when it is computed, applied or not."""

    def __init__(self, *, keep_values: bool = True) -> None:
        self.releases: list[Release] = []
        self.keep_values = validate.flag("keep_values", keep_values)
        self.group = 0

    def message(self, value: FloatArray, round_number: int, source: Contribution) -> None:
        """Records a client's message in the open group."""
        self._append(value, source.client, round_number, source)

    def close_group(self, value: FloatArray | None, round_number: int, source: ServerNoise) -> None:
        """Records the sum of the open group and opens the next one."""
        self._append(value, SERVER, round_number, source)
        self.group += 1

    def abandon_group(self) -> None:
        """Opens the next group after an error; what was recorded stays."""
        if self.releases and self.releases[-1].group == self.group:
            self.group += 1

    def _append(
        self,
        value: FloatArray | None,
        sender: int,
        round_number: int,
        source: Contribution | ServerNoise,
    ) -> None:
        kept = value if self.keep_values else None
        self.releases.append(
            Release(value=kept, sender=sender, round=round_number, group=self.group, source=source)
        )


class PrivateRun:
    """Clients, server, transcript and budget of one run.

    Args:
      prior: p; with batch axes, each entry is an independent repetition.
      clients: The engine's clients, whose hooks record into `recorder`.
      schedule: Who updates when; it must not depend on the data.
      rng: The simulation's generator.
      recorder: Where releases are collected.
      server_noise: What the server adds to a group's sum.
      sum_rule: Makes the released total from the received one.
      after_round: Called after each round with the run and the round's number.
      precision_floor: Keeps the posterior proper: every precision is raised to this public number
        if noise has taken it below. Post-processing.
      budget: Clients whose next update would exceed it are left out.
      contributions: Each client's facts, for the budget and for what a resumed run must know.
      hooks: What clips, for each client.

    Errors of local solvers stop the run where they happen, which is an answer about the data that
    no event covers; wrap the solver in a `GuardedSolver` where that matters.

    Attributes:
      federation: The engine's federation.
    """

    def __init__(
        self,
        *,
        prior: MeanFieldGaussian,
        clients: Sequence[Client],
        schedule: Schedule,
        rng: np.random.Generator,
        recorder: Recorder,
        server_noise: ServerNoise | None = None,
        sum_rule: SumRule | None = None,
        after_round: AfterRound | None = None,
        precision_floor: float | None = None,
        budget: Budget | None = None,
        contributions: Sequence[Contribution] = (),
        hooks: Sequence[Hook] = (),
    ) -> None:
        self.recorder = validate.instance("recorder", recorder, Recorder)
        self._server_noise = check_server_noise(server_noise)
        self._sum_rule = None if sum_rule is None else function("sum_rule", sum_rule)
        self._after_round = None if after_round is None else function("after_round", after_round)
        if precision_floor is not None:
            validate.positive("precision_floor", precision_floor)
        self._precision_floor = precision_floor
        contributions = check_contributions(contributions)
        self._hooks = sequence("hooks", hooks, lambda name, hook: having(name, hook, *_HOOK))
        paying = None
        if budget is not None:
            paying = BudgetedSchedule(schedule, budget, contributions, self._server_noise)
            if budget.path is not None:
                warn_of_simulation([*contributions, self._server_noise])
        self.federation = Federation(
            prior, clients, schedule if paying is None else paying, rng=rng, alter=self._alter
        )
        self.federation.companion = RunState(
            recorder,
            contributions,
            server_noise=self._server_noise,
            hooks=self._hooks,
            schedule=paying,
        )

    @property
    def posterior(self) -> MeanFieldGaussian:
        """The server's q."""
        return self.federation.posterior

    @property
    def estimate(self) -> FloatArray:
        """The posterior's mean."""
        return self.posterior.mean

    @property
    def round(self) -> int:
        """The number of rounds made."""
        return self.federation.server.round

    @property
    def note(self) -> str:
        """Why the last round was not the one that the schedule intended; "" if it was."""
        schedule = self.federation.schedule
        return schedule.note if isinstance(schedule, Explained) else ""

    @property
    def transcript(self) -> Transcript:
        """All releases so far."""
        return tuple(self.recorder.releases)

    @property
    def screened(self) -> tuple[int, ...]:
        """For each client, how many contributions were not finite and became zero.

        A client's own business: it depends on the data and is not part of any release.
        """
        return tuple(hook.screened for hook in self._hooks)

    def run(self, rounds: int, *, callbacks: Sequence[Callback] = ()) -> Report:
        """Makes `rounds` more rounds."""

        def after(event: RoundEvent) -> None:
            if self._after_round is not None:
                self._after_round(self, event.round)

        try:
            told = sequence("callbacks", callbacks, function)
            return self.federation.run(rounds, callbacks=[after, *told])
        except BaseException:
            self.recorder.abandon_group()
            raise

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the run's state, transcript and spending included; see `pvi.save`.

        The file holds what clients keep to themselves: it is as private as the data.
        """
        save(path, self.federation)

    def restore(self, path: str | os.PathLike[str]) -> None:
        """Puts a saved state into this run, which must not have released anything yet.

        Where a budget knows of releases after the save, they enter the transcript, without values.

        Raises:
          CheckpointError: The file is damaged or not of such a run, or something that was released
            or paid would be forgotten. Nothing has changed then.
        """
        restore(path, self.federation)

    def _alter(self, total: MeanFieldGaussian, context: ServerContext) -> MeanFieldGaussian:
        released = total if self._sum_rule is None else self._sum_rule(total, context)
        self.recorder.close_group(released.vector, context.round, self._server_noise)
        if self._precision_floor is None:
            return released
        current = self.federation.server.posterior.precision
        lowest = self._precision_floor - current
        return MeanFieldGaussian(
            natural_mean=released.natural_mean, precision=np.maximum(released.precision, lowest)
        )
