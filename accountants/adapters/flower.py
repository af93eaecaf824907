"""What rounds of a Flower strategy with noise released; imports nothing of Flower.

Flower's wrappers for differential privacy clip each client's update to C, let the inner strategy
average them, and add Gaussian noise of standard deviation σC/n to the average, n the number of
clients that are sampled. On the sum that is σC: one Gaussian of noise multiplier σ a round, if

* the average is uniform: FedAvg weighs by numbers of examples, and then one client can move the
  average by much more than C/n;
* all n clients answer, each round: the average of fewer moves by more, and the noise stays;
* clients are the unit, and the noise is drawn from a source that nobody can predict.

Fewer clients a round than there are make a sample, drawn without replacement. Adaptive clipping
releases a noisy count of clipped clients besides, to which one client adds at most 1.
"""

import math
from typing import Any

import dp_accounting as dpa

from accountants import validate

_FIXED = (
    "DifferentialPrivacyServerSideFixedClipping",
    "DifferentialPrivacyClientSideFixedClipping",
)
_ADAPTIVE = (
    "DifferentialPrivacyServerSideAdaptiveClipping",
    "DifferentialPrivacyClientSideAdaptiveClipping",
)


def rounds_event(strategy: Any, *, rounds: int, clients: int, uniform_weights: bool) -> dpa.DpEvent:
    """The event of so many rounds, for one client as the unit.

    With a sample of the clients it is of a fixed size, which has an answer under REPLACE_ONE; with
    all of them in each round there is one under every relation. An upper bound for what Flower
    releases as averaged arrays; metrics that clients send are released too and not counted.

    Args:
      strategy: One of Flower's four wrappers for differential privacy with central noise.
      rounds: Rounds that were run.
      clients: Clients that could be sampled.
      uniform_weights: That the inner strategy weighs all clients alike; it must be so.

    Raises:
      ValueError: There is no noise, weights are not uniform, or the strategy is another.

    >>> class DifferentialPrivacyServerSideFixedClipping:  # as Flower's
    ...     noise_multiplier, num_sampled_clients = 1.5, 10
    >>> strategy = DifferentialPrivacyServerSideFixedClipping()
    >>> rounds_event(strategy, rounds=3, clients=10, uniform_weights=True)
    SelfComposedDpEvent(event=GaussianDpEvent(noise_multiplier=1.5), count=3)
    """
    name = type(strategy).__name__
    if name not in (*_FIXED, *_ADAPTIVE):
        raise ValueError(f"`strategy` must be one of {[*_FIXED, *_ADAPTIVE]}, got a {name}.")
    if not validate.flag("uniform_weights", uniform_weights):
        raise ValueError(
            "`uniform_weights` must be True: where clients are weighed by their numbers of "
            "examples, one of them can move the average by up to C, and noise of σC/n hides little."
        )
    steps = validate.count("rounds", rounds)
    sampled = validate.count("num_sampled_clients", strategy.num_sampled_clients)
    size = validate.count("clients", clients, minimum=sampled)
    step: dpa.DpEvent = dpa.GaussianDpEvent(_released_noise(strategy, adaptive=name in _ADAPTIVE))
    if sampled < size:
        step = dpa.SampledWithoutReplacementDpEvent(size, sampled, step)
    return dpa.SelfComposedDpEvent(step, steps)


def _released_noise(strategy: Any, *, adaptive: bool) -> float:
    """The noise multiplier of what a round releases; of update and count together, one Gaussian.

    Two Gaussians at once, of noise multipliers σ and s, are one of (σ⁻² + s⁻²)^(−1/2): the shifts
    are orthogonal, and the pair depends on their joint norm only.
    """
    noise = validate.positive("noise_multiplier", strategy.noise_multiplier)
    if not adaptive:
        return noise
    count = validate.positive("clipped_count_stddev", strategy.clipped_count_stddev)
    # Rounded downwards: less noise costs more.
    return 1.0 / math.hypot(1.0 / noise, 1.0 / count) * (1.0 - 1e-15)
