"""Comparing two methods over seeds: pairing, standard errors, and when the answer is open."""

import math

import pytest

from audits.papers.comparison import Difference


def test_differences_are_paired_and_carry_their_error() -> None:
    found = Difference.of([83.0, 84.0, 82.0], [82.0, 82.0, 82.0])
    assert found.mean == pytest.approx(1.0)
    assert found.standard_error == pytest.approx(1.0 / math.sqrt(3.0))
    assert found.in_standard_errors == pytest.approx(math.sqrt(3.0))
    assert found.agrees("better", 0.0) == "open"
    assert Difference.of([1.0], [0.0]).agrees("better", 0.0) == "open"


# Two-sided 95% points of Student's t, from printed tables: 2.776 for 4 degrees of freedom.
@pytest.mark.parametrize(
    ("mean", "seeds", "answer"),
    [(2.77, 5, "open"), (2.78, 5, "yes"), (-2.77, 5, "open"), (-2.78, 5, "no"), (2.37, 8, "yes")],
)
def test_few_seeds_need_more_than_two_standard_errors(mean: float, seeds: int, answer: str) -> None:
    found = Difference(mean=mean, standard_error=1.0, seeds=seeds)
    assert found.agrees("better", 0.0) == answer


def test_on_par_is_within_the_margin_by_as_much() -> None:
    assert Difference(mean=-0.3, standard_error=0.1, seeds=5).agrees("on par", 1.0) == "yes"
    assert Difference(mean=-0.8, standard_error=0.1, seeds=5).agrees("on par", 1.0) == "open"
    assert Difference(mean=-3.0, standard_error=0.1, seeds=5).agrees("on par", 1.0) == "no"
    assert Difference(mean=0.0, standard_error=0.1, seeds=1).text(2, "open").endswith(": open")
