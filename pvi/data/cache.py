"""A directory of downloaded files: where it lies, how a file gets in, how it is checked."""

import hashlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from pvi import files
from pvi.data.errors import HashMismatchError
from pvi.validate import file_name, instance, mapping

CACHE_VARIABLE = "DP_ASSAY_CACHE"
"""Environment variable that names another cache directory."""


def cache_directory(
    override: str | os.PathLike[str] | None = None,
    *,
    platform: str = sys.platform,
    environment: Mapping[str, str] = os.environ,
) -> Path:
    """Where downloads are kept: the argument, or `DP_ASSAY_CACHE`, or the platform's convention.

    That is `$XDG_CACHE_HOME` or `~/.cache` on Linux and other Unix systems, `~/Library/Caches` on
    macOS, `%LOCALAPPDATA%` on Windows, each with `dp-assay` below it. Nothing is created here.

    Example:
      >>> cache_directory("here").name
      'here'
    """
    if override is not None:
        return file_name("override", override).expanduser()
    instance("platform", platform, str)
    mapping("environment", environment)
    if named := environment.get(CACHE_VARIABLE):
        return Path(named).expanduser()
    if platform == "win32":
        local = environment.get("LOCALAPPDATA")
        base = Path(local) if local else Path.home() / "AppData" / "Local"
    elif platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        xdg = environment.get("XDG_CACHE_HOME", "")
        # The XDG specification says that a relative path is to be ignored.
        base = Path(xdg) if xdg and Path(xdg).is_absolute() else Path.home() / ".cache"
    return base / "dp-assay"


def check_sha256(content: bytes, expected: str, origin: str) -> bytes:
    """The same bytes, once their hash has been found right.

    Example:
      >>> check_sha256(b"", hashlib.sha256(b"").hexdigest(), "nowhere")
      b''
    """
    found = hashlib.sha256(content).hexdigest()
    if found != expected:
        raise HashMismatchError(
            f"{origin} has sha256 {found} ({len(content)} bytes), expected {expected}: it is "
            "damaged or another version"
        )
    return content


def write_atomically(path: Path, content: bytes) -> None:
    """Writes a file, and its folder if need be, that others see whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    files.write_atomically(path, content)
