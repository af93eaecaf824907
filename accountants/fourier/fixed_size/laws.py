r"""One step's loss law above that of a Gram matrix, on a grid of losses.

With z standard normal, a² = X/σ², b₁ = W/(aσ²), b₁² + b₂² = Y/σ² (lengths in units of the noise)
and all densities relative to the Gaussian at g, the step's pair is

    P: x = 1 − q + qA,   A = e^{az₁ − a²/2},
    Q: y = 1 − q + qB,   B = e^{b₁z₁ − b₁²/2}·D = c·A^ρ·D,   D = e^{b₂z₂ − b₂²/2},

with ρ = b₁/a in [0, 1] and c = e^{b₁(a−b₁)/2}. Its cost E[x·V(αy/x)] is E[F(x, y)] with F convex,
growing in x and falling in y (`PROOF.md`, section 6). So each of these makes it larger:

1. D is *spread* onto a few nodes: mass between two nodes goes to them such that its mean stays.
2. A^ρ is concave, so between two nodes of A it is replaced by its chord, which is smaller; then A
   is spread onto these nodes. What is left are atoms with weights pᵢ·rⱼ.
3. Mass above the last node of A stays there, and q times the mean above it goes to the loss ∞, for
   F grows by q at most per unit of A. Mass of D above its last node stays there.
4. Each atom's P-mass goes to the two grid losses beside its own such that its Q-mass is kept.

All sums have positive terms. Points of the Gaussian come from `GaussianMixtureLaw.points`, with
their errors, which go outwards as in `grid.discretise`: shares of both nodes are rounded up, and F
≥ 0.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from accountants.arrays import FloatArray
from accountants.fourier.fixed_size.geometry import Gram
from accountants.fourier.grid.discretise import sum_at
from accountants.fourier.grid.laws.gaussian import GaussianMixtureLaw, Kind
from accountants.fourier.grid.laws.law import TAIL_ERROR, UNIT

__all__ = ["Kernel", "law_above"]

# How far apart nodes are, in standard deviations of z, besides those on the grid of losses.
_APART = 0.15
# Atoms of one law; more nodes than these allow are thinned out.
_MOST_ATOMS = 1e5
# A shorter side is lengthened to this, over σ: it costs next to nothing beside a length of 2.
_SHORTEST = 2e-3


@dataclass(frozen=True, eq=False)
class Kernel:
    """P-masses at the losses (first + j)·step, and at ∞."""

    first: int
    masses: FloatArray
    infinite: float


def _log_nodes(length: float, rate: float, step: float, reach: float) -> FloatArray:
    """Logarithms of nodes for e^{mz − m²/2}: evenly in z, and where log(1−q+q·node) is on the grid.

    Any nodes will do; these keep what is added small.
    """
    half = 0.5 * length * length
    even = length * np.arange(-reach, reach + length + _APART, _APART) - half
    lowest, highest = (float(_log_mix(rate, even[index])) for index in (0, -1))
    first, last = math.ceil(lowest / step), math.floor(highest / step)
    on_grid = step * np.arange(first, last + 1)
    size = np.expm1(on_grid) + rate
    on_grid = np.log(size[size > 0.0] / rate)
    inside = on_grid[(on_grid > even[0]) & (on_grid < even[-1])]
    nodes = np.unique(np.concatenate((even, inside)))
    kept: FloatArray = nodes[np.append(True, np.diff(nodes) > 1e-3 * _APART * length)]
    return kept


def _log_mix(rate: float, log_ratio: FloatArray | float) -> FloatArray:
    """log(1 − q + q·e^l)."""
    small = np.log1p(rate * np.expm1(np.minimum(log_ratio, 1.0)))
    if rate == 1.0:
        return np.asarray(log_ratio, dtype=np.float64)
    large = np.logaddexp(math.log1p(-rate), math.log(rate) + np.asarray(log_ratio))
    return np.asarray(np.where(np.asarray(log_ratio) < 1.0, small, large))


def _spread(length: float, log_nodes: FloatArray) -> tuple[FloatArray, float]:
    """Masses of e^{mz − m²/2} at 0 and at the nodes, and its mean above the last one."""
    law = GaussianMixtureLaw(Kind.REMOVE, (1.0,), (length,))
    # Far below every node, where there is no mass.
    bottom = min(-40.0 * length, float(log_nodes[0]) - 1.0)
    points = law.points(np.concatenate(([bottom], log_nodes)))
    loss, cell = points.loss, points.cell
    error = points.loss_error + 16.0 * UNIT * (np.abs(loss) + np.abs(log_nodes[cell]))
    mass = points.mass * np.exp(-loss) * (1.0 + points.mass_error + 4.0 * error)
    top = np.minimum(loss - log_nodes[cell], 0.0)
    is_first = cell == 0
    width = np.where(is_first, 1.0, log_nodes[cell] - log_nodes[np.maximum(cell - 1, 0)])
    place = np.clip(top + width, 0.0, width)
    above = np.where(is_first, np.exp(top), np.expm1(place) / np.expm1(width))
    below = np.where(is_first, -np.expm1(top), np.expm1(-top) * np.exp(top) / -np.expm1(-width))
    slack = 4.0 * error / width
    masses = sum_at(cell + 1, mass * (above + slack), log_nodes.size + 1)
    masses += sum_at(cell, mass * (below + slack), log_nodes.size + 1)
    masses *= 1.0 + UNIT * (64.0 + np.bincount(cell, minlength=log_nodes.size + 1))
    last = float(log_nodes[-1]) / length
    over, mean_over = special.ndtr([-last - 0.5 * length, 0.5 * length - last])
    masses[-1] += float(over) * (1.0 + TAIL_ERROR)
    # Nothing of the mass below `bottom` is seen by doubles; it counts at 0 all the same.
    masses[0] += special.ndtr(bottom / length + 0.5 * length) + 1e-300
    return masses, float(mean_over) * (1.0 + TAIL_ERROR) + 1e-300


def law_above(
    gram: Gram,
    rate: float,
    noise_multiplier: float,
    step: float,
    reach: float,
    most_atoms: float = _MOST_ATOMS,
) -> Kernel:
    """Masses that cost at least as much as one step at `gram`, whatever follows.

    Args:
      gram: With 0 ≤ W ≤ X, Y.
      rate: q.
      noise_multiplier: σ.
      step: The grid's.
      reach: Standard deviations beyond which Gaussian tails go to the loss ∞.
      most_atoms: More are thinned out.
    """
    shortest = _SHORTEST / noise_multiplier
    length = max(math.sqrt(gram.x) / noise_multiplier, shortest)
    slope = min(max(gram.w / (length * noise_multiplier) ** 2, 0.0), 1.0)  # ρ
    across = math.sqrt(max(gram.y - gram.w * slope, 0.0)) / noise_multiplier
    across = max(across * (1.0 + 8.0 * UNIT), shortest)
    spacing_a = spacing_d = step
    while True:
        log_a = _log_nodes(length, rate, spacing_a, reach)
        log_d = _log_nodes(across, rate, spacing_d, reach)
        if log_a.size * log_d.size <= most_atoms or max(spacing_a, spacing_d) > 1.0:
            break
        if log_a.size > log_d.size:
            spacing_a *= 2.0
        else:
            spacing_d *= 2.0
    weights_a, mean_over = _spread(length, log_a)
    weights_d, _ = _spread(across, log_d)

    # log B at the nodes, rounded down; B = 0 where A (if ρ > 0) or D is 0.
    log_c = 0.5 * slope * (1.0 - slope) * length * length
    size = log_c + np.abs(log_a[:, None]) + np.abs(log_d[None, :])
    log_b = log_c + slope * log_a[:, None] + log_d[None, :] - 32.0 * UNIT * size
    y = np.full((weights_a.size, weights_d.size), 1.0 - rate)
    y[1:, 1:] += rate * np.exp(log_b)
    if slope == 0.0:
        y[0, 1:] = y[1, 1:]
    x = np.concatenate(([1.0 - rate], 1.0 - rate + rate * np.exp(log_a)))
    loss = (np.log(x)[:, None] - np.log(y)).ravel()
    mass = ((weights_a * x)[:, None] * weights_d[None, :]).ravel()
    return _on_grid(loss, mass, step, rate * mean_over * (1.0 + 8.0 * UNIT))


def _on_grid(loss: FloatArray, mass: FloatArray, step: float, infinite: float) -> Kernel:
    """Item 4: P- and Q-mass of each atom kept, and both shares rounded up."""
    scaled = loss / step
    low = np.floor(scaled).astype(np.int64)
    place = (scaled - low) * step
    slack = 32.0 * UNIT * (1.0 + float(np.max(np.abs(loss)))) / step
    whole = -math.expm1(-step)
    above = mass * (-np.expm1(-place) / whole + slack)
    below = mass * (np.exp(-place) * -np.expm1(place - step) / whole + slack)
    first = int(np.min(low))
    count = int(np.max(low)) - first + 2
    masses = sum_at(low - first, below, count) + sum_at(low - first + 1, above, count)
    masses *= 1.0 + UNIT * (loss.size + 64.0)
    return Kernel(first, masses, infinite)
