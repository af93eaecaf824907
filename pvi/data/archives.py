"""Files out of archives, with a limit on what unpacking may yield.

Sizes that an archive states are checked before anything is unpacked, and as they may be lies, no
more than that is ever unpacked either.
"""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Callable, Collection
from pathlib import Path, PurePosixPath
from typing import IO, Protocol

from pvi.data.errors import DataError


class Readable(Protocol):
    """What yields bytes."""

    def read(self, size: int, /) -> bytes:
        """At most so many."""


_COMPRESSIONS: dict[bytes, Callable[[IO[bytes]], Readable]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\x00": lzma.LZMAFile,
}


def read_limited(stream: Readable, most: int, name: str) -> bytes:
    """All that the stream yields, if that is at most `most` bytes."""
    content = stream.read(most + 1)
    if len(content) > most:
        raise DataError(f"{name} must be at most {most:,} bytes, got more.")
    return content


def read_members(
    path: Path, names: Collection[str], *, most: int, no_others: bool = False
) -> dict[str, bytes]:
    """The members of these names, in whatever folder of a zip or tar archive, each there once.

    Args:
      path: A zip file, a wheel or a tar file, compressed or not.
      names: File names without folders.
      most: The most bytes of a member; of a tar file, which must be unpacked to be read, in all.
      no_others: Whether a zip file with other members is refused: a name may have been misspelt.

    Raises:
      DataError: It is no such archive, is damaged or encrypted, or yields more.
      OSError: It cannot be read.
    """
    with path.open("rb") as file:
        is_zip = zipfile.is_zipfile(file)
        file.seek(0)
        try:
            if is_zip:
                return _from_zip(file, names, most, str(path), no_others)
            return _from_tar(file, names, most, str(path))
        except DataError:
            raise
        except Exception as error:
            # What a damaged archive makes its reader raise is of any type: zlib.error, lzma's,
            # RuntimeError (encrypted), NotImplementedError (compression), KeyError, struct.error.
            what = str(error) or type(error).__name__
            raise DataError(f"{path} cannot be read as an archive: {what}") from error


def _from_zip(
    file: IO[bytes], names: Collection[str], most: int, origin: str, no_others: bool
) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    with zipfile.ZipFile(file) as archive:
        if no_others and (others := sorted({*archive.namelist()} - {*names})):
            raise DataError(f"{origin} must hold nothing but {sorted(names)}, got {others}.")
        for member in archive.infolist():
            name = PurePosixPath(member.filename).name
            if name not in names or member.is_dir():
                continue
            _refuse_second(name, found, origin)
            described = f"{member.filename} in {origin}"
            if member.file_size > most:
                raise DataError(
                    f"{described} must be at most {most:,} bytes, got {member.file_size:,}."
                )
            with archive.open(member) as content:
                found[name] = read_limited(content, most, described)
    return found


def _from_tar(file: IO[bytes], names: Collection[str], most: int, origin: str) -> dict[str, bytes]:
    start = file.read(6)
    file.seek(0)
    opened = [way for magic, way in _COMPRESSIONS.items() if start.startswith(magic)]
    stream: Readable = opened[0](file) if opened else file
    plain = io.BytesIO(read_limited(stream, most, f"{origin}, unpacked,"))
    if not tarfile.is_tarfile(plain):
        raise DataError(f"{origin} is neither a zip, a wheel nor a tar archive")
    plain.seek(0)
    found: dict[str, bytes] = {}
    with tarfile.open(fileobj=plain, mode="r:") as archive:
        for entry in archive:
            name = PurePosixPath(entry.name).name
            if name not in names or not entry.isfile():
                continue
            _refuse_second(name, found, origin)
            if entry.size > most:  # of a sparse file, whose holes are stored nowhere
                raise DataError(f"{entry.name} in {origin} must be at most {most:,} bytes.")
            content = archive.extractfile(entry)
            assert content is not None  # it is a file
            found[name] = content.read()
    return found


def _refuse_second(name: str, found: Collection[str], origin: str) -> None:
    if name in found:
        raise DataError(f"{origin} must hold one {name}, got two.")
