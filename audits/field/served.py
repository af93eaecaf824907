"""Draws for the audit, inside of a library's own environment, never in ours.

    python served.py FINDING.py ROLE    (a question per line on standard input, an answer per line)

Standard library only. A question is {"data", "seed", "n"}; the answer {"outputs"}, one for each
draw, or {"failed"} where the finding's own file is at fault. What the library prints goes to
standard error. An exception is an output, {"raised": …}: a library that fails on some data tells
them apart.
"""

import copy
import importlib.util
import inspect
import json
import os
import random
import signal
import sys
import types
from collections.abc import Callable
from typing import Any

_PARENT_HAS_DIED = 1  # PR_SET_PDEATHSIG


def decoded(value: Any) -> Any:
    """Plain JSON to data; arrays are arrays again."""
    if isinstance(value, list):
        return [decoded(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"array", "dtype", "shape"}:
        return _array(**value)
    if value.keys() == {"tuple"}:
        return tuple(decoded(item) for item in value["tuple"])
    return {key: decoded(item) for key, item in value.items()}


def _array(array: list[Any], dtype: str, shape: list[int]) -> Any:
    """An array, or lists where the library has no use for numpy."""
    try:
        import numpy
    except ImportError:
        for length in shape[:0:-1]:
            array = [array[k : k + length] for k in range(0, len(array), length)]
        return array
    return numpy.array(array, dtype=dtype).reshape(shape)


def encoded(value: Any) -> Any:
    """An output as plain JSON; numbers keep every bit."""
    if isinstance(value, type(None) | bool | int | float | str):
        return value if type(value) in (type(None), bool, int, float, str) else _plain(value)
    if isinstance(value, dict):
        return {"dict": [[encoded(key), encoded(item)] for key, item in value.items()]}
    if isinstance(value, list | tuple):
        return {"list": [encoded(item) for item in value]}
    if isinstance(value, complex):
        return {"list": [value.real, value.imag]}
    if hasattr(value, "detach"):  # torch
        value = value.detach().cpu().numpy()
    if hasattr(value, "columns") and hasattr(value, "to_numpy"):  # a table
        return {"list": encoded(value.to_numpy().tolist())["list"]}
    if hasattr(value, "tolist"):  # numpy, pandas
        found = value.tolist()
        return encoded(found) if isinstance(found, list) else found
    return str(value)


def _plain(value: Any) -> Any:
    """A subclass (numpy's float64 is a float) as what it is one of."""
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind(value)
    return None


def load(path: str) -> types.ModuleType:
    """The finding's file as a module, without its package."""
    spec = importlib.util.spec_from_file_location("finding", path)
    if spec is None or spec.loader is None:
        raise ImportError(path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["finding"] = module
    spec.loader.exec_module(module)
    return module


def seed_all(seed: int) -> None:
    """Seeds the generators that libraries share with all the world, where they are loaded."""
    random.seed(seed)
    words = [seed >> shift & 0xFFFFFFFF for shift in (0, 32)]
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(words)
    for name in ("torch", "tensorflow"):
        library = sys.modules.get(name)
        if library is not None:
            set_seed = library.manual_seed if name == "torch" else library.random.set_seed
            set_seed(seed & (2**62 - 1))


def draws(subject: Callable[..., Any], data: Any, n: int) -> list[Any]:
    """`n` outputs, each from data of its own where they are made one by one."""
    if len(inspect.signature(subject).parameters) == 2:
        try:
            outputs = list(subject(copy.deepcopy(data), n))
        except ImportError:
            raise
        except Exception:
            outputs = [_raised(lambda: subject(copy.deepcopy(data), 1)[0]) for _ in range(n)]
        return [encoded(output) for output in outputs]
    return [_raised(lambda: encoded(subject(copy.deepcopy(data)))) for _ in range(n)]


def _raised(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except ImportError:  # It says something about the environment, not about the data.
        raise
    except Exception as error:
        return {"raised": f"{type(error).__name__}: {error}"[:300]}


def _die_with_the_parent() -> None:
    try:
        import ctypes

        ctypes.CDLL(None).prctl(_PARENT_HAS_DIED, signal.SIGKILL)
    except (ImportError, OSError, AttributeError):  # no Linux: the end of the pipe will do
        pass


def main() -> None:
    """Answers each line of standard input."""
    _die_with_the_parent()
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints, its compiled parts included
    subject = None
    for line in sys.stdin:
        asked = json.loads(line)
        answer: dict[str, Any]
        try:
            if subject is None:
                module = load(sys.argv[1])
                getattr(module, "prepare", lambda: None)()
                subject = getattr(module, sys.argv[2])
            seed_all(asked["seed"])
            answer = {"outputs": draws(subject, decoded(asked["data"]), asked["n"])}
        except Exception as error:
            answer = {"failed": f"{type(error).__name__}: {error}"[:500]}
        print(json.dumps(answer), file=out, flush=True)


if __name__ == "__main__":
    main()
