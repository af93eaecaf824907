"""Charts of findings: what is drawn, where, and that nothing warns (warnings are errors)."""

import itertools
import math

import pytest

from audits.papers import CLAIMS, ClaimResult, Finding, Standing
from audits.papers.checks import recorded_finding
from audits.papers.numbers import computed, measured, stated
from audits.papers.plots import plot_finding

pytest.importorskip("matplotlib").use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def result_of(*numbers):
    finding = Finding(verdict=Standing.HOLDS, figure="1", argument="a.", numbers=numbers)
    return ClaimResult(entry=CLAIMS["tum-theorem-1"], finding=finding, seconds=0.0)


def recorded(name):
    """The recorded finding, which `test_ledger.py` compares with the one of a run."""
    finding, seconds = recorded_finding(name)
    return ClaimResult(entry=CLAIMS[name], finding=finding, seconds=seconds, recorded=True)


DRAWN = [name for name in CLAIMS if recorded(name).finding.numbers]


def test_most_findings_can_be_drawn():
    assert len(DRAWN) >= 65


@pytest.mark.parametrize("name", DRAWN)
def test_a_finding_is_drawn_with_all_its_numbers(name):
    result = recorded(name)
    numbers = result.finding.numbers
    axes = plot_finding(result)
    axes.figure.canvas.draw()
    assert result.finding.verdict.value in axes.get_title(loc="left")
    labels = list(dict.fromkeys(number.label for number in numbers))
    assert [tick.get_text() for tick in axes.get_yticklabels()] == labels
    assert [text.get_text() for text in axes.texts] == [f"{n.role} {n}" for n in numbers]


@pytest.mark.parametrize("name", DRAWN)
def test_texts_do_not_overlap(name):
    """Those at the right, and the labels at the left."""
    axes = plot_finding(recorded(name))
    axes.figure.canvas.draw()
    for texts in (axes.texts, axes.get_yticklabels()):
        boxes = [text.get_window_extent() for text in texts]
        inside = axes.figure.bbox
        assert all(box.x0 >= inside.x0 and box.x1 <= inside.x1 for box in boxes)
        pairs = itertools.combinations(boxes, 2)
        assert not [(a, b) for a, b in pairs if a.overlaps(b)]


@pytest.mark.parametrize(
    ("numbers", "scale"),
    [
        ((stated("ε", 1.0), computed("ε", 1000.0)), "log"),
        ((stated("ε", 0.0, 1.0), computed("ε", 1000.0)), "log"),
        ((stated("ε", 1.0), computed("ε", 50.0)), "linear"),
        ((stated("ε", 0.0), computed("ε", 1e-3), computed("μ", 50.0)), "linear"),
        ((stated("ε", -1.0), computed("ε", 1e-3), computed("μ", 50.0)), "linear"),
    ],
)
def test_the_scale(numbers, scale):
    assert plot_finding(result_of(*numbers)).get_xscale() == scale


def marks(axes):
    return {(line.get_marker(), float(line.get_xdata()[-1])) for line in axes.lines}


def test_what_has_no_end_is_an_arrow_at_the_edge():
    axes = plot_finding(result_of(stated("ε", 0.0, 1.0), measured("ε", 3.0, math.inf)))
    _, right = axes.get_xlim()
    assert (">", right) in marks(axes)
    assert ("^", 3.0) in marks(axes)
    axes = plot_finding(result_of(stated("ε", 0.0, 1.0), computed("ε", math.inf)))
    assert (">", axes.get_xlim()[1]) in marks(axes)


def test_colours_say_what_contradicts():
    axes = plot_finding(
        result_of(
            stated("a", 0.0, 1.0),
            computed("a", 2.0),
            stated("b", 0.0, 1.0),
            computed("b", 0.5),
            computed("c", 3.0),
        )
    )
    colours = [text.get_color() for text in axes.texts]
    assert colours[0] == colours[2]
    assert len({*colours}) == 4


def test_it_draws_into_given_axes():
    _, axes = plt.subplots()
    assert plot_finding(result_of(computed("ε", 1.0)), axes) is axes


def test_without_numbers_it_says_so():
    with pytest.raises(ValueError, match="no numbers to draw for tum-theorem-1"):
        plot_finding(result_of())
