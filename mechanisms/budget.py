"""A limit that is never exceeded: the cost is checked, and written down, before an update is made.

The Workshop's rule stops a client once its budget *is* exceeded (section 3): the last update has
been paid for by then, whatever it cost. Here an update that does not fit is not made.

Two ways to count. With parameters fixed in advance, what may be spent is known beforehand and plain
composition applies (`FourierAccountant`). If parameters are chosen after a look at earlier releases
(`adaptive=True`), a Rényi filter keeps the books instead (Feldman, Zrnic 2021).
"""

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import dp_accounting as dpa
import numpy as np

from accountants import FourierAccountant, RenyiFilter, codec, validate
from mechanisms.primitives.discrete_gaussian import delta_slack
from mechanisms.primitives.sampling import repeated
from mechanisms.projection import (
    SLACK_SHARE,
    add_entry,
    bounds_with_slack,
    noise_distances,
    project_clients,
)
from mechanisms.release import SERVER, Contribution, Release, ServerNoise
from mechanisms.scope import Scope, View
from pvi import Schedule

_FORMAT = "dp-assay/budget"
_FIELDS = {
    "target_epsilon",
    "delta",
    "relation",
    "unit",
    "view",
    "limits",
    "adaptive",
    "spent",
    "distances",
}


class BudgetExceededError(ValueError):
    """An update that would take a client beyond its limit."""


class Budget:
    """Per client, an (ε, δ) that its releases together never exceed.

    Args:
      target_epsilon: The ε of every client that `limits` does not name.
      delta: Its δ.
      scope: About whom and against whom; see `Scope`.
      limits: (ε, δ) of single clients.
      adaptive: Whether parameters may depend on earlier releases.
      path: A file that is rewritten before `spend` returns, so that a run that dies after an
        update has still paid for it. `Budget.load` reads it. Must not exist yet.

    >>> budget = Budget(target_epsilon=5.0, delta=1e-5)
    >>> budget.spend(0, dpa.GaussianDpEvent(1.0))
    >>> budget.admits(0, dpa.GaussianDpEvent(1.0)), budget.admits(1, dpa.GaussianDpEvent(1.0))
    (False, True)
    """

    def __init__(
        self,
        *,
        target_epsilon: float,
        delta: float,
        scope: Scope | None = None,
        limits: Mapping[int, tuple[float, float]] | None = None,
        adaptive: bool = False,
        path: str | os.PathLike[str] | None = None,
    ) -> None:
        self.target_epsilon = validate.positive("target_epsilon", target_epsilon)
        self.delta = validate.open_unit("delta", delta)
        self.scope = Scope() if scope is None else scope
        self.limits: dict[int, tuple[float, float]] = {}
        for client, (epsilon, own_delta) in (limits or {}).items():
            self.limits[validate.count("client", client, minimum=0)] = (
                validate.positive("limits", epsilon),
                validate.open_unit("limits", own_delta),
            )
        self.adaptive = bool(adaptive)
        self._spent: dict[int, list[tuple[dpa.DpEvent, int]]] = {}
        self._distances: dict[int, float] = {}
        self.path = None if path is None else Path(path)
        if self.path is not None:
            if self.path.exists():
                raise FileExistsError(
                    f"`path` must not exist yet, got {self.path}: Budget.load resumes it."
                )
            self._write()

    def limit(self, client: int) -> tuple[float, float]:
        """The client's (ε, δ)."""
        return self.limits.get(client, (self.target_epsilon, self.delta))

    def ledger(self, client: int) -> tuple[tuple[dpa.DpEvent, int], ...]:
        """What the client has spent: events with counts."""
        return tuple(self._spent.get(client, ()))

    def epsilon_upper(self, client: int) -> float:
        """An upper bound of what the client has spent, at its δ."""
        return self._epsilon(client, self.ledger(client), self._distances.get(client, 0.0))

    def admits(
        self, client: int, event: dpa.DpEvent, count: int = 1, *, distance: float = 0.0
    ) -> bool:
        """Whether `count` more releases of `event` fit; nothing changes.

        Args:
          client: Whose.
          event: What would be released each time.
          count: How often.
          distance: How far discrete noise is from the continuous one that the event stands for, in
            total variation over all of these releases; see `discrete_gaussian`.
        """
        trial = (*self.ledger(client), (event, validate.count("count", count)))
        total = self._distances.get(client, 0.0) + validate.closed_unit("distance", distance)
        return self._epsilon(client, trial, total) <= self.limit(client)[0]

    def spend(
        self, client: int, event: dpa.DpEvent, count: int = 1, *, distance: float = 0.0
    ) -> None:
        """Books the releases; call it before they are made. The arguments are those of `admits`.

        Raises:
          BudgetExceededError: They do not fit; nothing is booked.
        """
        if not self.admits(client, event, count, distance=distance):
            epsilon, delta = self.limit(client)
            raise BudgetExceededError(
                f"`event` must fit client {client}'s budget (epsilon={epsilon}, delta={delta}), of "
                f"which {self.epsilon_upper(client):.6g} is spent, got {event} x {count}."
            )
        entries = self._spent.setdefault(validate.count("client", client, minimum=0), [])
        add_entry(entries, event, int(count))
        if distance:
            self._distances[client] = self._distances.get(client, 0.0) + distance
        if self.path is not None:
            self._write()

    def _epsilon(
        self, client: int, entries: Sequence[tuple[dpa.DpEvent, int]], distance: float
    ) -> float:
        """An upper bound of ε for these releases; infinite where they cannot be admitted."""
        if not entries:
            return 0.0
        epsilon, delta = self.limit(client)
        if self.adaptive:
            # A part of δ is set aside beforehand, so that the filter's order never changes.
            reserve = SLACK_SHARE * delta
            books = RenyiFilter(
                target_epsilon=epsilon,
                delta=delta - reserve,
                neighboring_relation=self.scope.relation,
            )
            total = dpa.ComposedDpEvent([repeated(event, count) for event, count in entries])
            if not books.admits(total) or delta_slack(epsilon, distance) > reserve:
                return math.inf
            books.spend(total)
            return books.epsilon_upper
        accountant = FourierAccountant(self.scope.relation)
        for event, count in entries:
            accountant.compose(event, count)
        try:
            return float(bounds_with_slack(accountant, delta, distance).upper)
        except dpa.UnsupportedEventError:  # the grid is too coarse for this δ
            return math.inf

    def to_json(self) -> str:
        """The limits and all that has been spent, as versioned JSON."""
        return codec.dump_document(
            _FORMAT,
            {
                "target_epsilon": self.target_epsilon,
                "delta": self.delta,
                "relation": self.scope.relation.name,
                "unit": self.scope.unit,
                "view": [self.scope.view.kind, self.scope.view.colluders],
                "limits": {str(client): list(pair) for client, pair in self.limits.items()},
                "adaptive": self.adaptive,
                "spent": {
                    str(client): [[codec.encode_event(event), count] for event, count in entries]
                    for client, entries in self._spent.items()
                },
                "distances": {str(client): far for client, far in self._distances.items()},
            },
        )

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Reads what `to_json` wrote; refuses anything else with a `ValueError`."""
        body = codec.load_document(_FORMAT, text)
        codec.expect_keys("budget", body, _FIELDS)
        kind, colluders = codec.expect(list, "view", body["view"])
        limits: dict[str, Any] = codec.expect(dict, "limits", body["limits"])
        budget = cls(
            target_epsilon=body["target_epsilon"],
            delta=body["delta"],
            scope=Scope(
                relation=codec.decode_relation(body["relation"]),
                unit=body["unit"],
                view=View(kind, colluders),
            ),
            limits={int(client): (pair[0], pair[1]) for client, pair in limits.items()},
            adaptive=codec.expect(bool, "adaptive", body["adaptive"]),
        )
        for client, entries in codec.expect(dict, "spent", body["spent"]).items():
            budget._spent[int(client)] = [
                (codec.decode_event(event), validate.count("count", count))
                for event, count in codec.expect(list, "entries", entries)
            ]
        for client, distance in codec.expect(dict, "distances", body["distances"]).items():
            budget._distances[int(client)] = validate.closed_unit("distances", distance)
        return budget

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Resumes the budget in the file, and goes on writing there."""
        budget = cls.from_json(Path(path).read_text(encoding="utf-8"))
        budget.path = Path(path)
        return budget

    def _write(self) -> None:
        """Replaces the file in one step; an interrupted write leaves the older one."""
        assert self.path is not None
        partial = self.path.with_name(self.path.name + ".partial")
        with partial.open("w", encoding="utf-8") as file:
            file.write(self.to_json())
            file.flush()
            os.fsync(file.fileno())
        partial.replace(self.path)


