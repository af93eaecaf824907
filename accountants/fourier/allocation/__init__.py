r"""Balls in bins: each record joins exactly one of an epoch's T steps, uniformly and on its own.

**The pair.** Given all that the mechanism has answered, a record's step is still uniform for those
who do not know it, and the worst it can do is to move its step by C: N(0, σ²I_T) without it,
(1/T)·Σ_t N(e_t, σ²I_T) with it, adaptively chosen queries included (Chua et al. 2024, "Balls-and-
Bins Sampling for DP-SGD"; Feldman and Shenfeld 2025, "Privacy Amplification by Random Allocation").
Their likelihood ratio under the first is the mean S = (X₁ + … + X_T)/T of independent lognormals
X = e^{y/σ − 1/2σ²}, y ~ N(0, 1), E[S] = 1, and

    δ_remove(ε) = E[(S − e^ε)₊],    δ_add(ε) = E[(1 − e^ε·S)₊].

**Convex order.** Both are convex in every X_t with the others fixed, and in every partial mean. So
wherever a variable stands for a part of the sum,

* *spreading* its mass between two places, the mean kept, gives an upper bound of both, and so does
  additional mass anywhere, mass at S = 0, and mean at S = ∞ (the slope there, times the mean);
* *fusing* any masses into one at their mean gives a lower bound of both, and so does leaving mass
  out.

**Replacing a record** is refused. The worst pair is (1/T)·Σ_t N(e_t, σ²I) and (1/T)·Σ_t N(−e_t,
σ²I): with A_t, B_t the ratios of a step at the old and at the new value to N(0, σ²), δ is the mean
of F = (ΣA_t − e^ε·ΣB_t)₊/T, whose F_xx and F_yy are not negative and whose F_xy is not positive,
whatever the later steps are. So the interpolation of `fixed_size/PROOF.md`, section 4, in one step
after another, the last one first, never costs less for longer and more opposite vectors (dX, dY ≥ 0
≥ dW). But δ depends on the sums of the A_t and of the B_t, and no grid in two dimensions is made.

**The mean**, by one of two ways, of which each has its proof in its module:

* `linear`, for an epoch of many steps: X is put on a linear grid once, and T of them are summed by
  tilted transforms (`tilted`); few large X are added on the lattice. The interval's relative width
  is about 1e-5 to 1e-4.
* Doubling, for few steps and where no linear grid is long enough. A law stands on a geometric
  lattice e^{ih}. Places e^{ih} and e^{jh} of two partial means, of shares a and 1 − a of their sum,
  make e^{jh}·(a·e^{(i−j)h} + 1 − a): as seen from j, the shift depends on i − j only. For each
  difference one product of vectors is therefore split between two neighbouring nodes (`Spread`),
  or fused with what is nearest to the same node (`Fused`, which keeps each node's mass and mean).
  Twice as many steps cost one such sum, T of them at most 2·log₂T. As the means concentrate, the
  lattice is made finer. Each sum moves the variance by O(h²) of its own.

**Epochs** are independent: their ratios multiply, e^{ih}·e^{jh} = e^{(i+j)h} is a node, and δ is
convex in each factor. For `Spread` that is a convolution of masses, for what is fused one of masses
and one of moments (`Bracket`), by tilted transforms again (`products`). Where these cannot hold the
law, pairs of laws are convolved directly, and where the lattice gets too long, every other node is
split or fused.

**Rounding.** u = 2⁻⁵³. Doubling is a sum of products of positive numbers: nothing cancels, for any
δ. A node takes n products at most in sums of 2n additions; splitting shares are off by the error of
a place over h. `Spread` is scaled up by more than that in every sum. `Fused` carries a bound of its
relative error, under which its masses and means are pushed outwards at the end. The transforms'
errors are bounded in `tilted`.
"""

import functools
import math
from typing import TypeVar

from scipy import special

from accountants.fourier.allocation import linear
from accountants.fourier.allocation.bracket import Bracket
from accountants.fourier.allocation.fused import Fused
from accountants.fourier.allocation.lattice import TAIL
from accountants.fourier.allocation.spread import Spread
from accountants.fourier.allocation.tilted import TooLongError
from accountants.fourier.grid.laws.computed import ComputedLaw

__all__ = ["COARSE", "NODES", "laws_from_above", "laws_from_below"]

