"""Known flaws, each beside its repair."""

import math
from collections.abc import Sequence
from typing import Any

from audits.report.charts import sparkline
from audits.report.gather import Contents
from audits.report.markup import (
    Markup,
    badge,
    cell,
    details,
    facts,
    join,
    prose,
    stacking_table,
    tag,
)
from audits.report.rows import Contrast, contrasts
from audits.testing.sequential import log_threshold
from audits.wording import down, odds, up

_COLUMNS = ("specimen", "claimed ε", "flawed", "repaired", "evidence")


def section(contents: Contents) -> Markup:
    """The specimens, then the lints."""
    delta = contents.specimens[0]["delta"] if contents.specimens else 0.0
    intro = tag(
        "p",
        "Each flawed mechanism is audited beside its repaired twin, against the same claim, with "
        f"the audits that users have. Claimed ε: what the claim allows at δ = {delta:g}, where "
        "it is a curve with its certified interval; proved: what is certain of the flawed one "
        "without any draw. Odds: what a fair bet against the claim had won when the audit stopped.",
    )
    key = tag(
        "p",
        "In the pictures: wealth won by betting against the claim, over the draws (logarithmic); ",
        tag("span", "flawed", class_="word bad"),
        " and ",
        tag("span", "repaired", class_="word calm"),
        "; the claim is refuted where wealth crosses the dashed line.",
        class_="key",
    )
    specimens = [row for one in contents.specimens for row in _specimen(one)]
    return join(
        [
            *_contrasts(contents.specimens),
            intro,
            key,
            stacking_table("Specimens", _COLUMNS, specimens),
            tag("h3", "Mistakes on paper"),
            tag("p", "Claims that arithmetic alone contradicts; nothing is sampled."),
            stacking_table(
                "Lints",
                ("mistake", "flawed", "repaired"),
                [row for one in contents.lints for row in _lint(one)],
            ),
        ]
    )


def _contrasts(specimens: Sequence[dict[str, Any]]) -> list[Markup]:
    """All flawed mechanisms in one picture."""
    rows = []
    for one in specimens:
        proved, shown = one["proved_epsilon_lower"], one["flawed"]["epsilon_lower"]
        least = math.inf if shown is None else shown
        if proved is not None:
            least = max(least, float(proved))
        claimed = one["claimed_epsilon_upper"]
        if claimed and least > claimed:
            rows.append(Contrast(one["name"], claimed, least, proved is not None))
    if not rows:
        return []
    total = len(specimens)
    infinite = sum(row.least == math.inf for row in rows)
    words = (
        f"{len(rows)} of {total} flawed mechanisms are certain to leak more than they claim, "
        f"{infinite} of them without any bound. The others are refuted by the whole curve that "
        "they claim, before any single ε is contradicted."
    )
    return [contrasts(words, "ε at the claim's δ (logarithmic)", rows)]


def _name(one: dict[str, Any]) -> Markup:
    odd = () if one["as_expected"] else (tag("span", " not expected", class_="word bad"),)
    flaw = tag("span", one["flaw"], class_="flaw")
    return tag("th", tag("strong", one["name"]), *odd, flaw, scope="row", role="rowheader")


def _specimen(one: dict[str, Any]) -> list[Markup]:
    sides = [(name, one[name]) for name in ("flawed", "repaired")]
    threshold = log_threshold(one["flawed"]["confidence"])
    row = tag(
        "tr",
        _name(one),
        cell("claimed ε", _claimed(one), *_proved(one)),
        *(cell(name, *_side(side)) for name, side in sides),
        cell("evidence", sparkline([(name, side["path"]) for name, side in sides], threshold)),
        role="row",
    )
    more = details(
        "Why, and where it is from",
        prose(one["explanation"]),
        facts(
            [
                ("Claim", one["claim"]),
                ("Pair", one["pair"]),
                *((f"Verdict, {name}", side["explanation"]) for name, side in sides),
                *((f"Seed, {name}", side["seed"]) for name, side in sides),
                *_witness(one),
                ("Reference", prose(one["reference"])),
            ]
        ),
    )
    return [row, tag("tr", tag("td", more, colspan="5", role="cell"), class_="more", role="row")]


def _claimed(one: dict[str, Any]) -> Markup:
    certified = one["certified"]
    if certified is not None:
        lower, upper = down(certified["lower"], 5), up(certified["upper"], 5)
        return tag("span", f"[{lower}, {upper}]", class_="number")
    value = one["claimed_epsilon_upper"]
    return tag("span", "∞" if value is None else up(value, 5), class_="number")


def _proved(one: dict[str, Any]) -> list[Markup]:
    """What is certain of the flawed mechanism without a draw."""
    lower = one["proved_epsilon_lower"]
    if lower is None:
        return []
    shown = "ε = ∞" if lower == "inf" else f"ε ≥ {down(lower, 4)}"
    return [tag("small", f"flawed: {shown} proved")]


def _side(side: dict[str, Any]) -> list[Markup]:
    """The verdict, with its odds where there are any: ε ≥ … alone would seem to contradict it."""
    draws = f"{side['samples']:,} draws"
    if side["verdict"] == "REFUTED":
        wealth = math.inf if side["log_e_value"] is None else side["log_e_value"]
        return [badge("REFUTED"), tag("small", f"odds {odds(wealth)}, {draws}")]
    return [badge(side["verdict"]), tag("small", draws)]


def _witness(one: dict[str, Any]) -> list[tuple[str, object]]:
    witness = one.get("witness")
    if witness is None:
        return []
    return [
        (
            "Proof without sampling",
            f"{witness['event']}: probability at least {down(witness['probability_first_lower'])} "
            f"on one data set, at most {up(witness['probability_second_upper'], 3)} on the other",
        )
    ]


def _lint(one: dict[str, Any]) -> list[Markup]:
    row = tag(
        "tr",
        _name(one),
        *(
            cell(name, badge(one[name]["verdict"]), tag("small", one[name]["sentence"]))
            for name in ("flawed", "repaired")
        ),
        role="row",
    )
    more = details(
        "Why, and where it is from",
        prose(one["explanation"]),
        facts([("Reference", prose(one["reference"]))]),
    )
    return [row, tag("tr", tag("td", more, colspan="3", role="cell"), class_="more", role="row")]
