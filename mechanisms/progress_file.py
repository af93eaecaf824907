"""Progress events in a file, a line each, for whoever watches from another process."""

import os
from pathlib import Path
from types import TracebackType
from typing import Self

from accountants import validate
from mechanisms.progress import ProgressEvent, from_json, to_json

_MOST_BYTES = 2**24


class ProgressWriter:
    """An observer that appends each event to a file, which may have been begun by a run that died.

    Args:
      path: The file.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        file = validate.file_name("path", path)
        self._file = file.open("ab", buffering=0)
        if self._file.tell() and _last_byte(file) != b"\n":
            self._file.write(b"\n")  # the line that was being written stays apart

    def __call__(self, event: ProgressEvent) -> None:
        """Appends the event."""
        self._file.write(to_json(event).encode("ascii") + b"\n")

    def close(self) -> None:
        """Ends it."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.close()


def read_progress(path: str | os.PathLike[str], offset: int = 0) -> tuple[list[ProgressEvent], int]:
    """The events from `offset` on, and where the next ones will begin.

    A line that is still being written is left for the next time; one that a dying process cut off
    is passed over, as the run tells of its round again.
    """
    validate.count("offset", offset, minimum=0)
    file = validate.file_name("path", path)
    if not file.exists():
        return [], offset
    with file.open("rb") as stream:
        stream.seek(offset)
        content = stream.read(_MOST_BYTES)
    whole = content[: content.rfind(b"\n") + 1]
    if not whole and len(content) == _MOST_BYTES:
        whole = content  # no event is so long
    found = []
    for line in whole.splitlines():
        try:
            found.append(from_json(line.decode("ascii")))
        except (ValueError, TypeError):
            continue
    return found, offset + len(whole)


def _last_byte(file: Path) -> bytes:
    with file.open("rb") as stream:
        stream.seek(-1, os.SEEK_END)
        return stream.read(1)
