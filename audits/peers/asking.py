"""A peer in a process of its own, asked one question at a time, with so many seconds for each."""

import json
import os
import select
import subprocess
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from audits.peers import environment
from audits.peers.peer import Peer
from audits.peers.question import Question

_SCRIPT = Path(__file__).with_name("asked.py")
# Importing a peer may take as long as an answer; the first question waits for it as well.
_START = 60.0


class Asked:
    """A peer that answers; it is started again after it took too long or died.

    >>> with Asked(PEERS["opendp"]) as peer:  # doctest: +SKIP
    ...     peer.ask(question(event, relation, 1e-5), seconds=30.0)
    {'upper': 4.73, 'seconds': 0.2}
    """

    def __init__(self, peer: Peer) -> None:
        self._command = [
            str(environment.python(peer.requirements)),
            "-E",
            "-s",
            str(_SCRIPT),
            peer.name,
        ]
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    def ask(self, asked: Question, seconds: float) -> dict[str, Any]:
        """The answer, or {"timed_out": seconds}, or {"failed": …} where the process died."""
        process, patience = self._process, seconds
        if process is None:
            process, patience = self._begin(), seconds + _START
        try:
            _given(process.stdin).write(json.dumps(asked) + "\n")
            _given(process.stdin).flush()
            line = _line(_given(process.stdout), patience)
        except (TimeoutError, OSError) as reason:
            self._end()
            if isinstance(reason, TimeoutError):
                return {"timed_out": seconds}
            return {"failed": "the process died"}
        if not line:
            self._end()
            return {"failed": "the process died"}
        found: dict[str, Any] = json.loads(line)
        return {"timed_out": seconds} if found["seconds"] > seconds else found

    def _begin(self) -> "subprocess.Popen[str]":
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu"},
        )
        return self._process

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                _given(stream).close()
            self._process = None


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
