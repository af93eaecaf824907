"""Short names for costs that several papers ask for."""

from collections.abc import Callable

import dp_accounting as dpa
from dp_accounting import NeighboringRelation

from accountants import Bounds, MomentsAccountant, epsilon_bounds


def moments_epsilon(
    noise_multiplier: float, sampling_rate: float, steps: int, delta: float
) -> float:
    """What the moments accountant of the papers says: integer moments up to 64, an upper bound."""
    event: dpa.DpEvent = dpa.GaussianDpEvent(noise_multiplier)
    if sampling_rate < 1.0:
        event = dpa.PoissonSampledDpEvent(sampling_rate, event)
    return float(MomentsAccountant().compose(event, steps).get_epsilon(delta))


def largest(fits: Callable[[int], bool]) -> int:
    """The largest number of steps that fits, 0 if not even one does; fewer always fit as well.

    >>> largest(lambda steps: steps**2 <= 50)
    7
    """
    low, high = 0, 1
    while fits(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def steps_within(
    target_epsilon: float, noise_multiplier: float, sampling_rate: float, delta: float
) -> int:
    """The largest number of steps that the moments accountant allows for the target."""
    return largest(
        lambda steps: (
            moments_epsilon(noise_multiplier, sampling_rate, steps, delta) <= target_epsilon
        )
    )


def poisson(noise_multiplier: float, sampling_rate: float, steps: int, delta: float) -> Bounds:
    """Certified ε of Poisson sampling, one record more or less."""
    return epsilon_bounds(
        noise_multiplier=noise_multiplier, sampling_rate=sampling_rate, steps=steps, delta=delta
    )


def fixed_size(noise_multiplier: float, sampling_rate: float, steps: int, delta: float) -> Bounds:
    """Certified ε of batches of a fixed size, one record replaced."""
    return epsilon_bounds(
        noise_multiplier=noise_multiplier,
        sampling_rate=sampling_rate,
        steps=steps,
        delta=delta,
        relation=NeighboringRelation.REPLACE_ONE,
        sampling="fixed_size",
        tolerance=1e-3,
    )


def poisson_replaced(
    noise_multiplier: float, sampling_rate: float, steps: int, delta: float
) -> Bounds:
    """Certified ε of Poisson sampling, one record replaced: the pair (1−q)N(0) + qN(±1)."""
    return epsilon_bounds(
        noise_multiplier=noise_multiplier,
        sampling_rate=sampling_rate,
        steps=steps,
        delta=delta,
        relation=NeighboringRelation.REPLACE_ONE,
    )
