"""The accountants side by side, and curves of ε."""

from typing import Any

from dp_accounting import NeighboringRelation

from accountants import Bounds
from audits.report import accounting
from audits.report.charts import Series, line_chart
from audits.report.gather import Contents
from audits.report.markup import Markup, details, join, table, tag
from audits.wording import RELATIONS, down, interval, up


def crosschecks(contents: Contents) -> Markup:
    """All settings in one table, then each with times and notes."""
    intro = (
        "Every accountant, ours and the installed peers', on the same releases. Each gives an "
        "interval or an upper bound, rounded outwards; no upper bound may lie below another's "
        "proved lower bound. An empty cell is a refusal, or a peer that is not installed."
    )
    rows = [
        (
            tag("span", one["setting"], tag("small", _circumstances(one))),
            *(_bounds(row, one) for row in _certified_first(one)),
        )
        for one in contents.crosschecks
    ]
    names = [row["name"] for row in _certified_first(contents.crosschecks[0])]
    return join(
        [
            tag("p", intro),
            table("ε by every accountant", ("setting", *names), rows, numeric=range(1, 9)),
            *(_conflict(one) for one in contents.crosschecks),
            details("Times and notes", *(_setting(one) for one in contents.crosschecks)),
        ]
    )


def _certified_first(one: dict[str, Any]) -> list[dict[str, Any]]:
    """A narrow screen shows the first column or two."""
    return sorted(one["accountants"], key=lambda row: row["name"] != "dp-assay Fourier")


def _circumstances(one: dict[str, Any]) -> str:
    return f"δ = {one['delta']:g}, {RELATIONS[NeighboringRelation[one['relation']]]}"


def _bounds(row: dict[str, Any], one: dict[str, Any]) -> Markup:
    if row["upper"] is None:
        return Markup("–")
    lower = f"≥ {down(row['lower'])}" if row["lower"] else ""
    upper = f"≤ {up(row['upper'])}"
    parts: list[object] = [lower, tag("br"), upper] if lower else [upper]
    if row["name"] in {pair[0] for pair in one["conflicts"]}:
        return tag("span", *parts, tag("br"), "✕ too low", class_="word bad")
    return join(parts)


def _conflict(one: dict[str, Any]) -> Markup:
    low = sorted({pair[0] for pair in one["conflicts"]})
    if not low and one["as_expected"]:
        return Markup("")
    if not low:
        message = f"No conflict, where one with {', '.join(one['known'])} was known."
    else:
        known = f"Known: {one['reason']}" if one["as_expected"] else "Not expected."
        message = f"{', '.join(low)} reports less than is proved to be the least. {known}"
    return tag("p", tag("strong", one["setting"]), ". ", message, class_="conflict")


def _setting(one: dict[str, Any]) -> Markup:
    rows = [
        (row["name"], *_ends(row), f"{1e3 * row['seconds']:.0f}", row["note"])
        for row in one["accountants"]
    ]
    caption = f"{one['setting']}; {_circumstances(one)}. Times are of this one run."
    return table(caption, ("accountant", "ε ≥", "ε ≤", "ms", "note"), rows, numeric=(1, 2, 3))


def _ends(row: dict[str, Any]) -> tuple[str, str]:
    lower = down(row["lower"]) if row["lower"] else "–"
    return lower, "–" if row["upper"] is None else up(row["upper"])


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
    return interval(Bounds(series["lower"][index], series["upper"][index]), 4)
