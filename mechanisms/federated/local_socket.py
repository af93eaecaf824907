"""A holder's only door: a socket in the file system, for couriers on the same machine.

One question, one answer, one connection: an 8-byte length and the bytes, each way. Nothing listens
on a network. Who may come in is the file's mode; who may ask is the seal's matter.
"""

import os
import socket
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from accountants import validate
from mechanisms.federated.courier_app.doors import MOST_BYTES, PATIENCE, receive, send
from mechanisms.federated.seal import SealError

Answer: TypeAlias = Callable[[bytes], bytes]
_LONGEST_PATH = 100  # what every system takes
_TICK = 0.2


def serve(
    path: str | os.PathLike[str],
    answer: Answer,
    *,
    mode: int = 0o600,
    most: int = MOST_BYTES,
    idle: float | None = None,
    patience: float = PATIENCE,
    stopped: Callable[[], bool] = lambda: False,
) -> None:
    """Answers one courier after the other.

    Args:
      path: The socket's file; one that is left over from an earlier process is replaced.
      answer: Gives the answer; on a `SealError` the connection is closed without one.
      mode: Who may connect: 0600 for the same user, 0660 for a group of which the courier is.
      most: The longest question.
      idle: Seconds without a question after which this ends; None for never.
      patience: Seconds for one question to come in, and for its answer to be taken.
      stopped: Asked several times a second whether to end.
    """
    file = _socket_file(path)
    if file.exists():
        if not stat.S_ISSOCK(file.stat().st_mode):
            raise ValueError(f"`path` must be free or a socket, got {file}.")
        file.unlink()
    last = time.monotonic()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
        before = os.umask(0o777)  # nobody comes in before the mode is right
        try:
            door.bind(os.fspath(file))
        finally:
            os.umask(before)
        file.chmod(mode)
        door.listen(8)
        door.settimeout(_TICK)
        try:
            while not stopped() and (idle is None or time.monotonic() - last < idle):
                try:
                    guest, _ = door.accept()
                except TimeoutError:
                    continue
                with guest:
                    try:
                        _serve_one(guest, answer, patience, most)
                    except (OSError, SealError):
                        continue  # the courier has gone, dawdled, or has no seal
                last = time.monotonic()
        finally:
            file.unlink(missing_ok=True)


def _socket_file(path: str | os.PathLike[str]) -> Path:
    file = validate.file_name("path", path)
    if len(os.fsencode(file)) > _LONGEST_PATH:
        raise ValueError(f"`path` must have at most {_LONGEST_PATH} bytes, got {file}.")
    return file


def _serve_one(guest: socket.socket, answer: Answer, patience: float, most: int) -> None:
    asked = receive(guest, time.monotonic() + patience, most)
    send(guest, answer(asked), time.monotonic() + patience)
