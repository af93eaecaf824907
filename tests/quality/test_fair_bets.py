"""Every bet of an audit has mean at most 1 under a true claim: computed, not counted.

Alarms of many runs show that a test is invalid only where it is so by much. If the laws are known,
the mean of each factor that an audit holds is a finite sum. With independent draws, means of at
most 1 given the past are all that Ville's inequality asks for: nothing is left to luck.
"""

import numpy as np
import pytest
from scipy import special, stats
from true_mechanisms import TRUE

from accountants import gaussian
from audits import audit, estimate_epsilon
from audits.testing.epsilon_sequence import GRID, EpsilonSequence
from audits.testing.sequential import BettingTest

# The arithmetic's own rounding: a few hundred terms.
ROUNDING = 1e-12
DELTA = 0.05  # Large, so that estimates bet near the true ε.


def _atoms(values, shares):
    """P(X < x) of a law on a few values."""
    values, shares = np.asarray(values), np.asarray(shares)
    return lambda x: shares @ (values[:, None] < x)


def _normal(centre):
    return lambda x: special.ndtr(x - centre)


def _laplace(centre):
    return lambda x: stats.laplace.cdf(x, centre)


def _discrete_laplace(centre, low=-np.inf, high=np.inf):
    """P(X < x) of discrete Laplace noise, clamped to [low, high]."""

    def below(x):
        inner = stats.dlaplace.cdf(np.ceil(x) - 1 - centre, 1.0)
        return np.where(x <= low, 0.0, np.where(x > high, 1.0, inner))

    return below


def _choice(data):
    weights = np.exp(0.5 * (np.array([1.0, 0, 0]) if data else np.array([0, 1.0, 1.0])))
    return _atoms([0, 1, 2], weights / weights.sum())


def _leaky(data):
    honest = 0.95 / (1.0 + np.exp(-1.0))
    return _atoms([data, 1 - data, 2 + data], [honest, 0.95 - honest, 0.05])


# P(X < x) on both data sets, and an ε that is true at `DELTA`: closed forms, or the pure ε.
LAWS = {
    "Gaussian": (_normal(1), _normal(0), gaussian.epsilon(1.0, DELTA)),
    "Laplace": (_laplace(1), _laplace(0), 1.0 + 2.0 * np.log1p(-DELTA)),
    "Laplace, pure": (_laplace(1), _laplace(0), 1.0),
    "randomised response": (
        _atoms([0, 1], [0.25, 0.75]),
        _atoms([0, 1], [0.75, 0.25]),
        np.log(3.0 - 4.0 * DELTA),
    ),
    "clamped geometric": (_discrete_laplace(2, 0, 3), _discrete_laplace(1, 0, 3), 1.0),
    "geometric": (_discrete_laplace(1), _discrete_laplace(0), 1.0),
    "exponential mechanism": (_choice(1), _choice(0), 1.0),
    "randomised response that leaks": (_leaky(1), _leaky(0), 1.0),
}


def masses(below, edges):
    """The law's masses of the cells (−∞, e₁), [e₁, e₂), …."""
    return np.diff(np.concatenate([[0.0], below(edges), [1.0]]))


@pytest.mark.parametrize("name", LAWS)
def test_no_bet_on_a_true_claim_gains_on_average(name, monkeypatch):
    first, second, _ = LAWS[name]
    means, hold = [], BettingTest._hold

    def watched(self, guess):
        held = hold(self, guess)
        if held is not None:
            edges, bet = held.guess.edges, held.bet
            one = masses(first, edges) @ np.exp(bet.log_first)
            means.append(one * (masses(second, edges) @ np.exp(bet.log_second)))
        return held

    monkeypatch.setattr(BettingTest, "_hold", watched)
    case = TRUE[name]
    audit(
        case.mechanism,
        case.pair,
        case.claim(),
        confidence=1 - 1e-12,
        max_samples=3_000,
        rng=np.random.default_rng(0),
    )
    assert len(means) > 4
    assert max(means) <= 1.0 + ROUNDING


@pytest.mark.parametrize("name", ["Gaussian", "Laplace", "randomised response"])
def test_no_stake_against_a_true_epsilon_gains_on_average(name, monkeypatch):
    first, second, epsilon = LAWS[name]
    means, best = [], EpsilonSequence._best

    def watched(self, *arguments):
        stakes = best(self, *arguments)
        if stakes is not None:
            sides = [stakes.members @ masses(law, stakes.edges) for law in (first, second)]
            p, q = (np.where(stakes.swapped, *pair) for pair in (sides[::-1], sides))
            p, q = p[stakes.chosen], q[stakes.chosen]
            inside, outside, second_in, second_out = np.exp(stakes.log_factors)
            mean = (p * inside + (1 - p) * outside) * (q * second_in + (1 - q) * second_out)
            true = GRID[stakes.start :][: mean.size] >= epsilon
            means.extend(mean[true])
        return stakes

    monkeypatch.setattr(EpsilonSequence, "_best", watched)
    case = TRUE[name]
    estimate_epsilon(
        case.mechanism,
        case.pair,
        delta=DELTA,
        confidence=1 - 1e-12,
        max_samples=3_000,
        rng=np.random.default_rng(0),
    )
    assert len(means) > 3
    assert max(means) <= 1.0 + ROUNDING
