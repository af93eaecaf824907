"""How many steps an accountant allows for ε_max, and what they cost in truth.

The moments accountant is the paper's: DP-PVI stops where it says. The others answer for the same
clients, so that the difference is what a tighter accountant buys.
"""

import math
from collections.abc import Callable
from dataclasses import asdict
from typing import Literal, get_args

import dp_accounting as dpa
from dp_accounting import NeighboringRelation

from accountants import FourierAccountant, IntervalAccountant, MomentsAccountant, RenyiAccountant
from audits.papers.costs import largest
from audits.papers.study import Cost, Result
from audits.papers.workshop.adult import shares_of_positives
from audits.papers.workshop.published import TABLE_1
from audits.papers.workshop.table5.settings import WorkshopSettings
from mechanisms import DPOptimisation, FixedSize, Layout, Poisson, Sampling, Scope
from pvi import Adagrad

Accountant = Literal["moments", "Rényi", "Fourier"]
Batches = Literal["Poisson", "fixed size"]
ACCOUNTANTS: tuple[Accountant, ...] = get_args(Accountant)
_CLASSES: dict[Accountant, Callable[[], IntervalAccountant]] = {
    "moments": MomentsAccountant,
    "Rényi": RenyiAccountant,
    "Fourier": FourierAccountant,
}
ADD_OR_REMOVE = NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = NeighboringRelation.REPLACE_ONE
QUESTIONS: dict[str, tuple[Batches, NeighboringRelation, Accountant]] = {
    "Poisson": ("Poisson", ADD_OR_REMOVE, "moments"),
    "Poisson, replaced": ("Poisson", REPLACE, "moments"),
    "fixed size": ("fixed size", REPLACE, "moments"),
    "Fourier budget": ("Poisson", ADD_OR_REMOVE, "Fourier"),
}
"""How batches are drawn, which data sets are neighbours, and whose budget is spent."""


def steps_within(
    accountant: Accountant, settings: WorkshopSettings, target: float, delta: float
) -> int:
    """The most steps whose ε(δ), an upper bound by this accountant, is at most the target.

    Poisson sampling, one record more or less: what the paper's accounting is about.
    """
    step = dpa.PoissonSampledDpEvent(
        settings.sampling_rate, dpa.GaussianDpEvent(settings.noise_multiplier)
    )

    def fits(steps: int) -> bool:
        spent = _CLASSES[accountant]().compose(step, steps).get_epsilon(delta)
        return float(spent) <= target

    return largest(fits)


def updates_within(
    accountant: Accountant, settings: WorkshopSettings, target: float, delta: float
) -> int:
    """Whole updates of a client, `local_steps` steps each, that fit the target.

    The paper's clients stop after the update that exceeds it, so they make one more.
    """
    return steps_within(accountant, settings, target, delta) // settings.local_steps


def batch_size(settings: WorkshopSettings, records: int) -> int:
    """⌈q·N⌉, as the authors' public code has it."""
    return math.ceil(settings.sampling_rate * records)


def sampling(settings: WorkshopSettings, batches: Batches, records: int) -> Sampling:
    """A client's sampling."""
    if batches == "Poisson":
        return Poisson(settings.sampling_rate)
    return FixedSize(batch_size(settings, records), records)


def mechanism(settings: WorkshopSettings, *schemes: Sampling) -> DPOptimisation:
    """DP-PVI with the paper's noise, one sampling per client."""
    return DPOptimisation(
        clip_norm=settings.clip_norm,
        noise_multiplier=settings.noise_multiplier,
        steps=settings.local_steps,
        rule=Adagrad(learning_rate=settings.private_rate),
        sampling=schemes,
        damping=settings.damping,
    )


def client_cost(
    settings: WorkshopSettings,
    batches: Batches,
    relation: NeighboringRelation,
    *,
    records: int,
    delta: float,
    updates: int,
) -> Cost:
    """What `updates` updates cost one client with so many records, whose messages are seen."""
    scheme = sampling(settings, batches, records)
    plan = mechanism(settings, scheme).plan(Layout(clients=1), rounds=updates)
    words = (
        f"Poisson q = {settings.sampling_rate:g}"
        if batches == "Poisson"
        else f"fixed size {batch_size(settings, records)} of {records}"
    )
    return Cost.of(plan, Scope(relation=relation), delta, sampling=words)


def budget_job(settings: WorkshopSettings) -> Result:
    """Steps by accountant, ε_max and δ."""
    deltas = sorted({kind.delta for row in TABLE_1.values() for kind in (row.small, row.large)})
    return {
        f"{accountant}/{target:g}/{delta:g}": steps_within(accountant, settings, target, delta)
        for accountant in ACCOUNTANTS
        for target in settings.targets
        for delta in deltas
    }


def cost_job(settings: WorkshopSettings, letter: str, target: float) -> Result:
    """Costs of a small and of a large client, by the names in `QUESTIONS`."""
    row = TABLE_1[letter]
    sizes, _ = shares_of_positives(settings.data, rho=row.rho, kappa=row.kappa)
    costs = {}
    for kind, records, delta in (
        ("small", sizes[0], row.small.delta),
        ("large", sizes[-1], row.large.delta),
    ):
        for name, (batches, relation, accountant) in QUESTIONS.items():
            updates = updates_within(accountant, settings, target, delta)
            cost = client_cost(
                settings, batches, relation, records=records, delta=delta, updates=updates
            )
            costs[f"{name}/{kind}"] = {"updates": updates, "cost": asdict(cost)}
    return costs
