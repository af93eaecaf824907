"""What was found, at a glance; and what it was found with."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from audits.report import accounting
from audits.report.gather import Contents
from audits.report.markup import Markup, badge, facts, join, table, tag
from audits.report.rows import Interval, interval_bars
from audits.verdict import Word
from audits.wording import down, up


def lead(contents: Contents) -> str:
    """One sentence under the title."""
    return (
        "Claims of differential privacy from three sides that share no code: what is claimed, "
        "what accountants prove, and what draws of the mechanism show. Run of "
        f"{contents.date}, seed {contents.seed}."
    )


def counts(contents: Contents) -> list[tuple[str, str, str]]:
    """Part, figure and words of each result; the terminal prints them too."""
    flawed = [one["flawed"] for one in contents.specimens]
    guilty = sum(side["expected"] == Word.REFUTED.value for side in flawed)
    refuted = sum(side["verdict"] == side["expected"] == Word.REFUTED.value for side in flawed)
    harmless = len(flawed) - guilty
    twins = sum(one["repaired"]["verdict"] == Word.NOT_REFUTED.value for one in contents.specimens)
    total = len(contents.specimens)
    conflicts = sum(not one["consistent"] for one in contents.crosschecks)
    verdicts = Counter(one["verdict"] for one in contents.claims)
    ledger = ", ".join(
        f"{verdicts[name]} {words}"
        for name, words in (
            ("HOLDS", "hold"),
            ("HOLDS_IF", "hold on a condition"),
            ("REFUTED", "are refuted"),
            ("NOT_TESTABLE", "are not testable here"),
        )
        if verdicts[name]
    )
    recorded = sum(record is not None for record in contents.studies.values())
    return [
        (
            "crosscheck",
            f"{len(contents.crosschecks)}",
            f"settings cross-checked; in {conflicts} an accountant reports less than is proved "
            "to be the least",
        ),
        (
            "zoo",
            f"{refuted} of {guilty}",
            "flawed mechanisms refuted"
            + (f"; {harmless} more where the flaw does no harm" if harmless else ""),
        ),
        ("zoo", f"{twins} of {total}", "repaired twins not refuted, which is no proof"),
        ("zoo", f"{len(contents.lints)}", "mistakes on paper, found without sampling"),
        ("ledger", f"{len(contents.claims)}", f"statements of the papers: {ledger}"),
        ("studies", f"{recorded} of {len(contents.studies)}", "studies with a recorded run"),
    ]


def overview(contents: Contents) -> Markup:
    """The readings of one run, counts, and what was not expected."""
    tiles = join(
        tag("div", tag("strong", figure), tag("span", words), class_="tile")
        for _, figure, words in counts(contents)
    )
    if contents.unexpected:
        items = join(tag("li", text) for text in contents.unexpected)
        alarm = tag(
            "div",
            tag("strong", f"{len(contents.unexpected)} outcomes were not expected"),
            tag("ul", items),
            class_="alarm",
            role="alert",
        )
    else:
        alarm = tag("p", "Every outcome is the one expected.", class_="calm-note")
    words = tag(
        "p",
        badge("REFUTED"),
        " the claim is false, or an event of the stated small probability has happened. ",
        badge("NOT_REFUTED"),
        " these draws did not contradict it; that is no proof. ",
        badge("INCONCLUSIVE"),
        " the test could not have told.",
    )
    return join([readings(contents.readings), tag("div", tiles, class_="tiles"), alarm, words])


def readings(found: Sequence[Mapping[str, Any]]) -> Markup:
    """One run's numbers as everybody states them, and what they cost under each reading."""
    rows = [Interval(one["name"], one["lower"], one["upper"]) for one in found]
    least, most = min(row.lower for row in rows), max(row.upper for row in rows)
    return interval_bars(
        f"The same σ, q and number of steps cost ε = {down(least, 3)} to {up(most, 3)}: it depends "
        "on who is in a batch, and on who is a neighbour",
        f"Certified intervals of ε at δ = {accounting.DELTA:g} for σ = {accounting.NOISE:g}, "
        f"q = {accounting.RATE:g}, {accounting.STEPS:,} steps. One figure is the upper end of "
        "an interval too narrow to be seen.",
        "ε",
        rows,
    )


def reproduce(contents: Contents) -> Markup:
    """Versions, seeds and commands."""
    return join(
        [
            facts(
                [
                    ("Command", tag("code", contents.command)),
                    ("Date", contents.date),
                    ("Seed of the audits", contents.seed),
                    ("Time for all runs", f"{contents.seconds:.0f} s"),
                ]
            ),
            tag(
                "p",
                "Each part can be had on its own: ",
                tag("code", "dp-assay crosscheck"),
                ", ",
                tag("code", f"dp-assay zoo --seed {contents.seed}"),
                ", ",
                tag("code", "dp-assay claims"),
                ", ",
                tag("code", "dp-assay study NAME"),
                "; each has --help and --json. The draws depend on the seed and on nothing else: "
                "not on the number of processes, nor on the order.",
            ),
            table("Versions", ("package", "version"), list(contents.versions.items())),
        ]
    )
