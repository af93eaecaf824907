"""A numpy generator's state from a file."""

from typing import Any

import numpy as np

from pvi.archive import CheckpointError


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
