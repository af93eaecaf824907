"""The last iterate of noisy gradient descent, against exact laws and the authors' formulas."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from accountants.hidden_state import cyclic_batches_mu, full_batch_mu

curvatures = st.floats(1e-4, 1.0)
step_sizes = st.floats(0.01, 1.0)


def exact_quadratic(contraction, shifts, noise_std):
    """μ of x_T for x ← c·x + s_k + noise: the means' distance over the standard deviation."""
    steps = len(shifts)
    powers = contraction ** np.arange(steps - 1, -1, -1.0)
    return float(powers @ np.asarray(shifts)) / (noise_std * math.sqrt(float(powers @ powers)))


@settings(max_examples=60)
@given(st.integers(1, 400), curvatures, step_sizes, st.floats(0.1, 20.0))
def test_of_quadratic_losses_it_is_the_exact_law(steps, curvature, eta, multiplier):
    """F(x) = m·x²/2 + g·x: the step x ← (1 − ηm)x − η(g + Z) is linear, m = M."""
    found = full_batch_mu(
        noise_multiplier=multiplier,
        steps=steps,
        step_size=eta,
        smoothness=curvature,
        strong_convexity=curvature,
    )
    exact = exact_quadratic(1.0 - eta * curvature, [eta] * steps, eta * multiplier)
    assert exact <= found <= exact * (1 + 1e-9)


@settings(max_examples=40)
@given(st.integers(1, 60), st.integers(1, 12), curvatures, step_sizes, st.data())
def test_cyclic_batches_are_above_the_exact_law_of_every_batch(epochs, batches, m, eta, data):
    place = data.draw(st.integers(0, batches - 1))
    shifts = [eta * (k % batches == place) for k in range(epochs * batches)]
    found = cyclic_batches_mu(
        noise_multiplier=1.0,
        epochs=epochs,
        batches=batches,
        step_size=eta,
        smoothness=m,
        strong_convexity=m,
    )
    assert exact_quadratic(1.0 - eta * m, shifts, eta) <= found
    assert found <= math.sqrt(epochs) * (1 + 1e-12)


