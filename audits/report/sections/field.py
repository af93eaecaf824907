"""Released libraries against their own promises, as recorded; only what is public is named."""

from audits.field.finding import FLAWED, findings_by_name
from audits.field.record import RECORD, Record, claimed_of, convicted, odds_of
from audits.report.gather import Contents
from audits.report.markup import Markup, join, table, tag
from audits.wording import down

_INTRO = (
    "Whole packages from the package index, each in an environment of its own, called as their "
    "users call them and audited against their own documentation: {count} promises of {libraries} "
    "libraries are refuted, {hunted} of them by a hunt that was told nothing but the data they "
    "accept. {standing} sound modes and repaired twins are not. Named are those whose flaw is "
    "public. This is a record: dp-assay field hunts again."
)


def section(_: Contents) -> Markup:
    """The refuted promises whose flaws are public, and how many there are in all."""
    found = Record(RECORD).outcomes(findings_by_name().values())
    flaws = convicted(found)
    intro = _INTRO.format(
        count=len(flaws),
        libraries=len({one.library for one, _ in flaws}),
        hunted=sum(outcome.by_hunt for _, outcome in flaws),
        standing=sum(outcome.role != FLAWED for _, outcome in found),
    )
    rows = [
        (
            one.needs(FLAWED)[1][0] if one.alone else one.requirements[0],
            one.flaw,
            odds_of(outcome),
            outcome.draws,
            claimed_of(outcome),
            down(outcome.epsilon_proved, 3),
            one.upstream,
        )
        for one, outcome in flaws
        if one.is_public
    ]
    columns = ("release", "what is wrong", "odds against", "draws", "ε claimed", "ε ≥, proved")
    board = table("Refuted promises", (*columns, "upstream"), rows, numeric=(3, 4, 5))
    return join([tag("p", intro), board])
