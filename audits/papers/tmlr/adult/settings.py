"""What the study runs: the figures, and how records fall to clients."""

from dataclasses import dataclass

from audits.papers.tmlr.adult.data import Division, Source
from audits.papers.tmlr.adult.grids import FIGURE_1, FIGURE_3, FIGURE_4, QUICK_FIGURES
from audits.papers.tmlr.adult.runs import Experiment

DIVISIONS = (
    Division(name="balanced", rho=0.0, kappa=0.0),
    Division(name="unbalanced 1", rho=0.75, kappa=0.95),
    Division(name="unbalanced 2", rho=0.7, kappa=-3.0),
)
"""TMLR Tables 2 and 3."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What is run.

    Attributes:
      source: The records.
      divisions: How they fall to clients.
      experiments: The figures.
    """

    source: Source
    divisions: tuple[Division, ...]
    experiments: tuple[Experiment, ...]


FULL = Settings(source=Source(), divisions=DIVISIONS, experiments=(FIGURE_1, FIGURE_3, FIGURE_4))
QUICK = Settings(
    source=Source(generated=1200, columns=6, validation=100),
    divisions=DIVISIONS[:2],
    experiments=QUICK_FIGURES,
)
