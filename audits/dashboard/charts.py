"""Line charts by round, as SVG that takes its colours from the page."""

import math
from collections.abc import Mapping, Sequence

from audits.report.markup import Markup, join, tag

_WIDTH, _HEIGHT = 560, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 66, 16, 14, 46
_MOST_POINTS = 300
MOST_SERIES = 4

Series = Mapping[int, float]


def chart(
    caption: str, y_label: str, series: Sequence[tuple[str, Series]], *, logarithmic: bool = False
) -> Markup:
    """A figure of values by round; a paragraph where there is nothing to draw yet.

    Args:
      caption: What it shows.
      y_label: What the values are.
      series: Names and values by round, at most `MOST_SERIES`.
      logarithmic: Values that are not positive are left out then.
    """
    kept = [
        (name, {k: v for k, v in one.items() if v > 0.0 or not logarithmic})
        for name, one in series[:MOST_SERIES]
    ]
    rounds = [k for _, one in kept for k in one]
    if not rounds:
        return tag("p", f"{caption} Nothing to draw yet.", class_="key")
    values = [v for _, one in kept for v in one.values()]
    first, last = min(rounds), max(max(rounds), min(rounds) + 1)
    y = _Logarithmic(values) if logarithmic else _Linear(values)

    def x_at(number: int) -> float:
        share = (number - first) / (last - first)
        return round(_LEFT + share * (_WIDTH - _LEFT - _RIGHT), 1)

    parts = []
    for tick in y.ticks():
        at = y.at(tick)
        parts.append(tag("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=at, y2=at, class_="grid"))
        parts.append(tag("text", f"{tick:.4g}", x=_LEFT - 7, y=at + 4, text_anchor="end"))
    for tick in _whole_ticks(first, last):
        parts.append(
            tag("text", f"{tick:,}", x=x_at(tick), y=_HEIGHT - _BOTTOM + 18, text_anchor="middle")
        )
    middle, height = 0.5 * (_LEFT + _WIDTH - _RIGHT), 0.5 * (_TOP + _HEIGHT - _BOTTOM)
    turned = f"rotate(-90 14 {height})"
    parts.append(tag("text", "round", x=middle, y=_HEIGHT - 6, text_anchor="middle"))
    parts.append(tag("text", y_label, x=14, y=height, text_anchor="middle", transform=turned))
    for place, (_, one) in enumerate(kept, start=1):
        points = [(x_at(k), y.at(one[k])) for k in _thinned(sorted(one))]
        drawn = " ".join(f"{a},{b}" for a, b in points)
        parts.append(tag("polyline", points=drawn, class_=f"line s{place}"))
        if points:
            a, b = points[-1]
            parts.append(tag("circle", cx=a, cy=b, r=3.5, class_=f"dot s{place}"))
    said = "; ".join(f"{name}: {one[max(one)]:.4g}" for name, one in kept if one)
    svg = tag(
        "svg",
        tag("title", f"{caption} Last values: {said}."),
        *parts,
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
        class_="chart",
    )
    return tag("figure", svg, _legend(kept), tag("figcaption", caption))


def _legend(series: Sequence[tuple[str, Series]]) -> Markup:
    if len(series) < 2:
        return Markup()
    return tag(
        "ul",
        join(
            tag("li", tag("span", class_=f"swatch s{place}", aria_hidden="true"), name)
            for place, (name, _) in enumerate(series, start=1)
        ),
        class_="legend",
    )


class _Linear:
    """An axis over the values, with some room, from 0 where they are near it."""

    def __init__(self, values: Sequence[float]) -> None:
        low, high = min(values), max(values)
        if 0.0 <= low <= 0.5 * high:
            low = 0.0
        room = 0.06 * (high - low) or 0.05 * abs(high) or 1.0
        self.low, self.high = (low if low == 0.0 else low - room), high + room

    def at(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return round(_HEIGHT - _BOTTOM - share * (_HEIGHT - _BOTTOM - _TOP), 1)

    def ticks(self) -> list[float]:
        rough = (self.high - self.low) / 4
        unit = 10.0 ** math.floor(math.log10(rough))
        step = next(m * unit for m in (1, 2, 5, 10) if m * unit >= rough)
        first = math.ceil(self.low / step)
        return [k * step for k in range(first, math.floor(self.high / step) + 1)]


class _Logarithmic(_Linear):
    """The same over logarithms."""

    def __init__(self, values: Sequence[float]) -> None:
        low, high = (math.log10(end) for end in (min(values), max(values)))
        room = max(0.06 * (high - low), 0.1)
        self.low, self.high = low - room, high + room

    def at(self, value: float) -> float:
        return super().at(math.log10(value))

    def ticks(self) -> list[float]:
        stride = max(1, math.ceil((self.high - self.low) / 5))
        factors = (1.0, 2.0, 5.0) if self.high - self.low < 2.5 else (1.0,)
        exponents = range(math.floor(self.low), math.ceil(self.high) + 1, stride)
        found = [m * 10.0**e for e in exponents for m in factors]
        return [tick for tick in found if self.low <= math.log10(tick) <= self.high]


def _whole_ticks(first: int, last: int) -> list[int]:
    step = max(1, math.ceil((last - first) / 5))
    return list(range(first, last + 1, step))


def _thinned(rounds: Sequence[int]) -> list[int]:
    """Not more than can be told apart, the last among them."""
    stride = max(1, math.ceil(len(rounds) / _MOST_POINTS))
    return [*rounds[:-1:stride], rounds[-1]] if rounds else []


def intervals(caption: str, rows: Sequence[tuple[str, float, float | None]]) -> Markup:
    """Means with bars of two standard deviations to each side, one below the other."""
    ends = [m + s * 2.0 * (d or 0.0) for _, m, d in rows for s in (-1.0, 1.0)]
    low, high = min([0.0, *ends]), max([0.0, *ends])
    span = (high - low) or 1.0

    def at(value: float) -> float:
        return round(_LEFT + (value - low) / span * (_WIDTH - _LEFT - _RIGHT - 8) + 4, 1)

    height = 24 * len(rows) + 30
    parts = [
        tag("line", x1=at(0.0), x2=at(0.0), y1=6, y2=height - 24, class_="threshold"),
        tag("text", "0", x=at(0.0), y=height - 8, text_anchor="middle"),
    ]
    for place, (name, mean, std) in enumerate(rows):
        y = 18 + 24 * place
        parts.append(tag("text", name, x=_LEFT - 8, y=y + 5, text_anchor="end"))
        if std is not None:
            left, right = at(mean - 2.0 * std), at(mean + 2.0 * std)
            parts.append(tag("line", x1=left, x2=right, y1=y, y2=y, class_="bar"))
        parts.append(tag("circle", cx=at(mean), cy=y, r=4.5, class_="dot s1"))
    picture = tag(
        "svg",
        tag("title", caption),
        *parts,
        viewBox=f"0 0 {_WIDTH} {height}",
        role="img",
        class_="chart",
    )
    return tag("figure", picture, tag("figcaption", caption))
