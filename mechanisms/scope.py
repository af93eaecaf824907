"""Against whom, and about whom: the neighbouring relation, the unit and the adversary's view."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from dp_accounting import NeighboringRelation

from accountants import validate

Unit: TypeAlias = Literal["record", "client"]
UNITS: tuple[Unit, ...] = ("record", "client")


@dataclass(frozen=True, slots=True)
class View:
    """What an adversary sees; use `MESSAGES`, `AGGREGATE` or `colluding(k)`.

    Attributes:
      kind: "messages": every message of every client. "aggregate": of messages that a trusted
        aggregator adds up, only the sums. "colluding": the sums, and all that some clients know:
        their data, their messages and their noise.
      colluders: The number of such clients.
    """

    kind: Literal["messages", "aggregate", "colluding"]
    colluders: int = 0

    def __post_init__(self) -> None:
        validate.one_of("kind", self.kind, ("messages", "aggregate", "colluding"))
        validate.count("colluders", self.colluders, minimum=1 if self.kind == "colluding" else 0)
        if self.kind != "colluding" and self.colluders:
            raise ValueError(f"`colluders` must be 0 for the {self.kind} view.")

    def __str__(self) -> str:
        return f"colluding({self.colluders})" if self.kind == "colluding" else self.kind


MESSAGES = View("messages")
AGGREGATE = View("aggregate")


def colluding(clients: int) -> View:
    """The view of `clients` clients who pool what they know and see the aggregator's sums.

    >>> str(colluding(2))
    'colluding(2)'
    """
    return View("colluding", validate.count("clients", clients))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The question that a certificate answers.

    Attributes:
      relation: Which data sets are neighbours. ADD_OR_REMOVE_ONE: one unit more or less.
        REPLACE_ONE: one unit has other values. REPLACE_SPECIAL: one unit contributes zero instead,
        so that all counts stay what they are.
      unit: "record", or "client": all records of a client.
      view: What the adversary sees.

    >>> str(Scope(relation=NeighboringRelation.REPLACE_ONE, unit="record", view=MESSAGES))
    'record, REPLACE_ONE, messages'
    """

    relation: NeighboringRelation = NeighboringRelation.ADD_OR_REMOVE_ONE
    unit: Unit = "record"
    view: View = MESSAGES

    def __post_init__(self) -> None:
        validate.relation("relation", self.relation)
        validate.one_of("unit", self.unit, UNITS)
        if not isinstance(self.view, View):
            got = validate.shown(self.view)
            raise TypeError(f"`view` must be MESSAGES, AGGREGATE or colluding(k), got {got}.")

    def __str__(self) -> str:
        return f"{self.unit}, {self.relation.name}, {self.view}"
