"""What a holder pays: one message's charge, a run's cost in other scopes, and its certificate."""

import math
from collections.abc import Sequence

import dp_accounting as dpa

from accountants import Certificate, FourierAccountant
from mechanisms.books import Charge
from mechanisms.budget import Budget
from mechanisms.certify import UNIT_IN_WORDS, VIEW_IN_WORDS
from mechanisms.errors import refuse
from mechanisms.experiment import Experiment
from mechanisms.primitives.sampling import repeated
from mechanisms.projection import (
    bounds_with_slack,
    epsilon_by_client,
    noise_distances,
    project_clients,
)
from mechanisms.release import SERVER, Release
from mechanisms.scope import Scope
from pvi import Synchronous

OWNER = 0
"""The number under which a holder's own budget keeps its owner's books, in whatever run."""


def messages_of(experiment: Experiment, client: int, count: int) -> list[Release]:
    """The facts of `count` messages of a client, each with the group that hides it if any does.

    Groups are taken to be whole: whoever adds up under joint noise voids a partial one.
    """
    layout, mechanism = experiment.layout, experiment.mechanism
    facts, noise = mechanism.contributions(layout), mechanism.server_noise(layout)
    together = isinstance(experiment.schedule, Synchronous)
    group = range(layout.clients) if together else (client,)
    found = []
    for number in range(count):
        found += [
            Release(value=None, sender=m, round=number + 1, group=number, source=facts[m])
            for m in group
        ]
        found.append(
            Release(value=None, sender=SERVER, round=number + 1, group=number, source=noise)
        )
    return found


def charge_of(experiment: Experiment, client: int, scope: Scope) -> Charge:
    """What one message of a client costs its owner.

    Raises:
      UnsupportedEventError: There is no proof of that, or none for a second message.
    """
    project_clients(messages_of(experiment, client, 2), scope)
    one = messages_of(experiment, client, 1)
    return Charge(OWNER, project_clients(one, scope)[client], distance=noise_distances(one)[client])


def cost_of(experiment: Experiment, client: int, messages: int, scope: Scope) -> float | None:
    """An upper bound of what so many messages cost in a scope; None where none is proved."""
    if not messages:
        return 0.0
    try:
        found = epsilon_by_client(
            messages_of(experiment, client, messages), scope, experiment.delta
        )
    except dpa.UnsupportedEventError:
        return None
    upper = found[client].upper
    return upper if math.isfinite(upper) else None


def certificate_of(budget: Budget, deltas: Sequence[float] = ()) -> Certificate:
    """What everything that the budget has paid for costs at most, made or not.

    Where parameters may have been chosen after a look at earlier answers, the budget's filter is
    what bounds the cost: there is an upper end at the budget's own δ, and the lower one is 0.

    Raises:
      UnsupportedEventError: Another δ is asked for of such a budget.
    """
    books, scope = budget.books, budget.scope
    entries, distance = books.ledger(OWNER), books.distance(OWNER)
    event: dpa.DpEvent = dpa.NoOpDpEvent()
    if entries:
        event = dpa.ComposedDpEvent([repeated(one, count) for one, count in entries])
    if budget.adaptive and any(delta != budget.delta for delta in deltas):
        raise refuse(f"a filter speaks of the budget's own delta={budget.delta:g} only")
    accountant = FourierAccountant(scope.relation).compose(event)
    points = []
    for delta in deltas or (budget.delta,):
        if budget.adaptive:
            points.append((delta, 0.0, budget.epsilon_upper(OWNER)))
        else:
            points.append((delta, *bounds_with_slack(accountant, delta, distance)))
    return Certificate(
        event=event,
        neighboring_relation=scope.relation,
        points=tuple(points),
        method=f"{budget.filter_kind} privacy filter" if budget.adaptive else "Fourier accountant",
        assumptions=(
            UNIT_IN_WORDS[scope.unit],
            VIEW_IN_WORDS[scope.view.kind].format(scope.view.colluders),
            "The holder's budget: all that was booked, whether or not it was ever sent.",
            "Numbers of clients, parts and steps, weights, and who updates when, do not depend on "
            "the data; neither do running times and errors.",
        ),
        unit=scope.unit,
    )
