"""Records that show it when they were damaged: JSON with a checksum of its content.

python -m accountants.seals FILE …     # gives a checksum to records that have none, or were edited

A checksum finds accidents (a flipped bit, a cut line, an edit without thinking); it is no
signature, and stops nobody who means to deceive.
"""

import hashlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from accountants.files import write_atomically

SEAL = "sha256"
"""The name under which a checksum stands beside what it is of."""


class DamagedError(ValueError):
    """A record's content is not what was written."""


class _Readable(Protocol):
    """A path, or a file inside of a package."""

    @property
    def name(self) -> str:
        """Without its folder."""

    def read_bytes(self) -> bytes:
        """The content."""


def checksum(content: Any) -> str:
    """The SHA-256 of what JSON can hold, whatever the order of keys and the white space.

    >>> checksum({"a": 1, "b": [2.5]}) == checksum({"b": [2.5], "a": 1})
    True
    """
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def sealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """The content with its checksum, in place of any that it had.

    >>> sorted(sealed({"epsilon": 1.0}))
    ['epsilon', 'sha256']
    """
    # As it will be read: 1 as a key becomes "1", a tuple a list.
    bare: dict[str, Any]
    bare = json.loads(json.dumps({key: content[key] for key in content if key != SEAL}))
    return bare | {SEAL: checksum(bare)}


def unsealed(text: str | bytes, name: str) -> dict[str, Any]:
    """What was sealed, without the checksum.

    Args:
      text: JSON of what `sealed` gave.
      name: What it is, for the message.

    Raises:
      DamagedError: It is no JSON object, has no checksum, or another content's.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"{name} must be JSON, got something else: {error}.") from error
    if not isinstance(content, dict) or not isinstance(content.get(SEAL), str):
        raise DamagedError(f"{name} must have a checksum ({SEAL}), got none.")
    if content.pop(SEAL) != checksum(content):
        raise DamagedError(f"{name} must be as it was written: its {SEAL} is another content's.")
    return content


def read_sealed(file: _Readable) -> dict[str, Any]:
    """What `write_sealed` put into the file, without the checksum.

    Raises:
      DamagedError: The file holds anything else.
      OSError: It cannot be read.
    """
    return unsealed(file.read_bytes(), file.name)


def write_sealed(path: str | os.PathLike[str], content: Mapping[str, Any]) -> dict[str, Any]:
    """Writes the content with its checksum, whole or not at all; gives what was written."""
    whole = sealed(content)
    write_atomically(path, json.dumps(whole, indent=1, ensure_ascii=False) + "\n")
    return whole


def main(arguments: Sequence[str]) -> None:
    """Seals the files as they are."""
    for name in arguments:
        write_sealed(name, json.loads(Path(name).read_text(encoding="utf-8")))


if __name__ == "__main__":
    main(sys.argv[1:])
