"""Every peer on every known answer: right, loose, too low, refused, failed or late.

An upper bound of ε below the proved lower end is *too low*: somebody would sign a guarantee that
does not hold. Above the proved upper end it is valid and *loose* by a factor; within one per cent,
*right*. An interval whose lower end is above the proved upper end excludes the truth: *too high*.
A negative ε is read as 0. Who gives an *estimate* takes no side: one that is below by less than a
millionth, more digits than anybody reports, is not called too low. Answers are kept one by one, so
that a run that stops can go on.

That an answer is too low is proved by `accountants.verify`: δ at the proved lower end is at least
the δ that was asked for, and δ falls.
"""

import datetime
import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import dp_accounting as dpa
from dp_accounting import NeighboringRelation

from accountants import codec, files, known_answers
from accountants.bounds import Bounds
from audits.peers.asking import Asked
from audits.peers.environment import InstallError
from audits.peers.peer import Peer
from audits.peers.question import question
from audits.peers.reasons import Reason, reason

RECORD = Path(__file__).with_name("recorded.json")
WORDS = ("right", "loose", "too low", "too high", "refused", "failed", "timed out")
"""What becomes of a question, the good first."""
_RIGHT = 0.01
_ESTIMATE = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A question with a proved answer: ε(δ) of the event lies within `epsilon`.

    `name` is a digest of the question: answers are kept under it.
    """

    name: str
    event: dpa.DpEvent
    relation: NeighboringRelation
    delta: float
    epsilon: Bounds


def known() -> list[Known]:
    """All of `accountants.known_answers`."""
    return [
        Known(
            name=_digest(answer),
            event=codec.decode_event(answer["event"]),
            relation=codec.decode_relation(answer["neighboring_relation"]),
            delta=answer["delta"],
            epsilon=Bounds(answer["epsilon_lower"], answer["epsilon_upper"]),
        )
        for answer in known_answers.load()
    ]


def _digest(answer: dict[str, Any]) -> str:
    asked = [answer[key] for key in ("event", "neighboring_relation", "delta")]
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class Judged:
    """A peer's answer beside the proved interval.

    Attributes:
      word: One of `WORDS`.
      excess: Upper bound over proved upper end, less 1; negative where it is too low.
    """

    word: str
    excess: float | None = None


def judge(found: dict[str, Any], truth: Bounds, *, estimate: bool = False) -> Judged:
    """What an answer is worth; an `estimate` takes no side.

    >>> judge({"upper": 1.61, "seconds": 0.1}, Bounds(1.8282, 1.8283)).word
    'too low'
    """
    for word in ("refused", "failed", "timed_out"):
        if word in found:
            return Judged(word.replace("_", " "))
    upper = max(0.0, found["upper"])
    if math.isnan(found["upper"]) or math.isnan(found.get("lower", 0.0)):
        return Judged("failed")
    if upper < truth.lower * (1.0 - _ESTIMATE if estimate else 1.0):
        return Judged("too low", upper / truth.lower - 1.0)
    if found.get("lower", 0.0) > truth.upper:
        return Judged("too high")
    excess = upper / truth.upper - 1.0 if truth.upper > 0.0 else (0.0 if upper == 0.0 else math.inf)
    return Judged("right" if excess <= _RIGHT else "loose", excess)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One peer's score.

    Attributes:
      peer: Its name.
      gives: What it says of its own answers.
      requirements: What was installed.
      counts: How many questions ended with each word.
      lowest: The excess furthest below 0, and the name of its question.
      loosest: The median excess of what is loose.
      seconds: The median over answers.
    """

    peer: str
    gives: str
    requirements: tuple[str, ...]
    counts: dict[str, int]
    lowest: tuple[float, str] | None
    loosest: float | None
    seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TooLow:
    """A peer's answers that are too low for one reason.

    Attributes:
      peer: Its name.
      reason: Why, where that is known.
      cases: The questions, with how far below the answers are; the worst first.
    """

    peer: str
    reason: Reason | None
    cases: tuple[tuple[Known, float], ...]


