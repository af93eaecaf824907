"""Claims: one form each, errors that name the argument, curves that err on the claim's side."""

import math

import dp_accounting as dpa
import numpy as np
import pytest
from dp_accounting import NeighboringRelation
from scipy import stats

from accountants import FourierAccountant, codec, gaussian
from audits import (
    Claim,
    EventClaim,
    GaussianClaim,
    PointClaim,
    ProfileClaim,
    TabulatedProfile,
    ZeroConcentratedClaim,
    audit,
)

FORMS = [
    EventClaim(dpa.GaussianDpEvent(1.0)),
    EventClaim(dpa.LaplaceDpEvent(2.0), relation=NeighboringRelation.REPLACE_ONE),
    GaussianClaim(1.5),
    ZeroConcentratedClaim(0.5),
    PointClaim(2.0),
    PointClaim(2.0, delta=1e-5),
]


@pytest.mark.parametrize("claim", FORMS, ids=lambda claim: claim.describe()[:30])
def test_json_round_trip(claim):
    assert Claim.from_json(claim.to_json()) == claim


def test_profile_survives_json_as_an_upper_bound():
    claim = ProfileClaim(lambda epsilon: gaussian.delta(1.0, epsilon))
    again = Claim.from_json(claim.to_json())
    assert isinstance(again.profile, TabulatedProfile)
    for epsilon in np.linspace(0.0, 4.5, 60):
        assert again.delta_upper(epsilon) >= gaussian.delta(1.0, epsilon) - 1e-15
    assert again.delta_upper(1.0) < 1.1 * gaussian.delta(1.0, 1.0)


@pytest.mark.parametrize(
    ("form", "arguments", "message"),
    [
        (GaussianClaim, (-1.0,), "`mu` must be non-negative"),
        (GaussianClaim, (math.nan,), "`mu` must be a finite number"),
        (ZeroConcentratedClaim, (-1.0,), "`rho` must be non-negative"),
        (PointClaim, (-1.0,), "`epsilon` must be non-negative"),
        (PointClaim, (1.0, 1.0), r"`delta` must be in \[0, 1\)"),
    ],
)
def test_refuses_what_makes_no_sense(form, arguments, message):
    with pytest.raises(ValueError, match=message):
        form(*arguments)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "exactly one of event, mu, epsilon, profile, rho, got 'relation'"),
        ({"mu": 1.0, "rho": 1.0}, "got 'relation, mu, rho'"),
        ({"mu": 1.0, "delta": 1e-5}, r"must have the fields \['mu'\]"),
        ({"mu": "inf"}, "`mu` must be a finite number"),
        ({"relation": "NEITHER", "mu": 1.0}, "`neighboring_relation` must be one of"),
    ],
)
def test_reading_refuses_what_is_not_one_form(fields, message):
    body = {"relation": "ADD_OR_REMOVE_ONE", **fields}
    with pytest.raises(ValueError, match=message):
        Claim.from_json(codec.dump_document("dp-assay/claim", body))


@pytest.mark.parametrize(
    ("fields", "claim"),
    [
        ('"event": {"type": "GaussianDpEvent", "noise_multiplier": 1.0}', FORMS[0]),
        ('"mu": 1.5', FORMS[2]),
        ('"rho": 0.5', FORMS[3]),
        ('"epsilon": 2.0', FORMS[4]),
        ('"epsilon": 2.0, "delta": 1e-05', FORMS[5]),
    ],
)
def test_reads_documents_written_before_there_were_forms(fields, claim):
    text = '{"format": "dp-assay/claim", "version": 1, "relation": "ADD_OR_REMOVE_ONE", %s}'
    assert Claim.from_json(text % fields) == claim


def test_refuses_an_unsupported_event_at_once():
    with pytest.raises(dpa.UnsupportedEventError):
        EventClaim(dpa.UnsupportedDpEvent())


def test_an_event_is_its_accountants_curve():
    claim = EventClaim(dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(2.0), 4))
    for epsilon in (0.0, 0.5, 3.0):
        exact = gaussian.delta(1.0, epsilon)
        assert exact <= claim.delta_upper(epsilon) <= exact * (1 + 1e-9)


def test_a_point_implies_the_curve_through_its_corner():
    """δ(ε′) for ε′ < ε from the polygon's corner, by hand: 1 − 2(1−δ)/(1+e^ε) at ε′ = 0."""
    claim = PointClaim(1.0, delta=0.1)
    assert claim.delta_upper(0.0) == pytest.approx(1 - 2 * 0.9 / (1 + math.e), rel=1e-12)
    assert claim.delta_upper(1.0) == claim.delta_upper(7.0) == 0.1