def least_by_search(contraction, arrivals, start):
    """Σ a_k² by a numerical optimiser over all a_k, the constraints of the proof written down.

    z is linear in the a_k: z_n = c^n·start + Σ_{k ≤ n} c^{n−k}(s_k − a_k).
    """
    steps = len(arrivals)
    powers = np.tril(contraction ** np.maximum(np.subtract.outer(range(steps), range(steps)), 0.0))
    free = contraction ** np.arange(1.0, steps + 1.0) * start + powers @ arrivals
    found = optimize.minimize(
        lambda shifts: float(shifts @ shifts),
        np.linspace(0.5, 1.5, steps),
        jac=lambda shifts: 2.0 * shifts,
        constraints=[
            optimize.LinearConstraint(powers[:-1], -np.inf, free[:-1]) if steps > 1 else (),
            optimize.LinearConstraint(powers[-1:], free[-1:], free[-1:]),
        ][1 if steps == 1 else 0 :],
        bounds=[(0.0, None)] * steps,
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert found.success
    return float(found.fun)


@pytest.mark.parametrize("contraction", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("width", [0.3, 2.0, 7.0])
def test_no_better_shifts_are_found_by_search(contraction, width):
    best = min(least_by_search(contraction, [1.0] * n, width) for n in range(1, 9))
    from_start = least_by_search(contraction, [1.0] * 8, 0.0)
    found = full_batch_mu(
        noise_multiplier=1.0,
        steps=8,
        step_size=1.0 - contraction,
        smoothness=1.0,
        strong_convexity=1.0,
        diameter=width * (1.0 - contraction),
    )
    assert found**2 == pytest.approx(min(best, from_start), rel=1e-6)


def test_the_authors_formulas():
    """`plot_table_ngd_fdp.py` and `plot_table_ncgd_fdp.py` of jinhobok/shifted_interpolation_dp,
    commit 31fb075: (1−c^t)/(1+c^t)·(1+c)/(1−c); 3L/η + L²⌈1/(Lη)⌉ for D = 1, of which ours is the
    minimum that they bound; and 1 + c^{2l−2}(1−c²)/(1−c^l)²·(1−c^{l(E−1)})/(1+c^{l(E−1)}).
    """
    for c in (0.92, 0.96, 0.995):
        for t in (10, 100, 1000):
            found = full_batch_mu(
                noise_multiplier=10.0,
                steps=t,
                step_size=1 - c,
                smoothness=1.0,
                strong_convexity=1.0,
            )
            theirs = math.sqrt((1 - c**t) / (1 + c**t) * (1 + c) / (1 - c)) * 0.1
            assert found == pytest.approx(theirs, rel=1e-10)
    for eta in (0.2, 0.1, 0.05):
        for size in (0.25, 0.5, 1.0):
            found = full_batch_mu(
                noise_multiplier=8.0 / size,
                steps=10**6,
                step_size=eta,
                smoothness=1.0,
                diameter=1.0,
                sensitivity=size,
            )
            theirs = math.sqrt(3 * size / eta + size**2 * math.ceil(1 / (size * eta))) / 8.0
            assert 0.99 * theirs <= found <= theirs * (1 + 1e-12)
    for c, batches, epochs in [(0.98, 10, 5), (0.995, 40, 500), (0.99, 20, 50)]:
        found = cyclic_batches_mu(
            noise_multiplier=5.0,
            epochs=epochs,
            batches=batches,
            step_size=1 - c,
            smoothness=1.0,
            strong_convexity=1.0,
        )
        steps = batches * (epochs - 1)
        factor = c ** (2 * batches - 2) * (1 - c**2) / (1 - c**batches) ** 2
        theirs = math.sqrt(1 + factor * (1 - c**steps) / (1 + c**steps)) * 0.2
        assert found == pytest.approx(theirs, rel=1e-10)


@settings(max_examples=60)
@given(
    st.integers(1, 10**6),
    step_sizes,
    st.one_of(st.just(0.0), st.floats(1e-9, 1.0)),
    st.floats(0.01, 100.0),
)
def test_never_above_composition_and_more_knowledge_never_costs(steps, eta, convexity, diameter):
    setting = {"noise_multiplier": 2.0, "step_size": eta, "smoothness": 1.0}
    composition = math.sqrt(steps) / 2.0 * (1 + 1e-12)
    convex = full_batch_mu(steps=steps, **setting)
    strongly = full_batch_mu(steps=steps, strong_convexity=convexity, **setting)
    bounded = full_batch_mu(steps=steps, diameter=diameter, **setting)
    both = full_batch_mu(steps=steps, strong_convexity=convexity, diameter=diameter, **setting)
    more = full_batch_mu(steps=steps + 1, strong_convexity=convexity, diameter=diameter, **setting)
    assert convex <= composition
    assert both <= min(strongly, bounded) * (1 + 1e-12) <= composition * (1 + 1e-12)
    assert both <= more * (1 + 1e-12)


def test_the_cost_of_any_number_of_steps_is_bounded():
    """√(4D/(ηS))·S/σ in a set of diameter D, √((1+c)/(1−c))·S/σ under strong convexity."""
    setting = {"noise_multiplier": 1.0, "steps": 2**62, "step_size": 0.5, "smoothness": 1.0}
    assert full_batch_mu(diameter=4.0, **setting) == pytest.approx(math.sqrt(32.0), rel=1e-12)
    assert full_batch_mu(strong_convexity=0.2, **setting) == pytest.approx(
        math.sqrt(1.9 / 0.1), rel=1e-12
    )
    assert full_batch_mu(strong_convexity=1e-300, **setting) == pytest.approx(2.0**31, rel=1e-9)


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"step_size": 2.1}, "step_size"),
        ({"strong_convexity": 1.5}, "strong_convexity"),
        ({"strong_convexity": -0.1}, "strong_convexity"),
        ({"smoothness": 0.0}, "smoothness"),
        ({"diameter": 0.0}, "diameter"),
        ({"diameter": math.nan}, "diameter"),
        ({"sensitivity": 0.0, "diameter": 1.0}, "sensitivity"),
        ({"noise_multiplier": math.inf}, "noise_multiplier"),
        ({"steps": 0}, "steps"),
    ],
)
def test_what_is_not_proved_is_refused(changed, named):
    setting = {"noise_multiplier": 1.0, "steps": 3, "step_size": 1.0, "smoothness": 1.0}
    with pytest.raises(ValueError, match=f"`{named}` must be"):
        full_batch_mu(**(setting | changed))


def test_at_the_largest_step_nothing_is_forgotten():
    setting = {"noise_multiplier": 1.0, "smoothness": 1.0, "strong_convexity": 0.5}
    assert full_batch_mu(steps=49, step_size=2.0, **setting) == pytest.approx(7.0)
    assert full_batch_mu(steps=49, step_size=1.0, **setting) < 2.0
