"""A coordinator's side of a courier that runs in another process and comes to ask for work.

The courier (a Flower ServerApp, say) connects to a local socket again and again: each time it
leaves the answers that it has brought, and takes the next questions. It may die and be replaced at
any time; what it had with it is asked for again.
"""

import threading
from collections.abc import Mapping
from pathlib import Path

from accountants import validate
from mechanisms.federated import local_socket
from mechanisms.federated.courier_app.exchanges import MOST_BYTES, OVER, WAITS, pack, unpack

_LONGEST_WAIT = 2.0
_GOODBYE = 3.0


class Relay:
    """Exchanges questions and answers with whoever carries them from the socket.

    Use it as a context; it listens as long as that lasts.

    Args:
      door: The socket's file.
      patience: Seconds for one exchange.
    """

    def __init__(self, door: Path, *, patience: float) -> None:
        self._door = door
        self._patience = validate.positive("patience", patience)
        self._changed = threading.Condition()
        self._number = 0
        self._asked: dict[int, bytes] = {}
        self._answers: dict[int, bytes] | None = None
        self._over = self._closed = False
        self._thread = threading.Thread(target=self._listen, daemon=True)

    def __enter__(self) -> "Relay":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.say_over()
        self._thread.join(_GOODBYE)  # time for a courier to come and hear it
        self._closed = True
        self._thread.join()

    def exchange(self, asked: Mapping[int, bytes]) -> Mapping[int, bytes]:
        """The answers that a courier brought in time."""
        with self._changed:
            self._number += 1
            self._asked, self._answers = dict(asked), None
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._answers is not None, self._patience)
            answers: dict[int, bytes] = self._answers or {}
            self._asked = {}
        return {client: answer for client, answer in answers.items() if client in asked}

    def say_over(self) -> None:
        """Sends couriers home."""
        with self._changed:
            self._over = True
            self._changed.notify_all()

    def _listen(self) -> None:
        local_socket.serve(self._door, self._answer, most=MOST_BYTES, stopped=lambda: self._closed)

    def _answer(self, brought: bytes) -> bytes:
        number, answers = unpack(brought)
        with self._changed:
            if number == self._number and self._asked and self._answers is None:
                self._answers = answers
                self._changed.notify_all()
            self._changed.wait_for(
                lambda: self._over or (bool(self._asked) and self._answers is None),
                _LONGEST_WAIT,
            )
            if self._over:
                return OVER
            if not self._asked or self._answers is not None:
                return WAITS
            return pack(self._number, self._asked)
