"""How the pages word what a run is at, and its numbers."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from accountants import Bounds, Certificate
from audits.dashboard.settings import Settings
from audits.dashboard.store import Entry, State
from audits.dashboard.watched import Watched
from audits.report.markup import Markup, tag
from audits.wording import down, interval, up

# What a state is called, its mark, and the style sheet's class for it.
_STATES: Mapping[State, tuple[str, str, str]] = {
    "described": ("described", "○", "mute"),
    "going": ("running", "▶", "calm"),
    "pausing": ("pausing", "◌", "open"),
    "paused": ("paused", "Ⅱ", "open"),
    "finished": ("finished", "✓", "good"),
    "failed": ("failed", "✕", "bad"),
}
_DIGITS = 4


def state_words(entry: Entry, alive: bool) -> str:
    """The state in a word."""
    if entry.state == "going" and not alive:
        return "waiting"
    return _STATES[entry.state][0]


def badge(entry: Entry, alive: bool) -> Markup:
    """The state as a word with a mark and a colour."""
    _, mark, kind = _STATES[entry.state]
    words = state_words(entry, alive)
    if words == "waiting":
        mark, kind = "…", "mute"
    return tag("span", tag("span", mark, aria_hidden="true"), f" {words}", class_=f"word {kind}")


def how_far(watched: Watched) -> str:
    """Rounds made, of how many."""
    return f"{watched.round:,} of {watched.rounds:,}" if watched.rounds else "–"


def upper(value: float | None) -> str:
    """An upper bound of ε, rounded up; a dash where none is proved."""
    return "–" if value is None else up(value, _DIGITS)


def lower(value: float | None) -> str:
    """What is left, rounded down; a dash where it is not known."""
    return "–" if value is None else down(value, _DIGITS)


def certified(cost: Mapping[str, Any], delta: float) -> Bounds | None:
    """A certificate's interval at δ; None where there is no certificate."""
    if cost["certificate"] is None:
        return None
    return Certificate.from_json(json.dumps(cost["certificate"])).bounds(delta)


def certified_words(cost: Mapping[str, Any], delta: float) -> str:
    """The interval, rounded outwards, or that there is none."""
    bounds = certified(cost, delta)
    return "no certificate" if bounds is None else f"ε in {interval(bounds, _DIGITS)}"


def scope_words(scope: str) -> str:
    """A scope's three words as a sentence's part.

    >>> scope_words("record, REPLACE_ONE, aggregate")
    'one record with other values; the adversary sees a trusted aggregator’s sums'
    """
    unit, relation, view = scope.split(", ", 2)
    how = {
        "ADD_OR_REMOVE_ONE": "more or less",
        "REPLACE_ONE": "with other values",
        "REPLACE_SPECIAL": "that contributes zero",
    }.get(relation, relation)
    kind, _, rest = view.partition("(")
    number = rest.removesuffix(")")
    colluders = "one client knows" if number == "1" else f"{number} clients know"
    sees = {
        "messages": "every message",
        "aggregate": "a trusted aggregator’s sums",
        "colluding": f"the sums and all that {colluders}",
    }.get(kind, view)
    return f"one {unit} {how}; the adversary sees {sees}"


def settings_words(fields: Mapping[str, Any]) -> dict[str, str]:
    """What a run goes on: its records, its seed, its limit; empty if that is not chosen yet."""
    if not fields:
        return {}
    given = Settings.of(fields)
    if given.where != "here":
        return {"records": "of holders, each its own", "limit": "each holder's own"}
    return {
        "records": Path(given.data).name or f"made up, {given.made_up} per client",
        "seed": str(given.seed),
        "limit": "none" if given.limit is None else f"ε = {given.limit:g} for each client",
    }


def certified_costs(entry: Entry) -> list[dict[str, Any]] | None:
    """The certificates of what was run, by scope; None before, and where holders keep the books."""
    return None if entry.answer is None else entry.answer.get("costs")


def size(count: int) -> str:
    """Bytes.

    >>> size(999), size(27_300), size(5_000_000)
    ('999 B', '27.3 kB', '5 MB')
    """
    for unit, word in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if count >= unit:
            return f"{count / unit:.3g} {word}"
    return f"{count} B"


def seconds(value: float) -> str:
    """A time that something took.

    >>> seconds(0.0123), seconds(75.0), seconds(7500.0)
    ('12 ms', '1 min 15 s', '2 h 5 min')
    """
    if value < 1.0:
        return f"{1000 * value:.0f} ms"
    if value < 60.0:
        return f"{value:.3g} s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def said(entry: Entry, watched: Watched, alive: bool) -> str:
    """What a screen reader is told: it changes at most every tenth of the rounds."""
    words = f"{entry.name}: {state_words(entry, alive)}"
    if entry.state == "going" and watched.rounds:
        tenths = 10 * watched.round // watched.rounds
        words += f", {10 * tenths} % of the rounds made"
    return words + "."
