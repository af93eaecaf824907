"""Workshop, Tables 1-5 and Figs. 1, 4, 5: PVI, global VI and DP-PVI on Adult, with true costs."""

from collections.abc import Sequence

from audits.papers.study import Job, Result, Study
from audits.papers.workshop.adult import shares_of_positives
from audits.papers.workshop.published import TABLE_1
from audits.papers.workshop.table5.budget import Accountant, Batches, budget_job, cost_job
from audits.papers.workshop.table5.drawing import figures
from audits.papers.workshop.table5.settings import FULL, QUICK, WorkshopSettings
from audits.papers.workshop.table5.tables import tables
from audits.papers.workshop.table5.training import (
    GLOBAL_VARIANTS,
    global_end_job,
    global_job,
    private_end_job,
    private_job,
    pvi_job,
)

_DRAWN = ("records", "clients 1/N, own states")


def split_job(settings: WorkshopSettings, letter: str) -> Result:
    """Sizes and positives of a small client and, on average, of the large ones."""
    row = TABLE_1[letter]
    sizes, shares = shares_of_positives(settings.data, rho=row.rho, kappa=row.kappa)
    half = len(sizes) // 2
    return {
        "small": {"records": sizes[0], "positive": round(100 * shares[0], 2)},
        "large": {
            "records": sizes[-1],
            "positive": round(100 * sum(shares[half:]) / half, 2),
        },
    }


def jobs(settings: WorkshopSettings, seeds: Sequence[int]) -> list[Job]:
    """All jobs; costs once, not for each seed."""
    found = [Job(key="budget", function=budget_job, arguments=(settings,))]
    found += [
        Job(key=f"{letter}/split", function=split_job, arguments=(settings, letter))
        for letter in TABLE_1
    ]
    found += [
        Job(
            key=f"{letter}/cost/{target:g}", function=cost_job, arguments=(settings, letter, target)
        )
        for letter in settings.splits
        for target in settings.targets
    ]
    pairs = [(letter, seed) for seed in seeds for letter in settings.splits]
    for letter, seed in pairs:
        found += _plain_runs(settings, letter, seed)
        found += _private_runs(settings, letter, seed, "Poisson", "Poisson", "moments")
        found += _private_runs(settings, letter, seed, "fixed size", "fixed size", "moments")
        found += _private_runs(settings, letter, seed, "Fourier budget", "Poisson", "Fourier")
    return found


def _plain_runs(settings: WorkshopSettings, letter: str, seed: int) -> list[Job]:
    plain = Job(
        key=f"{letter}/PVI/seed={seed}", function=pvi_job, arguments=(settings, letter, seed)
    )
    pooled = [
        Job(
            key=f"{letter}/global VI, {variant}/seed={seed}",
            function=global_job if variant in _DRAWN else global_end_job,
            arguments=(settings, letter, variant, seed),
        )
        for variant in GLOBAL_VARIANTS
    ]
    return [plain, *pooled]


def _private_runs(
    settings: WorkshopSettings,
    letter: str,
    seed: int,
    name: str,
    batches: Batches,
    accountant: Accountant,
) -> list[Job]:
    return [
        Job(
            key=f"{letter}/DP-PVI {target:g}, {name}/seed={seed}",
            function=private_job if name == "Poisson" else private_end_job,
            arguments=(settings, letter, target, batches, accountant, seed),
        )
        for target in settings.targets
    ]


STUDY = Study(
    name="workshop-table5",
    summary="PVI, global VI and DP-PVI on Adult (Workshop, Tables 1-5, Figs. 1, 4, 5), with the "
    "certified cost of Poisson and of fixed-size batches.",
    settings=FULL,
    quick=QUICK,
    seeds=5,
    jobs=jobs,
    tables=tables,
    figures=figures,
)
