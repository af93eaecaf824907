r"""The Gaussian mechanism exactly: δ(ε) and ε(δ) of N(0, 1) against N(μ, 1).

With a = ε/μ − μ/2 and b = a + μ, the hockey-stick divergence is (Balle & Wang 2018, Theorem 8)

    δ(ε) = Q(a) − e^ε Q(b),    Q(x) = P(N(0,1) > x) = φ(x) R(x),

with R the Mills ratio. Since e^ε φ(b) = φ(a), it is φ(a)·(R(a) − R(b)), a form that works in log
space at any depth. Two cancellations are avoided:

* a is the difference of numbers that can be 10⁵ times larger: it is computed in rational
  arithmetic and rounded once;
* R(a) − R(b) for small μ: it is the positive integral ∫₀^∞ e^{−as−s²/2}(1 − e^{−μs}) ds, which
  Gauss–Legendre quadrature gives to machine precision.

**Error model.** The computed log δ is off by at most `log_delta_error(a)`: 2·10⁻¹³ for the Mills
ratios or the quadrature, and 4u·a² (u = 2⁻⁵³) for the rounding of a and of a²/2. For μ in
[1e-6, 1e3] and δ ≥ 1e-300 this is below 1e-12; the tests compare with mpmath at 60 digits. The
`…_bounds` functions step outwards by it, and by the rounding of μ, and so contain the truth.

T-fold composition of Gaussians, adaptive or not, is the Gaussian with μ² = Σ μᵢ² (Dong, Roth, Su
2022, Corollary 3.3).
"""

import math
from fractions import Fraction

import numpy as np
from scipy import optimize, special

from accountants import validate
from accountants.bounds import Bounds

_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)
# The quadrature stops where the integrand has fallen by e^-45 (3e-20, relative).
_CUT = 45.0
# A standardised threshold beyond this is as good as infinite: δ or 1 − δ is below e^{−10^15}.
_FAR = 1e8
# Beyond this, squares overflow.
_SQUARE_LIMIT = 1e150
_NEAR_ONE = 40.0
_LARGEST = float(np.finfo(np.float64).max)
# Relative slack for the rounding of μ = √(Σ n/σ²): three roundings a term, a sum, a root.
_MU_ROUNDING = 1e-15


def log_delta_error(a: float) -> float:
    """Upper bound of the absolute error of `log_delta`, see the module's error model."""
    a = validate.real("a", a)
    return 2e-13 + 4.5e-16 * a * a


def _standardised_threshold(mu: float, epsilon: float) -> float:
    """A = ε/μ − μ/2, rounded once."""
    exact = Fraction(epsilon) / Fraction(mu) - Fraction(mu) / 2
    if abs(exact) < _SQUARE_LIMIT:
        return float(exact)
    return _SQUARE_LIMIT if exact > 0 else -_SQUARE_LIMIT


def _mills_ratio(x: float) -> float:
    return math.sqrt(math.pi / 2.0) * float(special.erfcx(x / math.sqrt(2.0)))


def _mills_difference(a: float, mu: float) -> float:
    """R(a) − R(a + μ) without cancellation, as a positive integral; needs μ ≤ max(1, a)."""
    length = 2.0 * _CUT / (a + math.sqrt(a * a + 2.0 * _CUT))  # a·s + s²/2 = _CUT
    s = 0.5 * length * (_NODES + 1.0)
    integrand = np.exp(-s * (a + 0.5 * s)) * -np.expm1(-mu * s)
    return float(0.5 * length * np.dot(_WEIGHTS, integrand))


def _log_delta_at(a: float, mu: float) -> float:
    log_density = -0.5 * a * a - _LOG_SQRT_2PI
    if a > _FAR:  # What follows is lost in the rounding of a².
        return log_density
    if mu <= max(1.0, a):
        difference = _mills_difference(a, mu)
        return log_density + math.log(difference) if difference > 0.0 else -math.inf
    if a >= 0.0:
        return log_density + math.log(_mills_ratio(a) - _mills_ratio(a + mu))
    return math.log(float(special.ndtr(-a)) - math.exp(log_density) * _mills_ratio(a + mu))


