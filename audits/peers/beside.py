"""A process beside ours, in another environment, that answers each line with a line."""

import contextlib
import os
import select
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self


class EndedError(OSError):
    """The process died."""


class Beside:
    """A process that is started when it is first asked, and again after it took too long or died.

    Args:
      command: What to run; its standard error is dropped.
      start: Seconds that the first answer may take beyond its own: imports.
      folder: Where it runs; here by default.
    """

    def __init__(
        self, command: Sequence[str], *, start: float, folder: str | Path | None = None
    ) -> None:
        self._command, self._start, self._folder = list(command), start, folder
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()

    def ask(self, line: str, seconds: float) -> str:
        """The answer to a line.

        Raises:
          TimeoutError: None came within `seconds`; the process was ended.
          EndedError: The process died.
        """
        process, patience, begin = self._process, seconds, time.monotonic()
        if process is None:
            process, patience = self._begin(), seconds + self._start
        try:
            _given(process.stdin).write(line + "\n")
            _given(process.stdin).flush()
            answer = _line(_given(process.stdout), patience)
        except BrokenPipeError:
            answer = ""
        except BaseException:  # A line that nobody waited for would answer the next question.
            self.end()
            raise
        if not answer:
            self.end()
            raise EndedError("the process died")
        # What it took once, with an answer, is a measure of what starting again may take.
        self._start = min(self._start, 5.0 + 3.0 * (time.monotonic() - begin))
        return answer

    def _begin(self) -> "subprocess.Popen[str]":
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=self._folder,
            env=os.environ | {"OMP_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu"},
        )
        return self._process

    def end(self) -> None:
        """Ends the process, whatever it is at."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                _close(_given(stream))
            self._process = None


def _close(stream: IO[str]) -> None:
    with contextlib.suppress(BrokenPipeError):  # What it was asked last has not reached it.
        stream.close()


def _given(stream: IO[str] | None) -> IO[str]:
    assert stream is not None  # both are pipes
    return stream


def _line(stream: IO[str], seconds: float) -> str:
    """The next line, `TimeoutError` if none comes.

    A line is waited for only when none has been read ahead: there is one for each question.
    """
    ready, _, _ = select.select([stream], [], [], seconds)
    if not ready:
        raise TimeoutError
    return stream.readline()
