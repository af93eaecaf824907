"""A run that is watched while it goes, and can be taken up again where it was ended.

After each round the state is saved, then the observer is told: nobody acts upon a release that a
process which dies could forget. The rounds are those of `Experiment.run`, bit for bit, whether or
not anyone watches, and however often the run is ended and taken up again.
"""

import os
import time
from collections.abc import Sequence

import numpy as np
from dp_accounting import UnsupportedEventError

from accountants import validate
from accountants.arrays import FloatArray
from mechanisms.budget import Budget
from mechanisms.experiment import Experiment
from mechanisms.fedavg import AveragingRun
from mechanisms.private_run import PrivateRun
from mechanisms.progress import (
    MOST_COORDINATES,
    ClientStatus,
    EpsilonSpent,
    HeldOutScore,
    Observer,
    PosteriorSummary,
    RoundBegan,
    RoundEnded,
    RunBegan,
    RunEnded,
    Traffic,
)
from mechanisms.projection import epsilon_by_client
from mechanisms.protocol import Data, Run
from mechanisms.release import SERVER, Release
from mechanisms.scope import Scope
from pvi import LinearRegression, LogisticRegression, Shard

# What a number in a message takes where nothing crosses a wire.
_BYTES = 8
# Certifying what was spent so far may take as long as the rounds themselves, and a second more.
_HEAD_START = 1.0


def observed_run(
    experiment: Experiment,
    data: Data,
    rng: np.random.Generator,
    *,
    observer: Observer | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    held_out: Shard | None = None,
    budget: Budget | None = None,
) -> Run:
    """Makes the run, or what is missing of it, and tells the observer of each round.

    Args:
      experiment: What is run.
      data: The clients' data.
      rng: The simulation's generator; a checkpoint brings its own state of it.
      observer: Who is told.
      checkpoint: A file that is written after each round, and gone on from if it is there. It is
        as private as the data.
      held_out: Records that no client holds. They decide nothing; no certificate speaks of them.
      budget: Limits per client. It is told of as the clients' own in the scope that it has.

    Raises:
      CheckpointError: The checkpoint is damaged, or of another run.
    """
    validate.instance("experiment", experiment, Experiment)
    if observer is not None:
        validate.function("observer", observer)
    file = None if checkpoint is None else validate.file_name("checkpoint", checkpoint)
    if held_out is not None:
        check_held_out(experiment, held_out)
    run = experiment.build(data, rng, budget=budget)
    if file is not None and file.exists():
        run.restore(file)
    teller = None if observer is None else _Teller(experiment, run, observer, held_out, budget)
    if teller is not None:
        teller.begin()
    while run.round < experiment.rounds:
        before = _parameters(run)
        if teller is not None:
            teller.round_began()
        began = time.perf_counter()
        run.run(1)
        seconds = time.perf_counter() - began
        if file is not None:
            run.save(file)
        if teller is not None:
            teller.round_ended(_change(before, _parameters(run)), seconds)
    if observer is not None:
        observer(RunEnded(round=run.round))
    return run


def check_held_out(experiment: Experiment, held_out: Shard) -> None:
    """Raises if the model's predictions cannot be scored on these records."""
    validate.instance("held_out", held_out, Shard)
    model = experiment.model
    if not isinstance(model, LinearRegression | LogisticRegression):
        raise TypeError(
            "`held_out` must be left out for models other than linear and logistic regression, "
            f"got a {type(model).__name__}."
        )
    if held_out.inputs.ndim != 2 or held_out.inputs.shape[-1] != model.dimension:
        raise ValueError(
            f"`held_out` must have {model.dimension} columns of inputs, got the shape "
            f"{held_out.inputs.shape}."
        )
    if isinstance(model, LogisticRegression) and not np.isin(held_out.targets, (-1, 1)).all():
        raise ValueError("`held_out` must have the targets -1 and +1, got others.")


def held_out_score(
    experiment: Experiment,
    weights: FloatArray,
    held_out: Shard,
    *,
    round: int,  # noqa: A002
) -> HeldOutScore:
    """How well the weights predict the records: a share of right classes, or a root of squares.

    Under a Gaussian q the more probable class is the one that q's mean predicts. A tie is wrong.
    """
    predicted = held_out.inputs @ validate.reals("weights", weights)
    if isinstance(experiment.model, LogisticRegression):
        value = float(np.mean(np.sign(predicted) == held_out.targets))
        return HeldOutScore(round=round, records=held_out.size, measure="accuracy", value=value)
    value = float(np.sqrt(np.mean((predicted - held_out.targets) ** 2)))
    return HeldOutScore(round=round, records=held_out.size, measure="rmse", value=value)


def posterior_summary(run: Run) -> PosteriorSummary:
    """The first coordinates of what the server has learnt."""
    std = np.sqrt(run.posterior.variance) if isinstance(run, PrivateRun) else None
    return summary(run.round, run.estimate, std)


