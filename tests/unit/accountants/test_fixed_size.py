"""Pieces of the control problem of fixed-size batches, and what `tight` refuses."""

import math

import numpy as np
import pytest
from dp_accounting import NeighboringRelation
from hypothesis import given
from hypothesis import strategies as st

from accountants import epsilon_bounds
from accountants.fourier.fixed_size import geometry
from accountants.fourier.fixed_size.laws import Kernel, law_above
from accountants.fourier.fixed_size.values import Grid, Moments

REPLACE = NeighboringRelation.REPLACE_ONE
ANGLE = st.floats(0.0, 0.5 * math.pi)


@given(ANGLE, ANGLE, ANGLE, ANGLE, st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.floats(0.0, 2.0))
def test_the_gram_matrix_of_a_cell_is_above_its_own(
    x0: float, x1: float, y0: float, y1: float, a: float, b: float, slack: float
) -> None:
    (x0, x1), (y0, y1) = sorted((x0, x1)), sorted((y0, y1))
    cell = geometry.Cell(x0, x1, y0, max(y1, x0))
    x = x0 + a * (min(x1, cell.y1) - x0)
    y = max(y0, x) + b * (cell.y1 - max(y0, x))
    above = cell.gram_above(slack)
    assert above.is_above(geometry.inscribed(x, min(y, cell.y1)))
    assert 0.0 <= above.w <= min(above.x, above.y)


def test_splitting_keeps_all_triangles() -> None:
    rng = np.random.default_rng(0)
    cells = [geometry.WHOLE]
    for _ in range(6):
        cells = [half for cell in cells for half in cell.split()]
    for x, y in np.sort(rng.uniform(0.0, 0.5 * math.pi, (500, 2)), axis=1):
        assert any(c.x0 <= x <= c.x1 and c.y0 <= y <= c.y1 for c in cells)


@given(st.lists(st.floats(-1.0, 1.0), min_size=6, max_size=6))
def test_every_triple_in_the_disc_is_below_an_inscribed_one(place: list[float]) -> None:
    """Section 5 of the proof, against a fine mesh of the inscribed triangles."""
    points = np.array(place).reshape(3, 2)
    points /= np.maximum(1.0, np.linalg.norm(points, axis=1))[:, None]
    g, u, v = points
    gram = geometry.Gram(
        float((u - g) @ (u - g)), float((v - g) @ (v - g)), float((u - g) @ (v - g))
    )
    assert any(cell.gram_above(0.0).is_above(gram) for cell in _MESH)


_MESH = [geometry.WHOLE]
for _ in range(7):
    _MESH = [half for cell in _MESH for half in cell.split()]


@pytest.mark.parametrize("noise", [0.3, 1.0, 20.0])
@pytest.mark.parametrize("gram", [*geometry.CORNERS, geometry.inscribed(0.3, 1.0)])
def test_a_law_loses_no_mass_and_little_of_the_other(gram: geometry.Gram, noise: float) -> None:
    step = 0.01 / noise
    law = law_above(gram, 0.1, noise, step, 8.0)
    total = float(np.sum(law.masses)) + law.infinite
    assert 1.0 <= total <= 1.0 + 1e-6
    other = float(law.masses @ np.exp(-step * (law.first + np.arange(law.masses.size))))
    assert 1.0 - 2e-3 <= other <= 1.0 + 1e-6


