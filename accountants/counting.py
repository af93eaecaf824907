r"""Noise that is enough whatever the size of things: count the steps that a record is in.

Reveal in which steps the record was drawn: that can only hurt, and given it, the K steps that have
the record are plain Gaussians, adaptive or not, with μ = s·√K/σ, the others the same on both sides.
The coins fall alike for both data sets, and divergences are jointly convex, so

    δ(ε) ≤ E[δ_G(ε; s·√K/σ)] ≤ P(K > k) + δ_G(ε; s·√k/σ)    for every k,    K ~ Binomial(T, q),

for Poisson sampling and for batches of fixed size (there with one batch for both data sets, s = 2).
Nearly exact where ε is large and noise small; too much noise, by up to 1/√q, where many sampled
steps average out.
"""

import math

from scipy import optimize, special

from accountants import gaussian

# How much of δ the steps beyond k may have.
_SHARES = (0.999, 0.99, 0.9, 0.7, 0.5, 0.3, 0.1, 0.01, 1e-3)
# Above the relative error of the incomplete beta function, whatever its arguments.
_TAIL_SLACK = 1.0 + 1e-6
_SLACK = 1.0 + 1e-13


def sufficient_noise(
    epsilon: float, delta: float, rate: float, steps: int, sensitivity: float
) -> float:
    """A noise multiplier with ε(δ) ≤ `epsilon`, proved; 0 if none is needed.

    Args:
      epsilon: The target, positive.
      delta: In (0, 1).
      rate: q, a record's chance to be in a step.
      steps: T.
      sensitivity: s, how far a record moves a sum, in units of C.
    """
    best = math.inf
    for share in _SHARES if rate < 1.0 else (0.0,):
        count, beyond = _quantile(steps, rate, share * delta)
        if count == 0:
            return 0.0
        mu = _largest_mu(epsilon, delta - beyond)
        best = min(best, sensitivity * math.sqrt(count) / mu * _SLACK)
    return best


def _quantile(steps: int, rate: float, tail: float) -> tuple[int, float]:
    """The least k with P(K > k) ≤ `tail`, and an upper bound of that probability."""
    if rate == 1.0:
        return steps, 0.0
    low, high = -1, steps
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _beyond(middle, steps, rate) <= tail else (middle, high)
    return high, _beyond(high, steps, rate)


def _beyond(count: int, steps: int, rate: float) -> float:
    """P(K > count), rounded up: the incomplete beta function."""
    if count >= steps:
        return 0.0
    return float(special.betainc(count + 1.0, float(steps - count), rate)) * _TAIL_SLACK


def _largest_mu(epsilon: float, delta: float) -> float:
    """Nearly the largest μ with δ_G(ε; μ) ≤ δ; checked."""
    log_delta = math.log(delta)

    def excess(log_mu: float) -> float:
        return gaussian.log_delta(math.exp(log_mu), epsilon) - log_delta

    # Q(a) ≤ δ from a = ε/μ − μ/2 on, and δ(0) ≤ μ/√(2π): one of the two is below the root.
    low = math.log(min(math.sqrt(2.0 * epsilon), 1.0)) - 40.0
    high = math.log(math.sqrt(2.0 * epsilon) + 40.0)
    while excess(low) > 0.0:
        low -= 20.0
    root = float(optimize.brentq(excess, low, high, xtol=1e-13)) if excess(high) > 0.0 else high
    margin = 1e-13
    while gaussian.delta_bounds(math.exp(root - margin), epsilon).upper > delta:
        margin *= 2.0
    return math.exp(root - margin)