def summary(
    round: int,  # noqa: A002
    estimate: FloatArray,
    std: FloatArray | None,
) -> PosteriorSummary:
    """The first coordinates of an estimate, with standard deviations if it has any."""
    return PosteriorSummary(
        round=round,
        dimension=len(estimate),
        mean=tuple(estimate[:MOST_COORDINATES].tolist()),
        std=None if std is None else tuple(std[:MOST_COORDINATES].tolist()),
    )


class _Teller:
    """Words what happened for the observer."""

    def __init__(
        self,
        experiment: Experiment,
        run: Run,
        observer: Observer,
        held_out: Shard | None,
        budget: Budget | None,
    ) -> None:
        self.observer = observer
        self._experiment = experiment
        self._run = run
        self._held_out = held_out
        self._budget = budget
        self._releases = len(run.transcript)
        self._seconds = 0.0
        self._certifying = 0.0

    def begin(self) -> None:
        """What there is before the first round of this process."""
        experiment, run = self._experiment, self._run
        self.observer(
            RunBegan(
                name=experiment.name,
                clients=experiment.clients,
                rounds=experiment.rounds,
                round=run.round,
            )
        )
        for client in range(experiment.clients):
            self.observer(ClientStatus(client=client, status="online", round=run.round))
        if run.round:  # the process that made this round may have died before it could tell
            self._releases = next(
                (k for k, r in enumerate(run.transcript) if r.round == run.round), self._releases
            )
            self.round_ended(_last_change(run, experiment), None)
        else:
            self.observer(posterior_summary(run))

    def round_began(self) -> None:
        """A round is about to be made."""
        self.observer(RoundBegan(round=self._run.round + 1))

    def round_ended(self, change: float, seconds: float | None) -> None:
        """A round has been made."""
        run, number = self._run, self._run.round
        new = run.transcript[self._releases :]
        self._releases += len(new)
        self._seconds += seconds or 0.0
        clients = tuple(release.sender for release in new if release.sender != SERVER)
        note = run.note if isinstance(run, PrivateRun) else ""
        self.observer(
            RoundEnded(round=number, clients=clients, change=change, seconds=seconds, note=note)
        )
        self.observer(posterior_summary(run))
        if self._held_out is not None:
            self.observer(
                held_out_score(self._experiment, run.estimate, self._held_out, round=number)
            )
        self._tell_traffic(new)
        last = number == self._experiment.rounds
        if last or seconds is None or self._certifying <= self._seconds + _HEAD_START:
            began = time.perf_counter()
            self._tell_costs()
            self._certifying += time.perf_counter() - began

    def _tell_traffic(self, releases: Sequence[Release]) -> None:
        state = _BYTES * len(_parameters(self._run))
        for client in sorted({r.sender for r in releases if r.sender != SERVER}):
            own = [r for r in releases if r.sender == client]
            if all(r.value is not None for r in own):
                self.observer(
                    Traffic(
                        round=self._run.round,
                        client=client,
                        sent=sum(_BYTES * r.value.size for r in own if r.value is not None),
                        received=state * len(own),
                        kind="payload",
                    )
                )

    def _tell_costs(self) -> None:
        for scope in self._experiment.scopes:
            spent = self._spent(scope)
            for client in range(self._experiment.clients):
                limit, delta = self._limit(client, scope)
                upper = spent.get(client, 0.0) if spent is not None else None
                self.observer(
                    EpsilonSpent(
                        round=self._run.round,
                        client=client,
                        scope=str(scope),
                        delta=delta,
                        spent=upper if upper is None or np.isfinite(upper) else None,
                        limit=limit,
                    )
                )

    def _spent(self, scope: Scope) -> dict[int, float] | None:
        """Each client's upper bound; None where no proof is known."""
        if self._is_limited(scope):
            budget = self._budget
            assert budget is not None
            return {m: budget.epsilon_upper(m) for m in range(self._experiment.clients)}
        try:
            found = epsilon_by_client(self._run.transcript, scope, self._experiment.delta)
        except UnsupportedEventError:
            return None
        return {client: bounds.upper for client, bounds in found.items()}

    def _limit(self, client: int, scope: Scope) -> tuple[float | None, float]:
        """The client's limit in the scope, if it has one, and δ."""
        if self._is_limited(scope):
            assert self._budget is not None
            return self._budget.limit(client)
        return None, self._experiment.delta

    def _is_limited(self, scope: Scope) -> bool:
        return self._budget is not None and scope == self._budget.scope


def _parameters(run: Run) -> FloatArray:
    return run.posterior.vector if isinstance(run, PrivateRun) else run.estimate


def _change(before: FloatArray, after: FloatArray) -> float:
    """As `pvi.RoundEvent.change`."""
    return float(np.max(np.abs(after - before) / (1.0 + np.abs(after))))


def _last_change(run: Run, experiment: Experiment) -> float:
    """The change of a round that was made by an earlier process."""
    if isinstance(run, PrivateRun):
        return float(run.federation.history.change[-1])
    assert isinstance(run, AveragingRun)
    start = experiment.setting().prior.mean
    before = run.history[-2] if len(run.history) > 1 else start
    return _change(before, run.history[-1])
