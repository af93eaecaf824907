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
        self._holders = dict(holders)

    def exchange(self, asked: Mapping[int, bytes]) -> Mapping[int, bytes]:
        """All answers but those to strangers."""
        found = {}
        for client, content in asked.items():
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
        self._doors = dict(doors)
        self._patience = validate.positive("patience", patience)

    def exchange(self, asked: Mapping[int, bytes]) -> Mapping[int, bytes]:
        """The answers of all who opened; they are asked at the same time."""
        until = time.monotonic() + self._patience

        def ask(client: int) -> bytes | None:
            while (left := until - time.monotonic()) > 0:
                try:
                    return doors.ask(self._doors[client], asked[client], patience=left)
                except DoorError:  # a holder that was ended may be back in a moment
                    time.sleep(min(_PAUSE, left))
            return None

        if not asked:
            return {}
        with ThreadPoolExecutor(max_workers=min(32, len(asked))) as pool:
            answers = dict(zip(asked, pool.map(ask, asked), strict=True))
        return {client: answer for client, answer in answers.items() if answer is not None}
