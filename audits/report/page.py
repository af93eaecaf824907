"""The pages around the sections."""

from collections.abc import Callable, Sequence
from importlib import resources
from typing import NamedTuple

from audits.report.gather import Contents
from audits.report.markup import Markup, join, tag
from audits.report.sections import accounts, field, ledger, peers, studies, summary, zoo


class _Section(NamedTuple):
    name: str
    title: str
    make: Callable[[Contents], Markup]


class _Page(NamedTuple):
    name: str  # what is added to the file's name
    title: str
    lead: Callable[[Contents], str]
    sections: Sequence[_Section]


_PAGES = (
    _Page(
        "",
        "Is the privacy claim true?",
        summary.lead,
        (
            _Section("summary", "Summary", summary.overview),
            _Section("crosscheck", "Do accountants agree?", accounts.crosschecks),
            _Section("peers", "Are they right?", peers.section),
            _Section("curves", "What does it cost?", accounts.curves),
            _Section("zoo", "The zoo of flaws", zoo.section),
            _Section("field", "Do libraries keep their promises?", field.section),
            _Section("reproduce", "How this was made", summary.reproduce),
        ),
    ),
    _Page(
        "-ledger",
        "The ledger of claims",
        ledger.lead,
        (_Section("ledger", "Statements of four papers", ledger.section),),
    ),
    _Page(
        "-studies",
        "The studies",
        studies.lead,
        (_Section("studies", "What training showed", studies.section),),
    ),
)


def render(contents: Contents, stem: str = "report") -> dict[str, str]:
    """The pages as text, by their files' names.

    Args:
      contents: What they show.
      stem: Of the first page's file; the others' are made from it.
    """
    return {f"{stem}{page.name}.html": _page(contents, page, stem) for page in _PAGES}


def _page(contents: Contents, page: _Page, stem: str) -> str:
    style = resources.files("audits.report").joinpath("style.css").read_text(encoding="utf-8")
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"dp-assay: {page.title}"),
        Markup(f"<style>\n{style}</style>"),
    )
    here = join(tag("a", one.title, href=f"#{one.name}") for one in page.sections)
    there = join(
        tag("a", other.title, href=f"{stem}{other.name}.html", class_="page")
        for other in _PAGES
        if other is not page
    )
    header = tag(
        "header",
        tag("p", "dp-assay", class_="kicker"),
        tag("h1", page.title),
        tag("p", page.lead(contents), class_="lead"),
    )
    nav = tag("nav", here if len(page.sections) > 1 else "", there, aria_label="Contents")
    sections = join(
        tag("section", tag("h2", one.title), one.make(contents), id=one.name)
        for one in page.sections
    )
    body = tag("body", header, nav, tag("main", sections))
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"
