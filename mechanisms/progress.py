"""What a run says of itself while it goes: events that an observer is told, here or from afar.

The in-process run (`mechanisms.observed`) and a coordinator of holders tell the same ones, so
that whoever watches need not know which it is. An event holds only what the releases cover, what
is public, or what a holder states of its own budget. How many records a client screened, or whose
local solver failed, depends on the data, is part of no release, and is therefore in no event.

Running times, and who takes part when, are taken not to depend on the data; every certificate says
so among its assumptions.
"""

import dataclasses
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from accountants import codec, validate

MOST_COORDINATES = 256
"""A summary of a posterior has no more coordinates; the first ones are shown."""

Status: TypeAlias = Literal["online", "pending", "retried", "offline"]
STATUSES: tuple[Status, ...] = ("online", "pending", "retried", "offline")
MEASURES = ("accuracy", "rmse")
TRAFFIC = ("payload", "wire")


def _round(value: int, minimum: int = 0) -> int:
    return validate.count("round", value, minimum=minimum)


def _optional(check: Callable[[str, Any], float], name: str, value: float | None) -> None:
    if value is not None:
        check(name, value)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunBegan:
    """A process has begun to make rounds, or goes on where an earlier one was ended.

    Attributes:
      name: For people.
      clients: M.
      rounds: T, at which the run ends.
      round: Rounds made before; 0 for a new run.
    """

    name: str
    clients: int
    rounds: int
    round: int = 0

    def __post_init__(self) -> None:
        validate.text("name", self.name)
        validate.count("clients", self.clients)
        validate.count("rounds", self.rounds)
        validate.count("round", self.round, minimum=0, maximum=self.rounds)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundBegan:
    """A round has begun; rounds are counted from 1."""

    round: int

    def __post_init__(self) -> None:
        _round(self.round, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundEnded:
    """A round has been made, and saved if the run is.

    Attributes:
      round: Its number.
      clients: Who updated, in order.
      change: The largest |Δλ| / (1 + |λ|) over the posterior's natural parameters, or over the
        weights where there is no posterior.
      seconds: What the round took; None where the process that timed it is gone.
      note: Why the round was not the one that the schedule intended; "" if it was.
    """

    round: int
    clients: tuple[int, ...]
    change: float
    seconds: float | None = None
    note: str = ""

    def __post_init__(self) -> None:
        _round(self.round, 1)
        validate.sequence("clients", self.clients, _client)
        validate.non_negative("change", self.change)
        _optional(validate.non_negative, "seconds", self.seconds)
        validate.text("note", self.note)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientStatus:
    """Where a client stands with whoever runs the rounds.

    Attributes:
      client: Its number.
      status: "online", "pending" (asked, no answer yet), "retried" (asked again) or "offline".
      round: The round in which that is so.
    """

    client: int
    status: Status
    round: int = 0

    def __post_init__(self) -> None:
        _client("client", self.client)
        validate.one_of("status", self.status, STATUSES)
        _round(self.round)


@dataclass(frozen=True, slots=True, kw_only=True)
class PosteriorSummary:
    """The server's q after a round, or the weights: post-processing of what was released.

    Attributes:
      round: The round.
      dimension: The number of coordinates of θ.
      mean: The first coordinates' means, at most `MOST_COORDINATES` of them.
      std: Their standard deviations under q; None where there are only weights.
    """

    round: int
    dimension: int
    mean: tuple[float, ...]
    std: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        _round(self.round)
        validate.count("dimension", self.dimension)
        shown = min(self.dimension, MOST_COORDINATES)
        for name, values, check in (
            ("mean", self.mean, validate.real),
            ("std", self.std, validate.positive),
        ):
            if values is not None and len(validate.sequence(name, values, check)) != shown:
                raise ValueError(f"`{name}` must have {shown} entries, got {len(values)}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOutScore:
    """How well the estimate after a round predicts records that no client holds.

    No certificate speaks of those records: whoever holds them out decides that this may be seen.

    Attributes:
      round: The round.
      records: How many were held out.
      measure: "accuracy", the share of classes that the mean predicts rightly, or "rmse", the root
        of the mean squared error of its predictions.
      value: Its value.
    """

    round: int
    records: int
    measure: Literal["accuracy", "rmse"]
    value: float

    def __post_init__(self) -> None:
        _round(self.round)
        validate.count("records", self.records)
        validate.one_of("measure", self.measure, MEASURES)
        check = validate.closed_unit if self.measure == "accuracy" else validate.non_negative
        check("value", self.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """Bytes between one client and whoever runs the rounds, in one round.

    Attributes:
      round: The round.
      client: The client.
      sent: By the client.
      received: By the client.
      kind: "payload", the numbers in the messages at 8 bytes each, where nothing crosses a wire;
        "wire", what was counted there.
    """

    round: int
    client: int
    sent: int
    received: int
    kind: Literal["payload", "wire"]

    def __post_init__(self) -> None:
        _round(self.round)
        _client("client", self.client)
        validate.count("sent", self.sent, minimum=0)
        validate.count("received", self.received, minimum=0)
        validate.one_of("kind", self.kind, TRAFFIC)


@dataclass(frozen=True, slots=True, kw_only=True)
class EpsilonSpent:
    """What a client has spent so far in one scope, as whoever keeps its books reports it.

    Attributes:
      round: The round after which that is so.
      client: Whose budget.
      scope: The scope, as `str(Scope(...))` words it.
      delta: δ.
      spent: An upper bound of ε(δ) of all that the client has released; None where no finite one
        is proved.
      limit: The ε that is never exceeded; None where the client has set none in this scope.
      reporter: Who says so: "holder", the client's own process, or "run", computed by the run from
        its transcript.
    """

    round: int
    client: int
    scope: str
    delta: float
    spent: float | None
    limit: float | None = None
    reporter: Literal["holder", "run"] = "run"

    def __post_init__(self) -> None:
        _round(self.round)
        _client("client", self.client)
        validate.text("scope", self.scope)
        validate.open_unit("delta", self.delta)
        _optional(validate.non_negative, "spent", self.spent)
        _optional(validate.positive, "limit", self.limit)
        validate.one_of("reporter", self.reporter, ("holder", "run"))

    @property
    def left(self) -> float | None:
        """The limit less what is spent; None where either is not known, never below 0.

        How much more fits is not this number's to say: at δ > 0, ε of a composition is not a sum.
        A budget decides by its own books.
        """
        if self.limit is None or self.spent is None:
            return None
        return max(0.0, self.limit - self.spent)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded:
    """All rounds have been made; `round` is the last."""

    round: int

    def __post_init__(self) -> None:
        _round(self.round, 1)


ProgressEvent: TypeAlias = (
    RunBegan
    | RoundBegan
    | RoundEnded
    | ClientStatus
    | PosteriorSummary
    | HeldOutScore
    | Traffic
    | EpsilonSpent
    | RunEnded
)


class Observer(Protocol):
    """Is told each event, in order. What it raises ends the run."""

    def __call__(self, event: ProgressEvent) -> None:
        """Takes note."""
        ...


def _client(name: str, value: Any) -> int:
    return validate.count(name, value, minimum=0)


_KINDS: Mapping[str, type[Any]] = {
    re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower(): kind
    for kind in (
        RunBegan,
        RoundBegan,
        RoundEnded,
        ClientStatus,
        PosteriorSummary,
        HeldOutScore,
        Traffic,
        EpsilonSpent,
        RunEnded,
    )
}
_WORDS = {kind: word for word, kind in _KINDS.items()}


def to_json(event: ProgressEvent) -> str:
    """An event as one line of JSON.

    >>> to_json(RoundBegan(round=3))
    '{"event": "round_began", "round": 3}'
    """
    if type(event) not in _WORDS:
        raise TypeError(f"`event` must be a progress event, got {validate.shown(event)}.")
    body = {field.name: getattr(event, field.name) for field in dataclasses.fields(event)}
    return json.dumps({"event": _WORDS[type(event)]} | body, allow_nan=False, default=_plain)


def _plain(value: Any) -> Any:
    """Numpy's numbers as Python's."""
    return value.item()


def from_json(text: str) -> ProgressEvent:
    """What `to_json` wrote; `ValueError` or `TypeError` for anything else."""
    body = codec.expect(dict, "text", codec.read_json(validate.text("text", text)))
    word = body.pop("event", None)
    if not isinstance(word, str) or word not in _KINDS:
        raise ValueError(f"`event` must be one of {sorted(_KINDS)}, got {validate.shown(word)}.")
    kind = _KINDS[word]
    codec.expect_keys(word, body, {field.name for field in dataclasses.fields(kind)})
    found: ProgressEvent = kind(
        **{name: tuple(value) if isinstance(value, list) else value for name, value in body.items()}
    )
    return found
