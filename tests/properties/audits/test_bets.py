"""Laws of bets: a claim-abiding pair never has a factor of mean above 1."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from audits import (
    GaussianClaim,
    PointClaim,
)
from audits.testing.bets import best_bet
from audits.testing.event_bets import event_bet, quick_growth

laws = st.integers(2, 12).flatmap(
    lambda size: st.tuples(
        *[
            st.lists(st.floats(0.0, 1.0), min_size=size, max_size=size).map(
                lambda masses: (np.array(masses) + 1e-6) / (sum(masses) + 1e-6 * len(masses))
            )
            for _ in range(4)
        ]
    )
)
# Beyond 40 the largest claimed δ is below 1e-30.
EPSILONS = np.concatenate([np.linspace(0.0, 8.0, 400), np.linspace(8.1, 40.0, 320), [0.5, 1.0]])
claims = st.sampled_from(
    [
        GaussianClaim(0.3),
        GaussianClaim(1.0),
        GaussianClaim(3.0),
        PointClaim(1.0),
        PointClaim(0.5, delta=0.05),
    ]
)
DELTAS: dict[str, np.ndarray] = {}


def abides(p, q, claim):
    """Whether every hockey-stick divergence, both ways, is within the claimed δ(ε)."""
    key = claim.describe()
    if key not in DELTAS:
        DELTAS[key] = np.array([claim.delta_upper(e) for e in EPSILONS])
    excess = [
        np.maximum(0.0, a[None, :] - np.exp(EPSILONS)[:, None] * b[None, :]).sum(axis=1)
        for a, b in ((p, q), (q, p))
    ]
    return all((e <= DELTAS[key]).all() for e in excess)


def into_the_claim(p, q, claim):
    """The pair moved towards its average until it abides by the claim, just."""
    low, high, middle = 0.0, 1.0, 0.5 * (p + q)
    for _ in range(40):
        share = 0.5 * (low + high)
        inside = abides((1 - share) * p + share * middle, (1 - share) * q + share * middle, claim)
        low, high = (low, share) if inside else (share, high)
    return (1 - high) * p + high * middle, (1 - high) * q + high * middle


@settings(max_examples=60)
@given(laws, claims)
def test_no_factor_has_a_mean_above_one_under_the_claim(four, claim):
    guess_p, guess_q, true_p, true_q = four
    bet = best_bet(guess_p, guess_q, claim.region())
    for p, q in ((true_p, true_q), (guess_p, guess_q)):
        p, q = into_the_claim(p, q, claim)
        mean = (p @ np.exp(bet.log_first)) * (q @ np.exp(bet.log_second))
        assert mean <= 1.0 + 1e-6


@given(laws, claims)
def test_growth_is_what_the_guess_expects_and_never_negative(four, claim):
    guess_p, guess_q = four[:2]
    bet = best_bet(guess_p, guess_q, claim.region())
    assert bet.growth >= -1e-7
    if abides(guess_p, guess_q, claim):
        assert bet.growth < 2e-3  # nothing to win from a claim that holds, but for the lines' gaps


@given(laws)
def test_growth_does_not_exceed_the_divergence_from_a_pair_that_abides(four):
    """Weak duality, with a pair found by other means than the bet."""
    claim = GaussianClaim(1.0)
    guess_p, guess_q = four[:2]
    p, q = into_the_claim(guess_p, guess_q, claim)
    divergence = float(guess_p @ np.log(guess_p / p) + guess_q @ np.log(guess_q / q))
    assert best_bet(guess_p, guess_q, claim.region()).growth <= divergence + 1e-6


logits = st.floats(-25.0, 25.0)


@given(logits, logits, st.floats(0.0, 40.0), st.floats(0.0, 0.9), st.floats(-40.0, 40.0))
def test_the_factors_of_an_event_are_valid(p, q, epsilon, delta, true_q):
    """At the corner of the claim, p⁰ = min(1, e^ε·q⁰ + δ), for any q⁰."""
    p, q, true_q = special.expit([p, q, true_q])
    (inside, outside, second_inside, second_outside), _ = event_bet(
        np.array(p), np.array(q), np.array(epsilon), delta
    )
    true_p = min(1.0, np.exp(epsilon) * true_q + delta)
    first = true_p * np.exp(inside) + (1 - true_p) * np.exp(outside)
    second = true_q * np.exp(second_inside) + (1 - true_q) * np.exp(second_outside)
    assert first * second <= 1.0 + 1e-9


def least_divergence(p, q, epsilon, delta):
    """The least divergence of (p, q) from the line p⁰ = e^ε·q⁰ + δ, with 60 digits.

    By mpmath's roots of the cubic that the derivative of the divergence is, written out here in
    powers of p⁰; the least value over its roots in the line is taken.
    """
    with mpmath.workdps(60):
        p, q, delta = mpmath.mpf(p), mpmath.mpf(q), mpmath.mpf(delta)
        s = mpmath.exp(-mpmath.mpf(epsilon))
        # (x − p)·(x − δ)·(1 + sδ − sx) + (sx − sδ − q)·(x − x²), by powers of x.
        top = 1 + s * delta
        coefficients = [
            -2 * s,
            top + s * (p + delta) + s + s * delta + q,
            -top * (p + delta) - s * p * delta - s * delta - q,
            top * p * delta,
        ]
        roots = mpmath.polyroots(coefficients, maxsteps=500, extraprec=400)

        def entropy(a, b):
            return a * mpmath.log(a / b) + (1 - a) * mpmath.log((1 - a) / (1 - b))

        inside = [x.real for x in roots if delta < x.real < 1 and 0 < s * (x.real - delta) < 1]
        return min(entropy(p, x) + entropy(q, s * (x - delta)) for x in inside)


@given(
    st.floats(-12.0, 12.0),
    st.floats(-12.0, 4.5),
    st.floats(0.0, 12.0),
    st.sampled_from([0.0, 1e-9, 1e-5, 0.01, 0.4]),
)
def test_an_events_bet_grows_as_fast_as_any(p, q, epsilon, delta):
    """By duality the best growth is the least divergence along p⁰ = e^ε·q⁰ + δ."""
    # As far above the line as it may be, down to 1% of the way.
    p, share = special.expit([p, q])
    p = delta + (1.0 - delta) * p
    q = share * (p - delta) * np.exp(-epsilon)
    least = float(least_divergence(p, q, epsilon, delta))
    growth = float(event_bet(np.array(p), np.array(q), np.array(epsilon), delta)[1])
    # Four logarithms of numbers about 1, each to a rounding; they are added with weights below 1.
    assert growth == pytest.approx(least, rel=1e-9, abs=4e-15)
    quick = float(quick_growth(np.array(p), np.array(q), np.array(epsilon), delta))
    assert growth <= quick + 4e-15
    assert quick <= 1.001 * growth + 4e-15


def test_growth_against_the_gaussian_curve_is_known():
    """σ too small by √2: 0.0342 nats a pair at best (400 lines, 200 cells); 14 nodes reach 95%."""
    edges = np.linspace(-3.5, 3.5, 40)
    cells = [
        np.diff(np.concatenate([[0.0], stats.norm.cdf(edges, mean), [1.0]]))
        for mean in (2**-0.5, -(2**-0.5))
    ]
    growth = best_bet(*cells, GaussianClaim(1.0).region()).growth
    assert 0.95 * 0.0342 < growth < 0.0345
