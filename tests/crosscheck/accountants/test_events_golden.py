"""δ of newer events against values from ball arithmetic (`tests/golden/make_fourier_events.py`)."""

import json
from pathlib import Path

import dp_accounting as dpa
import mpmath as mp
import pytest
from dp_accounting import NeighboringRelation

from accountants import FourierAccountant, RenyiAccountant
from accountants.events import (
    DiscreteGaussianDpEvent,
    EpsilonDeltaDpEvent,
    ExponentialMechanismDpEvent,
    PermuteAndFlipDpEvent,
    UserDpEvent,
)

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "fourier_events.json"
POINTS = json.loads(GOLDEN.read_text(encoding="utf-8"))["points"]
ADD = NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = NeighboringRelation.REPLACE_ONE
ZERO = NeighboringRelation.REPLACE_SPECIAL


def event_of(point):
    """The event of a golden row, and the relation under which it is meant."""
    kind = point["kind"]
    if kind == "discrete_gaussian":
        return DiscreteGaussianDpEvent(point["standard_deviation"], point["sensitivity"]), ADD
    if kind == "epsilon_delta":
        return EpsilonDeltaDpEvent(point["pure"], point["reveals"]), ADD
    if kind == "permute_and_flip":
        return PermuteAndFlipDpEvent(point["pure"]), ADD
    if kind == "exponential":
        return ExponentialMechanismDpEvent(point["pure"]), ADD
    if kind == "sampled_laplace":
        return dpa.PoissonSampledDpEvent(point["rate"], dpa.LaplaceDpEvent(point["scale"])), ADD
    gaussian = dpa.GaussianDpEvent(point["noise"])
    if kind == "user":
        return UserDpEvent(
            point["records"], dpa.PoissonSampledDpEvent(point["rate"], gaussian)
        ), ADD
    if kind == "with_replacement":
        return dpa.SampledWithReplacementDpEvent(point["size"], point["draws"], gaussian), REPLACE
    assert kind == "tree"
    return dpa.SingleEpochTreeAggregationDpEvent(point["noise"], point["leaves"]), ZERO


def name(point):
    return f"{point['kind']}-{point['side']}-{point['steps']}-{point['epsilon']}"


@pytest.mark.parametrize("point", POINTS, ids=name)
def test_delta_against_the_golden_value(point):
    event, relation = event_of(point)
    accountant = FourierAccountant(relation, tolerance=1e-8)
    bounds = accountant.compose(event, point["steps"]).get_delta_bounds(point["epsilon"])
    with mp.workdps(50):
        truth = mp.mpf(point["delta"])
        slack = truth * mp.mpf(10) ** (1 - point["digits"])
        # "lower": data do it, "upper": more than any data do, "both": it is the value.
        if point["side"] in ("both", "lower"):
            assert bounds.upper >= truth - slack
        if point["side"] == "both":
            assert bounds.gap <= 1e-6 * bounds.upper
        if point["side"] in ("both", "upper"):
            assert bounds.lower <= truth + slack


@pytest.mark.parametrize(
    "point",
    [p for p in POINTS if p["side"] == "lower" and p["kind"] != "user"],
    ids=name,
)
def test_the_lower_end_reaches_what_data_do(point):
    event, relation = event_of(point)
    accountant = FourierAccountant(relation).compose(event, point["steps"])
    assert accountant.get_delta_bounds(point["epsilon"]).lower >= float(point["delta"]) * (1 - 1e-5)


@pytest.mark.parametrize(
    "point",
    [p for p in POINTS if p["side"] in ("both", "lower") and p["steps"] < 100],
    ids=name,
)
def test_renyi_bounds_are_above(point):
    event, relation = event_of(point)
    accountant = RenyiAccountant(relation)
    if not accountant.supports(event):
        pytest.skip("no Rényi bound of this event")
    found = accountant.compose(event, point["steps"]).get_delta_bounds(point["epsilon"])
    assert found.upper >= float(point["delta"]) * (1 - 1e-12)
