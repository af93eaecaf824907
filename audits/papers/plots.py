"""A finding as a chart: what was stated beside what we found, one row for each quantity."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from audits.papers.checks import ClaimResult
from audits.papers.numbers import Number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STATED, _AGREES, _CONTRADICTS, _ALONE = "#1f3b63", "#2f8f6f", "#b3402e", "0.35"
_MARKERS = {"stated": "D", "certified": "s", "computed": "o", "measured": "^"}
_DECADES = 2.0


def plot_finding(result: ClaimResult, axes: "Axes | None" = None) -> "Axes":
    """Draws a finding's numbers; in red what contradicts the stated number of its row.

    A line is an interval; it begins at the left edge for "at most", and ends in an arrow at the
    edge where it has no end. The axis is logarithmic where numbers span more than two decades.

    Raises:
      ValueError: The finding has no numbers.
    """
    numbers = result.finding.numbers
    if not numbers:
        raise ValueError(
            f"`result` must have numbers, got no numbers to draw for {result.entry.id}."
        )
    rows: dict[str, list[Number]] = {}
    for number in numbers:
        rows.setdefault(number.label, []).append(number)
    if axes is None:
        axes = _axes(sum(map(len, rows.values())) + len(rows))
    left, right = _limits(axes, numbers)
    heights, y = [], 0.0
    for row in rows.values():
        for index, number in enumerate(row):
            _draw(axes, number, y - 0.5 * index, (left, right), _colour(number, row))
        heights.append(y - 0.25 * (len(row) - 1))
        y -= 0.5 * len(row) + 0.6
    axes.set(xlim=(left, right), ylim=(y + 0.3, 0.7))
    axes.set_yticks(heights, rows.keys())
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.grid(axis="x", alpha=0.25, linewidth=0.6)
    axes.set_title(
        f"{result.entry.id}: {result.finding.verdict.value}", loc="left", fontsize=11, pad=10
    )
    return axes


def _axes(lines: int) -> "Axes":
    import matplotlib.pyplot as plt

    _, made = plt.subplots(figsize=(8.0, 1.0 + 0.24 * lines), layout="constrained")
    return made


def _colour(number: Number, row: Sequence[Number]) -> str:
    if number.role == "stated":
        return _STATED
    others = [other for other in row if other.role == "stated"]
    if not others:
        return _ALONE
    return _CONTRADICTS if any(number.contradicts(other) for other in others) else _AGREES


def _limits(axes: "Axes", numbers: Sequence[Number]) -> tuple[float, float]:
    """Sets the scale, and gives limits that leave room for arrows."""
    ends = [end for n in numbers for end in (n.value, n.high) if math.isfinite(end)] or [0.0, 1.0]
    positive = [end for end in ends if end > 0.0]
    wide = bool(positive) and math.log10(max(positive) / min(positive)) > _DECADES
    # A stated 0 is a point that a logarithmic axis cannot show; below an interval it is only "≤".
    zero = any(n.high <= 0.0 or n.value < 0.0 for n in numbers)
    if wide and not zero:
        axes.set_xscale("log")
        room = 0.08 * math.log10(max(positive) / min(positive))
        return min(positive) / 10**room, max(positive) * 10**room
    room = 0.08 * (max(ends) - min(ends)) or 0.1 * abs(ends[0]) or 1.0
    bottom = 0.0 if min(ends) == 0.0 and not zero else min(ends) - room
    return bottom, max(ends) + room


def _draw(axes: "Axes", number: Number, y: float, limits: tuple[float, float], colour: str) -> None:
    """One line of the chart: mark, interval or arrow, and the value in words at the right."""
    left, right = limits
    low, high = max(number.value, left), min(number.high, right)
    marker = _MARKERS[number.role]
    if number.value >= right or number.high <= left:
        # The whole of it lies beyond the edge.
        edge, arrow = (right, ">") if number.value >= right else (left, "<")
        axes.plot(edge, y, arrow, color=colour, markersize=7, clip_on=False)
    else:
        axes.plot([low, high], [y, y], color=colour, linewidth=1.8, solid_capstyle="butt")
        # The 0 of "at most" is no end of its own.
        at_most = number.value == 0.0 < number.high
        for end, edge, arrow in ((number.value, left, "<"), (number.high, right, ">")):
            if left <= end <= right and not (at_most and end == 0.0):
                axes.plot(end, y, marker, color=colour, markersize=6, clip_on=False)
            elif math.isinf(end):
                axes.plot(edge, y, arrow, color=colour, markersize=6, clip_on=False)
    axes.annotate(
        f"{number.role} {number}",
        (1.03, y),
        xycoords=axes.get_yaxis_transform(),
        color=colour,
        fontsize=8.5,
        va="center",
        annotation_clip=False,
    )
