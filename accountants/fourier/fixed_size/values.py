r"""Values on a grid of ε, and one step of the dynamic programme, from above and from below.

V_t(ε) is the δ that t steps can still cost when ε remains. It is known at ε = kh, 0 ≤ k ≤ n; below
0 by V(−ε) = 1 − e^{−ε} + e^{−ε}·V(ε), a symmetry of the problem (`PROOF.md`, section 3). One step
is

    (K V)(k) = Σ_j K_j·V(k − j) + K_∞

for a kernel K of masses at losses jh: a convolution, done by FFT on U(k) = e^{θkh}·V(k) and
K_j·e^{θjh}, so that errors are relative to the largest U and not to V ≤ 1.

**Beyond the grid.** Kernels are folded to −J₁ ≤ j ≤ J₂. From above: losses below go to −J₁h, for
V falls; what is above J₂h goes there and to ∞ such that its Q-mass is kept. V(k) for k > n is at
most V(n), and at most M_t·e^{−θkh} + I_t, where M₀ = max e^{θε}(1 − e^ε)₊, I₀ = 0 and each step
multiplies M by the largest Σ K_j·e^{θjh} and I by the largest Σ K_j, and adds the largest K_∞ to I.
From below: masses beyond are dropped, and V(k) for k > n is 0.

**FFT.** Lengths are 2^m. With less than 8u per stage (the model of `grid.convolve`) a transform's
error is at most 8um of its norm (Higham 2002, Theorem 24.2), so that each entry of the convolution
is off by at most 8u(3m + 3)·‖U‖₂·‖K‖₂, once transforms, product and inverse are counted. It is
added, or taken away.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import fft

from accountants.arrays import ComplexArray, FloatArray
from accountants.fourier.fixed_size.laws import Kernel
from accountants.fourier.grid.laws.law import UNIT

__all__ = ["Folded", "Grid", "Moments"]

_STAGE_ERROR = 8.0 * UNIT
# More than the errors of products and of sums that are relative to their result.
_RELATIVE = 1e-13


@dataclass(frozen=True, eq=False)
class Folded:
    """A kernel between −J₁ and J₂, ready to be applied.

    Attributes:
      transform: Of the tilted masses.
      norm: Their Euclidean norm.
      infinite: Mass at ∞.
      moment: Σ K_j·e^{θjh}.
      mass: Σ K_j.
    """

    transform: ComplexArray
    norm: float
    infinite: float
    moment: float
    mass: float


@dataclass(slots=True)
class Moments:
    """M and I of the module's docstring, for the upper values."""

    log_tilted: float
    constant: float

    @classmethod
    def at_start(cls, tilt: float) -> "Moments":
        """Of V₀(ε) = (1 − e^ε)₊."""
        return cls(tilt * math.log(tilt) - (1.0 + tilt) * math.log1p(tilt) + _RELATIVE, 0.0)

    def advance(self, kernels: "list[Folded]") -> None:
        """One step in which any of the kernels may be met."""
        self.log_tilted += math.log(max(kernel.moment for kernel in kernels)) + _RELATIVE
        self.log_tilted += 4.0 * UNIT * abs(self.log_tilted)
        mass = max(kernel.mass for kernel in kernels)
        self.constant = (self.constant * mass + max(k.infinite for k in kernels)) * (
            1.0 + _RELATIVE
        )


