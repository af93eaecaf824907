"""The control problem of fixed-size batches against quadrature over triples in the plane.

The quadrature is written here: densities, a trapezoid rule in two dimensions, V₁ in closed form.
"""

import math

import numpy as np
import pytest
from dp_accounting import NeighboringRelation
from scipy import special

from accountants import delta_bounds, epsilon_bounds
from accountants.arrays import FloatArray
from accountants.bounds import Bounds
from accountants.fourier.fixed_size import geometry
from accountants.fourier.fixed_size.engine import Plan, Question, Setting, lower_end, upper_end
from accountants.fourier.fixed_size.laws import law_above

REPLACE = NeighboringRelation.REPLACE_ONE


def _silent(what: str, done: int, of: int) -> None:
    del what, done, of


class _Plane:
    """E_P[f(L)] for a triple of points in the plane, by a trapezoid rule: spectral accuracy."""

    def __init__(self, rate: float, noise: float) -> None:
        self.rate, self.noise = rate, noise
        line = np.arange(-9.0 - 1.0 / noise, 9.0 + 1.0 / noise, 0.08)
        self.z = np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1)
        self.weight = 0.08**2 / (2.0 * math.pi)

    def _density(self, point: FloatArray) -> FloatArray:
        away = self.z - point / self.noise
        return np.asarray(self.weight * np.exp(-0.5 * np.sum(away * away, axis=-1)))

    def laws(self, g: FloatArray, u: FloatArray, v: FloatArray) -> tuple[FloatArray, FloatArray]:
        """P-masses, and the losses."""
        rest = (1.0 - self.rate) * self._density(g)
        p = rest + self.rate * self._density(u)
        q = rest + self.rate * self._density(v)
        return p, np.log(p) - np.log(q)


def _one_step(epsilon: FloatArray, rate: float, noise: float) -> FloatArray:
    """V₁: the pair (1−q)N(0)+qN(2/σ) against N(0) for ε ≥ 0, its mirror below."""
    m, e = 2.0 / noise, np.abs(epsilon)
    y = np.log1p(np.expm1(e) / rate) / m + 0.5 * m
    p = (1.0 - rate) * special.ndtr(-y) + rate * special.ndtr(m - y)
    value = p - np.exp(e) * special.ndtr(-y)
    mirrored = -np.expm1(epsilon) + np.exp(epsilon) * value
    return np.asarray(np.where(epsilon >= 0.0, value, mirrored))


def _triples() -> list[tuple[FloatArray, FloatArray, FloatArray]]:
    """Triples in the unit disc: the corners, inscribed ones, and any."""
    rng = np.random.default_rng(5)
    left, right = np.array([-1.0, 0.0]), np.array([1.0, 0.0])
    found = [(left, right, left), (right, right, left)]
    for _ in range(8):
        angles = rng.uniform(0.0, 2.0 * math.pi, 3)
        g, u, v = np.stack((np.cos(angles), np.sin(angles)), axis=1)
        found.append((g, u, v))
    for _ in range(8):
        g, u, v = rng.normal(size=(3, 2))
        largest = max(1.0, *(float(np.linalg.norm(point)) for point in (g, u, v)))
        found.append((g / largest, u / largest, v / largest))
    return found


SLOW = pytest.mark.slow


@pytest.mark.parametrize(("rate", "noise"), [pytest.param(0.3, 1.0, marks=SLOW), (0.05, 2.0)])
def test_two_steps_lie_in_the_interval(rate: float, noise: float) -> None:
    epsilon = 0.4
    plane = _Plane(rate, noise)
    values = []
    for triple in _triples():
        p, loss = plane.laws(*triple)
        values.append(float(np.sum(p * _one_step(epsilon - loss, rate, noise))))
    best = max(values)
    setting, question = Setting(noise, rate, 2), Question(epsilon=epsilon)
    at = Bounds(epsilon, epsilon)
    lower = lower_end(setting, question, at, best, 0.02, _silent)
    plan = Plan.near(setting, epsilon, best, 0.1, epsilon)
    upper = upper_end(setting, plan, question, 0.003, _silent)
    assert lower <= values[0] * (1.0 + 1e-9)  # the policy's first step is at most its corner
    assert lower >= 0.98 * values[0]
    assert best * (1.0 - 1e-9) <= upper <= best * 1.02


@pytest.mark.parametrize(
    ("rate", "noise", "epsilon"),
    [
        (0.01, 1.0, 0.5),
        pytest.param(0.01, 1.0, 2.0, marks=SLOW),
        pytest.param(0.01, 1.0, 0.05, marks=SLOW),
        pytest.param(0.3, 0.7, 0.5, marks=SLOW),
        pytest.param(0.1, 8.0, 0.05, marks=SLOW),
    ],
)
def test_one_step_is_that_of_the_corner(rate: float, noise: float, epsilon: float) -> None:
    exact = float(_one_step(np.array(epsilon), rate, noise))
    setting, question = Setting(noise, rate, 1), Question(epsilon=epsilon)
    lower = lower_end(setting, question, Bounds(epsilon, epsilon), exact, 0.02, _silent)
    plan = Plan.near(setting, epsilon, exact, 0.1, epsilon)
    upper = upper_end(setting, plan, question, 0.003, _silent)
    assert lower <= exact * (1.0 + 1e-9)
    assert upper >= exact * (1.0 - 1e-9)
    assert lower >= 0.95 * exact
    assert upper <= 1.05 * exact


