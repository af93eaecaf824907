r"""From below: the other records at −C until the accumulated loss exceeds ε, and then at +C.

Every policy of the adversary is a lower bound. This one takes the triple g = v while ε remains,
and g = u afterwards, which by the symmetry of `values` is the same in the mirror: so one law is
enough, that of a Poisson-sampled Gaussian at half the noise, remove (`pairs`).
`grid.discretise.lower` has it on a grid from below. It lets losses be smaller by a `nudge`, so that
after t steps the value at a node kh stands for V_t(kh − t·nudge) or less.
"""

import math
from collections.abc import Callable

import numpy as np

from accountants.arrays import FloatArray, IntArray
from accountants.fourier.fixed_size.laws import Kernel
from accountants.fourier.fixed_size.values import Grid
from accountants.fourier.grid import discretise
from accountants.fourier.grid.laws.gaussian import GaussianMixtureLaw, Kind

__all__ = ["policy_values"]


def policy_values(
    noise_multiplier: float, rate: float, steps: int, grid: Grid, on_step: Callable[[int], None]
) -> tuple[FloatArray, float]:
    """Values at kh after all steps, from below, and the slip: they are below V_T(kh − slip).

    Args:
      noise_multiplier: σ.
      rate: q < 1.
      steps: T.
      grid: The grid.
      on_step: Told each step that is done.
    """
    law = GaussianMixtureLaw(Kind.REMOVE, (1.0 - rate, rate), (0.0, 2.0 / noise_multiplier))
    # The law is dense at its least loss, log(1 − q): there its nodes begin.
    first = math.floor(math.log1p(-rate) / grid.step)
    indices: IntArray = np.arange(first, max(grid.up, first + 2) + 1)
    lower = discretise.lower(law, discretise.Grid(0.0, grid.step, indices))
    folded = grid.fold(Kernel(first, lower.masses[: indices.size], 0.0), -1)
    slip = steps * lower.nudge * (1.0 + 1e-9)
    values = np.zeros(grid.last + 1)
    for step in range(steps):
        transformed = grid.transform(values, None, 2.0 * slip)
        # No step costs nothing, so that values never fall.
        values = np.maximum(values, grid.apply(transformed, folded, -1))
        on_step(step)
    return values, slip
