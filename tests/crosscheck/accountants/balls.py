"""Integrals over one Poisson-sampled Gaussian step in ball arithmetic: intervals that are proved.

Arb's adaptive Gauss–Legendre quadrature encloses its own error; what lies beyond the ends is
added by hand. Nothing here is shared with the accountants.
"""

import itertools
import math

from flint import acb, arb, ctx


def step_integral(rate, sigma, power, z_times_log, *, bits=160):
    """A ball that contains ∫ N(y)·w(y)^power·e^{i·z_times_log·log w(y)} dy."""
    with ctx.workprec(bits):
        q, s = arb(rate), arb(sigma)
        exponent = acb(arb(power), arb(z_times_log))
        norm = (2 * arb.pi()).sqrt()

        def integrand(y, analytic):
            w = 1 - q + q * (y / s - 1 / (2 * s * s)).exp()
            return (exponent * w.log(analytic=analytic) - y * y / 2).exp() / norm

        # Beyond R past the means 0 and power/σ, the integrand has fallen by e^{−R²/2}.
        reach = 14.0 + math.sqrt(bits)
        low = min(power, 0.0) / sigma - reach
        high = max(power, 1.0) / sigma + reach
        switch = sigma * (math.log1p(-rate) - math.log(rate)) + 0.5 / sigma
        places = {low, high, 0.0, max(power, 0.0) / sigma, min(power, 0.0) / sigma}
        if low < switch < high:
            places.add(switch)
        ends = sorted(places)
        total = acb(0)
        for left, right in itertools.pairwise(ends):
            total += acb.integral(
                integrand,
                left,
                right,
                rel_tol=arb(2) ** (10 - bits),
                abs_tol=arb(2) ** (10 - 3 * bits),
                eval_limit=2_000_000,
            )
        # w^s ≤ 2^s·(1 + q^s·e^{sv}) for s > 0, and (1−q)^s for s < 0.
        size = (1 - q).log() * power if power < 0 else arb(power) * arb(2).log()
        if power > 0:
            grown = arb(power) * (arb(power) - 1) / (2 * s * s) + arb(power) * q.log()
            size = size + (1 + grown.exp()).log()
        tail = (size - arb(reach) ** 2 / 2).exp()
        return total + acb(arb(0, tail.upper()), arb(0, tail.upper()))


def power_of(direction, theta):
    """The power of w in M(θ), by the definition of the two directions."""
    return theta + 1.0 if direction.sign > 0 else -theta


def characteristic(rate, sigma, direction, theta, t, bits=160):
    """A ball with φ_θ(t) = M(θ+it)/M(θ) of one step."""
    power = power_of(direction, theta)
    with ctx.workprec(bits):
        above = step_integral(rate, sigma, power, direction.sign * t, bits=bits)
        return above / step_integral(rate, sigma, power, 0.0, bits=bits).real


def log_moment(rate, sigma, power, bits=400):
    """A ball with log E[w^power]."""
    with ctx.workprec(bits):
        return step_integral(rate, sigma, power, 0.0, bits=bits).real.log()
