"""Thesis, Figure 3.3: what Algorithm 3 costs when the messages are seen."""

import json
import math
from pathlib import Path

import dp_accounting as dpa
import pytest

from accountants import MomentsAccountant, gaussian

GOLDEN = json.loads(Path(__file__).with_name("thesis_fig_3_3.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("point", GOLDEN["points"], ids=lambda p: f"M{p['clients']}-T{p['rounds']}")
def test_moments_accountant_reproduces_the_curve(point):
    message = dpa.GaussianDpEvent(1 / math.sqrt(point["clients"]))
    cost = MomentsAccountant().compose(message, point["rounds"]).get_epsilon(GOLDEN["delta"])
    assert cost == pytest.approx(point["epsilon"], rel=1e-9)
    # The historical bound is an upper bound of the exact curve, which depends on M·T alone.
    exact = gaussian.epsilon(math.sqrt(point["clients"] * point["rounds"]), GOLDEN["delta"])
    assert cost >= exact


def test_every_curve_of_the_figure_is_there():
    assert {point["clients"] for point in GOLDEN["points"]} == {1, 2, 5, 10}
