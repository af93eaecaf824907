"""Names from the user's own code: `FILE.py:NAME` or `MODULE:NAME`."""

import functools
import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from accountants.validate import did_you_mean
from audits.cli.executors import by_value
from audits.testing.draws import repeat
from audits.testing.signatures import gives_one

_NOT_STOPPED = (Exception, SystemExit, GeneratorExit)  # all but an interrupt


class UserCodeError(ValueError):
    """What is wrong with the user's code, in one line."""


class UserCrashError(UserCodeError):
    """An exception that the user's code raised, in one line."""


@dataclass(frozen=True, slots=True)
class Place:
    """A name in a file or a module."""

    module: str
    name: str

    @classmethod
    def parse(cls, option: str, text: str, default_module: str = "") -> "Place":
        """Reads `MODULE:NAME`; a bare `NAME` is one of `default_module`."""
        module, separator, name = text.rpartition(":")
        module = module if separator else default_module
        if not module or not name:
            raise ValueError(f"`{option}` must be FILE.py:NAME or MODULE:NAME, got {text!r}.")
        return cls(module, name)

    def __str__(self) -> str:
        return f"{self.module}:{self.name}"

    @property
    def is_file(self) -> bool:
        """Whether it is a file rather than a module."""
        return _is_file(self.module)

    def find(self) -> Any:
        """What the name stands for."""
        module = load(self.module)
        if not hasattr(module, self.name):
            names = [name for name in vars(module) if not name.startswith("_")]
            raise ValueError(
                f"{self.module!r} must define {self.name!r}, got only {names}."
                f"{did_you_mean(self.name, names)}"
            )
        return getattr(module, self.name)


def _is_file(module: str) -> bool:
    return module.endswith(".py") or os.sep in module


@functools.cache
def load(module: str) -> ModuleType:
    """A module by its name or its file, executed once per process."""
    is_file = _is_file(module)
    path = Path(module).resolve()
    if is_file and not path.is_file():
        raise ValueError(f"`{module}` must be a Python file, got none there.")
    # As `python FILE.py` and `python -m MODULE` would: what lies beside it can be imported.
    folder = str(path.parent if is_file else Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        if not is_file:
            return importlib.import_module(module)
        name = f"_audited_{path.stem}"
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise ValueError(f"`{module}` must be a Python file.")
        loaded = importlib.util.module_from_spec(spec)
        sys.modules[name] = loaded
        spec.loader.exec_module(loaded)
        return loaded
    except _NOT_STOPPED as error:
        absent = isinstance(error, ModuleNotFoundError) and error.name == module.partition(".")[0]
        kind = UserCodeError if absent or isinstance(error, SyntaxError) else UserCrashError
        raise kind(f"`{module}` must be importable, but {_what(error)}.") from error


def call(place: Place, function: Callable[..., Any], *arguments: Any) -> Any:
    """What the user's function returns.

    Raises:
      UserCrashError: It raised something, were it `SystemExit`.
    """
    try:
        return function(*arguments)
    except _NOT_STOPPED as error:
        raise UserCrashError(f"`{place}` failed: {_what(error)}.") from error


@dataclass(frozen=True, slots=True)
class UserMechanism:
    """A user's function as a mechanism.

    Attributes:
      place: Where it is; to another process it travels as this name.
      one_at_a_time: Whether it gives one output a call.
      function: The function itself where it is to travel by value, to workers without the file.
    """

    place: Place
    one_at_a_time: bool
    function: Callable[..., Any] | None = None

    @classmethod
    def find(cls, place: Place, one_at_a_time: bool | None) -> "UserMechanism":
        """Looks at the signature unless told whether it is `(data, rng)`."""
        function = place.find()
        if not callable(function):
            raise ValueError(f"`{place}` must be a function, got {function!r}.")
        if one_at_a_time is None:
            one_at_a_time = gives_one(str(place), function)
        return cls(place, one_at_a_time)

    def by_value(self) -> "UserMechanism":
        """The same for a cluster; what is in a file goes along, modules must be installed there."""
        if self.place.is_file:
            by_value(load(self.place.module))
            return replace(self, function=self.place.find())
        return self

    def __call__(self, data: Any, rng: np.random.Generator, n: int) -> Any:
        """`n` outputs."""
        function = self.place.find() if self.function is None else self.function
        called = functools.partial(call, self.place, function)
        outputs = repeat(called)(data, rng, n) if self.one_at_a_time else called(data, rng, n)
        if not hasattr(outputs, "__len__") or len(outputs) != n:
            got = f"{len(outputs)}" if hasattr(outputs, "__len__") else repr(outputs)
            raise UserCodeError(
                f"`{self.place}` must return n = {n} outputs, got {got}; a function that gives "
                "one output takes (data, rng) only, or needs --one-at-a-time."
            )
        if not isinstance(outputs, Sequence | np.ndarray) or all(one is None for one in outputs):
            raise UserCodeError(
                f"`{self.place}` must return its outputs, as a list or an array, got "
                f"{_first(outputs)!r}."
            )
        return outputs


def _first(outputs: Any) -> Any:
    try:
        return outputs[0]
    except (TypeError, IndexError, KeyError):
        return outputs


def _what(error: BaseException) -> str:
    """The error, and the line where it arose."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}{where}" if text else f"{type(error).__name__}{where}"
