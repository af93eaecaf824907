"""Charts of one row a thing: intervals as bars, claims beside what is proved of them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from audits.report.charts import Axis
from audits.report.markup import Markup, join, tag
from audits.wording import down, up

# A name stands above its row, so that a narrow screen has room for both.
_WIDTH, _LEFT, _RIGHT, _FOOT = 480, 6, 18, 44


@dataclass(frozen=True, slots=True)
class Interval:
    """A certified interval and what it is of."""

    name: str
    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class Contrast:
    """What is claimed, and the least that is certain.

    Attributes:
      name: Of the row.
      claimed: The claimed ε.
      least: The least ε that is proved, ∞ included, or that draws have shown.
      proved: Whether it is proved without draws.
    """

    name: str
    claimed: float
    least: float
    proved: bool


def interval_bars(title: str, caption: str, x_label: str, rows: Sequence[Interval]) -> Markup:
    """A bar from the lower to the upper end of each interval, on a linear axis from 0."""
    high, step = max(row.upper for row in rows) * 1.3, 42
    scale = (_WIDTH - _RIGHT - _LEFT) / high
    bottom = 4 + len(rows) * step
    parts = [_upright(_LEFT + tick * scale, bottom, f"{tick:g}") for tick in _linear_ticks(high)]
    for number, row in enumerate(rows):
        y = 4 + number * step
        start, width = _LEFT + row.lower * scale, max((row.upper - row.lower) * scale, 5.0)
        parts += [
            tag("text", row.name, x=_LEFT + 4, y=y + 15),
            tag("rect", x=_cut(start), y=y + 21, width=_cut(width), height=14, class_="bar"),
            tag("text", _interval(row), x=_cut(start + width + 6), y=y + 33, class_="figure"),
        ]
    parts.append(_below(x_label, bottom))
    svg = _svg(f"{title} {caption}", bottom + _FOOT, parts)
    return tag("figure", tag("p", title, class_="conclusion"), svg, tag("figcaption", caption))


def contrasts(caption: str, x_label: str, rows: Sequence[Contrast]) -> Markup:
    """A dot at what is claimed, a line to what is certain at least; ∞ is an arrow out of the chart.

    The largest ratios come first.
    """
    step = 34
    ordered = sorted(rows, key=lambda row: row.least / row.claimed, reverse=True)
    finite = [v for row in rows for v in (row.claimed, row.least) if 0.0 < v < math.inf]
    x = Axis(min(finite) * 0.8, max(finite) * 1.3, _LEFT, _WIDTH - _RIGHT)
    bottom = 4 + len(ordered) * step
    parts = [_upright(x.at(tick), bottom, f"{tick:g}") for tick in x.ticks()]
    for number, row in enumerate(ordered):
        y = 4 + number * step + 25
        known = "proved" if row.proved else "shown by draws"
        start, end = x.at(row.claimed), x.end if row.least == math.inf else x.at(row.least)
        least = "∞" if row.least == math.inf else f"at least {down(row.least, 3)}"
        shape = (
            tag("path", d=f"M{end - 6},{y - 6} L{end + 5},{y} L{end - 6},{y + 6} Z", class_="least")
            if row.least == math.inf
            else tag(
                "circle", cx=end, cy=y, r=5, class_="least" if row.proved else "least is-shown"
            )
        )
        parts.append(
            tag(
                "g",
                tag("title", f"{row.name}: claimed {up(row.claimed, 3)}, {known} {least}"),
                tag("text", row.name, x=_LEFT + 4, y=y - 10),
                tag("line", x1=start, x2=end, y1=y, y2=y, class_="span"),
                tag("circle", cx=start, cy=y, r=5, class_="claimed"),
                shape,
            )
        )
    parts.append(_below(x_label, bottom))
    legend = tag(
        "ul",
        *(
            tag("li", tag("span", class_=f"dot {kind}", aria_hidden="true"), words)
            for kind, words in (
                ("claimed", "claimed ε"),
                ("least", "proved of the flawed one, at least; an arrow: ∞"),
                ("least is-shown", "shown by these draws, at least"),
            )
        ),
        class_="legend",
    )
    return tag("figure", _svg(caption, bottom + _FOOT, parts), legend, tag("figcaption", caption))


def _svg(title: str, height: float, parts: Sequence[Markup]) -> Markup:
    return tag(
        "svg",
        tag("title", title),
        join(parts),
        viewBox=f"0 0 {_WIDTH} {height:g}",
        role="img",
        class_="chart rows",
    )


def _upright(at: float, bottom: float, words: str) -> Markup:
    at = _cut(at)
    line = tag("line", x1=at, x2=at, y1=4, y2=bottom + 2, class_="grid")
    return join([line, tag("text", words, x=at, y=bottom + 18, text_anchor="middle")])


def _below(x_label: str, bottom: float) -> Markup:
    middle = 0.5 * (_LEFT + _WIDTH - _RIGHT)
    return tag("text", x_label, x=middle, y=bottom + 36, text_anchor="middle")


def _linear_ticks(high: float) -> list[float]:
    step = 10.0 ** math.floor(math.log10(high))
    step = next(step * part for part in (0.1, 0.2, 0.5, 1.0, 2.0) if high / (step * part) <= 7.0)
    return [step * k for k in range(int(high / step) + 1)]


def _interval(row: Interval) -> str:
    """One figure where the interval has no width that could be seen: its upper end."""
    lower, upper = down(row.lower, 3), up(row.upper, 3)
    return upper if row.upper - row.lower < 0.001 * row.upper else f"{lower} to {upper}"


def _cut(value: float) -> float:
    return round(value, 1)
