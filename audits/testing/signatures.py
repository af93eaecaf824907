"""Does a mechanism give one output a call, or as many as it is asked for?"""

import inspect
from collections.abc import Callable
from typing import Any


def gives_one(name: str, function: Callable[..., Any]) -> bool:
    """Whether it is `(data, rng)`, one output a call, rather than `(data, rng, n)`.

    A third argument with a default is a setting, unless it is called `n`. What has no signature, or
    takes any number of arguments, is asked for n.

    Args:
      name: What messages call it.
      function: The mechanism.

    Raises:
      TypeError: It takes neither two arguments nor three.

    >>> gives_one("mechanism", lambda data, rng: 0.0)
    True
    >>> gives_one("mechanism", lambda data, rng, n, scale=1.0: [0.0] * n)
    False
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return False
    parameters = signature.parameters.values()
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = [p for p in positional if p.default is p.empty or p.name == "n"]
    if any(p.kind is p.VAR_POSITIONAL for p in parameters) and len(needed) < 3:
        return False
    missing = any(p.kind is p.KEYWORD_ONLY and p.default is p.empty for p in parameters)
    if missing or len(needed) not in (2, 3):
        raise TypeError(f"`{name}` must take (data, rng, n) or (data, rng), got {signature}.")
    return len(needed) == 2
