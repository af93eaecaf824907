"""A schedule that leaves out what the budget does not cover."""

import secrets
from collections import Counter
from collections.abc import Sequence
from itertools import chain

import dp_accounting as dpa
import numpy as np

from accountants import validate
from mechanisms.books import Charge
from mechanisms.budget import Budget
from mechanisms.projection import noise_distances, project_clients
from mechanisms.release import (
    SERVER,
    Contribution,
    Release,
    ServerNoise,
    check_contributions,
    check_server_noise,
)
from pvi import Schedule
from pvi.validate import having


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

    Attributes:
      payer: The run's name in the budget's receipts; a resumed run has that of the saved one.
      note: Whom the last round left out; "" if nobody.
    """

    def __init__(
        self,
        schedule: Schedule,
        budget: Budget,
        contributions: Sequence[Contribution],
        server_noise: ServerNoise | None = None,
    ) -> None:
        self.schedule = having("schedule", schedule, "groups", "stale")
        self.budget = validate.instance("budget", budget, Budget)
        self._contributions = check_contributions(contributions)
        self._server_noise = check_server_noise(server_noise)
        self._costs: dict[tuple[int, ...], tuple[Charge, ...]] = {}
        self.note = ""
        self.payer = secrets.token_hex(8)
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
        intended = self.schedule.groups(clients, round, rng)
        paid = [self._affordable(group) for group in intended]
        left_out = Counter(chain(*intended)) - Counter(chain(*paid))
        self.note = f"the budget leaves out clients {sorted(left_out)}" if left_out else ""
        if left_out and not any(paid):
            self.note += ": nobody updates"
        return [group for group in paid if group]

    def _affordable(self, group: tuple[int, ...]) -> tuple[int, ...]:
        while group:
            try:
                charges = self._charges(group)
            except dpa.UnsupportedEventError:
                return ()  # too few are left for the view to be answered
            over = self.budget.book(charges, payer=self.payer)
            if not over:
                return group
            group = tuple(m for m in group if m not in over)
        return group

    def _charges(self, group: tuple[int, ...]) -> tuple[Charge, ...]:
        """What the group's update costs each of its members."""
        if group not in self._costs:
            plan = self._plan(group, 0)
            events, far = project_clients(plan, self.budget.scope), noise_distances(plan)
            self._costs[group] = tuple(Charge(m, events[m], distance=far[m]) for m in group)
        return self._costs[group]

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
