"""The parts of a run's page that change while it goes, each by a name of its own."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from audits.dashboard import charts, words
from audits.dashboard.planner import facts
from audits.dashboard.store import Entry
from audits.dashboard.watched import Watched
from audits.report.markup import Markup, details, join, table, tag

MOST_CLIENTS = 60
"""A table shows no more; the others are counted below it."""
_MOST_WEIGHTS = 24

Panel = Callable[[Entry, Watched, bool], Markup]


def form(action: str, button: str, *content: object, class_: str | None = None) -> Markup:
    """A button that asks for something to be done."""
    return tag(
        "form",
        *content,
        tag("button", button, type="submit", class_=class_),
        method="post",
        action=action,
    )


def status(entry: Entry, watched: Watched, alive: bool) -> Markup:
    """Where the run is."""
    parts: list[object] = [tag("p", words.badge(entry, alive), class_="state")]
    if watched.rounds:
        bar = tag("progress", max=watched.rounds, value=watched.round, aria_label="Rounds made")
        taken = sum(watched.seconds.values())
        line = f"Round {words.how_far(watched)}"
        if watched.seconds:
            each = taken / len(watched.seconds)
            line += f"; {words.seconds(taken)} so far, {words.seconds(each)} a round"
        parts += [bar, tag("p", f"{line}.", class_="key")]
    if entry.message:
        parts.append(tag("p", entry.message, class_="alarm", role="alert"))
    if watched.notes:
        last = max(watched.notes)
        parts.append(tag("p", f"Round {last:,}: {watched.notes[last]}", class_="key"))
    return join(parts)


def controls(entry: Entry, watched: Watched, alive: bool) -> Markup:
    """What can be asked of the run in its state."""
    at = f"/runs/{entry.id}"
    buttons: list[object] = []
    if entry.state == "going":
        buttons.append(form(f"{at}/pause", "Pause"))
    if entry.state == "paused":
        buttons.append(form(f"{at}/resume", "Go on"))
    if entry.state == "failed":
        buttons.append(form(f"{at}/resume", "Try again"))
    if entry.state in ("described", "paused", "failed", "finished"):
        warning = (
            "Its checkpoint and its records here are deleted. What it has released cannot be "
            "taken back: its ε stays spent."
        )
        buttons.append(
            details(
                "Delete this run …",
                tag("p", warning),
                form(f"{at}/remove", "Delete", class_="danger"),
            )
        )
    return join(buttons)


def costs(entry: Entry, watched: Watched, alive: bool) -> Markup:
    """ε in each scope: planned, spent by whoever has spent most, and certified in the end."""
    delta = float(facts(entry.experiment)["delta"])
    certified = words.certified_costs(entry)
    final: list[dict[str, Any] | None] = [*(certified or [])] or [None] * len(entry.plan)
    rows = []
    for planned, done in zip(entry.plan, final, strict=True):
        scope = planned["scope"]
        row: list[object] = [words.scope_words(scope)]
        row.append(words.certified_words(planned, delta))
        if watched.rounds:
            clients = watched.spent.get(scope, {}).values()
            row.append(words.upper(_largest([one.spent for one in clients])))
        if done is not None:
            row.append(words.certified_words(done, delta))
        rows.append(row)
    columns = ["Neighbouring data sets, and who looks", "planned, all rounds"]
    columns += ["spent so far ≤"] if watched.rounds else []
    columns += ["certified of what was run"] if certified else []
    caption = f"ε at δ = {delta:g}, of the client who spends most."
    reasons = [cost for cost in entry.plan if cost["refusal"]]
    return join(
        [
            table(caption, columns, rows),
            *(
                tag("p", f"{words.scope_words(one['scope'])}: {one['refusal']}", class_="conflict")
                for one in reasons
            ),
            _assumptions(entry.plan),
            charts.chart(
                "ε spent by the client who has spent most, round by round.",
                "ε at most",
                [(words.scope_words(scope), by) for scope, by in watched.worst.items()],
            )
            if watched.worst
            else "",
        ]
    )


def _largest(values: Sequence[float | None]) -> float | None:
    """The largest; None if one of them is not known, or there are none."""
    known = [value for value in values if value is not None]
    return max(known) if known and len(known) == len(values) else None


def _assumptions(plan: Sequence[Mapping[str, Any]]) -> Markup:
    found: dict[str, list[str]] = {}
    for cost in plan:
        for one in (cost["certificate"] or {}).get("assumptions", []):
            found.setdefault(one, []).append(cost["scope"])
    if not found:
        return Markup()
    items = [
        tag("li", text if len(where) == len(plan) else f"{text} ({'; '.join(where)})")
        for text, where in found.items()
    ]
    return details("What the certificates rest on", tag("ul", *items))


def learning(entry: Entry, watched: Watched, alive: bool) -> Markup:
    """How much the estimate still changes, and how well it predicts."""
    if not watched.rounds:
        return Markup()
    parts = [
        charts.chart(
            "The largest change of a parameter, |Δλ| / (1 + |λ|), in each round.",
            "change",
            [("change", watched.change)],
            logarithmic=True,
        )
    ]
    if watched.scores:
        value = watched.scores[max(watched.scores)]
        what = (
            "Share of classes predicted rightly"
            if watched.measure == "accuracy"
            else "Root of the mean squared error"
        )
        caption = (
            f"{what}, {watched.records:,} held-out records; now {value:.4g}. "
            "No certificate speaks of those records."
        )
        parts.append(charts.chart(caption, watched.measure, [(watched.measure, watched.scores)]))
    return tag("div", *parts, class_="figures")


def posterior(entry: Entry, watched: Watched, alive: bool) -> Markup:
    """What has been learnt."""
    found = watched.posterior
    if found is None:
        return Markup()
    deviations: Sequence[float | None] = found.std or [None] * len(found.mean)
    rows = [
        (f"θ[{k}]", mean, std)
        for k, (mean, std) in enumerate(zip(found.mean, deviations, strict=True))
    ]
    shown = rows[:_MOST_WEIGHTS]
    intervals = (
        "Means under q, and two standard deviations to each side. q's deviations know nothing of "
        "the noise that privacy costs."
        if found.std
        else "Weights; this mechanism has no posterior."
    )
    rest = found.dimension - len(shown)
    more = f" The first {len(shown)} of {found.dimension:,} coordinates." if rest > 0 else ""
    numbers = [
        (name, f"{mean:.6g}", "–" if std is None else f"{std:.3g}") for name, mean, std in rows
    ]
    return join(
        [
            charts.intervals(f"After round {found.round:,}. {intervals}{more}", shown),
            details(
                "As numbers",
                table(f"After round {found.round:,}", ("", "mean", "std"), numbers, numeric=(1, 2)),
            ),
        ]
    )


def clients(entry: Entry, watched: Watched, alive: bool) -> Markup:
    """Who is there, what crossed, and what each has spent and has left."""
    if not watched.clients:
        return Markup()
    scopes = list(watched.spent)
    columns: list[object] = ["client", "is", "sent", "received"]
    for number, _ in enumerate(scopes, start=1):
        columns += [f"ε spent ({number})", f"left ({number})"]
    rows = []
    for client in range(min(watched.clients, MOST_CLIENTS)):
        sent, received = (
            watched.traffic[client].total if client in watched.traffic else (None, None)
        )
        now = watched.status.get(client, "offline")
        if entry.state != "going":
            now = "offline"  # nobody is asked anything
        row: list[object] = [client, tag("span", now, class_=f"status {now}")]
        row += ["–" if count is None else words.size(count) for count in (sent, received)]
        for scope in scopes:
            found = watched.spent[scope].get(client)
            row += [words.upper(found.spent if found else None)]
            row += ["no limit" if not found or found.limit is None else words.lower(found.left)]
        rows.append(row)
    notes = [f"({k}) {words.scope_words(scope)}." for k, scope in enumerate(scopes, start=1)]
    if watched.clients > MOST_CLIENTS:
        notes.append(f"And {watched.clients - MOST_CLIENTS:,} more clients.")
    kinds = {one.kind for one in watched.traffic.values()}
    if "payload" in kinds:
        notes.append("Nothing crosses a wire here: bytes are the numbers in the messages, 8 each.")
    reporters = {one.reporter for by in watched.spent.values() for one in by.values()}
    notes.append(
        "Spent and left as each holder reports them."
        if reporters == {"holder"}
        else "Spent by the run's own transcript: its clients are simulated in one process."
    )
    numeric = range(2, 4 + 2 * len(scopes))
    return join([table("Clients", columns, rows, numeric=numeric), tag("p", " ".join(notes))])


def downloads(entry: Entry, watched: Watched, alive: bool) -> Markup:
    """Files to take along."""
    at = f"/runs/{entry.id}"
    links = [("experiment.toml", "the experiment")]
    done = words.certified_costs(entry)
    which = "certificate" if done else "planned certificate"
    links += [
        (f"certificate-{k}.json", f"{which}: {words.scope_words(cost['scope'])}")
        for k, cost in enumerate(done or entry.plan, start=1)
        if cost["certificate"] is not None
    ]
    if entry.answer:
        links += [("transcript.json", "the transcript"), ("answer.json", "the answer, all of it")]
    return tag(
        "ul",
        *(
            tag("li", tag("a", name, href=f"{at}/{name}", download=name), f", {what}")
            for name, what in links
        ),
    )


PANELS: Mapping[str, tuple[str, Panel]] = {
    "status": ("", status),
    "controls": ("", controls),
    "costs": ("Privacy", costs),
    "clients": ("Clients", clients),
    "learning": ("Learning", learning),
    "posterior": ("Posterior", posterior),
    "downloads": ("Files", downloads),
}
"""Titles and makers, in the order of the page."""


def made(entry: Entry, watched: Watched, alive: bool) -> dict[str, str]:
    """All panels as HTML, by name; those with nothing to show are empty."""
    return {
        name: _titled(title, maker(entry, watched, alive))
        for name, (title, maker) in PANELS.items()
    } | {"said": words.said(entry, watched, alive)}


def _titled(title: str, content: Markup) -> Markup:
    return join([tag("h2", title), content]) if title and content else content


def runs_table(rows: Sequence[tuple[Entry, Watched, bool]]) -> Markup:
    """The list of runs, with a box at each for comparing them."""
    body = []
    for entry, watched, alive in rows:
        delta = float(facts(entry.experiment)["delta"])
        first = entry.plan[0] if entry.plan else None
        score = watched.scores[max(watched.scores)] if watched.scores else None
        box = tag(
            "input",
            type="checkbox",
            name="run",
            value=entry.id,
            id=f"compare-{entry.id}",
            aria_label=f"Compare {entry.name}, run {entry.id}",
        )
        body.append(
            (
                tag("a", f"{entry.id}: {entry.name}", href=f"/runs/{entry.id}"),
                words.badge(entry, alive),
                words.how_far(watched),
                words.certified_words(first, delta) if first else "–",
                "–" if score is None else f"{watched.measure} {score:.4g}",
                box,
            )
        )
    columns = ("run", "is", "rounds", "planned, first scope", "held out", "compare")
    return table("Runs, the newest first", columns, body)


def compared(rows: Sequence[tuple[Entry, Watched, bool]]) -> Markup:
    """Runs side by side: what they are, what they cost, what they learnt."""
    columns = ["", *(f"{entry.id}: {entry.name}" for entry, _, _ in rows)]
    tables = [facts(entry.experiment) for entry, _, _ in rows]
    flat = [dict(_flat(one)) for one in tables]
    names = list(dict.fromkeys(itertools.chain.from_iterable(flat)))
    different = [
        (name, *(str(one.get(name, "–")) for one in flat))
        for name in names
        if len({str(one.get(name)) for one in flat}) > 1
    ]
    scopes = list(dict.fromkeys(cost["scope"] for entry, _, _ in rows for cost in entry.plan))
    found: list[Sequence[object]] = [
        ("state", *(words.badge(entry, alive) for entry, _, alive in rows)),
        ("rounds made", *(words.how_far(watched) for _, watched, _ in rows)),
    ]
    for scope in scopes:
        found.append((f"ε: {words.scope_words(scope)}", *(_cost_of(e, scope) for e, _, _ in rows)))
    found += [
        ("held out", *(_score(watched) for _, watched, _ in rows)),
        ("seconds", *(words.seconds(sum(w.seconds.values())) for _, w, _ in rows)),
        ("bytes sent by clients", *(_sent(watched) for _, watched, _ in rows)),
    ]
    for name in ("records", "seed", "limit"):
        given = [words.settings_words(entry.settings).get(name, "–") for entry, _, _ in rows]
        found.append((name, *given))
    named = [(f"{entry.id}: {entry.name}", watched) for entry, watched, _ in rows]
    drawn = [
        charts.chart(
            "The largest change of a parameter in each round.",
            "change",
            [(name, watched.change) for name, watched in named],
            logarithmic=True,
        )
    ]
    for measure in sorted({watched.measure for _, watched in named if watched.scores}):
        of_it = [(name, watched.scores) for name, watched in named if watched.measure == measure]
        drawn.append(charts.chart("Held-out records.", measure, of_it))
    return join(
        [
            table("What came out; ε certified of what was run, or planned", columns, found),
            tag("div", *drawn, class_="figures"),
            tag("h2", "Where the experiments differ"),
            table("Fields of the two files that are not the same", columns, different)
            if different
            else tag("p", "Nowhere: they are the same file."),
        ]
    )


def _cost_of(entry: Entry, scope: str) -> str:
    delta = float(facts(entry.experiment)["delta"])
    done = words.certified_costs(entry)
    which = "" if done else ", planned"
    return next(
        (
            f"{words.certified_words(cost, delta)} at δ = {delta:g}{which}"
            for cost in done or entry.plan
            if cost["scope"] == scope
        ),
        "not asked",
    )


def _score(watched: Watched) -> str:
    if not watched.scores:
        return "–"
    return f"{watched.measure} {watched.scores[max(watched.scores)]:.4g}"


def _sent(watched: Watched) -> str:
    return words.size(sum(one.total[0] for one in watched.traffic.values()))


def _flat(body: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """A table's fields with their places."""
    found: list[tuple[str, Any]] = []
    for name, value in body.items():
        if isinstance(value, dict):
            found += _flat(value, f"{prefix}{name}.")
        else:
            found.append((f"{prefix}{name}", value))
    return found
