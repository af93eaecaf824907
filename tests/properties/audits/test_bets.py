"""Laws of bets: a claim-abiding pair never has a factor of mean above 1."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from audits import (
    GaussianClaim,
    PointClaim,
)
from audits.testing.bets import best_bet
from audits.testing.epsilon_sequence import _two_cells

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


@given(
    st.floats(1e-6, 1 - 1e-6),
    st.floats(1e-6, 1 - 1e-6),
    st.floats(0.0, 6.0),
    st.floats(0.0, 0.2),
    st.floats(0.0, 1.0),
)
def test_two_cell_factors_are_valid(p, q, epsilon, delta, true_q):
    """At the corner of the claim, p⁰ = min(1, e^ε·q⁰ + δ), for any q⁰."""
    e = np.exp(epsilon)
    logs = _two_cells(np.array([p]), np.array([q]), np.array([e]), delta)[:, 0]
    true_p = min(1.0, e * true_q + delta)
    first = true_p * np.exp(logs[0]) + (1 - true_p) * np.exp(logs[1])
    second = true_q * np.exp(logs[2]) + (1 - true_q) * np.exp(logs[3])
    assert first * second <= 1.0 + 1e-9


def test_growth_against_the_gaussian_curve_is_known():
    """σ too small by √2: 0.0342 nats a pair at best (400 lines, 200 cells); 14 nodes reach 95%."""
    edges = np.linspace(-3.5, 3.5, 40)
    cells = [
        np.diff(np.concatenate([[0.0], stats.norm.cdf(edges, mean), [1.0]]))
        for mean in (2**-0.5, -(2**-0.5))
    ]
    growth = best_bet(*cells, GaussianClaim(1.0).region()).growth
    assert 0.95 * 0.0342 < growth < 0.0345
