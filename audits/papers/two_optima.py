"""A model whose global bound has two maxima, and PVI's fixed point between them.

M clients hold one record y = 0 each, with y ~ N(θ, s²) or, now and then, an outlier: the likelihood
is w + (1−w)·exp(−θ²/2s²) up to a factor. The prior is N(0, 100), q and the factors are Gaussian. By
symmetry the M factors can be equal, exp(−½Λθ²). Written on its own, by sums over a grid of θ.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy import optimize

from accountants.arrays import FloatArray

OUTLIERS = 0.1  # w
SPREAD = 0.5  # s
PRIOR_PRECISION = 0.01
# The trapezoidal rule converges like exp(−2π·0.64/0.05) here: log(w + …) has its poles 0.64 away
# from the real line, and the narrowest q has a standard deviation of 0.1.
_THETA = np.linspace(-200.0, 200.0, 8001)
_MEANS = np.linspace(0.0, 30.0, 16)
_VARIANCES = np.geomspace(0.01, 400.0, 61)


class Between(NamedTuple):
    """What is found at the stationary point where the global bound curves upwards most.

    Attributes:
      variance: Of q* = N(0, variance).
      factor: Each factor's precision.
      gradient: Of the global bound by the variance, at q*.
      curvature: Its second derivative by the variance, at q*.
      local_excess: By how much the best q of a grid exceeds q* in the local bound.
      global_excess: The same in the global bound.
      best_variance: Of the q = N(0, ·) that does.
      identity: How far Σ local − (global − (M−1)·KL(q ‖ q*)) is from constant over the grid.
    """

    variance: float
    factor: float
    gradient: float
    curvature: float
    local_excess: float
    global_excess: float
    best_variance: float
    identity: float


def _weights(mean: float, variance: float) -> FloatArray:
    density = np.exp(-0.5 * (_THETA - mean) ** 2 / variance)
    return np.asarray(density / density.sum())


def expected(mean: float, variance: float) -> float:
    """E log(w + (1−w)·exp(−θ²/2s²)) for θ ~ N(mean, variance)."""
    values = np.logaddexp(math.log(OUTLIERS), math.log1p(-OUTLIERS) - 0.5 * (_THETA / SPREAD) ** 2)
    return float(_weights(mean, variance) @ values)


def _slope(variance: float) -> float:
    """d/dv of `expected` at mean 0, by Price's theorem ½E f″."""
    kernel = (1.0 - OUTLIERS) * np.exp(-0.5 * (_THETA / SPREAD) ** 2)
    share = kernel / (OUTLIERS + kernel)
    second = share / SPREAD**2 * ((_THETA / SPREAD) ** 2 * (1.0 - share) - 1.0)
    return 0.5 * float(_weights(0.0, variance) @ second)


def between(clients: int = 2) -> Between:
    """Looks for q*, and compares it with a grid of q in both bounds."""

    def gradient(variance: float) -> float:
        return clients * _slope(variance) + 0.5 / variance - 0.5 * PRIOR_PRECISION

    signs = [math.copysign(1.0, gradient(v)) for v in _VARIANCES]
    roots = [
        float(optimize.brentq(gradient, a, b, xtol=1e-13, rtol=1e-14))
        for a, b, left, right in zip(_VARIANCES, _VARIANCES[1:], signs, signs[1:], strict=False)
        if left != right
    ]

    def curvature(variance: float) -> float:
        step = 1e-4 * variance
        return (gradient(variance + step) - gradient(variance - step)) / (2.0 * step)

    found = max(roots, key=curvature)
    factor = -2.0 * _slope(found)
    cavity = 1.0 / found - factor
    data = np.array([[expected(m, v) for v in _VARIANCES] for m in _MEANS])
    square = _MEANS[:, None] ** 2 + _VARIANCES[None, :]
    entropy = 0.5 * np.log(_VARIANCES)[None, :]
    own, entropy_own = expected(0.0, found), 0.5 * math.log(found)
    local = data + entropy - 0.5 * cavity * square
    whole = clients * data + entropy - 0.5 * PRIOR_PRECISION * square
    at_local = own + entropy_own - 0.5 * cavity * found
    at_whole = clients * own + entropy_own - 0.5 * PRIOR_PRECISION * found
    kl = 0.5 * square / found - entropy
    rest = clients * local - (whole - (clients - 1) * kl)
    return Between(
        variance=found,
        factor=factor,
        gradient=gradient(found),
        curvature=curvature(found),
        local_excess=float(local.max()) - at_local,
        global_excess=float(whole.max()) - at_whole,
        best_variance=float(_VARIANCES[int(whole[0].argmax())]),
        identity=float(rest.max() - rest.min()),
    )


def argument(found: Between) -> str:
    """Why local optima need not make a global one, with the example's numbers."""
    return (
        "That local optima make a global one is not so in general: with the factors held fixed, "
        "the local bounds add up to F(q) − (M−1)·KL(q ‖ q*), up to a constant, and so to F at q* "
        "alone. Gradients agree there; second derivatives differ by (M−1) times the Fisher "
        "information, so that F can curve upwards where every local bound curves downwards. Take "
        f"two clients with one record each, likelihood {OUTLIERS:g} + {1.0 - OUTLIERS:g}·exp(−θ²/"
        f"{2.0 * SPREAD**2:g}) (a Gaussian with outliers, up to a factor), prior N(0, "
        f"{1.0 / PRIOR_PRECISION:g}). With factors exp(−{0.5 * found.factor:.5f}·θ²), q* = N(0, "
        f"{found.variance:.2f}) is the best answer to both local problems and, in the variance, a "
        f"minimum of F; N(0, {found.best_variance:.2f}) is better."
    )
