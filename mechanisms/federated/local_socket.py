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
from mechanisms.federated.seal import CODE, SealError
from pvi.wire import MOST_BYTES

Answer: TypeAlias = Callable[[bytes], bytes]
_LENGTH = 8
_CHUNK = 2**20
_LONGEST_PATH = 100  # what every system takes
_PATIENCE = 30.0
_TICK = 0.2


class DoorError(OSError):
    """Nobody answers at a holder's socket, or not in time."""


def serve(
    path: str | os.PathLike[str],
    answer: Answer,
    *,
    mode: int = 0o600,
    idle: float | None = None,
    patience: float = _PATIENCE,
    stopped: Callable[[], bool] = lambda: False,
) -> None:
    """Answers one courier after the other.

    Args:
      path: The socket's file; one that is left over from an earlier process is replaced.
      answer: Gives the answer; on a `SealError` the connection is closed without one.
      mode: Who may connect: 0600 for the same user, 0660 for a group of which the courier is.
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
                        _serve_one(guest, answer, patience)
                    except (OSError, SealError):
                        continue  # the courier has gone, dawdled, or has no seal
                last = time.monotonic()
        finally:
            file.unlink(missing_ok=True)


def ask(path: str | os.PathLike[str], content: bytes, *, patience: float = _PATIENCE) -> bytes:
    """The answer to one question.

    Raises:
      DoorError: There is none.
    """
    file = _socket_file(path)
    until = time.monotonic() + patience
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as own:
            own.settimeout(patience)
            own.connect(os.fspath(file))
            _send(own, content, until)
            return _receive(own, until)
    except OSError as error:
        raise DoorError(f"no answer from the holder at {file}: {error}") from error


def _socket_file(path: str | os.PathLike[str]) -> Path:
    file = validate.file_name("path", path)
    if len(os.fsencode(file)) > _LONGEST_PATH:
        raise ValueError(f"`path` must have at most {_LONGEST_PATH} bytes, got {file}.")
    return file


def _serve_one(guest: socket.socket, answer: Answer, patience: float) -> None:
    asked = _receive(guest, time.monotonic() + patience)
    _send(guest, answer(asked), time.monotonic() + patience)


def _send(own: socket.socket, content: bytes, until: float) -> None:
    _wait(own, until)
    own.sendall(len(content).to_bytes(_LENGTH, "big"))
    for start in range(0, len(content), _CHUNK):
        _wait(own, until)
        own.sendall(content[start : start + _CHUNK])


def _receive(own: socket.socket, until: float) -> bytes:
    size = int.from_bytes(_exactly(own, _LENGTH, until), "big")
    if size > MOST_BYTES + CODE:
        raise OSError(f"a message of {size} bytes is too long")
    return _exactly(own, size, until)


def _exactly(own: socket.socket, size: int, until: float) -> bytes:
    parts, missing = [], size
    while missing:
        _wait(own, until)
        part = own.recv(min(missing, _CHUNK))
        if not part:
            raise ConnectionError("the other side has gone")
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


def _wait(own: socket.socket, until: float) -> None:
    """A deadline for the whole, which a trickle of bytes does not move."""
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError("it took too long")
    own.settimeout(left)
