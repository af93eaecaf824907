"""Who sent these bytes: a key that a coordinator and one holder share, and nobody between them.

An ask is HMAC-SHA256(key, "ask" + content) + content; an answer's code covers the ask's as well, so
that an old answer cannot stand for a new one. Whatever carries the bytes (Flower's server, network
and nodes, a courier) can read and lose them, and can neither make nor change them. Repeating an ask
is harmless: the protocol answers it as before, or refuses it.
"""

import hashlib
import hmac
import os
import secrets
import stat

from accountants import validate
from accountants.files import write_atomically

CODE = hashlib.sha256().digest_size
_KEY = 32


class SealError(ValueError):
    """Bytes that do not come from whom they should come from."""


def new_key(path: str | os.PathLike[str]) -> None:
    """Writes a new key into a file that only its owner can read."""
    file = validate.file_name("path", path)
    # Made with its mode, so that there is no time in which others can read it.
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as stream:
        stream.write(secrets.token_bytes(_KEY).hex().encode("ascii") + b"\n")
    write_atomically(file, file.read_bytes())  # forced to the disk, with its name


class Seal:
    """Seals and opens what one holder is asked and answers.

    Args:
      key: 32 bytes.
    """

    def __init__(self, key: bytes) -> None:
        if len(validate.instance("key", key, bytes)) != _KEY:
            raise ValueError(f"`key` must have {_KEY} bytes, got {len(key)}.")
        self._key = key

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Seal":
        """The seal of a key's file, which nobody but its owner may read."""
        file = validate.file_name("path", path)
        mode = file.stat().st_mode
        if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise ValueError(
                f"`key` must be a file that only its owner can read (chmod 600), got {file.name} "
                f"with the mode {stat.S_IMODE(mode):o}."
            )
        text = file.read_bytes().strip()
        try:
            return cls(bytes.fromhex(text.decode("ascii")))
        except ValueError as error:
            raise ValueError(
                f"`key` must be {_KEY} bytes in hexadecimal, got another file ({file.name})."
            ) from error

    def ask(self, content: bytes) -> bytes:
        """A sealed ask."""
        return self._code(b"ask", validate.instance("content", content, bytes)) + content

    def open_ask(self, sealed: bytes) -> bytes:
        """What is asked.

        Raises:
          SealError: Not by who has the key.
        """
        return self._open(b"ask", sealed)

    def answer(self, asked: bytes, content: bytes) -> bytes:
        """A sealed answer to a sealed ask."""
        label = b"answer" + validate.instance("asked", asked, bytes)[:CODE]
        return self._code(label, validate.instance("content", content, bytes)) + content

    def open_answer(self, asked: bytes, sealed: bytes) -> bytes:
        """What is answered to a sealed ask.

        Raises:
          SealError: Not by who has the key, or to another ask.
        """
        label = b"answer" + validate.instance("asked", asked, bytes)[:CODE]
        return self._open(label, sealed)

    def _open(self, label: bytes, sealed: bytes) -> bytes:
        whole = validate.instance("sealed", sealed, bytes)
        code, content = whole[:CODE], whole[CODE:]
        if not hmac.compare_digest(code, self._code(label, content)):
            raise SealError("these bytes are not sealed with the key of this run's other side")
        return content

    def _code(self, label: bytes, content: bytes) -> bytes:
        return hmac.digest(self._key, label + b"\0" + content, "sha256")
