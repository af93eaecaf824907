"""A question and its answer through a local socket: an 8-byte length and the bytes, each way."""

import os
import socket
import time
from pathlib import Path

MOST_BYTES = 2**26 + 2**16
"""The longest message, where nothing else is said."""
PATIENCE = 30.0
_LENGTH = 8
_CHUNK = 2**20


class DoorError(OSError):
    """Nobody answers at a socket, or not in time."""


def ask(path: Path, content: bytes, *, patience: float = PATIENCE, most: int = MOST_BYTES) -> bytes:
    """The answer to one question, of at most `most` bytes.

    Raises:
      DoorError: There is none.
    """
    until = time.monotonic() + patience
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as own:
            own.settimeout(patience)
            own.connect(os.fspath(path))
            send(own, content, until)
            return receive(own, until, most)
    except OSError as error:
        raise DoorError(f"no answer at {path}: {error}") from error


def send(own: socket.socket, content: bytes, until: float) -> None:
    """Sends a message before a moment of the monotonic clock."""
    _wait(own, until)
    own.sendall(len(content).to_bytes(_LENGTH, "big"))
    for start in range(0, len(content), _CHUNK):
        _wait(own, until)
        own.sendall(content[start : start + _CHUNK])


def receive(own: socket.socket, until: float, most: int) -> bytes:
    """The message that comes; `OSError` if it is longer than `most`, or late."""
    size = int.from_bytes(_exactly(own, _LENGTH, until), "big")
    if size > most:
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