def _grid() -> Grid:
    return Grid(0.05, 200, 60, 80, 1.5, 512)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_step_by_fft_is_the_sum_on_its_safe_side(sign: int) -> None:
    grid, rng = _grid(), np.random.default_rng(2)
    masses = rng.uniform(0.0, 1.0, 101)
    kernel = Kernel(-40, masses / masses.sum(), 0.0)
    values = np.exp(-2.0 * grid.epsilons) * 0.3
    moments = Moments.at_start(grid.tilt) if sign > 0 else None
    found = grid.apply(grid.transform(values, moments), grid.fold(kernel, sign), sign)

    def value(place: int) -> float:
        if place < 0:
            e = math.exp(grid.step * place)
            return 1.0 - e + e * value(-place)
        return float(values[place]) if place <= grid.last else 0.0

    for k in range(0, grid.last - 45, 7):
        exact = math.fsum(float(mass) * value(k + 40 - j) for j, mass in enumerate(kernel.masses))
        assert sign * (found[k] - exact) >= 0.0
        assert found[k] == pytest.approx(exact, rel=1e-6)


def test_the_largest_of_several_is_no_less_than_each() -> None:
    grid, rng = _grid(), np.random.default_rng(4)
    folded = [
        grid.fold(Kernel(first, rng.dirichlet(np.ones(31)), 1e-6), 1) for first in (-20, 0, -15)
    ]
    values = np.exp(-2.0 * grid.epsilons) * 0.3
    transformed = grid.transform(values, Moments.at_start(grid.tilt))
    each = np.maximum.reduce([grid.apply(transformed, kernel, 1) for kernel in folded])
    largest = grid.largest(transformed, folded)
    assert np.all(largest >= each * (1.0 - 1e-15))
    assert largest == pytest.approx(each, rel=1e-6)


def test_beyond_the_grid_values_are_bounded_from_above() -> None:
    """A kernel that shifts by −1 brings what is beyond the last node into the grid."""
    grid = _grid()
    values = np.exp(-0.1 * grid.epsilons)
    shift = grid.fold(Kernel(-1, np.ones(1), 0.0), 1)
    found = grid.apply(grid.transform(values, Moments(50.0, 0.0)), shift, 1)
    assert found[-1] == pytest.approx(values[-1], rel=1e-9)
    assert found[0] == pytest.approx(values[1], rel=1e-4)


def test_masses_beyond_the_kernel_go_to_the_safe_side() -> None:
    grid = Grid(0.05, 200, 10, 20, 1.5, 512)
    wide = Kernel(-30, np.full(81, 1.0 / 81.0), 0.0)
    above, below = grid.fold(wide, 1), grid.fold(wide, -1)
    assert above.mass + above.infinite == pytest.approx(1.0, rel=1e-9)
    assert below.mass == pytest.approx(31.0 / 81.0, rel=1e-9)
    losses = 0.05 * np.arange(21, 51)
    kept = math.fsum(np.exp(1.0 - losses)) / 81.0
    assert above.infinite == pytest.approx(30.0 / 81.0 - kept, rel=1e-9)


def _tight(**changed: object) -> object:
    arguments: dict[str, object] = {
        "noise_multiplier": 1.0,
        "sampling_rate": 0.1,
        "steps": 5,
        "delta": 1e-5,
        "sampling": "fixed_size",
        "relation": REPLACE,
        "tight": True,
    }
    return epsilon_bounds(**(arguments | changed))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"sampling": "poisson"}, "`tight` must be False"),
        ({"noise_multiplier": 0.1}, "`noise_multiplier` must be at least"),
        ({"steps": 100_001}, "`steps` must be at most"),
    ],
)
def test_what_a_tight_answer_is_refused_for(changed: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _tight(**changed)


@pytest.mark.parametrize("changed", [{"tight": 1}, {"progress": "yes"}])
def test_wrong_types_are_refused(changed: dict[str, object]) -> None:
    with pytest.raises(TypeError):
        _tight(**changed)


def test_without_sampling_the_exact_answer_stands() -> None:
    assert _tight(sampling_rate=1.0) == _tight(sampling_rate=1.0, tight=False)


def test_it_tells_how_far_it_is() -> None:
    told: list[tuple[str, int, int]] = []
    _tight(progress=lambda *part: told.append(part))
    assert {what for what, _, _ in told} == {"lower end", "policy", "cells", "steps"}
    assert ("steps", 5, 5) in told
