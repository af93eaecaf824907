"""Writes docs/peers.md: other accountants on settings with proved answers, from the record.

    .venv/bin/python docs/make_peers.py

A test checks that the committed page is what this script makes.
"""

from pathlib import Path

from audits.peers import scoreboard
from audits.peers.peer import PEERS
from audits.peers.question import in_words, question
from audits.report.charts import stacked_bars
from audits.report.sections.peers import CAPTION
from audits.wording import down, up

PAGE = Path(__file__).with_name("peers.md")
UNREPORTED = "No public thread was found: to be reported upstream first."

_HEAD = """\
# Other accountants on known answers

Which ε is right? The package `accountants.known_answers` has {count} settings with an interval of
ε that `dp-assay verify` proved in ball arithmetic, nearly all narrower than 1e-9. Each peer below
was asked for all of them, in its own words and in an environment of its own. Other projects can
test against the same file: `accountants/known_answers/answers.json`, described by
`answers.schema.json`.

An upper bound of ε below the proved interval is **too low**: somebody would sign a guarantee that
does not hold. Above it, it is valid: *right* within one per cent, else *loose*. A refusal is an
honest answer: the library has no word for the event or the relation. Estimates claim no side, and
are called too low only if they are so by more than a millionth.

{bars}

{table}

`lowest` is how far the worst answer is below the proved interval. Seconds are those of a shared
machine, with up to {seconds:g} for an answer. What was asked, and when:
{installed}.

## Answers that are too low

Each is proved: the checker shows that δ at the proved lower end of ε is at least the δ that was
asked for, and δ falls as ε grows.

"""
_ASK = """\
## Ask again

```console
dp-assay crosscheck --suite --recorded
dp-assay crosscheck --suite riskcal opacus --output mine.json
```

The first shows the record, the second asks anew. A run that was interrupted goes on with the same
command; a peer of another version is asked from the beginning.
"""


def page() -> str:
    """The page's text."""
    board, answers = scoreboard.Scoreboard(scoreboard.RECORD), scoreboard.known()
    rows = board.rows(PEERS.values(), answers)
    installed = {PEERS[row.peer].library: board.date(PEERS[row.peer]) for row in rows}
    head = _HEAD.format(
        count=len(answers),
        bars=stacked_bars(CAPTION, scoreboard.WORDS, [(row.peer, row.counts) for row in rows]),
        table=scoreboard.table(rows),
        seconds=board.seconds_allowed(),
        installed=",\n".join(f"{name} ({date})" for name, date in installed.items()),
    )
    low = board.too_low(PEERS.values(), answers)
    return head + "".join(_too_low(board, one) for one in low) + _ASK


def _too_low(board: scoreboard.Scoreboard, low: scoreboard.TooLow) -> str:
    known, excess = low.cases[0]
    said = board.answer(PEERS[low.peer], known)["upper"]
    asked = in_words(question(known.event, known.relation, known.delta))
    name, text, upstream = "not known", "The cause is not known.", ""
    if low.reason is not None:
        name, text, upstream = low.reason.name, low.reason.text, low.reason.upstream
    where = f"[Upstream]({upstream})." if upstream else f"*{UNREPORTED}*"
    return (
        f"### {low.peer}: {name}\n\n{text} {where}\n\n"
        f"{len(low.cases)} of its answers. The lowest: {asked}: it says ε ≤ {up(said)}, and "
        f"ε ≥ {down(known.epsilon.lower)} is proved ({excess:+.1%}).\n\n"
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
