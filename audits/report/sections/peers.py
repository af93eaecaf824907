"""Other libraries' accountants on settings with proved answers, as recorded."""

from audits.peers import scoreboard
from audits.peers.peer import PEERS
from audits.peers.question import in_words, question
from audits.report.charts import stacked_bars
from audits.report.gather import Contents
from audits.report.markup import Markup, details, join, table, tag
from audits.wording import down, up

_INTRO = (
    "Each of {count} settings has an interval of ε that `dp-assay verify` proved in ball "
    "arithmetic. An upper bound below it is too low: a guarantee that does not hold; one above it "
    "is valid, and loose. Who refuses says that it has no answer, which is no fault. This is a "
    "record: `dp-assay crosscheck --suite` asks again."
)
_LEFT_OUT = (
    "Left out are answers that are too low for a cause that is to be reported upstream first: a "
    "bar that is shorter than the others has some."
)
CAPTION = "Settings with proved answers, by what became of each peer's answer."


def section(_: Contents) -> Markup:
    """Bars, the table, and why answers are too low, as far as that is public.

    A cause that nobody has reported yet is to be reported there first: it is in the docs, not here.
    """
    board, answers = scoreboard.Scoreboard(scoreboard.RECORD), scoreboard.known()
    rows = board.rows(PEERS.values(), answers)
    public = [
        (low, low.reason)
        for low in board.too_low(PEERS.values(), answers)
        if low.reason is not None and low.reason.upstream
    ]
    shown = {
        row.peer: row.counts
        | {"too low": sum(len(low.cases) for low, _ in public if low.peer == row.peer)}
        for row in rows
    }
    figures = table(
        "Scores of all peers",
        ("peer", "installed", *scoreboard.WORDS, "loose by (median)", "seconds (median)"),
        [
            (
                row.peer,
                PEERS[row.peer].library,
                *(shown[row.peer][word] for word in scoreboard.WORDS),
                *scoreboard.figures(row)[1:],
            )
            for row in rows
        ],
        numeric=range(2, 11),
    )
    reasons = [
        (
            low.peer,
            len(low.cases),
            *_worst(board, low),
            reason.text,
            reason.upstream,
        )
        for low, reason in public
    ]
    columns = ("peer", "answers", "the lowest of them", "ε ≤, it says", "ε ≥, proved")
    why = table(
        "Answers that are too low", (*columns, "why", "upstream"), reasons, numeric=(1, 3, 4)
    )
    return join(
        [
            tag("p", _INTRO.replace("`", "").format(count=len(answers))),
            stacked_bars(CAPTION, scoreboard.WORDS, list(shown.items())),
            tag("p", _LEFT_OUT, class_="note"),
            details("All figures", figures),
            why,
        ]
    )


def _worst(board: scoreboard.Scoreboard, low: scoreboard.TooLow) -> tuple[str, str, str]:
    known, _ = low.cases[0]
    said = board.answer(PEERS[low.peer], known)["upper"]
    words = in_words(question(known.event, known.relation, known.delta))
    return words, up(said), down(known.epsilon.lower)
