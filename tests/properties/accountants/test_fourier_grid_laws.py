"""Laws that the grid engine's intervals obey for any input."""

import math

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from accountants import releases
from accountants.fourier.grid import engine as grid
from accountants.fourier.pairs import explicit_pair, pair_laws

ROUGH = 1e-2
FINE = 1e-4

rates = st.floats(-5.0, -0.01).map(lambda x: 10.0**x)
sigmas = st.floats(-0.4, 1.3).map(lambda x: 10.0**x)
counts = st.floats(0.0, 5.0).map(lambda x: int(10.0**x))
deltas = st.floats(-14.0, -2.0).map(lambda x: 10.0**x)
poisson = st.builds(releases.PoissonGaussian, rates, sigmas)
any_release = st.one_of(
    poisson,
    st.builds(releases.PoissonGaussianReplace, rates, sigmas),
    st.builds(releases.FixedSizeGaussian, rates, sigmas),
    st.builds(releases.Gaussian, st.floats(0.01, 5.0)),
    st.builds(releases.Laplace, st.floats(0.2, 50.0)),
    st.builds(releases.DiscreteLaplace, st.floats(0.05, 2.0), st.integers(1, 5)),
    st.builds(
        releases.RandomizedResponse, st.floats(0.05, 0.95), st.integers(2, 20), st.booleans()
    ),
)
directions = st.sampled_from([0, 1])
# Shrinking takes minutes here, and says little.
limited = settings(
    max_examples=12, deadline=None, phases=[phase for phase in Phase if phase is not Phase.shrink]
)


@limited
@given(any_release, directions, counts, deltas)
def test_intervals_are_ordered_and_nested(release, direction, count, delta):
    law = pair_laws(release)[direction]
    rough = grid.epsilon_bounds([(law, count)], delta, tolerance=ROUGH)
    fine = grid.epsilon_bounds([(law, count)], delta, tolerance=FINE)
    assert 0.0 <= rough.lower <= rough.upper
    assert 0.0 <= fine.lower <= fine.upper < math.inf
    # Both contain the truth, so they meet; the finer one need not lie inside, but nearly does.
    assert max(rough.lower, fine.lower) <= min(rough.upper, fine.upper)
    # What meets its tolerance may be wider than a rough one that was lucky.
    assert fine.gap <= max(FINE * fine.upper, rough.gap * 1.01 + 1e-9 * fine.upper)


@limited
@given(any_release, directions, counts, deltas)
def test_delta_of_epsilon_brackets_delta(release, direction, count, delta):
    law = pair_laws(explicit_pair(release))[direction]
    epsilon = grid.epsilon_bounds([(law, count)], delta, tolerance=ROUGH)
    at_upper = grid.delta_bounds([(law, count)], epsilon.upper, tolerance=ROUGH)
    assert at_upper.lower <= delta
    if epsilon.lower > 0.0:
        at_lower = grid.delta_bounds([(law, count)], epsilon.lower, tolerance=ROUGH)
        assert at_lower.upper >= delta


@pytest.mark.slow
@limited
@given(any_release, directions, counts, st.floats(0.0, 10.0), st.floats(1.0, 3.0))
def test_delta_falls_in_epsilon_and_rises_in_steps(release, direction, count, epsilon, factor):
    law = pair_laws(release)[direction]
    here = grid.delta_bounds([(law, count)], epsilon, tolerance=ROUGH)
    assert 0.0 <= here.lower <= here.upper <= 1.0
    assert grid.delta_bounds([(law, count)], epsilon * factor, tolerance=ROUGH).lower <= here.upper
    more = grid.delta_bounds([(law, int(count * factor))], epsilon, tolerance=ROUGH)
    assert more.upper >= here.lower


@limited
@given(poisson, poisson, directions, st.integers(1, 50), st.integers(1, 50), deltas)
def test_composition_costs_more_than_its_parts(first, second, direction, count, other, delta):
    laws = pair_laws(first)[direction], pair_laws(second)[direction]
    union = [(laws[0], count), (laws[1], other)]
    both = grid.epsilon_bounds(union, delta, tolerance=ROUGH)
    assert both.gap <= 0.05 * both.upper
    for part in union:
        assert grid.epsilon_bounds([part], delta, tolerance=ROUGH).lower <= both.upper
    again = grid.epsilon_bounds(union[::-1], delta, tolerance=ROUGH)
    assert max(again.lower, both.lower) <= min(again.upper, both.upper)


@limited
@given(rates, sigmas, counts, deltas)
def test_fixed_size_upper_bound_is_above_its_lower_pair(rate, sigma, count, delta):
    release = releases.FixedSizeGaussian(rate, sigma)
    (law, _) = pair_laws(release)
    upper = grid.epsilon_bounds([(law, count)], delta, tolerance=ROUGH).upper
    for law in pair_laws(explicit_pair(release)):
        assert grid.epsilon_bounds([(law, count)], delta, tolerance=ROUGH).lower <= upper
