"""What a study is: settings, independent jobs, tables with their costs, figures.

A job is a module-level function and its arguments, so that it can run in another process; it
returns what JSON can hold. Tables and figures are made from the jobs' results alone, so that they
can be made again from a record without training anything.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

import dp_accounting as dpa

from accountants import Bounds
from accountants.rounding import interval
from mechanisms import Release, Scope, epsilon_bounds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Result: TypeAlias = dict[str, Any]
Results: TypeAlias = Mapping[str, Result]
Settings = TypeVar("Settings")

COST_COLUMN = "certified ε [lower, upper]"
NOISY_GRADIENTS = (
    "Where gradients are perturbed, the lower end of ε is proved for the noisy gradients, which "
    "accountants compose: some pair of data sets attains it; messages made of several of them may "
    "show less. The upper end is proved for what is seen. "
)
"""For the notes of tables with such runs."""
_RELATIONS = {
    dpa.NeighboringRelation.ADD_OR_REMOVE_ONE: "add/remove one",
    dpa.NeighboringRelation.REPLACE_ONE: "replace one",
    dpa.NeighboringRelation.REPLACE_SPECIAL: "zero out one",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The certified interval of ε(δ), with what it is about.

    Attributes:
      lower: Proved for the noisy values that are composed; no accountant of these can rightly
        report less.
      upper: Proved for the view.
      delta: δ.
      relation: Which data sets are neighbours, in words.
      sampling: How records were chosen for a step, in words.
      view: What the adversary sees, in words.
      why_infinite: Where `lower` is infinite, the reason.
    """

    lower: float
    upper: float
    delta: float
    relation: str
    sampling: str
    view: str
    why_infinite: str = "no noise"

    @classmethod
    def of(
        cls, transcript: Sequence[Release], scope: Scope, delta: float, *, sampling: str
    ) -> "Cost":
        """What a transcript, planned or recorded, costs its worst client."""
        return cls.from_bounds(epsilon_bounds(transcript, scope, delta), scope, delta, sampling)

    @classmethod
    def from_bounds(cls, bounds: Bounds, scope: Scope, delta: float, sampling: str) -> "Cost":
        """With bounds from elsewhere."""
        return cls(
            lower=bounds.lower,
            upper=bounds.upper,
            delta=delta,
            relation=f"{_RELATIONS[scope.relation]} {scope.unit}",
            sampling=sampling,
            view=str(scope.view),
        )

    @classmethod
    def without_noise(cls, *, view: str = "messages", sampling: str = "any") -> "Cost":
        """What a run without noise costs, whatever the relation."""
        return cls(
            lower=math.inf, upper=math.inf, delta=0.0, relation="any", sampling=sampling, view=view
        )

    @classmethod
    def unbounded(cls, why: str) -> "Cost":
        """What a run costs whose noise does not hide the data, for the reason given."""
        return replace(cls.without_noise(), why_infinite=why)

    def __str__(self) -> str:
        if math.isinf(self.lower):
            return f"∞ ({self.why_infinite})"
        epsilon = interval(Bounds(self.lower, self.upper), decimals=4)
        return f"{epsilon} at δ = {self.delta:g}; {self.relation}; {self.sampling}; {self.view}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A line of a table: one cell per column, and what it costs."""

    cells: tuple[str, ...]
    cost: Cost


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table whose last column is the certified ε of each row.

    Attributes:
      title: What it shows, with its place in the paper.
      columns: Their headings, without that of the cost.
      rows: One cell per column each.
      note: What a reader must know: spread, differences from the paper, where figures are from.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    note: str = ""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row.cells) != len(self.columns):
                raise ValueError(
                    f"`rows` must have {len(self.columns)} cells each, got {row.cells!r}."
                )

    @property
    def headings(self) -> tuple[str, ...]:
        """All columns, the cost last."""
        return (*self.columns, COST_COLUMN)

    @property
    def lines(self) -> tuple[tuple[str, ...], ...]:
        """All rows as text, the cost last."""
        return tuple((*row.cells, str(row.cost)) for row in self.rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One piece of a study, independent of the others.

    Attributes:
      key: Its name, unique in the study, such as "C/dp-pvi/eps=1/seed=3".
      function: Module-level; takes `arguments`, returns what JSON can hold.
      arguments: Picklable, and with a `repr` that tells them apart: frozen dataclasses, numbers,
        strings, tuples. A result in the journal is used again only if they are the same.
    """

    key: str
    function: Callable[..., Result]
    arguments: tuple[Any, ...]

    @property
    def fingerprint(self) -> str:
        """What must be unchanged for a result in the journal to stand: function and arguments.

        Only a journal holds it, to go on with a killed run of the same code. A record does not:
        it is redrawn by keys and settings, wherever the function has moved since.
        """
        return f"{self.function.__module__}.{self.function.__qualname__}{self.arguments!r}"

    def run(self) -> Result:
        """The result."""
        return self.function(*self.arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class Study(Generic[Settings]):
    """A study: what it runs, and what it makes of the results.

    Attributes:
      name: As in `dp-assay study NAME`.
      summary: One sentence for people.
      settings: A frozen dataclass.
      quick: The same at a size for tests.
      seeds: How many by default.
      jobs: From settings and seeds to independent jobs.
      tables: From settings and the jobs' results, by key, to tables.
      figures: Likewise to matplotlib figures, by file stem.
    """

    name: str
    summary: str
    settings: Settings
    quick: Settings
    seeds: int
    jobs: Callable[[Settings, Sequence[int]], list[Job]]
    tables: Callable[[Settings, Results], list[Table]]
    figures: Callable[[Settings, Results], dict[str, "Figure"]]
