"""The Fourier accountant against golden values from ball arithmetic (see `tests/golden/`)."""

import json
from pathlib import Path

import dp_accounting as dpa
import mpmath as mp
import pytest

from accountants import FourierAccountant

GOLDEN = Path(__file__).resolve().parents[2] / "golden"
POISSON = json.loads((GOLDEN / "fourier_poisson.json").read_text(encoding="utf-8"))
# The settings of the project's speed claims, with their relative gap at tolerance 1e-10.
NAMED = {
    (1.0, 0.01, 1000, 1e-5),
    (1.0, 0.01, 10_000, 1e-5),
    (0.8, 0.001, 100_000, 1e-6),
    (5.0, 0.02, 2500, 1e-4),
    (2.0, 0.1, 500, 1e-5),
    (0.5, 0.005, 2000, 1e-6),
    (10.0, 0.5, 1_000_000, 1e-5),
    (1.0, 1.0, 100, 1e-5),
    (1.0, 0.01, 1000, 1e-10),
    (1.0, 0.01, 1000, 1e-15),
    (1.0, 0.01, 1000, 1e-20),
    (1.0, 0.01, 1000, 1e-50),
    (1.0, 1e-4, 10_000_000, 1e-6),
}


def setting(point):
    return (point["noise_multiplier"], point["sampling_rate"], point["steps"], point["delta"])


def answer(point, tolerance):
    event = dpa.PoissonSampledDpEvent(
        point["sampling_rate"], dpa.GaussianDpEvent(point["noise_multiplier"])
    )
    return FourierAccountant(tolerance=tolerance).compose(event, point["steps"])


def decimal(text: str, digits: int) -> tuple[mp.mpf, mp.mpf]:
    """The interval of a decimal of which `digits` significant digits are certain."""
    with mp.workdps(60):
        value = mp.mpf(text)
        slack = abs(value) * mp.mpf(10) ** (1 - digits)
        return value - slack, value + slack


@pytest.mark.parametrize("point", POISSON["points"], ids=lambda p: "-".join(map(str, setting(p))))
def test_epsilon_contains_the_golden_value(point):
    bounds = answer(point, 1e-6).get_epsilon_bounds(point["delta"])
    low, high = decimal(point["epsilon"], point["digits"])
    assert bounds.lower <= high
    assert bounds.upper >= low


@pytest.mark.parametrize(
    "point",
    [p for p in POISSON["points"] if setting(p) in NAMED],
    ids=lambda p: "-".join(map(str, setting(p))),
)
def test_the_named_settings_are_tight(point):
    bounds = answer(point, 1e-10).get_epsilon_bounds(point["delta"])
    low, high = decimal(point["epsilon"], point["digits"])
    assert bounds.lower <= high
    assert bounds.upper >= low
    assert bounds.gap <= 1e-9 * bounds.upper


def test_every_named_setting_is_there():
    assert {setting(point) for point in POISSON["points"]} >= NAMED


@pytest.mark.parametrize(
    "point", POISSON["delta_points"], ids=lambda p: f"{p['steps']}-{p['epsilon']}"
)
def test_delta_contains_the_golden_value(point):
    bounds = answer(point, 1e-6).get_delta_bounds(point["epsilon"])
    with mp.workdps(60):
        truth = max(mp.mpf(point["delta_remove"]), mp.mpf(point["delta_add"]))
        assert bounds.lower <= truth * (1 + mp.mpf("1e-18"))
        assert bounds.upper >= truth * (1 - mp.mpf("1e-18"))
