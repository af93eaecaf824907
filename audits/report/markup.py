"""HTML that escapes whatever it is given: only `Markup` goes in as it is."""

import html
import re
from collections.abc import Iterable, Sequence

_VOID = frozenset({"meta", "img", "input", "link", "br", "col"})

# A verdict is worded and marked, not only coloured: class, mark, words.
VERDICTS = {
    "REFUTED": ("bad", "✕", "refuted"),
    "NOT_REFUTED": ("calm", "○", "not refuted"),
    "INCONCLUSIVE": ("open", "?", "inconclusive"),
    "HOLDS": ("good", "✓", "holds"),
    "HOLDS_IF": ("open", "◐", "holds if"),
    "NOT_TESTABLE": ("mute", "–", "not testable here"),
}


class Markup(str):
    """HTML that needs no escaping."""

    __slots__ = ()


def tag(name: str, /, *content: object, **attributes: object) -> Markup:
    """An element. `class_` is class, other underscores are hyphens; `None` leaves one out.

    >>> tag("p", "a < b", class_="note")
    '<p class="note">a &lt; b</p>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{join(content)}</{name}>")


def join(parts: Iterable[object], separator: str = "") -> Markup:
    """Parts one after the other, escaped unless they are `Markup`."""
    return Markup(
        html.escape(separator).join(
            part if isinstance(part, Markup) else html.escape(str(part), quote=False)
            for part in parts
        )
    )


def badge(verdict: str) -> Markup:
    """A verdict as a coloured word with a mark."""
    kind, mark, words = VERDICTS[verdict]
    return tag("span", tag("span", mark, aria_hidden="true"), f" {words}", class_=f"word {kind}")


def choice(verdicts: Sequence[str]) -> Markup:
    """Which verdicts to show; the style sheet does it, by `data-verdict`."""
    buttons = [
        tag(
            "label",
            tag(
                "input",
                type="radio",
                name="verdict",
                id=f"only-{name}",
                checked="checked" if name == "all" else None,
            ),
            " all" if name == "all" else join([" ", badge(name)]),
        )
        for name in ("all", *verdicts)
    ]
    return tag("fieldset", tag("legend", "Show"), *buttons, class_="choice")


def table(
    caption: str,
    columns: Sequence[object],
    rows: Iterable[Sequence[object]],
    *,
    numeric: Iterable[int] = (),
) -> Markup:
    """A table in a box of its own, which scrolls where the screen is narrow."""
    right = set(numeric)
    head = join(
        tag("th", column, scope="col", class_="number" if index in right else None)
        for index, column in enumerate(columns)
    )
    body = join(tag("tr", _cells(row, right)) for row in rows)
    return tag(
        "div",
        tag(
            "table",
            tag("caption", tag("span", caption)),
            tag("thead", tag("tr", head)),
            tag("tbody", body),
        ),
        class_="scroll",
        tabindex="0",
        role="region",
        aria_label=caption,
    )


def _cells(row: Sequence[object], right: set[int]) -> Markup:
    first, *rest = row
    return join(
        [
            tag("th", first, scope="row"),
            *(
                tag("td", cell, class_="number" if index in right else _width(cell))
                for index, cell in enumerate(rest, start=1)
            ),
        ]
    )


def _width(cell: object) -> str | None:
    """A few figures stay on one line."""
    return "short" if len(str(cell)) <= 22 else None


def stacking_table(caption: str, columns: tuple[str, ...], rows: list[Markup]) -> Markup:
    """A table whose rows become blocks on a narrow screen; roles keep it a table there."""
    head = join(tag("th", column, scope="col", role="columnheader") for column in columns)
    return tag(
        "table",
        tag("caption", caption),
        tag("thead", tag("tr", head, role="row"), role="rowgroup"),
        tag("tbody", join(rows), role="rowgroup"),
        class_=f"stacking c{len(columns)}",
        role="table",
    )


def cell(label: str, *content: object) -> Markup:
    """A cell of a stacking table, with the heading that it carries where it stands alone."""
    return tag("td", tag("div", *content), data_label=label, role="cell")


def details(summary: str, *content: object) -> Markup:
    """What opens on a click, and is open in print where the browser can."""
    return tag("details", tag("summary", summary), *content)


def prose(text: str) -> Markup:
    r"""Paragraphs, lists and `code` as docstrings write them.

    >>> prose("One `name`.\n\n* a\n* b")
    '<p>One <code>name</code>.</p><ul><li>a</li><li>b</li></ul>'
    """
    parts = []
    for block in re.split(r"\n\s*\n", text.strip()):
        first, *items = re.split(r"(?:^|\n)\s*\* ", block)
        if first.strip():
            parts.append(tag("p", _inline(first)))
        if items:
            parts.append(tag("ul", *(tag("li", _inline(item)) for item in items)))
    return join(parts)


def _inline(text: str) -> Markup:
    pieces = re.split(r"`([^`]+)`", " ".join(text.split()))
    return join(tag("code", p) if i % 2 else p for i, p in enumerate(pieces))


def facts(pairs: Iterable[tuple[str, object]]) -> Markup:
    """Terms and what they are."""
    return tag("dl", join(join([tag("dt", term), tag("dd", value)]) for term, value in pairs))