def log_delta(mu: float, epsilon: float) -> float:
    """The natural logarithm of δ(ε) for μ-Gaussian DP; neither side, accurate to ~1e-12.

    Args:
      mu: The distance of the two means in standard deviations, positive.
      epsilon: Non-negative.

    >>> round(math.exp(log_delta(1.0, 1.0)), 12)
    0.126936737507
    """
    mu, epsilon = validate.positive("mu", mu), validate.non_negative("epsilon", epsilon)
    return _log_delta_at(_standardised_threshold(mu, epsilon), mu)


def delta(mu: float, epsilon: float) -> float:
    """δ(ε) for μ-Gaussian DP; neither side, relative accuracy ~1e-12. See `delta_bounds`."""
    return math.exp(log_delta(mu, epsilon))


def _log_delta_bounds(mu: float, epsilon: float) -> Bounds:
    """`log_delta` at μ·(1 ∓ 1e-15), widened by its error bound."""
    ends = []
    for side in (-1.0, 1.0):
        shifted = min(mu * (1.0 + side * _MU_ROUNDING), _LARGEST)
        a = _standardised_threshold(shifted, epsilon)
        if a > _FAR:  # δ ≤ e^{−a²/2}, far below all doubles.
            return Bounds(-math.inf, -_FAR)
        if a < -_NEAR_ONE:  # 1 − δ = Q(−a) + φ(a)·R(b), with b > 0, far below the rounding of 1.
            return Bounds(-1e-15, 0.0)
        ends.append(_log_delta_at(a, shifted) + side * log_delta_error(a))
    return Bounds(ends[0], min(0.0, ends[1]))


def delta_bounds(mu: float, epsilon: float) -> Bounds:
    """A certified interval for δ(ε); what underflows is bounded by the smallest positive float."""
    mu, epsilon = validate.positive("mu", mu), validate.non_negative("epsilon", epsilon)
    log_bounds = _log_delta_bounds(mu, epsilon)
    lower = math.nextafter(math.exp(log_bounds.lower), 0.0)
    upper = math.nextafter(math.exp(log_bounds.upper), math.inf)
    return Bounds(lower, min(1.0, upper))


def _epsilon_from_log(mu: float, log_target: float) -> float:
    """The ε with log δ(ε) = `log_target`, or 0.0 where already δ(0) is no larger."""
    if log_target >= log_delta(mu, 0.0):
        return 0.0
    # δ ≤ Q(a) ≤ e^{−a²/2} for a ≥ 0 brackets the root from above.
    upper = (0.5 * mu * mu + mu * math.sqrt(-2.0 * log_target)) * (1.0 + 1e-14)
    root = optimize.brentq(
        lambda epsilon: log_delta(mu, epsilon) - log_target, 0.0, upper, xtol=1e-300, rtol=9e-16
    )
    return float(root)


def epsilon(mu: float, delta: float) -> float:
    """ε(δ) for μ-Gaussian DP: 0.0 if δ ≥ δ(0); neither side. See `epsilon_bounds`.

    >>> round(epsilon(1.0, 1e-5), 10)
    4.3771780957
    """
    mu, delta = validate.positive("mu", mu), validate.open_unit("delta", delta)
    return _epsilon_from_log(mu, math.log(delta))


def epsilon_bounds(mu: float, delta: float) -> Bounds:
    """A certified interval for ε(δ).

    Each end is checked: δ_upper(ε_upper) ≤ δ and δ_lower(ε_lower) ≥ δ, which by the monotonicity
    of δ(ε) proves that the truth lies between them.
    """
    mu, delta = validate.positive("mu", mu), validate.open_unit("delta", delta)
    log_target = math.log(delta)
    rounding = 3e-16 * abs(log_target)
    centre = _epsilon_from_log(mu, log_target)
    first_step = 1e-15 * max(centre, mu)

    upper, step = centre, first_step
    while _log_delta_bounds(mu, upper).upper > log_target - rounding:
        upper, step = centre + step, 2.0 * step
    lower, step = centre, first_step
    while lower > 0.0 and _log_delta_bounds(mu, lower).lower < log_target + rounding:
        lower, step = max(0.0, centre - step), 2.0 * step
    return Bounds(lower, upper)


def trade_off(mu: float, alpha: float) -> float:
    """The least type II error at type I error `alpha`: Φ(Φ⁻¹(1 − α) − μ); neither side.

    Dong, Roth, Su 2022, equation (5).
    """
    mu, alpha = validate.non_negative("mu", mu), validate.closed_unit("alpha", alpha)
    return float(special.ndtr(-special.ndtri(alpha) - mu))
