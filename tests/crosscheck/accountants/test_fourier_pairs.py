"""Every dominating pair of the Fourier accountant against golden values from ball arithmetic."""

import json
from pathlib import Path

import dp_accounting as dpa
import mpmath as mp
import pytest
from dp_accounting import NeighboringRelation

from accountants import FourierAccountant, epsilon_bounds

REPLACE = NeighboringRelation.REPLACE_ONE
GOLDEN = json.loads(
    (Path(__file__).resolve().parents[2] / "golden" / "fourier_pairs.json").read_text("utf-8")
)


def identify(row):
    return "-".join(
        f"{value}" for key, value in row.items() if key not in ("epsilon", "digits", "why")
    )[:60]


def contains(bounds, row, slack="1e-20"):
    with mp.workdps(60):
        truth = mp.mpf(row["epsilon"])
        room = abs(truth) * mp.mpf(slack)
        return bounds.lower <= truth + room and truth - room <= bounds.upper


@pytest.mark.parametrize("row", GOLDEN["replace_one"], ids=identify)
def test_poisson_under_replace_one(row):
    bounds = epsilon_bounds(
        noise_multiplier=row["noise_multiplier"],
        sampling_rate=row["sampling_rate"],
        steps=row["steps"],
        delta=row["delta"],
        relation=REPLACE,
        tolerance=1e-5,
    )
    assert contains(bounds, row)
    assert bounds.gap <= 1e-3 * bounds.upper


@pytest.mark.parametrize("row", GOLDEN["fixed_size_upper"], ids=identify)
def test_fixed_size_upper_pair(row):
    """The upper end is the dominating pair's ε, from above, and tight to 1e-4."""
    bounds = epsilon_bounds(
        noise_multiplier=row["noise_multiplier"],
        sampling_rate=row["sampling_rate"],
        steps=row["steps"],
        delta=row["delta"],
        relation=REPLACE,
        sampling="fixed_size",
        tolerance=1e-5,
    )
    with mp.workdps(40):
        truth = mp.mpf(row["epsilon"])
        assert truth <= bounds.upper <= truth * (1 + mp.mpf("1e-4")) + mp.mpf("1e-9")


@pytest.mark.parametrize("row", GOLDEN["fixed_size_lower"], ids=identify)
def test_fixed_size_lower_pair(row):
    """The lower end is the explicit data sets' ε, from below, and tight to 1e-4."""
    bounds = epsilon_bounds(
        noise_multiplier=row["noise_multiplier"],
        sampling_rate=row["sampling_rate"],
        steps=row["steps"],
        delta=row["delta"],
        relation=REPLACE,
        sampling="fixed_size",
        tolerance=1e-5,
    )
    with mp.workdps(40):
        truth = mp.mpf(row["epsilon"])
        assert truth * (1 - mp.mpf("1e-4")) - mp.mpf("1e-9") <= bounds.lower <= truth


@pytest.mark.parametrize(
    ("sigma", "rate", "steps", "delta", "low", "high"),
    [(1.0, 0.01, 1000, 1e-5, 13.3608, 14.8207), (5.0, 0.02, 2500, 1e-4, 1.3966, 1.6015)],
)
def test_fixed_size_as_published(sigma, rate, steps, delta, low, high):
    """`fixed_size_lower` and `fixed_size_upper` of tests/golden/fourier_pairs.json, 5 digits."""
    bounds = epsilon_bounds(
        noise_multiplier=sigma,
        sampling_rate=rate,
        steps=steps,
        delta=delta,
        relation=REPLACE,
        sampling="fixed_size",
    )
    assert bounds.lower == pytest.approx(low, abs=1e-3)
    assert bounds.upper == pytest.approx(high, abs=1e-3)


@pytest.mark.parametrize("row", GOLDEN["laplace"], ids=identify)
def test_laplace(row):
    accountant = FourierAccountant(tolerance=1e-5).compose(
        dpa.LaplaceDpEvent(row["scale"]), row["steps"]
    )
    bounds = accountant.get_epsilon_bounds(row["delta"])
    assert contains(bounds, row)
    assert bounds.gap <= 1e-3 * max(bounds.upper, 1e-9)


@pytest.mark.parametrize("row", GOLDEN["randomized_response"], ids=identify)
def test_randomised_response(row):
    event = dpa.RandomizedResponseDpEvent(row["p"], row["answers"])
    accountant = FourierAccountant(REPLACE, tolerance=1e-5).compose(event, row["steps"])
    bounds = accountant.get_epsilon_bounds(row["delta"])
    assert contains(bounds, row)
    assert bounds.gap <= 1e-3 * max(bounds.upper, 1e-9)
