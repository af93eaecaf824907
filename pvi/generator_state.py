"""A numpy generator's state from a file, and generators that clients do not share."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from pvi.archive import CheckpointError
from pvi.validate import at_least

ClientRandomness: TypeAlias = Callable[[int, int], np.random.Generator]
"""Gives the generator for a client's update of a number."""


def pinned(seed: int) -> ClientRandomness:
    """For simulations and trials: streams that follow from a seed, one for each client's update.

    >>> first, second = pinned(1)(0, 1), pinned(1)(0, 2)
    >>> bool(first.random() == pinned(1)(0, 1).random()), bool(first.random() == second.random())
    (True, False)
    """
    at_least("seed", seed, 0, 2**63)
    return lambda client, number: np.random.default_rng([seed, 1 + client, number])


def checked_state(state: Any, rng: np.random.Generator) -> dict[str, Any]:
    """Gives a state that can be put into the generator, tried out on another of its kind.

    Raises:
      CheckpointError: It is another kind's, or numpy would read beyond its own buffer with it.
    """
    kind = type(rng.bit_generator)
    if state["bit_generator"] != kind.__name__:
        raise CheckpointError(f"it was saved with a {state['bit_generator']} generator")
    trial = kind(0)
    trial.state = state
    found: dict[str, Any] = dict(trial.state)
    position = found["state"].get("pos", 0)
    if not (0 <= position <= 624 and 0 <= found.get("buffer_pos", 0) <= 4):
        raise CheckpointError("its generator's position is beyond its buffer")
    return found
