"""Claims: one form each, errors that name the argument, curves that err on the claim's side."""

import math

import dp_accounting as dpa
import numpy as np
import pytest
from dp_accounting import NeighboringRelation
from scipy import stats

from accountants import gaussian
from audits import Claim, TabulatedProfile

FORMS = [
    Claim(event=dpa.GaussianDpEvent(1.0)),
    Claim(event=dpa.LaplaceDpEvent(2.0), relation=NeighboringRelation.REPLACE_ONE),
    Claim(mu=1.5),
    Claim(rho=0.5),
    Claim(epsilon=2.0),
    Claim(epsilon=2.0, delta=1e-5),
]


@pytest.mark.parametrize("claim", FORMS, ids=lambda claim: claim.describe()[:30])
def test_json_round_trip(claim):
    assert Claim.from_json(claim.to_json()) == claim


def test_profile_survives_json_as_an_upper_bound():
    claim = Claim(profile=lambda epsilon: gaussian.delta(1.0, epsilon))
    again = Claim.from_json(claim.to_json())
    assert isinstance(again.profile, TabulatedProfile)
    for epsilon in np.linspace(0.0, 4.5, 60):
        assert again.delta_upper(epsilon) >= gaussian.delta(1.0, epsilon) - 1e-15
    assert again.delta_upper(1.0) < 1.1 * gaussian.delta(1.0, 1.0)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({}, "exactly one of"),
        ({"mu": 1.0, "rho": 1.0}, "got mu, rho"),
        ({"mu": -1.0}, "`mu` must be non-negative"),
        ({"mu": math.nan}, "`mu` must be a finite number"),
        ({"epsilon": 1.0, "delta": 1.0}, r"`delta` must be in \[0, 1\)"),
        ({"mu": 1.0, "delta": 1e-5}, "`delta` must be left at 0"),
    ],
)
def test_refuses_what_makes_no_sense(keywords, message):
    with pytest.raises(ValueError, match=message):
        Claim(**keywords)


def test_refuses_an_unsupported_event_at_once():
    with pytest.raises(dpa.UnsupportedEventError):
        Claim(event=dpa.UnsupportedDpEvent())


def test_an_event_is_its_accountants_curve():
    claim = Claim(event=dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(2.0), 4))
    for epsilon in (0.0, 0.5, 3.0):
        exact = gaussian.delta(1.0, epsilon)
        assert exact <= claim.delta_upper(epsilon) <= exact * (1 + 1e-9)


def test_a_point_implies_the_curve_through_its_corner():
    """δ(ε′) for ε′ < ε from the polygon's corner, by hand: 1 − 2(1−δ)/(1+e^ε) at ε′ = 0."""
    claim = Claim(epsilon=1.0, delta=0.1)
    assert claim.delta_upper(0.0) == pytest.approx(1 - 2 * 0.9 / (1 + math.e), rel=1e-12)
    assert claim.delta_upper(1.0) == claim.delta_upper(7.0) == 0.1


def test_zero_concentrated_covers_the_gaussian():
    """μ-GDP is μ²/2-zCDP, so the zCDP curve lies above the Gaussian's, and not by much."""
    for epsilon in (0.0, 0.3, 1.0, 3.0):
        exact = gaussian.delta(1.0, epsilon)
        assert exact <= Claim(rho=0.5).delta_upper(epsilon) <= 4.0 * exact + 0.3


@pytest.mark.parametrize("claim", FORMS[:1] + FORMS[2:], ids=lambda claim: claim.describe()[:30])
def test_lines_do_not_cut_into_the_claimed_region(claim):
    """Each line is w·P(S) + v·Q(Sᶜ) ≤ 1 with δ at least the claimed one."""
    curve = claim.curve()
    for w, v in zip(curve.w, curve.v, strict=True):
        small, large = min(w, v), max(w, v)
        epsilon = math.log(large / small)
        delta = (1.0 - large) / small
        assert delta >= claim.delta_upper(max(0.0, epsilon)) * (1 - 1e-7) - 1e-12


def test_trade_off_curve_is_the_gaussians_from_below():
    alphas = np.linspace(0.001, 0.999, 200)
    exact = stats.norm.cdf(stats.norm.isf(alphas) - 1.0)
    below = Claim(mu=1.0).curve().type_two_error(alphas)
    assert (below <= exact + 1e-12).all()
    assert (exact - below).max() < 0.01
