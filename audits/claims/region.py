r"""The claimed privacy curve in the form that the bets need.

A claim with profile δ(·), both directions, says of every pair of neighbours (P, Q), every event S
and every ε ≥ 0 that P(S) ≤ e^ε·Q(S) + δ(ε), and the same with P and Q exchanged. Both are of the
form

    w·P(S) + v·Q(Sᶜ) ≤ 1     with     w = 1/(e^ε + δ), v = e^ε/(e^ε + δ)   or w, v exchanged:

add e^ε·Q(Sᶜ) = e^ε − e^ε·Q(S) to both sides and divide; the second form is the first one of (Q, P,
Sᶜ). Geometrically, these are lines that support the region of error rates which the claim allows.
A finite set of lines describes a larger region, and so does a larger δ: a true claim stays inside
whatever is dropped or rounded upwards here. That is why the lines come from δ *upper* bounds and
why their number only matters for power.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from accountants.arrays import FloatArray

Profile = Callable[[float], float]

# Smaller δ are not followed by a profile's lines: no audit of a few million draws could see them.
DEEPEST_DELTA = 1e-6
_NODES = 14
_CROWDING = 1.4  # nodes are denser near ε = 0, where most of the mass is
_LARGEST_EPSILON = 60.0
# Relative slack for the rounding of w and v themselves.
_ROUNDING = 1e-14


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """Supporting lines of the claimed region: w·P(S) + v·Q(Sᶜ) ≤ 1 for every event S.

    Attributes:
      epsilons: The ε ≥ 0 of the lines.
      deltas: The claimed δ(ε) there, upper bounds.
      w: The weights of P(S), in order of the lines' slope, both directions together.
      v: The weights of Q(Sᶜ).
    """

    epsilons: FloatArray
    deltas: FloatArray
    w: FloatArray
    v: FloatArray

    @classmethod
    def of(cls, epsilons: FloatArray, deltas: FloatArray) -> "Region":
        """The lines of both directions, in order of their slope."""
        kept = deltas < 1.0
        kept[0] |= not kept.any()
        epsilons, deltas = epsilons[kept], np.clip(deltas[kept], 0.0, 1.0)
        # A claim of δ(0) = 0 says P = Q; a little slack keeps the region's interior non-empty.
        deltas = np.where(epsilons == 0.0, np.maximum(deltas, 1e-9), deltas)
        # Both weights divided by e^ε, which overflows beyond ε = 709.
        shrunk = np.exp(-epsilons)
        large = 1.0 / (1.0 + deltas * shrunk) / (1.0 + _ROUNDING)
        small = shrunk * large
        mirrored = slice(None, 0, -1) if epsilons[0] == 0.0 else slice(None, None, -1)
        return cls(
            epsilons=epsilons,
            deltas=deltas,
            w=np.concatenate([large[mirrored], small]),
            v=np.concatenate([small[mirrored], large]),
        )

    def type_two_error(self, alphas: FloatArray) -> FloatArray:
        """The least type II error that the claim allows at each type I error; a lower bound."""
        # w·(1 − β) + v·(1 − α) ≤ 1 with S the event "reject"; α = Q(S), β = P(Sᶜ).
        w, v = self.w[:, None], self.v[:, None]
        # Beyond ε = 709 a line's w is too small to divide by: −∞, such a line says nothing.
        with np.errstate(over="ignore", divide="ignore"):
            errors: FloatArray = ((w + v * (1.0 - alphas[None, :]) - 1.0) / w).max(axis=0)
        return np.maximum(0.0, errors)

    def gaussian_scale(self) -> float:
        """The μ of a Gaussian mechanism about as leaky as the claim allows.

        It has the claimed total variation δ(0), or for a single (ε, δ) that point of its curve.
        Only used to lean first guesses on and to size the violation that an audit should be able
        to see.
        """
        epsilon, delta = float(self.epsilons[0]), float(self.deltas[0])
        if delta == 0.0:
            epsilon, delta = 0.0, math.tanh(0.5 * epsilon)
        return _gaussian_mu(epsilon, delta)


def _gaussian_mu(epsilon: float, delta: float) -> float:
    """The largest μ whose Gaussian δ(ε) stays below `delta`, to 1%, in [1e-3, 50]."""
    low, high = 1e-3, 50.0
    while high / low > 1.01:
        middle = math.sqrt(low * high)
        a = epsilon / middle - 0.5 * middle
        second = epsilon + float(special.log_ndtr(-a - middle))
        value = float(special.ndtr(-a)) - math.exp(min(second, 0.0))
        low, high = (middle, high) if value <= delta else (low, middle)
    return low


def from_point(epsilon: float, delta: float) -> Region:
    """The lines of a single (ε, δ): two, one for each direction."""
    return Region.of(np.array([epsilon]), np.array([delta]))


def from_profile(profile: Profile, largest_epsilon: float | None = None) -> Region:
    """Lines along a profile, from ε = 0 to where δ falls below `DEEPEST_DELTA`."""
    if largest_epsilon is None:
        largest_epsilon = 0.0625
        while profile(largest_epsilon) > DEEPEST_DELTA and largest_epsilon < _LARGEST_EPSILON:
            largest_epsilon *= 1.5
    largest_epsilon = max(min(largest_epsilon, _LARGEST_EPSILON), 1e-9)
    epsilons = largest_epsilon * np.linspace(0.0, 1.0, _NODES) ** _CROWDING
    deltas = np.array([float(profile(float(epsilon))) for epsilon in epsilons])
    return Region.of(epsilons, deltas)
