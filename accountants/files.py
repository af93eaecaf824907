"""Files that are either the old ones or the new ones, whatever dies in between."""

import os
import secrets
import stat
from pathlib import Path


def write_atomically(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Replaces the file in one step, and returns once the disk holds it.

    The content goes to a file of its own in the same folder, under a name that no other writer has,
    to the disk, and then to its place; the folder is written out too, or the name could be lost.
    Whoever reads sees the old content or the new one. Of two writers at once, the later rename
    wins: they need a lock of their own. A process that is killed may leave a `.partial-…` behind,
    which nobody reads.

    Symbolic links are followed, and an existing file keeps its mode. What is not a regular file (a
    pipe, a device) cannot be replaced and is written to as it is.

    Args:
      path: The file; its folder must exist.
      content: Text is written as UTF-8, its line ends as they are.
    """
    given = Path(path)
    data = content.encode("utf-8") if isinstance(content, str) else content
    # Of the path as given: /dev/stdout leads to a pipe, whose resolved name does not exist.
    mode = given.stat().st_mode if given.exists() else None
    if mode is not None and not stat.S_ISREG(mode):
        given.write_bytes(data)  # a folder raises IsADirectoryError here
        return
    target = given.resolve()
    partial = target.with_name(f".partial-{secrets.token_hex(8)}")
    try:
        with partial.open("xb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), stat.S_IMODE(mode))
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, target)  # noqa: PTH105
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Writes the folder's own entries to the disk: a new name is lost with the power otherwise."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
