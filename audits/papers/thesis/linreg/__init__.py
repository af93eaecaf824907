"""Thesis, chapter 4, Figures 4.1–4.5: DP-SGD within PVI on Bayesian linear regression."""

from collections.abc import Sequence

from audits.papers.study import Job, Study
from audits.papers.thesis.linreg.cases import FIRST_KEY, QUICK, Settings, cases
from audits.papers.thesis.linreg.drawing import figures
from audits.papers.thesis.linreg.tables import tables
from audits.papers.thesis.linreg.training import train


def jobs(settings: Settings, seeds: Sequence[int]) -> list[Job]:
    """One batched run for each setting."""
    return [
        Job(
            key=key,
            function=train,
            arguments=(
                case,
                tuple(seeds),
                settings.points,
                settings.delta,
                key.startswith(FIRST_KEY),
            ),
        )
        for key, case in cases(settings).items()
    ]


STUDY = Study(
    name="thesis-linreg",
    summary="Thesis chapter 4: DP-SGD within PVI on Bayesian linear regression, with minibatching "
    "and adaptive clipping, the percentile rule beside the private quantile.",
    settings=Settings(),
    quick=QUICK,
    seeds=8,
    jobs=jobs,
    tables=tables,
    figures=figures,
)