def test_a_law_above_a_cell_costs_more_than_each_of_its_triples() -> None:
    """For hockey sticks V, of which every convex V is a mixture."""
    rng = np.random.default_rng(3)
    rate, noise = 0.2, 1.3
    plane = _Plane(rate, noise)
    sticks = np.exp(np.array([-1.5, -0.4, -0.05, 0.0, 0.05, 0.4, 1.5]))
    for _ in range(12):
        x0, width = rng.uniform(0.0, 1.4), rng.choice([0.3, 0.05])
        y0 = rng.uniform(x0, 1.5)
        cell = geometry.Cell(x0, min(x0 + width, 1.57), y0, min(y0 + width, 1.57))
        gram = cell.gram_above(float(rng.choice([0.0, 0.25, 1.0])) * cell.side)
        step = 0.02
        law = law_above(gram, rate, noise, step, 8.0)
        ratio = np.exp(-step * (law.first + np.arange(law.masses.size)))
        above = [
            float(law.masses @ np.maximum(1.0 - a * ratio, 0.0)) + law.infinite for a in sticks
        ]
        x = rng.uniform(cell.x0, cell.x1)
        y = rng.uniform(max(cell.y0, x), max(cell.y1, x))
        if y > cell.y1:
            continue
        angle_u, angle_v = x, -(0.5 * math.pi - y)
        # g at the end of a diameter; u and v on the circle, at angles x and y − π/2 from it.
        g = np.array([-1.0, 0.0])
        u = g + 2.0 * math.cos(angle_u) * np.array([math.cos(angle_u), math.sin(angle_u)])
        v = g + 2.0 * math.cos(angle_v) * np.array([math.cos(angle_v), math.sin(angle_v)])
        assert np.allclose(
            geometry.inscribed(x, y),
            (np.sum((u - g) ** 2), np.sum((v - g) ** 2), (u - g) @ (v - g)),
        )
        p, loss = plane.laws(g, u, v)
        for a, upper in zip(sticks, above, strict=True):
            assert float(np.sum(p * np.maximum(1.0 - a * np.exp(-loss), 0.0))) <= upper + 1e-12


def test_a_smaller_gram_matrix_costs_less() -> None:
    """The order of PROOF.md, section 4, for Gram matrices that are no triangles' of ours."""
    rng = np.random.default_rng(8)
    rate, noise = 0.3, 1.0
    plane = _Plane(rate, noise)
    origin = np.zeros(2)
    compared = 0
    while compared < 25:
        u, v = rng.normal(scale=0.6, size=(2, 2))
        more_x, more_y = rng.uniform(0.0, 0.8, 2)
        x, y, w = float(u @ u) + more_x, float(v @ v) + more_y, float(u @ v)
        w += float(rng.uniform(-2.0, 1.0)) * math.sqrt(more_x * more_y)
        if w * w >= x * y or x > 4.0 or y > 4.0:
            continue
        smaller = geometry.Gram(float(u @ u), float(v @ v), float(u @ v))
        assert geometry.Gram(x, y, w).is_above(smaller)
        wider_u = np.array([math.sqrt(x), 0.0])
        wider_v = np.array([w / math.sqrt(x), math.sqrt(y - w * w / x)])
        (p, loss), (wide_p, wide_loss) = (
            plane.laws(origin, u, v),
            plane.laws(origin, wider_u, wider_v),
        )
        for a in (0.3, 0.9, 1.0, 1.2, 4.0):
            narrow = float(np.sum(p * np.maximum(1.0 - a * np.exp(-loss), 0.0)))
            wide = float(np.sum(wide_p * np.maximum(1.0 - a * np.exp(-wide_loss), 0.0)))
            # A kink costs the trapezoid rule its accuracy.
            assert narrow <= wide + 2e-5
        compared += 1


@pytest.mark.slow
def test_it_agrees_with_the_fast_interval_and_moves_as_it_must() -> None:
    """Intervals of ever more steps, rate and less noise lie above each other, in the fast ones."""

    def bounds(noise: float, rate: float, steps: int, tight: bool) -> Bounds:
        return epsilon_bounds(
            noise_multiplier=noise,
            sampling_rate=rate,
            steps=steps,
            delta=1e-4,
            sampling="fixed_size",
            relation=REPLACE,
            tight=tight,
        )

    first = bounds(2.0, 0.1, 20, True)
    fast = bounds(2.0, 0.1, 20, False)
    assert fast.lower < first.lower <= first.upper < fast.upper
    assert first.gap <= 5e-3 * first.upper
    assert bounds(2.0, 0.1, 22, True).lower > first.upper
    assert bounds(2.0, 0.11, 20, True).lower > first.upper
    assert bounds(1.9, 0.1, 20, True).lower > first.upper
    back = delta_bounds(
        noise_multiplier=2.0,
        epsilon=first.lower,
        sampling_rate=0.1,
        steps=20,
        sampling="fixed_size",
        relation=REPLACE,
        tight=True,
    )
    assert back.upper >= 1e-4 >= 0.97 * back.lower
