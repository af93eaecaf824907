import math

import dp_accounting as dpa
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from accountants import FourierAccountant, RenyiAccountant, membership_risk


@settings(max_examples=40)
@given(st.floats(0.1, 4.0), st.floats(0.01, 0.99))
def test_the_bayes_classifier_of_two_gaussians(mu, prior):
    """The accuracy of the Bayes rule between N(0,1) and N(μ,1), written down directly."""
    risk = membership_risk(FourierAccountant().compose(dpa.GaussianDpEvent(1 / mu)), prior)
    threshold = mu / 2 + math.log((1 - prior) / prior) / mu
    exact = prior * stats.norm.sf(threshold - mu) + (1 - prior) * stats.norm.cdf(threshold)
    assert risk.accuracy.lower - 1e-12 <= exact <= risk.accuracy.upper + 1e-12
    assert risk.accuracy.gap < 1e-9
    assert risk.advantage.upper == pytest.approx(2 * stats.norm.cdf(mu / 2) - 1, abs=1e-9)


def test_a_simulated_adversary_does_no_better():
    """Likelihood-ratio guesses on 200,000 draws; 6 standard errors: a false alarm of 1e-9."""
    rate, sigma, prior, draws = 0.3, 0.7, 0.2, 200_000
    event = dpa.PoissonSampledDpEvent(rate, dpa.GaussianDpEvent(sigma))
    risk = membership_risk(FourierAccountant().compose(event), prior)
    rng = np.random.default_rng(1)
    there = rng.random(draws) < prior
    output = (there & (rng.random(draws) < rate)) + sigma * rng.normal(size=draws)
    ratio = 1 - rate + rate * np.exp((output - 0.5) / sigma**2)
    right = float(np.mean((ratio * prior > 1 - prior) == there))
    assert right <= risk.accuracy.upper + 6 * 0.5 / math.sqrt(draws)
    assert right >= risk.accuracy.lower - 6 * 0.5 / math.sqrt(draws)


def test_no_release_leaves_the_prior():
    risk = membership_risk(RenyiAccountant(), 0.1)
    assert risk.accuracy.upper == pytest.approx(0.9, abs=1e-12)
    assert risk.advantage == (0.0, 0.0)


@pytest.mark.parametrize("prior", [0.0, 1.0, -0.5, math.nan, "half"])
def test_an_impossible_prior_is_named(prior):
    with pytest.raises((ValueError, TypeError), match="`prior` must be"):
        membership_risk(RenyiAccountant(), prior)
