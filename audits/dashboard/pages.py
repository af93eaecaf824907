"""The pages, whole without a script; a script brings them up to date while they are looked at."""

from collections.abc import Mapping, Sequence

from audits.dashboard import fields, form, words
from audits.dashboard.panels import compared, controls, costs, made, runs_table
from audits.dashboard.planner import Planned
from audits.dashboard.settings import Settings
from audits.dashboard.store import Entry
from audits.dashboard.watched import Watched
from audits.report.markup import Markup, details, join, tag

WHERE = (
    "A run is a simulation, all clients in one process on this machine, or is made with holders "
    "who keep their own records."
)


def page(title: str, *content: object, live: str | None = None) -> str:
    """A page around its content.

    Args:
      title: Of the window.
      content: What the page is about.
      live: Where the page's panels are told of, if they change.
    """
    without_script = tag("noscript", tag("meta", http_equiv="refresh", content="4"))
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{title} · dp-assay"),
        tag("link", rel="stylesheet", href="/static/style.css"),
        tag("link", rel="icon", href="/static/icon.svg", type="image/svg+xml"),
        tag("script", src="/static/live.js", defer=""),
        without_script if live else "",
    )
    header = tag(
        "header",
        tag(
            "nav",
            tag("a", "Runs", href="/"),
            tag("a", "Describe", href="/describe"),
            aria_label="Pages",
        ),
        class_="top",
    )
    skip = tag("a", "To the content", href="#main", class_="skip")
    main = tag("main", *content, id="main", data_live=live)
    return f"<!DOCTYPE html>\n{tag('html', head, tag('body', skip, header, main), lang='en')}\n"


def _panel(name: str, content: str) -> Markup:
    return tag("section", Markup(content), id=f"panel-{name}")


def _announcer(text: str) -> Markup:
    return tag("p", text, id="panel-said", role="status", class_="unseen")


def runs(rows: Sequence[tuple[Entry, Watched, bool]]) -> str:
    """All runs."""
    empty = tag(
        "p",
        "Nothing has been described yet. ",
        tag("a", "Describe an experiment", href="/describe"),
        "; nothing runs before you have seen what it costs.",
    )
    return page(
        "Runs",
        tag("h1", "Runs"),
        tag("p", WHERE, class_="lead"),
        tag(
            "form",
            _panel("runs", runs_table(rows)),
            tag("button", "Compare those marked", type="submit"),
            method="get",
            action="/compare",
        )
        if rows
        else empty,
        tag("p", tag("a", "Describe an experiment", href="/describe", class_="button"))
        if rows
        else "",
        live="/events" if rows else None,
    )


def run(
    entry: Entry,
    watched: Watched,
    alive: bool,
    *,
    offered: Sequence[str] = (),
    problem: str = "",
    to_do: Sequence[str] = (),
) -> str:
    """A run, from its plan to its answer.

    Args:
      entry: The run.
      watched: What it has told.
      alive: Whether its process is there.
      offered: Files that may hold records.
      problem: Why what was asked for last could not be done.
      to_do: What its holders are to do, if it has some.
    """
    panels = made(entry, watched, alive)
    order = ["status", "controls"]
    sections: list[object] = [_panel(name, panels.pop(name)) for name in order]
    announcer = _announcer(panels.pop("said"))
    if entry.state == "described":
        sections = [
            sections[0],
            tag("h2", "Privacy, planned"),
            costs(entry, watched, alive),
            tag("h2", "Start"),
            _problem(problem),
            start_form(entry, offered),
            tag("section", controls(entry, watched, alive)),
        ]
        panels = {"downloads": panels["downloads"]}
    sections.append(_holders(entry, to_do))
    sections += [_panel(name, content) for name, content in panels.items()]
    again = f"/describe?like={entry.id}"
    return page(
        entry.name,
        tag("p", f"Run {entry.id}", class_="kicker"),
        tag("h1", entry.name),
        announcer,
        *sections,
        _settings(entry),
        details("The experiment's file", tag("pre", entry.experiment, tabindex="0")),
        tag("p", tag("a", "Describe another like this", href=again)),
        live=f"/runs/{entry.id}/events" if entry.state in ("going", "pausing") else None,
    )


