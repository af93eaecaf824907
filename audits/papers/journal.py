"""A study's journal: each finished job is one line, with a checksum, on the disk before the next.

A line that is not what was written (a flipped bit, a write cut short, an older format without
checksums) is never used: its job is done again.
"""

import contextlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

from accountants.seals import DamagedError, sealed, unsealed
from audits.papers.study import Job

Entry = dict[str, Any]


class BusyError(ValueError):
    """Another process is at work on the same study in the same folder."""


class Journal:
    """Results as they come in.

    Args:
      path: The file; it and its folder are made when the first entry is added.
      stream: Where damaged lines are named.
    """

    def __init__(self, path: Path, stream: TextIO) -> None:
        self.path = path
        self._stream = stream

    def entries(self, jobs: Sequence[Job]) -> dict[str, Entry]:
        """The lines that are of these jobs as they are now, by key."""
        if not self.path.exists():
            return {}
        wanted = {job.key: job.fingerprint for job in jobs}
        found = {}
        for number, line in enumerate(self.path.read_bytes().split(b"\n"), start=1):
            if not line:
                continue  # after the last line, or between a cut line and the next
            try:
                entry = unsealed(line, f"line {number} of {self.path.name}")
            except DamagedError as error:
                self._stream.write(f"warning: {error} It is not used, and its job done again.\n")
                continue
            key = str(entry.get("key"))
            if key in wanted and wanted[key] == entry.get("fingerprint"):
                found[key] = entry
        return found

    def add(self, job: Job, result: Any, seconds: float) -> Entry:
        """Writes an entry to the disk; gives it as a resumed study would read it."""
        entry = {"key": job.key, "fingerprint": job.fingerprint, "seconds": round(seconds, 2)}
        line = json.dumps(sealed(entry | {"result": result})).encode("ascii") + b"\n"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a+b") as file:
            end = file.seek(0, os.SEEK_END)
            if end:
                file.seek(end - 1)
                if file.read(1) != b"\n":
                    line = b"\n" + line  # after a line that a killed run did not finish
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        return unsealed(line, job.key)


@contextlib.contextmanager
def only_one(lock: Path) -> Iterator[None]:
    """Lets one process at a time into the block; the lock ends with the process, however it ends.

    The lock's file stays, empty: if it were removed, a third process could lock a new one while the
    second holds the old.

    Raises:
      BusyError: Another process is inside.
    """
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("ab") as file:
        try:
            import fcntl
        except ImportError:  # no such locks on this system
            yield
            return
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BusyError(
                f"{str(lock.parent)!r} must be used by one run of this study at a time, got a "
                f"second: another process holds {lock.name}. Wait for it, or give another folder."
            ) from error
        yield
