"""The statement as a page: one or two in print, readable on a screen of any width."""

import math
from importlib import resources

from accountants.seals import SEAL
from audits.report.charts import Series, line_chart
from audits.report.markup import Markup, facts, join, tag
from audits.signing.statement import Cost, Statement
from audits.wording import RELATIONS, down, interval, up

_COLUMNS, _DOT = 50, 8


def render(statement: Statement, *, file: str) -> str:
    """The page as text.

    Args:
      statement: What it says.
      file: The name of the JSON beside it, which `dp-assay verify` checks.
    """
    style = resources.files("audits.signing").joinpath("style.css").read_text(encoding="utf-8")
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{statement.title}: what it cost"),
        Markup(f"<style>\n{style}</style>"),
    )
    body = tag(
        "body",
        _header(statement),
        tag(
            "main",
            _section("What was done", facts(_facts(statement))),
            _section("What must hold", _checklist(statement)),
            _section("What it means for a person", _meaning(statement)),
            _section("The same numbers read otherwise", _readings(statement)),
            _section("ε at other δ", _curve(statement)),
            _section("Signed", _signatures()),
        ),
        _footer(statement, file),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def _section(title: str, *content: object) -> Markup:
    return tag("section", tag("h2", title), *content)


def _header(statement: Statement) -> Markup:
    lower, upper = statement.bounds
    _, first = statement.certificates[0]
    return tag(
        "header",
        tag("p", f"Privacy statement · {statement.date}", class_="kicker"),
        tag("h1", statement.title),
        tag("p", f"{down(lower, 5)} ≤ ε ≤ {up(upper, 5)}", class_="interval"),
        tag(
            "p",
            f"at δ = {statement.delta:g}; neighbours: "
            f"{RELATIONS[first.neighboring_relation]}, unit: {first.unit}. Both ends are proved: "
            "no accountant can rightly say less than the lower one.",
            class_="lead",
        ),
        *(tag("p", note, class_="alarm") for note in statement.notes),
    )


def _facts(statement: Statement) -> list[tuple[str, object]]:
    found: list[tuple[str, object]] = [("source", statement.run.source), *statement.run.facts]
    if statement.run.data_size is not None:
        found.append(("records", f"{statement.run.data_size:,}"))
    if len(statement.certificates) > 1 or statement.refused:
        for words, certificate in statement.certificates:
            found.append((words, f"ε in {interval(certificate.bounds(statement.delta), 5)}"))
        found += [(one.words, f"no certificate: {one.refusal}") for one in statement.refused]
    return found


def _checklist(statement: Statement) -> Markup:
    items = join(
        tag(
            "li",
            tag("span", class_="box", aria_hidden="true"),
            tag("strong", f"{item.title}. "),
            item.statement,
            tag("small", f"How it fails: {item.fails}"),
        )
        for item in statement.checklist
    )
    return tag("ul", items, class_="checklist")


def _meaning(statement: Statement) -> Markup:
    first, *others = statement.meaning.sentences()
    figures = [
        tag("figure", _people(found, chance), tag("figcaption", sentence))
        for sentence, (rate, found) in zip(others, statement.meaning.people(), strict=True)
        for chance in [round(1000 * rate)]
    ]
    return join([tag("p", first), tag("div", *figures, class_="figures")])


def _people(found: int, chance: int) -> Markup:
    """A thousand dots: those who are found, and the part of them that chance would find."""

    def dots(start: int, end: int, kind: str) -> Markup:
        path = "".join(
            f"M{_DOT * (i % _COLUMNS) + 1} {_DOT * (i // _COLUMNS) + 1}h6v6h-6z"
            for i in range(start, end)
        )
        return tag("path", d=path, class_=kind)

    title = f"{found} of 1,000 people recognised at most; {chance} by chance."
    return tag(
        "svg",
        tag("title", title),
        dots(0, min(chance, found), "chance"),
        dots(min(chance, found), found, "found"),
        dots(found, 1000, "unseen"),
        viewBox=f"0 0 {_DOT * _COLUMNS} {_DOT * 1000 // _COLUMNS}",
        role="img",
        class_="people",
    )


def _readings(statement: Statement) -> Markup:
    rows = [Cost(statement.certificates[0][0], statement.bounds), *statement.readings]
    finite = [one.bounds.upper for one in rows if one.bounds and one.bounds.upper < math.inf]
    scale = 100.0 / (max(finite, default=1.0) or 1.0)
    lead = "Only the first is certified for this run; the others show what hangs on its reading."
    return join(
        [
            tag("p", lead),
            *(_bar(one, scale, ours=index == 0) for index, one in enumerate(rows)),
        ]
    )


def _bar(one: Cost, scale: float, *, ours: bool) -> Markup:
    """A reading above its interval: filled to the lower end, pale to the upper."""
    if one.bounds is None:
        return tag("p", f"{one.words}: no answer, ", tag("small", one.refusal), class_="reading")
    widths = {"open": one.bounds.upper, "proved": one.bounds.lower}
    drawn = (
        tag("rect", width=round(min(100.0, scale * end), 2), height=2, class_=kind)
        for kind, end in widths.items()
    )
    return tag(
        "div",
        tag("span", one.words),
        tag("span", f"ε in {interval(one.bounds, 4)}", class_="number"),
        tag("svg", *drawn, viewBox="0 0 100 2", preserveAspectRatio="none", aria_hidden="true"),
        class_="reading ours" if ours else "reading",
    )


def _curve(statement: Statement) -> Markup:
    deltas, lower, upper = zip(*statement.curve, strict=True)
    return line_chart(
        "ε(δ) of the same run: certified intervals. A δ is chosen before, not for its ε.",
        "δ",
        "ε",
        [Series(name="certified interval", x=deltas, lower=lower, upper=upper)],
    )


def _signatures() -> Markup:
    lines = (
        tag("p", tag("span", class_="line-to-sign"), tag("small", what))
        for what in ("name and role", "date and signature")
    )
    return tag("div", *lines, class_="signatures")


def _footer(statement: Statement, file: str) -> Markup:
    document = statement.document()
    _, first = statement.certificates[0]
    installed = ", ".join(f"{name} {version}" for name, version in document["versions"].items())
    return tag(
        "footer",
        tag(
            "p",
            "Check it: ",
            tag("code", f"dp-assay verify {file}"),
            " proves both ends again by other formulas. It cannot check the list above, nor "
            "whether these were the numbers of the run.",
        ),
        tag("p", *(f"{text} " for text in first.assumptions)),
        tag("p", f"{first.method}; {installed}. SHA-256 of {file}'s content: {document[SEAL]}."),
    )
