"""The two engines share no numerics: on random settings their intervals must overlap."""

import contextlib
import math

import numpy as np
import pytest

from accountants import Bounds, RenyiAccountant, releases
from accountants.fourier.contour import engine as contour
from accountants.fourier.contour.quadrature import ContourError
from accountants.fourier.grid import engine as grid
from accountants.fourier.pairs import pair_laws


def random_settings(count: int) -> list[tuple[float, float, int, float]]:
    rng = np.random.default_rng(20261116)

    def draw(low: float, high: float) -> float:
        return float(np.exp(rng.uniform(np.log(low), np.log(high))))

    return [
        (draw(0.4, 20), draw(1e-5, 1), round(draw(1, 1e7)), draw(1e-14, 1e-2)) for _ in range(count)
    ]


SETTINGS = random_settings(60)


def contour_bounds(setting):
    sigma, rate, steps, delta = setting
    composition = contour.Composition(
        [releases.PoissonGaussian(rate, sigma)], np.array([float(steps)])
    )
    return contour.epsilon_bounds(composition, delta, 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: "-".join(f"{x:.3g}" for x in s))
def test_contour_and_grid_overlap_and_stay_below_renyi(setting):
    sigma, rate, steps, delta = setting
    release = releases.PoissonGaussian(rate, sigma)
    directions = [
        grid.epsilon_bounds([(law, steps)], delta, tolerance=1e-4) for law in pair_laws(release)
    ]
    by_grid = (max(b.lower for b in directions), max(b.upper for b in directions))
    assert 0.0 <= by_grid[0] <= by_grid[1]
    renyi = RenyiAccountant()
    renyi._releases[release] += steps
    assert by_grid[0] <= renyi.get_epsilon(delta) * (1 + 1e-9)
    try:
        by_contour = contour_bounds(setting)
    except ContourError:  # the grid engine's territory: the Rényi bound is what it is held to
        by_contour = Bounds(0.0, math.inf)
    assert by_contour.lower <= by_grid[1]
    assert by_grid[0] <= by_contour.upper


def test_the_contour_answers_most_of_these_settings():
    """Else the overlap would be one with nothing; few steps and tiny rates are the grid's."""
    answered = 0
    for setting in SETTINGS:
        with contextlib.suppress(ContourError):
            bounds = contour_bounds(setting)
            assert 0.0 <= bounds.lower <= bounds.upper < math.inf
            answered += 1
    assert answered >= 40