# An epoch of fewer steps, times the median of 1/X, is a mean of too few for a linear grid.
_FEW_STEPS = 13.0
# Nodes of a lattice, about; the relative width of ε falls with their square.
NODES = 4000
# As many are enough where a percent will do.
COARSE = 1000
# A lattice is halved when it has fewer nodes than this share of them.
_FEW = 0.62
# Longer lattices of several epochs are made coarser.
_MOST_NODES = 2**13

_Law = TypeVar("_Law", Spread, Fused)


def _mean_of(steps: int, one: _Law, nodes: int) -> _Law:
    """The law of the mean of `steps` independent copies, by doubling."""
    power, copies = one, 1
    total, summed = None, 0
    while True:
        if steps & copies:
            if total is None:
                total, summed = power, copies
            else:
                while total.step > 1.5 * power.step:
                    total = total.finer()
                summed += copies
                total = power.plus(total, copies / summed, 1)
        if 2 * copies > steps:
            assert total is not None
            return total
        power = power.plus(power, 0.5, 2 if power.size < _FEW * nodes else 1)
        copies *= 2


def _product_of(epochs: int, one: _Law) -> _Law:
    """The law of the product of `epochs` independent copies, by doubling."""
    power, product = one, None
    while True:
        if epochs & 1:
            if product is not None:
                while product.step < power.step:
                    product = product.coarser()
                product = power.times(product)
            else:
                product = power
        epochs >>= 1
        if not epochs:
            assert product is not None
            return product
        power = power.times(power)
        while power.size > _MOST_NODES:
            power = power.coarser()


def _first_step(noise_multiplier: float, nodes: int) -> float:
    """The lattice of X: about `nodes` over its range; a power of two, so that nodes are exact."""
    reach = -2.0 * float(special.ndtri(TAIL)) / noise_multiplier + noise_multiplier**-2
    return 2.0 ** math.floor(math.log2(reach / nodes) + 0.5)


def _many(steps: int, noise_multiplier: float) -> bool:
    """Whether an epoch's mean is over enough steps for a linear grid."""
    return steps >= _FEW_STEPS * math.exp(min(0.5 * noise_multiplier**-2, 100.0))


@functools.lru_cache(maxsize=8)
def _epoch_from_above(steps: int, noise_multiplier: float) -> Spread:
    if _many(steps, noise_multiplier):
        try:
            return linear.mean_from_above(steps, noise_multiplier)
        except TooLongError:
            pass
    one = Spread.lognormal(noise_multiplier, _first_step(noise_multiplier, NODES))
    return _mean_of(steps, one, NODES)


@functools.lru_cache(maxsize=8)
def _epoch_from_below(steps: int, noise_multiplier: float) -> Bracket:
    if _many(steps, noise_multiplier):
        try:
            return linear.mean_from_below(steps, noise_multiplier)
        except TooLongError:
            pass
    fused = _doubled_from_below(steps, noise_multiplier)
    return Bracket.of([fused], fused.step)


@functools.lru_cache(maxsize=8)
def _doubled_from_below(steps: int, noise_multiplier: float, nodes: int = NODES) -> Fused:
    one = Fused.lognormal(noise_multiplier, _first_step(noise_multiplier, nodes))
    return _mean_of(steps, one, nodes)


@functools.lru_cache(maxsize=32)
def laws_from_above(
    steps: int, noise_multiplier: float, epochs: int, nodes: int = NODES
) -> tuple[ComputedLaw, ComputedLaw]:
    """Loss laws that dominate `epochs` epochs of `steps` steps, remove and add."""
    if nodes != NODES:
        one = Spread.lognormal(noise_multiplier, _first_step(noise_multiplier, nodes))
        return _product_of(epochs, _mean_of(steps, one, nodes)).laws()
    epoch = _epoch_from_above(steps, noise_multiplier)
    try:
        return epoch.power(epochs).laws()
    except TooLongError:
        return _product_of(epochs, epoch).laws()


@functools.lru_cache(maxsize=32)
def laws_from_below(
    steps: int, noise_multiplier: float, epochs: int, share: float = 1.0, nodes: int = NODES
) -> tuple[ComputedLaw, ComputedLaw]:
    """Loss laws that these epochs dominate, remove and add.

    With a `share` below 1 the record is left out of an epoch with probability 1 − share.
    """
    if nodes == NODES and share == 1.0:
        try:
            return _epoch_from_below(steps, noise_multiplier).power(epochs).laws()
        except TooLongError:
            pass
    return _product_of(
        epochs, _doubled_from_below(steps, noise_multiplier, nodes).diluted(share)
    ).laws()
