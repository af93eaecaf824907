"""What carries sealed bytes between a coordinator and its holders; it can read none and forge none.

A courier may lose, delay, double and reorder what it carries: the protocol minds none of that.
"""

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

from accountants import validate
from mechanisms.federated.courier_app import doors
from mechanisms.federated.courier_app.doors import DoorError
from mechanisms.federated.local_socket import Answer
from mechanisms.federated.seal import SealError

_PAUSE = 0.2


class Courier(Protocol):
    """Carries questions to clients, and brings back what they answer."""

    def exchange(self, asked: Mapping[int, bytes]) -> Mapping[int, bytes]:
        """The answers of those clients that could be reached in time, by number."""
        ...


class InProcess:
    """For tests and for holders in the same process.

    Args:
      holders: What answers, by client.
    """

    def __init__(self, holders: Mapping[int, Answer]) -> None:
        self._holders = {
            m: validate.function("holders", answer)
            for m, answer in validate.mapping("holders", holders).items()
        }

    def exchange(self, asked: Mapping[int, bytes]) -> Mapping[int, bytes]:
        """All answers but those to strangers."""
        found = {}
        for client, content in _checked(asked, self._holders):
            try:
                found[client] = self._holders[client](content)
            except SealError:
                continue
        return found


class LocalSockets:
    """Holders that are processes of this machine.

    Args:
      doors: Their sockets, by client.
      patience: Seconds to wait for an answer.
    """

    def __init__(self, doors: Mapping[int, Path], *, patience: float = 60.0) -> None:
        self._doors = {
            m: validate.file_name("doors", door)
            for m, door in validate.mapping("doors", doors).items()
        }
        self._patience = validate.positive("patience", patience)

    def exchange(self, asked: Mapping[int, bytes]) -> Mapping[int, bytes]:
        """The answers of all who opened; they are asked at the same time."""
        checked = dict(_checked(asked, self._doors))
        until = time.monotonic() + self._patience

        def ask(client: int) -> bytes | None:
            while (left := until - time.monotonic()) > 0:
                try:
                    return doors.ask(self._doors[client], checked[client], patience=left)
                except DoorError:  # a holder that was ended may be back in a moment
                    time.sleep(min(_PAUSE, left))
            return None

        if not checked:
            return {}
        with ThreadPoolExecutor(max_workers=min(32, len(checked))) as pool:
            answers = dict(zip(checked, pool.map(ask, checked), strict=True))
        return {client: answer for client, answer in answers.items() if answer is not None}


def _checked(asked: Mapping[int, bytes], known: Mapping[int, object]) -> list[tuple[int, bytes]]:
    """Questions to clients that are known."""
    found: list[tuple[int, bytes]] = []
    for client, content in validate.mapping("asked", asked).items():
        if client not in known:
            raise ValueError(f"`asked` must be clients of {sorted(known)}, got {client!r}.")
        found.append((client, validate.instance("asked", content, bytes)))
    return found