def _holders(entry: Entry, to_do: Sequence[str]) -> Markup:
    if not to_do or entry.state in ("described", "finished"):
        return Markup()
    return tag(
        "details",
        tag("summary", "What the holders are to do"),
        tag(
            "p",
            "Each holder has an invitation: a folder with its keys, the experiment to read, and a "
            "permission, which its owner may change. It is as secret as its keys. A holder puts "
            "its records beside it and joins; when all have, go on.",
        ),
        tag("pre", "\n".join(to_do), tabindex="0"),
        open="" if entry.state == "paused" else None,
    )


def _settings(entry: Entry) -> Markup:
    given = words.settings_words(entry.settings)
    if not given:
        return Markup()
    return tag("p", "; ".join(f"{k}: {v}" for k, v in given.items()), ".", class_="key")


def _problem(text: str) -> Markup:
    return tag("p", text, class_="alarm", role="alert", id="problem") if text else Markup()


def start_form(entry: Entry, offered: Sequence[str]) -> Markup:
    """What the run is to run on, and the button that starts it."""
    defaults = Settings()
    choices = [tag("option", "made-up records, of nobody", value="")]
    files = [tag("option", name, value=name) for name in offered]
    none = tag("option", "none", value="")
    hint = (
        "Files in the folder that the dashboard was started with (--data)."
        if offered
        else "No CSV or NPZ files are in the folder that the dashboard was started with (--data)."
    )
    return tag(
        "form",
        tag(
            "fieldset",
            tag("legend", "Clients"),
            _labelled(
                "where",
                "Where they are",
                tag(
                    "select",
                    tag("option", "simulated here, in one process", value=""),
                    tag("option", "holders on this machine, each a process", value="holders"),
                    tag("option", "holders on other machines, over Flower", value="flower"),
                    name="where",
                    id="f-where",
                ),
                "Holders draw their own noise and keep their own budgets: the experiment's noise "
                "must come from the operating system.",
            ),
            *(
                _labelled(name, label, _input(name, value), mark="where=flower")
                for name, label, value in (
                    ("host", "This machine's name, as holders reach it", defaults.host),
                    ("port", "Port for holders", str(defaults.port)),
                    ("listen", "Address to listen at", defaults.listen),
                )
            ),
        ),
        tag(
            "fieldset",
            tag("legend", "Records"),
            _labelled(
                "data",
                "Records",
                tag("select", *choices, *files, name="data", id="f-data"),
                hint,
                mark="where=here",
            ),
            _labelled(
                "made_up",
                "Made-up records of each client",
                _input("made_up", str(defaults.made_up), "numeric"),
                mark="where=here data=",
            ),
            _labelled(
                "target",
                "Column of the targets",
                _input("target", defaults.target),
                mark="data=file",
            ),
            _labelled(
                "client",
                "Column that says whose a record is",
                _input("client", defaults.client),
                mark="where=here data=file",
            ),
            _labelled(
                "held_out",
                "Held-out records",
                tag("select", none, *files, name="held_out", id="f-held_out"),
                "Of no client. No certificate speaks of them.",
                mark="data=file",
            ),
        ),
        tag(
            "fieldset",
            tag("legend", "Run"),
            _labelled("seed", "Seed", _input("seed", str(defaults.seed), "numeric")),
            _labelled(
                "limit",
                "Limit: no client spends more ε than",
                _input("limit", "", "decimal"),
                "In the first scope. Empty for none.",
                mark="where=here",
            ),
        ),
        tag("button", "Start", type="submit", class_="primary"),
        method="post",
        action=f"/runs/{entry.id}/start",
        class_="fields",
    )


def _input(name: str, value: str, mode: str = "text", **more: object) -> Markup:
    return tag(
        "input",
        type="text",
        name=name,
        id=f"f-{name}",
        value=value,
        inputmode=mode,
        autocomplete="off",
        **more,
    )


def _labelled(
    name: str, label: str, control: Markup, hint: str = "", mark: str | None = None
) -> Markup:
    return tag(
        "div",
        tag("label", label, for_=f"f-{name}"),
        control,
        tag("small", hint, id=f"h-{name}") if hint else "",
        class_="field",
        data_when=mark,
    )


