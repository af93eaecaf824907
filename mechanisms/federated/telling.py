"""A coordinator's rounds in the words of `mechanisms.progress`, so that whoever watches can."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from mechanisms.experiment import Experiment
from mechanisms.observed import held_out_score, summary
from mechanisms.progress import (
    ClientStatus,
    EpsilonSpent,
    Observer,
    ProgressEvent,
    RoundBegan,
    RoundEnded,
    RunBegan,
    RunEnded,
    Status,
    Traffic,
)
from pvi import Shard

if TYPE_CHECKING:
    from mechanisms.federated.coordinator import Coordinator


class Teller:
    """Tells an observer, if there is one; costs are what each holder says of its own."""

    def __init__(
        self, experiment: Experiment, observer: Observer | None, held_out: Shard | None
    ) -> None:
        self._experiment = experiment
        self._observer = observer
        self._held_out = held_out
        self._sent: dict[int, int] = {}
        self._received: dict[int, int] = {}

    @property
    def is_heard(self) -> bool:
        """Whether there is an observer."""
        return self._observer is not None

    def begin(self, run: "Coordinator", change: float, note: str) -> None:
        """A process begins, or goes on."""
        experiment = self._experiment
        self._tell(
            RunBegan(
                name=experiment.name,
                clients=experiment.clients,
                rounds=experiment.rounds,
                round=run.round,
            )
        )
        if run.round:  # the process that made this round may have died before it could tell
            self.round_ended(run, change, note, None)
        else:
            self._summarise(run)

    def round_began(self, round: int) -> None:  # noqa: A002
        """A round is about to be made."""
        self._tell(RoundBegan(round=round))

    def asked(self, asked: Mapping[int, bytes], round: int, *, again: bool) -> None:  # noqa: A002
        """Clients are asked."""
        for client, content in asked.items():
            self._received[client] = self._received.get(client, 0) + len(content)
            self._status(client, "retried" if again else "pending", round)

    def answered(self, client: int, round: int, size: int) -> None:  # noqa: A002
        """A client has answered."""
        self._sent[client] = self._sent.get(client, 0) + size
        self._status(client, "online", round)

    def silent(self, client: int, round: int) -> None:  # noqa: A002
        """A client has not."""
        self._status(client, "offline", round)

    def round_ended(
        self, run: "Coordinator", change: float, note: str, seconds: float | None
    ) -> None:
        """A round has been made, and saved."""
        self._tell(
            RoundEnded(
                round=run.round, clients=run.updated, change=change, seconds=seconds, note=note
            )
        )
        self._summarise(run)
        self._traffic(run.round)
        self._costs(run)

    def end(self, run: "Coordinator") -> None:
        """All rounds have been made, and everyone has been told."""
        self._traffic(run.round)
        self._costs(run)
        self._tell(RunEnded(round=run.round))

    def _tell(self, event: ProgressEvent) -> None:
        if self._observer is not None:
            self._observer(event)

    def _status(self, client: int, status: Status, round: int) -> None:  # noqa: A002
        self._tell(ClientStatus(client=client, status=status, round=round))

    def _summarise(self, run: "Coordinator") -> None:
        std = None if run.averages else np.sqrt(run.posterior.variance)
        self._tell(summary(run.round, run.estimate, std))
        if self._held_out is not None and run.round:
            self._tell(
                held_out_score(self._experiment, run.estimate, self._held_out, round=run.round)
            )

    def _traffic(self, round: int) -> None:  # noqa: A002
        for client in sorted(set(self._sent) | set(self._received)):
            self._tell(
                Traffic(
                    round=round,
                    client=client,
                    sent=self._sent.pop(client, 0),
                    received=self._received.pop(client, 0),
                    kind="wire",
                )
            )

    def _costs(self, run: "Coordinator") -> None:
        for client, said in sorted(run.statements.items()):
            places: list[tuple[str, float, float | None, float | None]]
            places = [(said.scope, said.delta, said.spent, said.limit)]
            delta = self._experiment.delta
            places += [
                (scope, delta, cost, None)
                for scope, cost in zip(said.scopes, said.costs, strict=True)
                if scope != said.scope
            ]
            for scope, at, spent, limit in places:
                self._tell(
                    EpsilonSpent(
                        round=run.round,
                        client=client,
                        scope=scope,
                        delta=at,
                        spent=spent,
                        limit=limit,
                        reporter="holder",
                    )
                )
