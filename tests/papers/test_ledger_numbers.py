"""The numbers of findings: plain, shown in the sentence, and in line with the verdict."""

import json
import math
import re

import pytest

from audits.papers import (
    CLAIMS,
    Number,
    Standing,
)
from audits.papers.checks import records
from audits.papers.numbers import computed, measured, stated

FAST = [name for name, entry in CLAIMS.items() if not entry.slow]


def recorded_as(verdict):
    """Fast checks by their recorded verdict, which `test_ledger.py` compares with the one found."""
    return [name for name in FAST if records()["claims"][name]["verdict"] == verdict]


def own(finding):
    return [n for n in finding.numbers if n.role != "stated"]


def contradictions(finding):
    pairs = [(s, n) for s in finding.numbers for n in own(finding) if s.role == "stated"]
    return [(str(s), str(n)) for s, n in pairs if n.contradicts(s)]


def test_only_findings_without_figures_have_no_numbers(results):
    assert {name for name, r in results.items() if not r.finding.numbers} == {
        "workshop-threat-model",  # one event
        "thesis-resets-privacy",
        "tmlr-damping",
    }


@pytest.mark.parametrize("name", CLAIMS)
def test_numbers_are_plain_and_come_back_from_json(results, name):
    numbers = results[name].finding.numbers
    for number in numbers:
        assert number.label == number.label.strip() != ""
        assert not math.isnan(number.value)
        assert number.high >= number.value
        text = json.dumps(number.as_json(), allow_nan=False)  # infinities are not JSON
        assert Number.from_json(json.loads(text)) == number
    stated = [n.label for n in numbers if n.role == "stated"]
    assert len(set(stated)) == len(stated), "one quantity stated twice"
    assert set(stated) <= {n.label for n in own(results[name].finding)}, "stated and not checked"


def test_every_refutation_contradicts_what_is_stated(results):
    refuted = [r for r in results.values() if r.finding.verdict is Standing.REFUTED]
    assert not [r.entry.id for r in refuted if not contradictions(r.finding)]


@pytest.mark.parametrize("name", recorded_as("HOLDS"))
def test_what_holds_contradicts_nothing(results, name):
    assert contradictions(results[name].finding) == []


@pytest.mark.parametrize("name", recorded_as("HOLDS_IF"))
def test_where_a_condition_decides_some_row_agrees(results, name):
    """Or the statement was about another adversary."""
    finding = results[name].finding
    assert len(contradictions(finding)) < max(1, len(own(finding))) or name in (
        "workshop-stop-rule",
        "thesis-post-processing",
        "tmlr-local-averaging-optimum",
    )


def shown(finding):
    """The numbers in a figure, each with half a unit of its last digit."""
    for token in re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", finding.figure):
        mantissa, _, exponent = token.partition("e")
        digits = len(mantissa.partition(".")[2])
        yield float(token), 0.51 * 10.0 ** (int(exponent or 0) - digits)


@pytest.mark.parametrize("name", FAST)
def test_figures_show_their_numbers(results, name):
    """Every own number, rounded: bounds outwards, an interval by its ends or a value inside it."""
    finding = results[name].finding
    tokens = list(shown(finding))

    def appears(number):
        low, high = number.value, number.high
        if math.isinf(low):
            return "∞" in finding.figure
        if math.isinf(high):  # a lower bound that is rounded up is none
            return any(low - 2.0 * half <= token <= low * (1.0 + 1e-12) for token, half in tokens)
        if number.role == "certified":
            return any(low - 2.0 * half <= token <= high + 2.0 * half for token, half in tokens)
        if low == 0.0:
            low = high
        return any(low - half <= token <= high + half for token, half in tokens)

    hidden = {number.label for number in own(finding) if not appears(number)}
    assert hidden <= HIDDEN.get(name, set())


# Rows of a chart that the sentence does not repeat.
HIDDEN = {
    "workshop-table-1": {
        f"records of a {kind} client, {letter}" for kind in ("small", "large") for letter in "ABCD"
    },
    "thesis-probabilistic-dp": {"P(loss > 2)"},
    "thesis-fig-3-3": {f"multiplier of a message, M = {m}" for m in (2, 5, 10)},
    "tum-theorem-1-range": {f"ε of one iteration, k = {k}" for k in (187, 512, 132, 314)},
}


def test_a_wrong_number_is_refused():
    for arguments, message in (
        (("", 1.0, None, "stated"), "`label` must say"),
        (("ε", 1.0, None, "guessed"), "`role` must be one of"),
        (("ε", math.nan, None, "stated"), "`upper` must be at least `value`"),
        (("ε", 2.0, 1.0, "stated"), "`upper` must be at least `value`, got 1.0 and 2.0"),
    ):
        with pytest.raises(ValueError, match=message):
            Number(*arguments)


def test_what_contradicts_what():
    at_most = stated("ε", 0.0, 1.0)
    assert measured("ε", 1.2, math.inf).contradicts(at_most)
    assert not measured("ε", 0.8, math.inf).contradicts(at_most)
    assert not measured("μ", 1.2, math.inf).contradicts(at_most)
    assert computed("ε", math.inf).contradicts(at_most)
    assert not computed("ε", 1.0 + 1e-12).contradicts(at_most)
    assert [str(n) for n in (at_most, measured("ε", 1.2, math.inf), computed("ε", math.inf))] == [
        "≤ 1",
        "≥ 1.2",
        "∞",
    ]
    assert str(computed("ε", 1.0, 2.0)) == "1 to 2"
