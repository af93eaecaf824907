"""The lower bound of ε that holds at all times: as sharp as a fixed sample's, and a bound."""

import numpy as np
import pytest

from audits import clopper_pearson, estimate_epsilon
from audits.testing.epsilon_sequence import GRID, EpsilonSequence
from audits.testing.sequential import log_threshold

DELTA = 1e-5
LAWS = {
    "Gaussian": lambda rng, n: (rng.normal(1, 1, n), rng.normal(0, 1, n)),
    "Laplace": lambda rng, n: (rng.laplace(1, 1, n), rng.laplace(0, 1, n)),
    "randomised response": lambda rng, n: (
        (rng.random(n) < 0.75).astype(float),
        (rng.random(n) < 0.25).astype(float),
    ),
    "disjoint supports": lambda rng, n: (2 + rng.random(n), rng.random(n)),
}
TRUTH = {"Gaussian": 4.3772, "Laplace": 1.0, "randomised response": np.log(3.0)}


def bounds(first, second, sizes, confidence=0.99, delta=DELTA):
    """The sequence's bound at each size, in blocks as an audit has them."""
    sequence, done, found = EpsilonSequence(delta, log_threshold(confidence)), 0, []
    while done < first.size:
        block = max(6, int((0.3 if done < 2000 else 0.1) * done))
        stop = min([done + block, *(size for size in sizes if size > done)])
        sequence.update(first[done:stop], second[done:stop], (first[:stop], second[:stop]))
        done = stop
        if done in sizes:
            found.append(sequence.lower)
    return found


def ratios(name, sizes, runs):
    """The mean bound over Clopper and Pearson's mean bound of the same draws, half to choose."""
    own, fixed = [], []
    for seed in range(runs):
        draws = LAWS[name](np.random.default_rng([7, seed]), sizes[-1])
        own.append(bounds(*draws, sizes))
        fixed.append(
            [clopper_pearson(draws[0][:n], draws[1][:n], delta=DELTA).epsilon_lower for n in sizes]
        )
    return np.mean(own, axis=0) / np.mean(fixed, axis=0)


@pytest.mark.parametrize("name", LAWS)
def test_it_reaches_what_a_fixed_sample_reaches(name):
    """At 1,000 and 10,000 draws a side, four seeds that are fixed; 100,000 is marked slow."""
    assert (ratios(name, (1000, 10_000), 4) >= 0.95).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", LAWS)
def test_it_reaches_what_a_large_fixed_sample_reaches(name):
    assert (ratios(name, (100_000,), 4) >= 0.95).all()


@pytest.mark.parametrize(("name", "delta"), [(name, DELTA) for name in TRUTH] + [("Laplace", 0.0)])
def test_it_stays_below_the_truth(name, delta):
    """At confidence 1 − 1e-9."""
    for seed in range(3):
        draws = LAWS[name](np.random.default_rng([8, seed]), 20_000)
        for bound in bounds(*draws, (100, 2000, 20_000), 1 - 1e-9, delta):
            assert bound <= TRUTH[name]


def test_equal_laws_show_nothing():
    """At confidence 1 − 1e-9, continuous and with atoms."""
    for round_to in (None, 0):
        for seed in range(4):
            first, second = np.random.default_rng([9, seed]).normal(size=(2, 5000))
            if round_to is not None:
                first, second = first.round(round_to), second.round(round_to)
            assert bounds(first, second, (5000,), 1 - 1e-9) == [0.0]


def test_an_event_that_no_threshold_shows_is_found():
    """Only the spread differs, or only the middle one of three atoms."""
    rng = np.random.default_rng(0)
    (by_spread,) = bounds(rng.normal(0, 3, 3000), rng.normal(0, 1, 3000), (3000,))
    assert by_spread > 1.0
    laws = ([0.2, 0.6, 0.2], [0.45, 0.1, 0.45])
    first, second = (rng.choice(3, size=3000, p=law).astype(float) for law in laws)
    (by_atom,) = bounds(first, second, (3000,))
    assert 1.3 < by_atom < np.log(6.0)


def test_the_grid_is_fine_where_bounds_are_read():
    steps = np.diff(GRID)
    assert (steps > 0.0).all()
    assert steps[GRID[:-1] < 2.0].max() < 0.0101
    assert GRID[0] == 0.0


def test_blocks_of_any_size_and_a_new_statistic_keep_it_going():
    rng = np.random.default_rng(1)
    sequence = EpsilonSequence(DELTA, log_threshold(0.99))
    past = (np.empty(0), np.empty(0))
    for size in (1, 1, 30, 3, 500, 200):
        block = rng.normal(3, 1, size), rng.normal(0, 1, size)
        past = tuple(np.append(old, new) for old, new in zip(past, block, strict=True))
        sequence.update(*block, past)
    assert sequence.lower > 1.0
    before = sequence.lower
    past = tuple(-side[size // 2 :] for side in past)
    sequence.update(np.empty(0), np.empty(0), past)
    block = -rng.normal(3, 1, 2000), -rng.normal(0, 1, 2000)
    sequence.update(*block, past)
    assert sequence.lower > before
    assert [draws for draws, _ in sequence.path] == sorted(draws for draws, _ in sequence.path)


def test_estimate_epsilon_of_disjoint_supports():
    """At most log(n): nobody can show more with n draws; 95% of Clopper and Pearson's 7.54."""
    evidence = estimate_epsilon(
        lambda data, rng, n: data + rng.random(n),
        (2.0, 0.0),
        max_samples=20_000,
        rng=np.random.default_rng(0),
    )
    assert 7.16 < evidence.epsilon_lower < np.log(20_000)
