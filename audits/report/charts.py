"""Charts as SVG that takes its colours from the page, so that it reads in light and dark."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from audits.report.markup import Markup, join, tag

_WIDTH, _HEIGHT = 560, 340
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 24, 14, 46


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """A certified interval along x; a line where only one end is known."""

    name: str
    x: Sequence[float]
    lower: Sequence[float] | None
    upper: Sequence[float]


@dataclass(frozen=True, slots=True)
class Axis:
    """A logarithmic axis on a stretch of the picture."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Where a value is drawn."""
        span = math.log(self.high / self.low)
        share = math.log(max(value, self.low) / self.low) / span
        return round(self.start + share * (self.end - self.start), 1)

    def ticks(self) -> list[float]:
        """Powers of ten, with 2 and 5 between them where there are few, or every so many."""
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        stride = max(1, round((last - first) / 6))
        steps = (1.0, 2.0, 5.0) if last - first <= 3 else (1.0,)
        found = [m * 10.0**e for e in range(first, last + 1, stride) for m in steps]
        return [tick for tick in found if self.low * 0.999 <= tick <= self.high * 1.001]


def line_chart(caption: str, x_label: str, y_label: str, series: Sequence[Series]) -> Markup:
    """A figure with both axes logarithmic, its legend and its caption."""
    xs = [value for one in series for value in one.x]
    ys = [value for one in series for part in (one.lower or (), one.upper) for value in part]
    positive = [value for value in ys if 0.0 < value < math.inf]
    x = Axis(min(xs), max(xs), _LEFT, _WIDTH - _RIGHT)
    y = Axis(min(positive) * 0.9, max(positive) * 1.1, _HEIGHT - _BOTTOM, _TOP)
    names = "; ".join(one.name for one in series)
    svg = tag(
        "svg",
        tag("title", f"{caption} Series: {names}."),
        _frame(x, y, x_label, y_label),
        *(_drawn(one, x, y, number) for number, one in enumerate(series, start=1)),
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
        class_="chart",
    )
    legend = tag(
        "ul",
        join(
            tag("li", tag("span", class_=f"swatch s{number}", aria_hidden="true"), one.name)
            for number, one in enumerate(series, start=1)
        ),
        class_="legend",
    )
    return tag("figure", svg, legend, tag("figcaption", caption))


def sparkline(paths: Sequence[tuple[str, Sequence[tuple[int, float]]]], threshold: float) -> Markup:
    """Wealth over draws of two audits: the first drawn as the flawed one, and the line to cross.

    Args:
      paths: What each line is, and its (draws, log wealth).
      threshold: The log wealth at which the first claim is refuted.
    """
    last = max([2, *(draws for _, path in paths for draws, _ in path)])
    x = Axis(1.0, float(last), 2.0, 118.0)

    def y(wealth: float) -> float:
        share = min(1.25, max(-0.5, wealth / threshold))
        return round(24.0 - 18.0 * share, 1)

    lines = [
        tag(
            "polyline",
            points=" ".join(f"{x.at(float(draws))},{y(wealth)}" for draws, wealth in path),
            class_=f"line {name}",
        )
        for name, path in paths
    ]
    rule = tag("line", x1="2", x2="118", y1=y(threshold), y2=y(threshold), class_="threshold")
    title = "Wealth against the claim over the draws; dashed: where it is refuted."
    content = (tag("title", title), rule, *reversed(lines))
    return tag("svg", *content, viewBox="0 0 120 36", role="img", class_="spark")


def stacked_bars(
    caption: str, kinds: Sequence[str], rows: Sequence[tuple[str, Mapping[str, int]]]
) -> Markup:
    """A bar per row, cut into one part per kind; a class of each kind's name gives the colour."""
    left, step, top = 150.0, 22, 8
    total = max(sum(counts.values()) for _, counts in rows)
    parts = []
    for number, (name, counts) in enumerate(rows):
        y, at = top + number * step, left
        parts.append(tag("text", name, x=left - 8, y=y + 13, text_anchor="end"))
        for kind in kinds:
            width = round((_WIDTH - _RIGHT - left) * counts[kind] / total, 1)
            if not width:
                continue
            title = tag("title", f"{name}: {counts[kind]} {kind}")
            box = {"x": at, "y": y, "width": width, "height": step - 4}
            parts.append(tag("rect", title, class_=f"part {_slug(kind)}", **box))
            if width > 20:
                middle = round(at + 0.5 * width, 1)
                text = {"x": middle, "y": y + 13, "text_anchor": "middle", "class_": "count"}
                parts.append(tag("text", counts[kind], **text))
            at = round(at + width, 1)
    svg = tag(
        "svg",
        tag("title", caption),
        *parts,
        viewBox=f"0 0 {_WIDTH} {top + len(rows) * step + 4}",
        role="img",
        class_="chart bars",
    )
    legend = tag(
        "ul",
        join(
            tag("li", tag("span", class_=f"swatch {_slug(kind)}", aria_hidden="true"), kind)
            for kind in kinds
        ),
        class_="legend",
    )
    return tag("figure", svg, legend, tag("figcaption", caption))


def _slug(kind: str) -> str:
    return "is-" + kind.replace(" ", "-")


def _frame(x: Axis, y: Axis, x_label: str, y_label: str) -> Markup:
    parts = []
    for tick in x.ticks():
        at = x.at(tick)
        parts.append(tag("line", x1=at, x2=at, y1=y.start, y2=y.end, class_="grid"))
        parts.append(tag("text", _label(tick), x=at, y=y.start + 18, text_anchor="middle"))
    for tick in y.ticks():
        at = y.at(tick)
        parts.append(tag("line", x1=x.start, x2=x.end, y1=at, y2=at, class_="grid"))
        parts.append(tag("text", _label(tick), x=x.start - 7, y=at + 4, text_anchor="end"))
    middle = 0.5 * (x.start + x.end)
    parts.append(tag("text", x_label, x=middle, y=_HEIGHT - 6, text_anchor="middle"))
    height = 0.5 * (y.start + y.end)
    turned = f"rotate(-90 14 {height})"
    parts.append(tag("text", y_label, x=14, y=height, text_anchor="middle", transform=turned))
    return join(parts)


def _drawn(series: Series, x: Axis, y: Axis, number: int) -> Markup:
    def points(values: Sequence[float]) -> list[str]:
        pairs = zip(series.x, values, strict=True)
        return [f"{x.at(a)},{y.at(b)}" for a, b in pairs if 0.0 < b < math.inf]

    upper = points(series.upper)
    parts = [tag("polyline", points=" ".join(upper), class_=f"line s{number}")]
    if series.lower is not None:
        lower = points(series.lower)
        band = " ".join([*upper, *reversed(lower)])
        parts.insert(0, tag("polygon", points=band, class_=f"band s{number}"))
        parts.append(tag("polyline", points=" ".join(lower), class_=f"line s{number}"))
    return join(parts)


def _label(tick: float) -> str:
    if 1e-2 <= tick < 1e4:
        return f"{tick:g}"
    power = round(math.log10(tick))
    digits = str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    factor = tick / 10.0**power
    return f"10{digits}" if abs(factor - 1.0) < 1e-9 else f"{factor:.0f}·10{digits}"
