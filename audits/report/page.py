"""The page around the sections."""

from importlib import resources

from audits.report.gather import Contents
from audits.report.markup import Markup, join, tag
from audits.report.sections import accounts, ledger, peers, studies, summary, zoo

_SECTIONS = (
    ("summary", "Summary", summary.overview),
    ("crosscheck", "Do the accountants agree?", accounts.crosschecks),
    ("peers", "Are other accountants right?", peers.section),
    ("curves", "What does it cost?", accounts.curves),
    ("zoo", "The zoo of flaws", zoo.section),
    ("ledger", "The ledger of claims", ledger.section),
    ("studies", "The studies", studies.section),
    ("reproduce", "Versions, seeds, and how to make this again", summary.reproduce),
)


def render(contents: Contents) -> str:
    """The page as text."""
    style = resources.files("audits.report").joinpath("style.css").read_text(encoding="utf-8")
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", "dp-assay report"),
        Markup(f"<style>\n{style}</style>"),
    )
    links = join(tag("a", title, href=f"#{name}") for name, title, _ in _SECTIONS)
    header = tag(
        "header",
        tag("p", "dp-assay", class_="kicker"),
        tag("h1", "Is the privacy claim true?"),
        tag("p", summary.lead(contents), class_="lead"),
        tag("nav", links, aria_label="Sections"),
    )
    sections = join(
        tag("section", tag("h2", title), make(contents), id=name) for name, title, make in _SECTIONS
    )
    body = tag("body", header, tag("main", sections))
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"
