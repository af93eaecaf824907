"""What TMLR says of one method against another, as data, and whether our runs agree.

The paper shows curves and publishes no numbers, so there are only its words to compare with: which
of two methods is better in model utility (accuracy and log-likelihood on held-out data), and how
generally it says so.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from audits.papers.comparison import Relation

Extent: TypeAlias = Literal["always", "regularly", "many", "several"]

GLOBAL = "global VI, trusted aggr."
OPTIMISATION = "DP optimisation"
AVERAGE, AVERAGE_TRUSTED = "local avg", "local avg, trusted aggr."
VIRTUAL, VIRTUAL_TRUSTED = "virtual", "virtual, trusted aggr."
SAME, SPLIT = "BCM same", "BCM split"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordering:
    """One statement of the paper about two methods.

    Attributes:
      figure: Which experiment it is about.
      first: The method that is said to be better, or on par.
      second: The other.
      relation: What is said.
      extent: How generally: in all settings, regularly, or in many or several of those shown (the
        text on Figure 1 is also on Figure 2, another data set).
      place: Where it is said.
    """

    figure: str
    first: str
    second: str
    relation: Relation = "better"
    extent: Extent = "always"
    place: str

    def __str__(self) -> str:
        sign = ">" if self.relation == "better" else "≈"
        return f"{self.first} {sign} {self.second}"


def _figure_1(first: str, second: str, extent: Extent, relation: Relation = "better") -> Ordering:
    return Ordering(
        figure="Fig. 1",
        first=first,
        second=second,
        relation=relation,
        extent=extent,
        place="section 4, logistic regression",
    )


def _figure_3(first: str, second: str) -> Ordering:
    return Ordering(figure="Fig. 3", first=first, second=second, place="section 4, on Figure 3")


def _figure_4(first: str, second: str, relation: Relation = "better") -> Ordering:
    return Ordering(
        figure="Fig. 4", first=first, second=second, relation=relation, place="section 4, BNNs"
    )


PAPER_ORDERING: tuple[Ordering, ...] = (
    _figure_1(GLOBAL, OPTIMISATION, "always"),
    _figure_1(GLOBAL, VIRTUAL, "always"),
    _figure_1(OPTIMISATION, VIRTUAL, "always", "on par"),
    _figure_1(OPTIMISATION, SAME, "regularly"),
    _figure_1(OPTIMISATION, SPLIT, "regularly"),
    _figure_1(OPTIMISATION, AVERAGE, "regularly"),
    _figure_1(VIRTUAL, AVERAGE, "several"),
    _figure_1(SAME, AVERAGE, "several"),
    _figure_1(SPLIT, AVERAGE, "several"),
    _figure_1(AVERAGE, SAME, "several"),
    _figure_1(AVERAGE, SPLIT, "several"),
    _figure_1(VIRTUAL, SAME, "several"),
    _figure_1(VIRTUAL, SPLIT, "several"),
    _figure_1(AVERAGE_TRUSTED, AVERAGE, "always"),
    _figure_1(AVERAGE_TRUSTED, OPTIMISATION, "many"),
    _figure_1(AVERAGE_TRUSTED, SAME, "many"),
    _figure_1(AVERAGE_TRUSTED, SPLIT, "many"),
    _figure_1(VIRTUAL_TRUSTED, AVERAGE_TRUSTED, "regularly"),
    _figure_1(VIRTUAL_TRUSTED, VIRTUAL, "always"),
    _figure_1(VIRTUAL_TRUSTED, GLOBAL, "several", "on par"),
    _figure_3(AVERAGE_TRUSTED, OPTIMISATION),
    _figure_3(VIRTUAL_TRUSTED, OPTIMISATION),
    *(
        _figure_3(method, committee)
        for method in (OPTIMISATION, AVERAGE, AVERAGE_TRUSTED, VIRTUAL, VIRTUAL_TRUSTED)
        for committee in (SAME, SPLIT)
    ),
    _figure_4(OPTIMISATION, SAME),
    _figure_4(OPTIMISATION, SPLIT),
    _figure_4(OPTIMISATION, GLOBAL, "on par"),
    _figure_4(OPTIMISATION, AVERAGE),
    _figure_4(OPTIMISATION, VIRTUAL),
)


def verdict(answers: Sequence[str], extent: Extent) -> str:
    """Whether the paper's statement holds here, given the answers of all divisions.

    A statement on all settings needs all of them; one on many, more than half; one on several, one.
    """
    most = len(answers) // 2 + 1
    needed = {"always": len(answers), "regularly": most, "many": most, "several": 1}[extent]
    if answers.count("yes") >= needed:
        return "holds"
    return "does not hold" if len(answers) - answers.count("no") < needed else "open"
