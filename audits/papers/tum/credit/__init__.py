"""TUM, sections 5–7: federated averaging for default prediction, and what its noise is worth."""

from collections.abc import Sequence

from audits.papers.study import Job, Study
from audits.papers.tum.credit.drawing import figures
from audits.papers.tum.credit.search import search_jobs
from audits.papers.tum.credit.settings import CENTRAL, QUICK, Settings, methods
from audits.papers.tum.credit.tables import tables
from audits.papers.tum.credit.training import train, train_centrally


def jobs(settings: Settings, seeds: Sequence[int]) -> list[Job]:
    """The search, one for the centralised optimum, and one for each method with all seeds."""
    own = tuple(seeds)
    return [
        *search_jobs(settings),
        Job(key=CENTRAL, function=train_centrally, arguments=(settings.records, own)),
        *(
            Job(
                key=key,
                function=train,
                arguments=(method, settings.records, rounds, own, settings.auc_targets),
            )
            for key, (method, rounds) in methods(settings).items()
        ),
    ]


STUDY = Study(
    name="tum-credit",
    summary="TUM sections 5–7 on synthetic credit data: federated averaging of 14 unlike clients, "
    "exact and noisy, with ε by advanced composition beside the exact curve.",
    settings=Settings(),
    quick=QUICK,
    seeds=5,
    jobs=jobs,
    tables=tables,
    figures=figures,
)