def test_zero_concentrated_covers_the_gaussian():
    """μ-GDP is μ²/2-zCDP, so the zCDP curve lies above the Gaussian's, and not by much."""
    for epsilon in (0.0, 0.3, 1.0, 3.0):
        exact = gaussian.delta(1.0, epsilon)
        assert exact <= ZeroConcentratedClaim(0.5).delta_upper(epsilon) <= 4.0 * exact + 0.3


@pytest.mark.parametrize("claim", FORMS[:1] + FORMS[2:], ids=lambda claim: claim.describe()[:30])
def test_lines_do_not_cut_into_the_claimed_region(claim):
    """Each line is w·P(S) + v·Q(Sᶜ) ≤ 1 with δ at least the claimed one."""
    curve = claim.region()
    for w, v in zip(curve.w, curve.v, strict=True):
        small, large = min(w, v), max(w, v)
        epsilon = math.log(large / small)
        delta = (1.0 - large) / small
        assert delta >= claim.delta_upper(max(0.0, epsilon)) * (1 - 1e-7) - 1e-12


def test_trade_off_curve_is_the_gaussians_from_below():
    alphas = np.linspace(0.001, 0.999, 200)
    exact = stats.norm.cdf(stats.norm.isf(alphas) - 1.0)
    below = GaussianClaim(1.0).region().type_two_error(alphas)
    assert (below <= exact + 1e-12).all()
    assert (exact - below).max() < 0.01


@pytest.mark.parametrize("delta", [1e-9, 1e-5, 0.1])
@pytest.mark.parametrize(
    "claim",
    [*FORMS[:4], ProfileClaim(lambda epsilon: gaussian.delta(1.0, epsilon))],
    ids=lambda claim: claim.describe()[:30],
)
def test_epsilon_upper_is_where_delta_has_fallen(claim, delta):
    """From above, and not by much: a little further down the claim allows more than δ."""
    epsilon = claim.epsilon_upper(delta)
    assert claim.delta_upper(epsilon) <= delta * (1 + 1e-9)
    assert epsilon == 0.0 or claim.delta_upper(epsilon * (1 - 1e-5)) > delta


def test_epsilon_upper_of_a_gaussian():
    """μ = 1 at δ = 1e-5, by mpmath: 4.37717809568…"""
    for claim in (GaussianClaim(1.0), EventClaim(dpa.GaussianDpEvent(1.0))):
        assert 4.37717809568 < claim.epsilon_upper(1e-5) < 4.377178096


def test_epsilon_upper_of_a_point_and_of_none():
    claim = PointClaim(2.0, 1e-5)
    assert claim.epsilon_upper(1e-5) == claim.epsilon_upper(0.1) == 2.0
    assert claim.epsilon_upper(1e-6) == math.inf
    assert ProfileClaim(lambda epsilon: 0.5).epsilon_upper(0.4) == math.inf
    assert GaussianClaim(0.0).epsilon_upper(1e-5) == 0.0


def test_a_certificate_claims_its_event_under_its_relation():
    relation = NeighboringRelation.REPLACE_ONE
    certificate = FourierAccountant(relation).compose(dpa.GaussianDpEvent(2.0)).certify([1e-5])
    claim = Claim.of(certificate)
    assert claim == EventClaim(certificate.event, relation=relation)
    assert claim.epsilon_upper(1e-5) == certificate.bounds(1e-5).upper
    assert Claim.of(claim) is claim
    with pytest.raises(TypeError, match="must be a Claim or a Certificate"):
        Claim.of(1.0)


@pytest.mark.parametrize("epsilon", [700.0, 709.8, 745.2, 800.0, 1e300])
@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_a_claim_beyond_all_exponentials_stands_and_allows_what_it_says(epsilon, delta):
    claim = PointClaim(epsilon, delta=delta)
    verdict = audit(
        lambda data, rng, n: np.full(n, data),
        (1.0, 0.0),
        claim,
        max_samples=100,
        rng=np.random.default_rng(0),
    )
    assert not verdict.refuted
    assert (claim.region().type_two_error(np.array([0.0, 0.5, 1.0])) >= 0.0).all()
    assert claim.delta_upper(epsilon) == delta
    # tanh(ε/2) is the total variation of the region's corner, 1 in floats.
    assert 1.0 - 1e-12 <= claim.delta_upper(1.0) <= 1.0


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0, 30.0])
def test_a_points_delta_below_its_epsilon_is_that_of_randomised_response(epsilon):
    """With δ = 0 the corner is randomised response: δ(ε′) = (e^ε − e^ε′)/(1 + e^ε)."""
    for share in (0.0, 0.3, 0.9):
        below = share * epsilon
        exact = (np.exp(epsilon) - np.exp(below)) / (1.0 + np.exp(epsilon))
        assert PointClaim(epsilon).delta_upper(below) == pytest.approx(exact, rel=1e-12)
        assert PointClaim(epsilon).delta_upper(below) >= exact * (1 - 1e-15)
