"""A checkpoint's file: named arrays and one JSON text under a checksum; nothing that runs.

The first line names the format, the second is the SHA-256 of all that follows: a line of JSON (what
the file is about, the facts, and each array's name, type and shape), then the arrays' bytes one
after the other. Nothing is compressed and the declared sizes must add up to the file's, so a file
asks for no more memory than it has bytes.

The checksum finds damage. It does not find a forger, who can compute it too: whoever can write the
file can write any state into it.
"""

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

_FORMAT = b"pvi-checkpoint-3\n"
_DIGEST = hashlib.sha256().digest_size * 2 + 1
_TYPES = ("<f8", "<f4", "<i8", "<i4", "|b1")


class CheckpointError(ValueError):
    """A file that is not a whole checkpoint, or not one of this run; nothing has changed."""


class Packed(NamedTuple):
    """A state in plain things.

    Attributes:
      facts: What JSON can hold.
      arrays: The arrays, by name.
    """

    facts: Mapping[str, Any]
    arrays: Mapping[str, npt.NDArray[Any]]


Apply: TypeAlias = Callable[[], None]
"""Puts a state that has been found right in its place; cannot fail."""


class Companion(Protocol):
    """State that goes wherever the engine's state goes."""

    @property
    def kind(self) -> str:
        """Its name in the file."""
        ...

    def pack(self) -> Packed:
        """Gives the state."""
        ...

    def unpack(self, packed: Packed) -> Apply:
        """Checks a saved state against what is here, changes nothing, and gives what applies it.

        Raises:
          CheckpointError: It does not fit. Any other exception is reported as one.
        """
        ...


def encode(kind: Any, packed: Packed, *, form: bytes = _FORMAT) -> bytes:
    """The file of a state; `kind` says whose, `form` is the line that names the format.

    Raises:
      CheckpointError: There is something that cannot be written.
    """
    arrays = {name: np.asarray(value) for name, value in packed.arrays.items()}
    for name, array in arrays.items():
        if array.dtype.newbyteorder("<").str not in _TYPES:
            raise CheckpointError(f"cannot save {name!r}: its type is {array.dtype}")
    header = {
        "kind": kind,
        "facts": packed.facts,
        "arrays": [
            [name, array.dtype.newbyteorder("<").str, array.shape] for name, array in arrays.items()
        ],
    }
    try:
        text = json.dumps(header, allow_nan=False, default=_plain).encode("ascii")
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"cannot save: {error}") from error
    parts = [array.astype(array.dtype.newbyteorder("<")).tobytes() for array in arrays.values()]
    body = b"".join([text, b"\n", *parts])
    return form + hashlib.sha256(body).hexdigest().encode("ascii") + b"\n" + body


def decode(kind: str, content: bytes) -> Packed:
    """The state that `encode` was given.

    Raises:
      CheckpointError: The content is damaged, or of another kind or format.
    """
    found, packed = read(content, form=_FORMAT)
    if found != kind:
        raise CheckpointError(f"the file is a checkpoint of a {found!r}; a {kind!r} is needed")
    return packed


def read(content: bytes, *, form: bytes, longest_header: int | None = None) -> tuple[Any, Packed]:
    """What `encode` was given: the kind, which may be anything that JSON holds, and the state.

    Args:
      content: The bytes.
      form: The line that names the format.
      longest_header: The most bytes that the JSON may have, where it is a stranger's: unlike the
        arrays, which are as long in memory as they are here, JSON unfolds.

    Raises:
      CheckpointError: The content is damaged, or of another format.
    """
    if not content.startswith(form):
        raise CheckpointError(
            f"the format must be {form!r}, got {content[: len(form)]!r}: another file"
        )
    body = content[len(form) + _DIGEST :]
    digest = hashlib.sha256(body).hexdigest().encode("ascii") + b"\n"
    if content[len(form) : len(form) + _DIGEST] != digest:
        raise CheckpointError("the checksum does not match: the file is damaged or cut off")
    try:
        end = body.index(b"\n", 0, longest_header)
        header = json.loads(body[:end], parse_constant=_refuse)
        found, facts, listed = header["kind"], header["facts"], header["arrays"]
        arrays = _arrays(listed, body, end + 1)
    except CheckpointError:
        raise
    except Exception as error:
        raise CheckpointError(f"the header is not one: {error!r}") from error
    return found, Packed(facts, arrays)


def _arrays(listed: Any, body: bytes, offset: int) -> dict[str, npt.NDArray[Any]]:
    """The arrays, whose sizes must add up to what is there."""
    arrays: dict[str, npt.NDArray[Any]] = {}
    for name, kind, shape in listed:
        if kind not in _TYPES or name in arrays:
            raise CheckpointError(f"array {name!r} of type {kind!r} is not allowed")
        if not all(type(length) is int and length >= 0 for length in shape):
            raise CheckpointError(f"array {name!r} has the shape {shape!r}")
        count = math.prod(shape)
        size = count * np.dtype(kind).itemsize
        if size > len(body) - offset:
            raise CheckpointError(f"array {name!r} is longer than the file")
        array = np.frombuffer(body, dtype=kind, count=count, offset=offset)
        # A native copy: aligned, and writable like any other.
        arrays[name] = array.reshape(shape).astype(array.dtype.newbyteorder("="))
        offset += size
    if offset != len(body):
        raise CheckpointError(f"{len(body) - offset} bytes of the file belong to nothing")
    return arrays


def _plain(value: object) -> object:
    """Gives what JSON can hold; generators keep their state in arrays and numpy integers."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"a {type(value).__name__} has no place in JSON")


def _refuse(constant: str) -> Any:
    raise CheckpointError(f"{constant} is not allowed")