class Scoreboard:
    """Answers of peers to known answers, in a file that a run goes on from.

    Args:
      path: The file; it is made where it is not there yet.
    """

    def __init__(self, path: Path = RECORD) -> None:
        self.path = path
        self._body: dict[str, Any] = {"about": _ABOUT, "peers": {}}
        if path.exists():
            self._body = json.loads(path.read_text(encoding="utf-8"))

    def run(
        self,
        peers: Iterable[Peer],
        answers: Sequence[Known],
        *,
        seconds: float = 30.0,
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Asks each peer what it has not been asked yet."""
        for peer in peers:
            mine = self._of(peer)
            waiting = [answer for answer in answers if answer.name not in mine["answers"]]
            if not waiting:
                continue
            try:
                with Asked(peer) as asked:
                    for number, answer in enumerate(waiting, 1):
                        note(f"{peer.name}: {number} of {len(waiting)}")
                        words = question(answer.event, answer.relation, answer.delta)
                        mine["answers"][answer.name] = asked.ask(words, seconds)
                        if number % 10 == 0:
                            self._write()
                mine["date"] = datetime.date.today().isoformat()
                mine["seconds_allowed"] = seconds
            except InstallError as reason:
                note(f"{peer.name}: not installed: {reason}")
                continue
            finally:
                self._write()

    def rows(self, peers: Iterable[Peer], answers: Sequence[Known]) -> list[Row]:
        """The scores of those peers that have been asked."""
        return [self._row(peer, answers) for peer in peers if self._of(peer)["answers"]]

    def judged(self, peer: Peer, answers: Sequence[Known]) -> dict[str, Judged]:
        """Each answer of a peer, by the question's name."""
        found = self._of(peer)["answers"]
        return {
            answer.name: judge(
                found[answer.name], answer.epsilon, estimate=peer.gives == "estimate"
            )
            for answer in answers
            if answer.name in found
        }

    def too_low(self, peers: Iterable[Peer], answers: Sequence[Known]) -> list[TooLow]:
        """What is too low, by peer and reason."""
        found: dict[tuple[str, Reason | None], list[tuple[Known, float]]] = {}
        for peer in peers:
            judged = self.judged(peer, answers)
            for answer in answers:
                one = judged.get(answer.name)
                if one is not None and one.word == "too low" and one.excess is not None:
                    asked = question(answer.event, answer.relation, answer.delta)
                    found.setdefault((peer.name, reason(peer.name, asked)), []).append(
                        (answer, one.excess)
                    )
        return [
            TooLow(peer=peer, reason=why, cases=tuple(sorted(cases, key=lambda case: case[1])))
            for (peer, why), cases in found.items()
        ]

    def answer(self, peer: Peer, answer: Known) -> dict[str, Any]:
        """What a peer said."""
        found: dict[str, Any] = self._of(peer)["answers"][answer.name]
        return found

    def date(self, peer: Peer) -> str:
        """When the last of its answers came; empty where some are missing."""
        return str(self._of(peer).get("date", ""))

    def seconds_allowed(self) -> float:
        """The most that any peer was given for an answer."""
        peers = self._body["peers"].values()
        return float(max((one.get("seconds_allowed", 0.0) for one in peers), default=0.0))

    def _row(self, peer: Peer, answers: Sequence[Known]) -> Row:
        judged = self.judged(peer, answers)
        found = self._of(peer)["answers"]
        low = [(j.excess, name) for name, j in judged.items() if j.word == "too low"]
        loose = [j.excess for j in judged.values() if j.word == "loose" and j.excess is not None]
        spent = [found[name]["seconds"] for name in judged if "upper" in found[name]]
        counts = Counter(j.word for j in judged.values())
        return Row(
            peer=peer.name,
            gives=peer.gives,
            requirements=peer.requirements,
            counts={word: counts[word] for word in WORDS},
            lowest=min(((e, name) for e, name in low if e is not None), default=None),
            loosest=median(loose) if loose else None,
            seconds=median(spent) if spent else None,
        )

    def _of(self, peer: Peer) -> dict[str, Any]:
        """What is recorded of a peer, begun anew where its versions are others."""
        mine: dict[str, Any] = self._body["peers"].get(peer.name, {})
        if mine.get("requirements") != list(peer.requirements):
            mine = {"requirements": list(peer.requirements), "answers": {}}
            self._body["peers"][peer.name] = mine
        return mine

    def _write(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(self._body, indent=1, ensure_ascii=False, sort_keys=True)
        files.write_atomically(self.path, text + "\n")


_ABOUT = (
    "Peers' answers to accountants/known_answers, one per question: upper (and lower) bounds of "
    "epsilon, or why there is none; seconds are those of a shared machine."
)


def figures(row: Row) -> tuple[str, str, str]:
    """How far below the lowest answer is, how loose the loose ones are, and seconds."""
    loose = "–" if row.loosest is None else f"{row.loosest:+.1%}"
    return (
        f"{row.lowest[0]:+.2%}" if row.lowest else "–",
        loose.replace("+inf%", "∞"),
        f"{row.seconds:.2g}" if row.seconds is not None else "–",
    )


def table(rows: Sequence[Row]) -> str:
    """The scores as Markdown."""
    head = ["Peer", *WORDS, "lowest", "loose by (median)", "seconds (median)"]
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for row in rows:
        counts = [str(row.counts[word]) for word in WORDS]
        lines.append(f"| {' | '.join([row.peer, *counts, *figures(row)])} |")
    return "\n".join(lines)
