"""Messages as bytes, for networks and for processes that do not trust each other.

A message is a line that names the format and its version, a SHA-256, a line of JSON (which run,
which kind, the message's plain fields, each array's name, type and shape) and the arrays' bytes.
Nothing in it can run, nothing is imported by name, sizes are limited before anything is made, and
whatever is not exactly one message is a `WireError`. The checksum finds accidents; who sent a
message is for the layer below to know.

A codec knows the kinds that it was given, and no others. `PROTOCOL` knows those of `pvi.messages`;
`PROTOCOL.including(Kind(…))` is a codec that knows one more.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from pvi.archive import CheckpointError, Packed, encode, read
from pvi.gaussian import MeanFieldGaussian
from pvi.messages import Acknowledgement, Revision, Snapshot, Update, Withdrawal
from pvi.validate import at_least, checked, function, instance, sequence, shown

_FORM = b"pvi-wire-1\n"
_LONGEST_NAME = 64
LONGEST_HEADER = 2**20
"""The most bytes of a message's JSON, where nothing else is said."""
MOST_BYTES = 2**26
"""The most bytes of a message, where nothing else is said: 4 million coordinates."""


class WireError(ValueError):
    """Bytes that are not exactly one message, or a message that does not fit into the limits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of message and how it becomes plain.

    Attributes:
      name: The word for it in the bytes, the same for ever.
      message: The class.
      pack: Gives its plain fields and its arrays.
      unpack: Makes it again. Whatever exception it raises is reported as a `WireError`; it should
        leave nothing unread.
    """

    name: str
    message: type[Any]
    pack: Callable[[Any], Packed]
    unpack: Callable[[Packed], Any]

    def __post_init__(self) -> None:
        _word("name", self.name)
        instance("message", self.message, type)
        function("pack", self.pack)
        function("unpack", self.unpack)

    @classmethod
    def of(cls, name: str, kind: type[Any]) -> Self:
        """The kind of a dataclass whose fields are plain, or Gaussians.

        >>> PROTOCOL.including(Kind.of("twice", Acknowledgement))
        Traceback (most recent call last):
        ValueError: `kinds` must have different names and types, got 'twice'.
        """
        if not (isinstance(kind, type) and dataclasses.is_dataclass(kind)):
            raise TypeError(f"`kind` must be a dataclass, got {shown(kind)}.")
        names = [field.name for field in dataclasses.fields(kind)]

        def pack(message: Any) -> Packed:
            fields = {name: getattr(message, name) for name in names}
            arrays = {k: v.vector for k, v in fields.items() if isinstance(v, MeanFieldGaussian)}
            return Packed({k: v for k, v in fields.items() if k not in arrays}, arrays)

        def unpack(packed: Packed) -> Any:
            fields = dict(packed.facts)
            for name, vector in packed.arrays.items():
                if name in fields or vector.dtype != np.float64:
                    raise WireError(f"{name!r} must be there once, as float64")
                fields[name] = MeanFieldGaussian.from_vector(vector)
            if set(fields) != set(names):
                raise WireError(f"a {name!r} must have the fields {names}, got {sorted(fields)}")
            return kind(**fields)

        return cls(name=_word("name", name), message=kind, pack=pack, unpack=unpack)


class Delivery(NamedTuple):
    """What came.

    Attributes:
      run: The name of the run that the message belongs to.
      message: The message.
    """

    run: str
    message: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Codec:
    """Writes and reads messages of certain kinds.

    Attributes:
      kinds: The kinds.
      most_bytes: The longest message.
      longest_header: The longest JSON in it.

    >>> content = PROTOCOL.encode(Withdrawal(client=1, sequence=2), run="spring")
    >>> PROTOCOL.decode(content)
    Delivery(run='spring', message=Withdrawal(client=1, sequence=2))
    """

    kinds: tuple[Kind, ...]
    most_bytes: int = MOST_BYTES
    longest_header: int = LONGEST_HEADER

    def __post_init__(self) -> None:
        sequence("kinds", self.kinds, Kind, least=1)
        at_least("most_bytes", self.most_bytes, 1)
        at_least("longest_header", self.longest_header, 1)
        for number, kind in enumerate(self.kinds):
            for other in self.kinds[:number]:
                if kind.name == other.name or kind.message is other.message:
                    raise ValueError(
                        f"`kinds` must have different names and types, got {kind.name!r}."
                    )

    def including(self, *kinds: Kind) -> "Codec":
        """A codec that knows these kinds as well."""
        return dataclasses.replace(self, kinds=(*self.kinds, *sequence("kinds", kinds, Kind)))

    def encode(self, message: Any, *, run: str) -> bytes:
        """The message's bytes.

        Raises:
          TypeError: The message is of no known kind.
          WireError: It is too long, or holds what cannot be written.
        """
        _word("run", run)
        kind = next((kind for kind in self.kinds if kind.message is type(message)), None)
        if kind is None:
            known = sorted(kind.name for kind in self.kinds)
            raise TypeError(f"`message` must be one of {known}, got {shown(message)}.")
        try:
            content = encode([kind.name, run], kind.pack(message), form=_FORM)
        except CheckpointError as error:
            raise WireError(f"a {kind.name!r} cannot be written: {error}") from error
        header = content.index(b"\n", len(_FORM) + 65) - len(_FORM) - 65
        if len(content) > self.most_bytes or header >= self.longest_header:
            raise WireError(
                f"a message must have at most {self.most_bytes} bytes, {self.longest_header} of "
                f"them JSON, got {len(content)} and {header}"
            )
        return content

    @checked(content=bytes)
    def decode(self, content: bytes) -> Delivery:
        """The message in the bytes, and its run.

        Raises:
          WireError: They are anything else than one message of a known kind.
        """
        if len(content) > self.most_bytes:
            raise WireError(f"a message has at most {self.most_bytes} bytes, got {len(content)}")
        try:
            (name, run), packed = read(content, form=_FORM, longest_header=self.longest_header)
            instance("facts", packed.facts, dict)
            kind = next((kind for kind in self.kinds if kind.name == name), None)
            if kind is None:
                raise WireError(f"no message is called {shown(name)}")
            return Delivery(_word("run", run), kind.unpack(packed))
        except WireError:
            raise
        except Exception as error:
            raise WireError(f"this is not one message: {error}") from error


def _word(name: str, value: Any) -> str:
    """A short printable text."""
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST_NAME or not value.isprintable():
        raise ValueError(
            f"`{name}` must be 1 to {_LONGEST_NAME} signs of text, got {shown(value)}."
        )
    return value


PROTOCOL = Codec(
    kinds=(
        Kind.of("snapshot", Snapshot),
        Kind.of("update", Update),
        Kind.of("acknowledgement", Acknowledgement),
        Kind.of("withdrawal", Withdrawal),
        Kind.of("revision", Revision),
    )
)
"""Knows the messages of `pvi.messages`."""
