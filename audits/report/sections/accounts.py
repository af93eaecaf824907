"""The accountants side by side, and curves of ε."""

import math
from typing import Any

from audits.report import accounting
from audits.report.charts import Series, line_chart
from audits.report.gather import Contents
from audits.report.markup import Markup, join, table, tag
from audits.wording import down, up


def crosschecks(contents: Contents) -> Markup:
    """One table per named setting."""
    intro = (
        "Every accountant, ours and the installed peers', on the same release. Each gives a bound "
        "or an interval; no upper bound may lie below another's proved lower bound. Bounds are "
        "rounded outwards; times are of one run on a busy machine."
    )
    return join([tag("p", intro), *(_setting(one) for one in contents.crosschecks)])


def _setting(one: dict[str, Any]) -> Markup:
    rows = [
        (
            row["name"],
            "–" if not row["lower"] else down(row["lower"]),
            "–" if row["upper"] is None else up(row["upper"]),
            f"{1e3 * row['seconds']:.0f}",
            row["note"],
        )
        for row in one["accountants"]
    ]
    columns = ("accountant", "ε ≥", "ε ≤", "ms", "note")
    caption = f"δ = {one['delta']:g}, {one['relation']}"
    parts = [
        tag("h3", one["setting"]),
        table(caption, columns, rows, numeric=(1, 2, 3)),
    ]
    low = sorted({pair[0] for pair in one["conflicts"]})
    if low:
        known = f" {one['reason']} Known." if one["as_expected"] else " Not expected."
        message = f"Conflict: {', '.join(low)} reports less than is proved to be the least.{known}"
        parts.append(tag("p", message, class_="conflict"))
    elif not one["as_expected"]:
        message = f"No conflict, where one with {', '.join(one['known'])} was known."
        parts.append(tag("p", message, class_="conflict"))
    return join(parts)


def curves(contents: Contents) -> Markup:
    """ε over steps and over δ."""
    setting = f"noise multiplier {accounting.NOISE:g}, sampling rate {accounting.RATE:g}"
    delta = f"δ = {accounting.DELTA:g}"
    charts = [
        (
            "over steps",
            f"Three accountants: {setting}, {delta}, one record added or removed.",
            "steps",
        ),
        ("by sampling", f"One set of numbers, three mechanisms: {setting}, {delta}.", "steps"),
        ("over δ", f"The same mechanisms over δ: {setting}, {accounting.STEPS:,} steps.", "δ"),
    ]
    figures = [
        line_chart(caption, x_label, "ε", _series(contents.curves[name]))
        for name, caption, x_label in charts
    ]
    intro = (
        "A band is a certified interval: its upper end is proved for all neighbouring data sets, "
        "its lower end by an explicit pair of them. Where it looks like a line, both ends agree "
        "to within the line's width."
    )
    ends = [
        (
            series["name"],
            *(_interval(series, index) for index in (0, len(data["x"]) // 2, -1)),
        )
        for data in [contents.curves["by sampling"]]
        for series in data["series"]
    ]
    steps = contents.curves["by sampling"]["x"]
    columns = ("mechanism", *(f"{steps[i]:,} steps" for i in (0, len(steps) // 2, -1)))
    points = table(f"Points of the second figure: ε in […, …] at {delta}", columns, ends)
    return join([tag("p", intro), tag("div", *figures, class_="figures"), points])


def _series(data: dict[str, Any]) -> list[Series]:
    return [
        Series(name=one["name"], x=data["x"], lower=one["lower"], upper=one["upper"])
        for one in data["series"]
    ]


def _interval(series: dict[str, Any], index: int) -> str:
    lower, upper = series["lower"][index], series["upper"][index]
    if math.isinf(upper):
        return f"[{down(lower, 4)}, ∞)"
    return f"[{down(lower, 4)}, {up(upper, 4)}]"