@dataclass(frozen=True, eq=False)
class Grid:
    """ε = 0, h, …, nh; losses from −J₁h to J₂h; a tilt θ.

    Attributes:
      step: h.
      last: n.
      down, up: J₁ and J₂.
      tilt: θ > 0.
      length: That of the transforms, a power of two above n + 1 + J₁ + J₂.
    """

    step: float
    last: int
    down: int
    up: int
    tilt: float
    length: int
    epsilons: FloatArray = field(init=False)
    _left: FloatArray = field(init=False)
    _right: FloatArray = field(init=False)
    _weights: FloatArray = field(init=False)
    _grown: float = field(init=False)
    _error: float = field(init=False)

    def __post_init__(self) -> None:
        """Tables."""
        if self.length < self.last + 2 + self.down + self.up:
            raise ValueError(f"`length` must hold the grid and the kernels, got {self.length!r}.")
        put = object.__setattr__
        put(self, "epsilons", self.step * np.arange(self.last + 1))
        put(self, "_left", self.step * np.arange(self.up, 0, -1))
        put(self, "_right", self.step * np.arange(self.last + 1, self.last + 1 + self.down))
        put(self, "_weights", np.exp(self.tilt * self.epsilons))
        furthest = self.tilt * self.step * (self.last + self.down + self.up + 2)
        put(self, "_grown", 16.0 * UNIT * (4.0 + furthest))
        put(self, "_error", _STAGE_ERROR * (3.0 * math.log2(self.length) + 3.0))

    def fold(self, kernel: Kernel, sign: int) -> Folded:
        """A kernel between the ends, from above (`sign` = 1) or from below (−1)."""
        index = kernel.first + np.arange(kernel.masses.size)
        masses = np.zeros(self.down + self.up + 1)
        inside = (index >= -self.down) & (index <= self.up)
        masses[index[inside] + self.down] = kernel.masses[inside]
        infinite = kernel.infinite
        if sign > 0:
            masses[0] += float(np.sum(kernel.masses[index < -self.down]))
            above, over = kernel.masses[index > self.up], index[index > self.up] - self.up
            masses[-1] += float(np.sum(above * np.exp(-self.step * over)))
            infinite += float(np.sum(above * -np.expm1(-self.step * over)))
            grown = 1.0 + UNIT * (kernel.masses.size + 64.0)
            masses[[0, -1]] *= grown
            infinite *= grown
        tilted = masses * np.exp(self.tilt * self.step * np.arange(-self.down, self.up + 1))
        return Folded(
            fft.rfft(tilted, self.length),
            float(np.linalg.norm(tilted)) * (1.0 + _RELATIVE),
            infinite,
            float(np.sum(tilted)) * (1.0 + _RELATIVE + self._grown),
            float(np.sum(masses)) * (1.0 + _RELATIVE),
        )

    def transform(
        self, values: FloatArray, moments: Moments | None, slip: float = 0.0
    ) -> tuple[ComplexArray, float]:
        """The transform of U with its ends, and U's norm.

        Args:
          values: V at 0 … n.
          moments: For upper values; `None` for lower ones.
          slip: Lower values at ε stand for those at ε − slip or above.
        """
        beyond = float(values[-1]) if moments is not None else 0.0
        mirrored = np.full(self.up, beyond)
        count = min(self.up, self.last)
        mirrored[self.up - count :] = values[count:0:-1]
        left = 1.0 - np.exp(np.minimum(slip - self._left, 0.0)) * (1.0 - mirrored)
        if moments is None:
            left = np.maximum(left - 4.0 * UNIT, 0.0)
        else:
            left += 4.0 * UNIT
        tilted = np.zeros(self.length)
        tilted[: self.up] = left * np.exp(-self.tilt * self._left)
        middle = slice(self.up, self.up + self.last + 1)
        tilted[middle] = values * self._weights
        if moments is not None:
            log_weight = self.tilt * self._right
            tail = np.exp(np.minimum(moments.log_tilted - log_weight, 0.0)) + moments.constant
            right = np.minimum(beyond, tail * (1.0 + self._grown))
            tilted[middle.stop : middle.stop + self.down] = right * np.exp(log_weight)
        return fft.rfft(tilted), float(np.linalg.norm(tilted)) * (1.0 + _RELATIVE)

    def apply(
        self, transformed: tuple[ComplexArray, float], kernel: Folded, sign: int
    ) -> FloatArray:
        """One step's values, rounded up (`sign` = 1) or down (−1)."""
        transform, norm = transformed
        start = self.down + self.up
        tilted = fft.irfft(transform * kernel.transform, self.length)[start : start + self.last + 1]
        error = self._error * norm * kernel.norm
        if sign > 0:
            values = (tilted + error) / self._weights * (1.0 + 4.0 * self._grown)
            return np.asarray(np.minimum(values + kernel.infinite, 1.0))
        values = (tilted - error) / self._weights * (1.0 - 4.0 * self._grown)
        return np.asarray(np.maximum(values, 0.0))

    def largest(
        self, transformed: tuple[ComplexArray, float], kernels: Sequence[Folded]
    ) -> FloatArray:
        """The largest of the kernels' values, rounded up: `apply` for all, with one untilting.

        One error and one mass at ∞, the largest of each, are added for all.
        """
        transform, norm = transformed
        start = self.down + self.up
        tilted = np.zeros(self.last + 1)
        for kernel in kernels:
            product = fft.irfft(transform * kernel.transform, self.length, overwrite_x=True)
            np.maximum(tilted, product[start : start + self.last + 1], out=tilted)
        error = self._error * norm * max(kernel.norm for kernel in kernels)
        values = (tilted + error) / self._weights * (1.0 + 4.0 * self._grown)
        infinite = max(kernel.infinite for kernel in kernels)
        return np.asarray(np.minimum(values + infinite, 1.0))
