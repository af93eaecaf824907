"""The papers' statements, and what their checks found."""

from collections import Counter
from itertools import groupby
from typing import Any

from audits.report.gather import Contents
from audits.report.markup import (
    VERDICTS,
    Markup,
    badge,
    cell,
    choice,
    details,
    facts,
    join,
    prose,
    stacking_table,
    tag,
)
from audits.wording import PAPERS

_COLUMNS = ("place", "statement", "verdict", "our figures")
_CONDITIONS = {
    "HOLDS_IF": "Condition",
    "REFUTED": "Would hold if",
    "NOT_TESTABLE": "Reason",
}


def lead(contents: Contents) -> str:
    """One sentence under the title."""
    return (
        "Each checkable statement of the papers, in our words, with a check that computes the "
        "figures and decides. Checks that train models are shown as recorded, and say so."
    )


def section(contents: Contents) -> Markup:
    """A table per paper, and what to show of them."""
    verdicts = [name for name in VERDICTS if any(one["verdict"] == name for one in contents.claims)]
    by_paper = groupby(contents.claims, key=lambda one: str(one["paper"]))
    return join([choice(verdicts), *(_paper(paper, list(claims)) for paper, claims in by_paper)])


def _paper(paper: str, claims: list[dict[str, Any]]) -> Markup:
    verdicts = Counter(one["verdict"] for one in claims)
    marks = join((join([badge(name), f" {n}"]) for name, n in verdicts.most_common()), " · ")
    rows = [row for one in claims for row in _claim(one)]
    return join(
        [
            tag("h3", paper),
            *([tag("p", PAPERS[paper])] if paper in PAPERS else []),
            tag("p", marks, class_="key"),
            stacking_table(f"{paper}: {len(claims)} statements", _COLUMNS, rows),
        ]
    )


def _claim(one: dict[str, Any]) -> list[Markup]:
    row = tag(
        "tr",
        tag("th", one["place"], scope="row", role="rowheader"),
        cell("statement", one["statement"]),
        cell("verdict", badge(one["verdict"]), tag("small", one["kind"]), *_recorded(one)),
        cell("our figures", tag("span", one["figure"], class_="figure-text")),
        role="row",
        id=f"claim-{one['id']}",
        data_verdict=one["verdict"],
    )
    condition = [(_CONDITIONS[one["verdict"]], one["condition"])] if one["condition"] else []
    more = details(
        "The argument",
        prose(one["argument"]),
        facts(
            [
                *condition,
                ("Check", prose(one["check"])),
                ("Run it", tag("code", f"dp-assay claims {one['id']}")),
                ("Took", f"{one['seconds']:g} s"),
            ]
        ),
    )
    argument = tag("td", more, colspan="4", role="cell")
    shown = {"class_": "more", "role": "row", "data_verdict": one["verdict"]}
    return [row, tag("tr", argument, **shown)]


def _recorded(one: dict[str, Any]) -> list[Markup]:
    return [tag("small", "as recorded")] if one["recorded"] else []