def describe(
    values: Mapping[str, str], problem: str = "", wrong: str | None = None, text: str = ""
) -> str:
    """The form that writes an experiment's file, and the file itself for those who have one."""
    sections = []
    for section in fields.SECTIONS:
        marks = " ".join(form.condition(*when) for when in section.when)
        asked = [_field(field, values.get(field.name, ""), wrong) for field in section.fields]
        sections.append(
            tag("fieldset", tag("legend", section.title), *asked, data_when=marks or None)
        )
    by_hand = tag(
        "form",
        tag("label", "The file, TOML", for_="f-toml"),
        tag("textarea", text, name="toml", id="f-toml", rows=16, spellcheck="false"),
        tag("button", "Plan this file", type="submit"),
        method="post",
        action="/describe",
        class_="fields",
    )
    hand = tag(
        "details",
        tag("summary", "Or paste an experiment's file"),
        by_hand,
        open="" if text else None,
    )
    return page(
        "Describe",
        tag("h1", "Describe an experiment"),
        tag(
            "p",
            "Nothing runs yet: the next page shows what it will cost, and the file.",
            class_="lead",
        ),
        _problem(problem),
        tag(
            "form",
            *sections,
            tag(
                "section",
                tag("h2", "Planned"),
                tag("div", _PLAN_HINT, id="plan", aria_live="polite"),
                class_="plan",
            ),
            tag("button", "Write the file and plan it", type="submit", class_="primary"),
            method="post",
            action="/describe",
            class_="fields",
            data_plan="/plan",
        ),
        hand,
    )


_PLAN_HINT = tag("p", "What it costs is shown here while you fill in the form.", class_="key")


def _field(field: fields.Field, value: str, wrong: str | None) -> Markup:
    marks = " ".join(form.condition(*when) for when in field.when) or None
    is_wrong = field.name == wrong
    attributes: dict[str, object] = {
        "aria_invalid": "true" if is_wrong else None,
        "aria_describedby": "problem" if is_wrong else f"h-{field.name}" if field.hint else None,
        "autofocus": "" if is_wrong else None,
    }
    if field.kind == "flag":
        box = tag(
            "input",
            type="checkbox",
            name=field.name,
            id=f"f-{field.name}",
            value="on",
            checked="" if value else None,
            **attributes,
        )
        label = tag("label", box, f" {field.label}", for_=f"f-{field.name}")
        return tag("div", label, class_="field wide", data_when=marks)
    if field.kind == "choice":
        options = [
            tag("option", words_, value=one, selected="" if one == value else None)
            for one, words_ in field.choices
        ]
        control = tag("select", *options, name=field.name, id=f"f-{field.name}", **attributes)
    else:
        mode = {"count": "numeric", "number": "decimal"}.get(field.kind, "text")
        control = _input(field.name, value, mode, **attributes)
    return _labelled(field.name, field.label, control, field.hint, marks)


def plan_fragment(planned: Planned, delta: float) -> str:
    """A plan, for the page that describes."""
    items = []
    for cost in planned.costs:
        scope = words.scope_words(cost["scope"])
        items.append(tag("dt", f"{scope[:1].upper()}{scope[1:]}"))
        items.append(
            tag(
                "dd",
                tag("strong", words.certified_words(cost, delta)),
                f" at δ = {delta:g}" if cost["certificate"] else f": {cost['refusal']}",
            )
        )
    return tag("dl", *items)


def problem_fragment(text: str) -> str:
    """Why there is no plan, for the page that describes."""
    return tag("p", text, class_="conflict")


def comparison(rows: Sequence[tuple[Entry, Watched, bool]]) -> str:
    """Runs side by side."""
    return page("Compare", tag("h1", "Runs side by side"), compared(rows))


def door(problem: str = "") -> str:
    """Where the token is asked for."""
    return page(
        "Enter",
        tag("h1", "Enter"),
        _problem(problem),
        tag(
            "form",
            _labelled(
                "token",
                "The token that was shown when the dashboard was started",
                tag("input", type="password", name="token", id="f-token", autofocus=""),
            ),
            tag("button", "Enter", type="submit", class_="primary"),
            method="post",
            action="/enter",
            class_="fields",
        ),
    )


def trouble(title: str, text: str) -> str:
    """What went wrong."""
    return page(
        title, tag("h1", title), tag("p", text), tag("p", join([tag("a", "All runs", href="/")]))
    )
