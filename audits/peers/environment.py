"""Virtual environments for other libraries: made on demand, kept, never ours.

What is audited or compared pins versions that clash with each other and with this project, so each
set of requirements gets an environment of its own in the user's cache folder, named by a digest of
the requirements and of the interpreter. A marker is written last: an environment without it was
not finished and is made anew. A lock keeps two processes from making the same one.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

from accountants import validate

_PATIENCE = 1800.0
_MARKER = "ready"


class InstallError(RuntimeError):
    """The requirements could not be installed."""


def cache_folder() -> Path:
    """Where environments are kept: `DP_ASSAY_CACHE`, or the user's cache folder."""
    named = os.environ.get("DP_ASSAY_CACHE")
    if named:
        return Path(named) / "environments"
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "dp-assay" / "environments"


def folder(requirements: Sequence[str], alone: Sequence[str] = ()) -> Path:
    """The folder of the environment with these requirements, whether it is there or not."""
    wanted = sorted(validate.sequence("requirements", requirements, _text, least=1))
    wanted += [f"{one} alone" for one in sorted(validate.sequence("alone", alone, _text))]
    digest = hashlib.sha256("\n".join([sys.version, *wanted]).encode()).hexdigest()[:16]
    return cache_folder() / digest


def python(requirements: Sequence[str], alone: Sequence[str] = ()) -> Path:
    """The interpreter of an environment in which exactly these requirements are installed.

    Args:
      requirements: With what they need in turn.
      alone: Without: of old releases that pin what no longer installs, and work with later ones.

    Raises:
      InstallError: pip could not install them; the message ends with what it said.
    """
    place = folder(requirements, alone)
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        interpreter = place / "bin" / "python"
        if not (place / _MARKER).exists():
            shutil.rmtree(place, ignore_errors=True)
            venv.create(place, with_pip=True, symlinks=True)
            _install(interpreter, requirements)
            if alone:
                _install(interpreter, alone, "--no-deps")
            listed = "\n".join([*requirements, *alone])
            (place / _MARKER).write_text(listed + "\n", encoding="utf-8")
    return interpreter


def _install(interpreter: Path, requirements: Sequence[str], *more: str) -> None:
    command = [str(interpreter), "-m", "pip", "install", "--quiet"]
    options = ["--disable-pip-version-check", "--no-input", *more]
    try:
        done = subprocess.run(
            [*command, *options, *requirements],
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise InstallError(f"{list(requirements)}: pip took over {_PATIENCE:g} s.") from None
    if done.returncode:
        raise InstallError(f"{list(requirements)}: {done.stderr.strip()[-500:]}")


def _text(name: str, value: object) -> str:
    if not isinstance(value, str) or not value or value.startswith("-"):
        raise ValueError(f"`{name}` must be pip's requirements, got {validate.shown(value)}.")
    return value