class BudgetedSchedule:
    """A schedule without the updates that do not fit; those that do are paid for here.

    A group is shrunk until every member can pay for its update in what remains: where noise is
    shared, fewer members mean less noise, so leaving one out can make the others' updates dearer. A
    group that is too small for the view (colluders could be all the others) does not update.

    Args:
      schedule: Who would update when.
      budget: The limits.
      contributions: Each client's facts, by number.
      server_noise: What the server adds.
    """

    def __init__(
        self,
        schedule: Schedule,
        budget: Budget,
        contributions: Sequence[Contribution],
        server_noise: ServerNoise | None = None,
    ) -> None:
        self.schedule = schedule
        self.budget = budget
        self._contributions = tuple(contributions)
        self._server_noise = server_noise or ServerNoise()
        self._costs: dict[tuple[int, ...], Mapping[int, dpa.DpEvent]] = {}
        everyone = tuple(range(len(self._contributions)))
        # Twice, so that what cannot be answered for repeated messages is refused now.
        project_clients([*self._plan(everyone, 0), *self._plan(everyone, 1)], budget.scope)

    @property
    def stale(self) -> bool:
        """As the schedule."""
        return self.schedule.stale

    def groups(
        self,
        clients: int,
        round: int,  # noqa: A002
        rng: np.random.Generator,
    ) -> list[tuple[int, ...]]:
        """The affordable part of each group; empty groups are left out."""
        groups = (self._affordable(g) for g in self.schedule.groups(clients, round, rng))
        return [group for group in groups if group]

    def _affordable(self, group: tuple[int, ...]) -> tuple[int, ...]:
        while group:
            if group not in self._costs:
                try:
                    self._costs[group] = project_clients(self._plan(group, 0), self.budget.scope)
                except dpa.UnsupportedEventError:
                    return ()  # too few are left for the view to be answered
            costs = self._costs[group]
            far = noise_distances(self._plan(group, 0))
            fits = tuple(m for m in group if self.budget.admits(m, costs[m], distance=far[m]))
            if fits == group:
                for m in group:
                    self.budget.spend(m, costs[m], distance=far[m])
                return group
            group = fits
        return group

    def _plan(self, group: Sequence[int], number: int) -> list[Release]:
        messages: list[Release] = [
            Release(value=None, sender=m, round=0, group=number, source=self._contributions[m])
            for m in group
        ]
        noise = self._server_noise
        return [
            *messages,
            Release(value=None, sender=SERVER, round=0, group=number, source=noise),
        ]
