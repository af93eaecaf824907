"""Files that other processes see whole or not at all."""

import os
import secrets
import stat
from pathlib import Path


def write_atomically(path: str | os.PathLike[str], content: bytes) -> None:
    """Replaces the file in one step, and returns once the disk holds it and its name.

    An existing file keeps its mode: what was private stays so.
    """
    target = Path(path).resolve()
    mode = target.stat().st_mode if target.exists() else None
    partial = target.with_name(f".partial-{secrets.token_hex(8)}")
    try:
        with partial.open("xb") as file:
            if mode is not None and os.name == "posix":
                os.fchmod(file.fileno(), stat.S_IMODE(mode))
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    if os.name != "posix":  # elsewhere, a folder cannot be opened
        return
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
