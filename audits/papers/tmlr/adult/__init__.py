"""TMLR Figures 1, 3 and 4 on Adult: what each method learns, and what it certifiably costs.

What is the paper's: models, prior, numbers of clients, divisions of records, privacy targets, Adam,
damping, sequential updates without and synchronous ones with a trusted aggregator. What is not:
hyperparameters, which it does not publish (ours come from the search recorded here); the sampling
of records, which is Poisson here so that the accounting holds; and factors that forget noise which
an observer does not see, or are reset, because remembering it cannot be certified.
"""

from collections.abc import Sequence

from audits.papers.study import Job, Study
from audits.papers.tmlr.adult.drawing import figures
from audits.papers.tmlr.adult.runs import jobs_of
from audits.papers.tmlr.adult.settings import FULL, QUICK, Settings
from audits.papers.tmlr.adult.splits import split_jobs
from audits.papers.tmlr.adult.tables import tables


def jobs(settings: Settings, seeds: Sequence[int]) -> list[Job]:
    """The splits' counts, the search's runs and the reported ones."""
    counts = split_jobs(settings.experiments, settings.source, settings.divisions)
    return counts + [
        job
        for experiment in settings.experiments
        for job in jobs_of(experiment, settings.source, settings.divisions, seeds)
    ]


STUDY = Study(
    name="tmlr-adult",
    summary="TMLR Figures 1, 3 and 4: private PVI on Adult, every method at the same certified ε.",
    settings=FULL,
    quick=QUICK,
    seeds=5,
    jobs=jobs,
    tables=tables,
    figures=figures,
)
