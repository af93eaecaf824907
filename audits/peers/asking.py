"""A peer in a process of its own, asked one question at a time, with so many seconds for each."""

import json
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from audits.peers import environment
from audits.peers.beside import Beside, EndedError
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
        python = str(environment.python(peer.requirements))
        self._process = Beside([python, "-E", "-s", str(_SCRIPT), peer.name], start=_START)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.end()

    def ask(self, asked: Question, seconds: float) -> dict[str, Any]:
        """The answer, or {"timed_out": seconds}, or {"failed": …} where the process died."""
        try:
            line = self._process.ask(json.dumps(asked), seconds)
        except TimeoutError:
            return {"timed_out": seconds}
        except EndedError as reason:
            return {"failed": str(reason)}
        found: dict[str, Any] = json.loads(line)
        return {"timed_out": seconds} if found["seconds"] > seconds else found
