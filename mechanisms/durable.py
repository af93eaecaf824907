"""One writer at a time, over threads and processes, and a mark that only grows."""

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_WIDTH = 128
_PAUSE = 0.02


@dataclass(frozen=True, slots=True)
class Mark:
    """The highest number that was ever written under an identity, as far as the lock remembers.

    It lies in the lock's file, is written after what it speaks of, and is not forced to the disk:
    a crash can make it too low, never too high.
    """

    handle: int

    def read(self) -> tuple[str, int] | None:
        """Identity and number; None if there is no mark, or none that can be read."""
        words = os.pread(self.handle, _WIDTH, 0).decode("ascii", errors="replace").split()
        if len(words) != 2 or not words[1].isdecimal() or not words[1].isascii():
            return None
        return words[0], int(words[1])

    def write(self, identity: str, number: int) -> None:
        """Replaces the mark."""
        os.pwrite(self.handle, f"{identity} {number}".ljust(_WIDTH - 1).encode() + b"\n", 0)


@contextlib.contextmanager
def exclusive(path: Path, *, patience: float | None = None) -> Iterator[Mark]:
    """Waits until nobody else is inside for this path, in any thread or process of this machine.

    The lock is the file `NAME.lock` beside it, because the file itself is replaced as a whole. The
    system lets go of it when its holder dies. It must not be deleted while anyone is inside;
    whoever waits at a deleted one goes on to its successor.

    Args:
      path: What is locked; it need not exist.
      patience: Seconds after which waiting ends with `BlockingIOError`; None to wait for ever.
    """
    import fcntl  # POSIX only; the rest of the package does not need it

    lock = _lock_of(path)
    given_up = None if patience is None else time.monotonic() + patience
    while True:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            if not _locked(handle, given_up) or not _is_at(lock, handle):
                continue
            yield Mark(handle)
            return
        finally:
            # Unlocked by name: a process forked in the meantime has the handle too.
            fcntl.flock(handle, fcntl.LOCK_UN)
            os.close(handle)


def holder(path: Path) -> int | None:
    """The number that whoever is inside for this path has written as its mark; None if nobody is.

    To ask takes the lock for a moment, so whoever does not want to wait long for it should have a
    little patience.
    """
    import fcntl

    try:
        handle = os.open(_lock_of(path), os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        mark = Mark(handle).read()
        return 0 if mark is None else mark[1]
    finally:
        os.close(handle)
    return None


def _lock_of(path: Path) -> Path:
    return path.with_name(path.name + ".lock")


def _locked(handle: int, given_up: float | None) -> bool:
    """Takes the lock; False if it should be tried again."""
    import fcntl

    if given_up is None:
        fcntl.flock(handle, fcntl.LOCK_EX)
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        if time.monotonic() > given_up:
            raise
        time.sleep(_PAUSE)
        return False
    return True


def _is_at(path: Path, handle: int) -> bool:
    """Whether the open file still has this name."""
    try:
        return os.path.samestat(path.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False
