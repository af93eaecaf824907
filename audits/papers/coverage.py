"""What of the papers is here: every algorithm, theorem, figure, table and experiment, and where.

It is written down in `coverage.toml`; a test checks that all that it names exists, and that each
entry of the ledger and each study is named. How a thing is here:

* faithful: as the text has it;
* differs: with a difference, which is said;
* not possible: for a reason that lies outside of this project;
* open: not done yet, and what is missing.
"""

import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal, TypeAlias, get_args

from accountants import validate
from audits.papers.ledger import Paper

How: TypeAlias = Literal["faithful", "differs", "not possible", "open"]
HOWS: tuple[How, ...] = get_args(How)


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing of a paper.

    Attributes:
      paper: Which.
      place: Where the text has it.
      what: What it is, in a few words.
      how: How it is here.
      where: Files and folders of the project.
      claims: Entries of the ledger about it.
      studies: Studies that run it.
      words: The difference, the reason, or what is left to do; empty where it is faithful.
    """

    paper: Paper
    place: str
    what: str
    how: How
    where: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    studies: tuple[str, ...] = ()
    words: str = ""

    def __post_init__(self) -> None:
        for name, known in (("paper", get_args(Paper)), ("how", HOWS)):
            if getattr(self, name) not in known:
                raise validate.refusal(name, f"one of {', '.join(known)}", getattr(self, name))
        if (self.how == "faithful") == bool(self.words):
            allowed = f"given unless the thing is faithful ({self.place})"
            raise validate.refusal("words", allowed, self.words)


def coverage() -> tuple[Item, ...]:
    """All items, in the order of the papers."""
    text = resources.files("audits.papers").joinpath("coverage.toml").read_text(encoding="utf-8")
    rows: list[dict[str, Any]] = tomllib.loads(text)["item"]
    lists = ("where", "claims", "studies")
    return tuple(Item(**row | {key: tuple(row.get(key, ())) for key in lists}) for row in rows)
