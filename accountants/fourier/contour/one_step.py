r"""One step of the Poisson-sampled Gaussian, in closed form.

With N₀ = N(0, σ²), N₁ = N(1, σ²) and δ_G the exact curve of N₁ against N₀ (`accountants.gaussian`):

* remove: ((1−q)N₀ + qN₁ − e^ε N₀)₊ = q·(N₁ − κN₀)₊ with κ = 1 + (e^ε−1)/q, so δ = q·δ_G(log κ);
* add: (N₀ − e^ε((1−q)N₀ + qN₁))₊ = c·(N₀ − κN₁)₊ with c = 1 − e^ε(1−q) and κ = q·e^ε/c, so
  δ = c·δ_G(log κ) while c > 0, and 0 after that.

The roundings of log κ (a few units in the last place) and of c (4u·q, absolute) are stepped over
outwards, so both ends are certified.
"""

import math

from accountants import gaussian
from accountants.bounds import Bounds
from accountants.fourier import invert
from accountants.likelihood_ratio import UNIT_ROUNDOFF
from accountants.releases import PoissonGaussian

_SLACK = 8.0 * UNIT_ROUNDOFF


def delta_bounds(event: PoissonGaussian, epsilon: float) -> Bounds:
    """A certified interval for δ(ε) of one step, the larger of the two directions'."""
    return _remove(event, epsilon).larger(_add(event, epsilon))


def epsilon_bounds(event: PoissonGaussian, delta: float) -> Bounds:
    """A certified interval for ε(δ) of one step; the search starts at the remove direction's ε."""
    rate, mu = event.sampling_rate, 1.0 / event.noise_multiplier
    inner = gaussian.epsilon(mu, delta / rate) if delta < rate else 0.0
    root = math.log1p(rate * math.expm1(inner)) if inner < 600.0 else inner + math.log(rate)
    # −d log δ/dε, from a difference that is far above the rounding.
    step = 1e-6 * max(root, rate)
    values = [delta_bounds(event, root + side * step).upper for side in (0.0, 1.0)]
    slope = math.log(values[0] / max(values[1], 5e-324)) / step if values[0] > 0.0 else 1.0
    return invert.epsilon_bounds(
        lambda epsilon: delta_bounds(event, epsilon), delta, root, max(slope, 1e-6)
    )


def _scaled(mu: float, log_kappa: float, scale: float) -> Bounds:
    """scale·δ_G(log κ), with room for the rounding of log κ and of the product."""
    lower = gaussian.delta_bounds(mu, log_kappa * (1.0 + _SLACK)).lower
    upper = gaussian.delta_bounds(mu, max(0.0, log_kappa * (1.0 - _SLACK))).upper
    # What underflows is still positive.
    upper = math.nextafter(upper * scale * (1.0 + _SLACK), math.inf)
    return Bounds(math.nextafter(lower * scale * (1.0 - _SLACK), 0.0), upper)


def _remove(event: PoissonGaussian, epsilon: float) -> Bounds:
    rate, mu = event.sampling_rate, 1.0 / event.noise_multiplier
    if epsilon > 600.0:  # e^ε would overflow; log(1 + (e^ε−1)/q) is ε − log q to the last digit.
        return _scaled(mu, epsilon - math.log(rate), rate)
    return _scaled(mu, math.log1p(math.expm1(epsilon) / rate), rate)


def _add(event: PoissonGaussian, epsilon: float) -> Bounds:
    rate, mu = event.sampling_rate, 1.0 / event.noise_multiplier
    if epsilon > 1.0 - math.log1p(-rate):
        return Bounds(0.0, 0.0)
    scale = rate - (1.0 - rate) * math.expm1(epsilon)
    error = 4.0 * UNIT_ROUNDOFF * rate
    ends = []
    for side in (-1.0, 1.0):
        shifted = scale + side * error
        if shifted <= 0.0:
            ends.append(0.0)
        else:
            log_kappa = max(0.0, math.log(rate) + epsilon - math.log(shifted))
            # log κ is a difference: its rounding is absolute.
            log_kappa = max(0.0, log_kappa - side * _SLACK * (1.0 + abs(math.log(rate))))
            bounds = _scaled(mu, log_kappa, shifted)
            ends.append(bounds.lower if side < 0.0 else bounds.upper)
    return Bounds(ends[0], max(ends))
