"""The pages of the site that say what was found; made from the record and the findings' own words.

    python -m audits.field.pages [FILE …]   # writes docs/field.md and docs/disclosure.md

Files that `dp-assay field --output FILE` wrote are taken into the record first: what they say of
findings as they are now, but for failures. So the record grows by parts, and two of them are merged
by naming the other. A test checks that the committed pages are what this makes.
"""

import ast
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

from audits.field.examine import FAILED, Outcome
from audits.field.finding import FLAWED, NOT_PUBLIC, SOUND, Finding, findings_by_name
from audits.field.record import RECORD, Record, claimed_of, convicted, odds_of
from audits.wording import down

Found = Sequence[tuple[Finding, Outcome]]
DOCS = Path(__file__).parents[2] / "docs"

_INTRODUCTION = """\
# The field: released libraries, audited

The gallery shows flaws that we wrote. These were released: whole packages from the package index,
each in an environment of its own, called as their users call them, and audited against what their
own documentation promises. Nothing of them was changed or instrumented. `hunt` was told the data
that a library accepts and no more; where a pair was given, the table says so.

```console
dp-assay field --recorded
dp-assay field eeprivacy
```

The first shows the record behind this page; the second installs the library anew and hunts again.
To do the same with what you depend on: [audit the library you depend
on](how-to/audit_a_library.md).
"""
_REFUTED = """
## Refuted

| Library | What is wrong | Odds against | Draws | ε claimed | ε proved | s | Pair | Public |
|---|---|---|---|---|---|---|---|---|"""
_PROVED = """
ε proved is a lower bound at the same confidence, from a few seconds of more draws on the pair that
convicted: n draws prove no more than about log n, though the true ε is often infinite.

## Not refuted

Sound libraries and modes, and the twins of the above: a fixed release or a corrected call. That
these draws did not refute them is no proof.

| Library | What was audited | Draws made | Verdict |
|---|---|---|---|"""
_DISCLOSURE = f"""\
# Disclosure

What stands here is **{NOT_PUBLIC}**: no public report of it is known to us. It stays off the README
and the report until its authors have answered. Each section is a report that is ready to be sent.
"""


def field_page(found: Found) -> str:
    """The scoreboard."""
    flaws = convicted(found)
    standing = [pair for pair in found if pair[1].role != FLAWED and pair[1].word != FAILED]
    lines = [
        _INTRODUCTION,
        _in_a_word(flaws, standing),
        _REFUTED,
        *(_refuted(one, outcome) for one, outcome in flaws),
        _PROVED,
        *(_left_standing(one, outcome) for one, outcome in standing),
        "\n## Why\n",
        *(_reason(one) for one, _ in flaws),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _in_a_word(flaws: Found, standing: Found) -> str:
    libraries = len({one.library for one, _ in flaws})
    draws = statistics.median([outcome.draws for _, outcome in flaws] or [0])
    seconds = statistics.median([outcome.seconds for _, outcome in flaws] or [0])
    hunted = sum(outcome.by_hunt for _, outcome in flaws)
    sound = sum(outcome.role == SOUND for _, outcome in standing)
    first = f"**{len(flaws)} promises of {libraries} libraries are refuted** at 99.9%, {hunted} of"
    second = f"them by hunt without a given pair; the median is {draws:.0f} draws per side and"
    third = f"{seconds:.0f} s, on a busy machine of two cores. {sound} sound modes and"
    fourth = f"{len(standing) - sound} repaired twins, audited at 1 − 1e-6, are not."
    return "\n".join([first, second, third, fourth])


def _refuted(one: Finding, outcome: Outcome) -> str:
    public = f"[yes]({one.upstream})" if one.upstream else "[not yet](disclosure.md)"
    pair = "found" if outcome.by_hunt else "given"
    proved = down(outcome.epsilon_proved, 3)
    cells = [_version(one), _one_line(one.flaw), odds_of(outcome), str(outcome.draws)]
    cells += [claimed_of(outcome), f"≥ {proved}", f"{outcome.seconds:.1f}", pair, public]
    return f"| {' | '.join(cells)} |"


def _left_standing(one: Finding, outcome: Outcome) -> str:
    what = _one_line(one.flaw) if outcome.role == SOUND else f"Twin of: {_one_line(one.flaw)}"
    word = outcome.word.replace("_", " ").lower()
    library = _version(one, outcome.role)
    return f"| {library} | {what} | {outcome.all_draws:,} | {word} |"


def _reason(one: Finding) -> str:
    heading = f"### {one.library}: {_one_line(one.flaw).rstrip('.')}\n"
    return f"{heading}\n*Promise.* {one.promise}\n\n{one.why}\n\n*Repair.* {one.repair}\n"


def disclosure_page(found: Found) -> str:
    """Reports to send, of what is not public."""
    hidden = [pair for pair in convicted(found) if not pair[0].is_public]
    reports = [_report(one, outcome) for one, outcome in hidden]
    return "\n".join([_DISCLOSURE, *reports]).rstrip() + "\n"


def _report(one: Finding, outcome: Outcome) -> str:
    proved = down(outcome.epsilon_proved, 3)
    versions = ", ".join(outcome.requirements)
    claim = f"{one.claim.describe()}, {one.claim.relation.name}"
    seen = (
        f"Odds of {odds_of(outcome)} against the promise after {outcome.draws} draws per side; "
        f"ε ≥ {proved} at δ = {outcome.delta:g}, with confidence {100 * outcome.confidence:g}%.\n"
        f"The data sets: {outcome.pair}. Looked at: {outcome.statistic}."
    )
    parts = [
        f"## {one.library}: {_one_line(one.flaw).rstrip('.')}",
        f"**Status:** {NOT_PUBLIC}. **Versions:** {versions}; Python {outcome.python}.",
        f"**Promised.** {one.promise}\nAs a claim: {claim}.",
        f"**Seen.** {seen}\nTo see it again: `dp-assay field {one.name}`.",
        f"**Why.** {one.why}",
        f"**Repair.** {one.repair}",
        "**To reproduce**, call `flawed` on both data sets many times and compare:",
        f"```python\n{_script(one)}\n```\n",
    ]
    return "\n\n".join(parts)


def _script(one: Finding) -> str:
    """The code of a finding, without its words."""
    text = one.file.read_text(encoding="utf-8")
    about = next(
        node
        for node in ast.parse(text).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "ABOUT"
    )
    code = "\n".join(text.splitlines()[about.end_lineno :])
    return f"from typing import Any\n\n\n{code.strip()}"


def _version(one: Finding, role: str = FLAWED) -> str:
    for requirement in sum(one.needs(role), ()):
        name, _, version = requirement.partition("==")
        if name.lower() == one.library.lower():
            return f"{name} {version}"
    return one.library


def _one_line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def main(arguments: Sequence[str]) -> None:
    """Takes files into the record, drops what is out of date, and writes both pages."""
    record = Record(RECORD)
    record.take([Record(Path(name)) for name in arguments], findings_by_name().values())
    found = record.outcomes(findings_by_name().values())
    (DOCS / "field.md").write_text(field_page(found), encoding="utf-8")
    (DOCS / "disclosure.md").write_text(disclosure_page(found), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
