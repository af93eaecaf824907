"""A released library as a mechanism: draws from a process in its own environment."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Self

import numpy as np

from audits.field.finding import Finding
from audits.peers import environment
from audits.peers.beside import Beside, EndedError
from audits.testing.outputs import Raised

_SCRIPT = Path(__file__).with_name("served.py")
# Some libraries take a minute to import on a busy machine.
_START = 180.0


class LostError(BaseException):
    """The library hung or died, or the finding's file is at fault: no output, and no verdict.

    Not an `Exception`, for those that a library raises are outputs.
    """


class LibraryRaisedError(RuntimeError):
    """What the library raised, in words: its own classes are not known here."""


class Library:
    """A mechanism `(data, rng, n) -> n outputs` whose draws are made beside us.

    The process has a folder of its own, is ended when it takes longer than `seconds` for an answer,
    and dies with us.

    Args:
      finding: Which library, and how it is called.
      role: Which of the finding's functions draws.
      seconds: The most time for one question.
    """

    def __init__(self, finding: Finding, role: str, seconds: float) -> None:
        python = str(environment.python(*finding.needs(role)))
        self._folder = TemporaryDirectory(prefix="dp-assay-field-")
        command = [python, "-E", "-s", str(_SCRIPT), str(finding.file), role]
        self._process = Beside(command, start=_START, folder=self._folder.name)
        self._seconds = seconds
        self.drawn = 0
        self.raised: dict[str, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.end()
        self._folder.cleanup()

    def __call__(self, data: Any, rng: np.random.Generator, n: int) -> list[Any]:
        """`n` draws.

        Raises:
          LostError: There are none.
        """
        question = {"data": encoded(data), "seed": int(rng.integers(2**63)), "n": n}
        try:
            answer = json.loads(self._process.ask(json.dumps(question), self._seconds))
        except TimeoutError:
            raise LostError(f"no answer within {self._seconds:g} s") from None
        except EndedError as reason:
            raise LostError(str(reason)) from None
        if "failed" in answer:
            raise LostError(answer["failed"])
        self.drawn += n
        return [self._output(output) for output in answer["outputs"]]

    def _output(self, output: Any) -> Any:
        if isinstance(output, dict) and "raised" in output:
            words = output["raised"]
            self.raised[words] = self.raised.get(words, 0) + 1
            return Raised(LibraryRaisedError(words))
        return _decoded(output)


def encoded(data: Any) -> Any:
    """Data as JSON for `served`; arrays keep their type and shape."""
    if isinstance(data, np.ndarray):
        return {"array": data.ravel().tolist(), "dtype": str(data.dtype), "shape": list(data.shape)}
    if isinstance(data, np.generic):
        return data.item()
    if isinstance(data, tuple):
        return {"tuple": [encoded(item) for item in data]}
    if isinstance(data, list):
        return [encoded(item) for item in data]
    if isinstance(data, dict):
        return {str(key): encoded(item) for key, item in data.items()}
    return data


def _decoded(output: Any) -> Any:
    """An output; lists of numbers of one length become arrays."""
    if not isinstance(output, dict):
        return output
    if "dict" in output:
        return {_key(key): _decoded(item) for key, item in output["dict"]}
    entries = [_decoded(item) for item in output["list"]]
    if entries and all(type(item) in (int, float) for item in entries):
        return np.array(entries, dtype=np.float64)
    rows = entries and all(isinstance(item, np.ndarray) for item in entries)
    if rows and len({item.shape for item in entries}) == 1:
        return np.stack(entries)
    return entries


def _key(key: Any) -> Any:
    return key if isinstance(key, str | int | float | bool | None) else str(key)
