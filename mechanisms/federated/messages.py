"""What coordinator and holder say to each other, beyond the engine's own protocol.

Several messages travel together as one bundle: an 8-byte length before each. A bundle belongs to
one run. Bytes that are not exactly that are a `WireError`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from accountants import validate
from pvi import PROTOCOL, Delivery, Kind, WireError
from pvi.wire import MOST_BYTES

_LENGTH = 8
_MOST_MESSAGES = 64

Reason: TypeAlias = Literal["permission", "budget", "protocol", "failed"]
REASONS: tuple[Reason, ...] = ("permission", "budget", "protocol", "failed")


def _client(value: int) -> None:
    validate.count("client", value, minimum=0)


def _optional(name: str, value: float | None) -> None:
    if value is not None:
        validate.non_negative(name, value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Engage:
    """Asks a holder to take part in the run, as this client of this experiment.

    Attributes:
      client: Its number there.
      experiment: The experiment as JSON.
    """

    client: int
    experiment: str

    def __post_init__(self) -> None:
        _client(self.client)
        validate.text("experiment", self.experiment)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a holder stands in the run: what it has committed and followed.

    Attributes:
      client: Its number.
      sequence: Of its last resolved update.
      revisions: How many revisions it has followed.
      pending: Whether an update is unresolved.
    """

    client: int
    sequence: int
    revisions: int
    pending: bool

    def __post_init__(self) -> None:
        _client(self.client)
        validate.count("sequence", self.sequence, minimum=0)
        validate.count("revisions", self.revisions, minimum=0)
        validate.flag("pending", self.pending)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Asks a holder what it has spent."""

    client: int

    def __post_init__(self) -> None:
        _client(self.client)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What a holder says of its own budget. Nothing in it depends on its data.

    Attributes:
      client: Its number.
      messages: How many messages of this run have been paid for.
      scope: The scope of the holder's budget, in words.
      delta: The budget's δ.
      limit: The ε that is never exceeded, over all runs.
      spent: An upper bound of what all runs have cost so far, in that scope.
      scopes: The experiment's scopes, in words.
      costs: For each of them, an upper bound of what this run has cost so far, at the experiment's
        δ; None where no finite one is proved.
    """

    client: int
    messages: int
    scope: str
    delta: float
    limit: float
    spent: float | None
    scopes: tuple[str, ...]
    costs: tuple[float | None, ...]

    def __post_init__(self) -> None:
        _client(self.client)
        validate.count("messages", self.messages, minimum=0)
        validate.text("scope", self.scope)
        validate.open_unit("delta", self.delta)
        validate.positive("limit", self.limit)
        _optional("spent", self.spent)
        # JSON has lists only.
        object.__setattr__(self, "scopes", validate.sequence("scopes", self.scopes, validate.text))
        costs: tuple[Any, ...] = validate.sequence("costs", self.costs)
        for cost in costs:
            _optional("costs", cost)
        object.__setattr__(self, "costs", costs)
        if len(self.costs) != len(self.scopes):
            raise ValueError(
                f"`costs` must have one entry per scope ({len(self.scopes)}), got {len(costs)}."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A holder's no.

    Attributes:
      client: Who was asked.
      kind: "permission": its owner does not allow that. "budget": it does not fit any more.
        "protocol": the message cannot follow here. "failed": no answer could be computed.
      reason: In words, which say nothing of the data.
    """

    client: int
    kind: Reason
    reason: str

    def __post_init__(self) -> None:
        _client(self.client)
        validate.one_of("kind", self.kind, REASONS)
        validate.text("reason", self.reason)


FEDERATED = PROTOCOL.including(
    Kind.of("engage", Engage),
    Kind.of("standing", Standing),
    Kind.of("question", Question),
    Kind.of("statement", Statement),
    Kind.of("refusal", Refusal),
)
"""Knows the engine's messages and these."""


def bundle(messages: Sequence[Any], *, run: str) -> bytes:
    """The messages as one piece of bytes.

    Raises:
      WireError: They are too many, too long, or one cannot be written.
    """
    listed: tuple[Any, ...] = validate.sequence("messages", messages)
    parts = [FEDERATED.encode(message, run=run) for message in listed]
    content = b"".join(len(part).to_bytes(_LENGTH, "big") + part for part in parts)
    if len(parts) > _MOST_MESSAGES or len(content) > MOST_BYTES:
        raise WireError(
            f"a bundle has at most {_MOST_MESSAGES} messages and {MOST_BYTES} bytes, got "
            f"{len(parts)} and {len(content)}"
        )
    return content


def unbundle(content: bytes) -> Delivery:
    """The run, and the tuple of its messages.

    Raises:
      WireError: The bytes are no such bundle, or speak of several runs.
    """
    validate.instance("content", content, bytes)
    if not content or len(content) > MOST_BYTES:
        raise WireError(f"a bundle has 1 to {MOST_BYTES} bytes, got {len(content)}")
    messages: list[Any] = []
    runs, place = set(), 0
    while place < len(content):
        start = place + _LENGTH
        place = start + int.from_bytes(content[place:start], "big")
        if start > len(content) or place > len(content) or len(messages) == _MOST_MESSAGES:
            raise WireError("a bundle's lengths must add up, and its messages be few")
        run, message = FEDERATED.decode(content[start:place])
        runs.add(run)
        messages.append(message)
    if len(runs) != 1:
        raise WireError(f"a bundle must belong to one run, got {len(runs)}")
    return Delivery(runs.pop(), tuple(messages))
