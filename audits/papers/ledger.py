"""The nouns of the ledger: an entry, what its check finds, and the words for it.

A check computes numbers and hands truth values to `decide`, `decide_if` or `decide_against`; the
verdict follows from them and is never written down in the check.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from types import ModuleType
from typing import Literal, TypeAlias, get_args

from audits.papers.numbers import Number

Paper: TypeAlias = Literal["Workshop", "Thesis", "TMLR", "TUM"]
Kind: TypeAlias = Literal["privacy", "mathematics", "reporting"]
KINDS: dict[Kind, str] = {
    "privacy": "privacy: what a mechanism costs, and whom it protects",
    "mathematics": "mathematics: what is derived of models, optima and dynamics",
    "reporting": "print and reporting: tables, figures, results, slips of the pen",
}
"""What a statement is about. A misprint that is refuted accuses nobody of a leak."""


class Standing(Enum):
    """What the check says of the statement."""

    HOLDS = "holds"
    HOLDS_IF = "holds if"
    REFUTED = "refuted"
    NOT_TESTABLE = "not testable here"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a check found.

    Attributes:
      verdict: The word.
      figure: Our numbers, short; computed by the check.
      argument: Why the numbers decide the statement, to be read on its own.
      condition: For HOLDS_IF the condition, for REFUTED the reading under which the statement would
        hold, for NOT_TESTABLE the reason; empty for HOLDS.
      numbers: The figure's numbers beside the stated ones, to be drawn or read by a machine.
    """

    verdict: Standing
    figure: str
    argument: str
    condition: str = ""
    numbers: tuple[Number, ...] = ()

    def __post_init__(self) -> None:
        if not self.figure or not self.argument:
            raise ValueError("`figure` and `argument` must not be empty.")
        if bool(self.condition) == (self.verdict is Standing.HOLDS):
            raise ValueError(
                "`condition` must be given unless the verdict is HOLDS, got "
                f"{self.condition!r} for {self.verdict.name}."
            )


Check: TypeAlias = Callable[[], Finding]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimEntry:
    """One checkable statement of a paper.

    Attributes:
      id: Unique; starts with the paper's name.
      paper: Whose statement.
      kind: What it is about; see `KINDS`.
      place: Section, equation, table or figure.
      statement: What is stated, in our words.
      check: Runs the computation; deterministic.
      slow: Whether the check trains a model, and so runs on demand only.
    """

    id: str
    paper: Paper
    kind: Kind
    place: str
    statement: str
    check: Check
    slow: bool = False

    def __post_init__(self) -> None:
        if self.paper not in get_args(Paper):
            raise ValueError(f"`paper` must be one of {get_args(Paper)}, got {self.paper!r}.")
        if self.kind not in KINDS:
            raise ValueError(f"`kind` must be one of {tuple(KINDS)}, got {self.kind!r}.")
        if not self.id.startswith(f"{self.paper.lower()}-"):
            raise ValueError(f"`id` must start with the paper's name, got {self.id!r}.")
        for name in ("place", "statement"):
            if not getattr(self, name):
                raise ValueError(f"`{name}` of {self.id} must not be empty.")
        if not self.doc:
            raise ValueError(f"the check of {self.id} must have a docstring.")

    @property
    def doc(self) -> str:
        """The first line of the check's docstring: how the statement is checked."""
        return (self.check.__doc__ or "").strip().split("\n")[0]


def claim(
    *,
    id: str,  # noqa: A002
    paper: Paper,
    kind: Kind,
    place: str,
    statement: str,
    slow: bool = False,
) -> Callable[[Check], ClaimEntry]:
    """Makes the decorated check an entry; `entries` finds it in its module."""

    def decorate(check: Check) -> ClaimEntry:
        return ClaimEntry(
            id=id,
            paper=paper,
            kind=kind,
            place=place,
            statement=statement,
            check=check,
            slow=slow,
        )

    return decorate


def entries(*modules: ModuleType) -> tuple[ClaimEntry, ...]:
    """The entries that the modules define, in the order of definition."""
    return tuple(
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, ClaimEntry)
    )


def index(found: Iterable[ClaimEntry]) -> dict[str, ClaimEntry]:
    """The entries by id, which must be unique."""
    by_id: dict[str, ClaimEntry] = {}
    for entry in found:
        if entry.id in by_id:
            raise ValueError(f"`id` must be unique, got {entry.id!r} twice.")
        by_id[entry.id] = entry
    return by_id


def decide(
    holds: bool,
    *,
    figure: str,
    argument: str,
    otherwise: str = "no known reading",
    numbers: Iterable[Number] = (),
) -> Finding:
    """HOLDS or REFUTED, for a statement that is meant as it stands."""
    return Finding(
        verdict=Standing.HOLDS if holds else Standing.REFUTED,
        figure=figure,
        argument=argument,
        condition="" if holds else otherwise,
        numbers=tuple(numbers),
    )


def decide_if(
    *,
    condition: str,
    with_condition: bool,
    without: bool,
    figure: str,
    argument: str,
    numbers: Iterable[Number] = (),
) -> Finding:
    """For a statement that is silent on something: HOLDS_IF when that something decides it."""
    if with_condition and not without:
        return Finding(
            verdict=Standing.HOLDS_IF,
            figure=figure,
            argument=argument,
            condition=condition,
            numbers=tuple(numbers),
        )
    return decide(with_condition and without, figure=figure, argument=argument, numbers=numbers)


def decide_against(
    *,
    stated: bool,
    reading: str,
    under_reading: bool,
    figure: str,
    argument: str,
    numbers: Iterable[Number] = (),
) -> Finding:
    """For a statement that seems false as it stands: REFUTED, with the reading that would hold."""
    rescue = reading if under_reading else "no known reading: the obvious one fails as well"
    return decide(stated, figure=figure, argument=argument, otherwise=rescue, numbers=numbers)


def untestable(
    *, reason: str, figure: str = "none", argument: str, numbers: Iterable[Number] = ()
) -> Finding:
    """NOT_TESTABLE, with the reason."""
    return Finding(
        verdict=Standing.NOT_TESTABLE,
        figure=figure,
        argument=argument,
        condition=reason,
        numbers=tuple(numbers),
    )
