"""A statement of cost that can be stored, sent and read again."""

import datetime
import json
import math
from dataclasses import dataclass, field
from typing import Any

import dp_accounting as dpa
from dp_accounting import NeighboringRelation
from dp_accounting.dp_event import (
    MixtureOfGaussiansDpEvent,
    TruncatedSubsampledGaussianDpEvent,
)

from accountants import codec, seals, validate, versions
from accountants.bounds import Bounds
from accountants.events import BallsInBinsDpEvent, ShuffledDpEvent

_FORMAT = "dp-assay/certificate"
_FIRST_FIELDS = {"event", "neighboring_relation", "points", "method", "assumptions", "versions"}
_FIELDS = _FIRST_FIELDS | {"unit", "engine", "tolerance", "date", "sampling", "noise_multiplier"}
_VERSION = 2
UNITS = ("record", "client")
"""Whose presence or data the neighbouring data sets differ in."""
NOISE_IN_WORDS = (
    "noise_multiplier is the noise's standard deviation divided by C, the norm bound of one "
    "record; the noise is drawn from the exact law, independently of everything else."
)
_SAMPLING_IN_WORDS: dict[type[dpa.DpEvent], str] = {
    dpa.PoissonSampledDpEvent: (
        "Poisson sampling: in each step each record is in the batch with the stated probability, "
        "on its own and anew, so that batches vary in size. Shuffled data cut into batches, or "
        "batches of fixed size, are something else and cost more."
    ),
    dpa.SampledWithoutReplacementDpEvent: (
        "Batches of fixed size: each step draws its batch anew and uniformly, without replacement. "
        "Shuffled data cut into batches are something else."
    ),
    dpa.SampledWithReplacementDpEvent: (
        "Batches with replacement: each step draws its records anew, uniformly and independently."
    ),
    BallsInBinsDpEvent: (
        "Balls in bins: in each epoch each record joins one of the steps, uniformly and on its own."
    ),
    ShuffledDpEvent: (
        "Shuffled epochs: the records are put into random order anew for each pass, and cut into "
        "batches."
    ),
    MixtureOfGaussiansDpEvent: (
        "A sum that moves by one of several amounts, drawn anew in each release with the stated "
        "probabilities: how many of a user's records are in a Poisson sample, say."
    ),
    TruncatedSubsampledGaussianDpEvent: (
        "Truncated Poisson sampling: each record is in the batch with the stated probability, on "
        "its own and anew; of a batch that is too large some records are dropped at random."
    ),
}
_NO_SAMPLING = "No sampling is counted upon: all records may be in every release."


def sampling_in_words(event: dpa.DpEvent) -> tuple[str, ...]:
    """What an event assumes of how records get into batches, the assumption most often false.

    >>> sampling_in_words(dpa.GaussianDpEvent(1.0))
    ('No sampling is counted upon: all records may be in every release.',)
    """
    found: dict[str, None] = {}
    waiting: list[Any] = [validate.instance("event", event, dpa.DpEvent)]
    while waiting:
        inner = waiting.pop()
        word = _SAMPLING_IN_WORDS.get(type(inner))
        if word:
            found[word] = None
        waiting.extend(getattr(inner, "events", ()))
        waiting.extend([inner.event] if hasattr(inner, "event") else ())
    return tuple(sorted(found)) or (_NO_SAMPLING,)


def deltas_of(deltas: Any) -> tuple[float, ...]:
    """Checked δ's; a single number is refused with what was probably meant.

    >>> deltas_of(1e-5)
    Traceback (most recent call last):
    TypeError: `deltas` must be a list or a tuple, got 1e-05. Did you mean [1e-05]?
    """
    if isinstance(deltas, int | float) and not isinstance(deltas, bool):
        got = validate.shown(deltas)
        raise TypeError(f"`deltas` must be a list or a tuple, got {got}. Did you mean [{got}]?")
    return validate.sequence("deltas", deltas, validate.open_unit, least=1)


def _today() -> str:
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def _date(name: str, value: Any) -> str:
    """A day as ISO 8601 writes it; "" where it was not recorded."""
    try:
        if validate.text(name, value):
            datetime.date.fromisoformat(value)
    except ValueError:
        raise validate.refusal(name, "a day such as 2026-01-31", value) from None
    return str(value)


def _versions() -> tuple[tuple[str, str], ...]:
    return tuple(versions.installed().items())


def _point(name: str, value: Any) -> tuple[float, float, float]:
    """(δ, ε_lower, ε_upper), where the last two may be infinite."""
    entries: tuple[Any, ...] = validate.sequence(name, value)
    if len(entries) != 3:
        raise validate.refusal(name, "triples (delta, lower, upper)", value)
    delta = validate.open_unit("delta", entries[0])
    lower, upper = (_end(name, end) for end in entries[1:])
    if not 0.0 <= lower <= upper:
        raise ValueError(f"`{name}` must have 0 <= lower <= upper, got ({lower!r}, {upper!r}).")
    return delta, lower, upper


def _end(name: str, value: Any) -> float:
    infinite = isinstance(value, float) and value == math.inf
    return math.inf if infinite else validate.real(name, value)


def _names(name: str, value: Any) -> tuple[str, str]:
    """A package and its version."""
    entries = validate.sequence(name, value, validate.text)
    if len(entries) != 2:
        raise validate.refusal(name, "pairs (package, version)", value)
    return entries[0], entries[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """Bounds of ε at chosen δ for one event under one relation, and what they rest on.

    Attributes:
      event: What was released.
      neighboring_relation: Which data sets are neighbours.
      points: Triples (δ, ε_lower, ε_upper); the true ε(δ) lies in between.
      method: The accountant that proved it.
      assumptions: What it rests on, in words; what the event assumes of sampling is in `sampling`.
      versions: The packages that computed it.
      unit: "record" or "client": whose data neighbouring data sets differ in.
      engine: How the accountant found it, where it has several ways.
      tolerance: The relative gap that was aimed for, if one was.
      date: The day it was made, in UTC; "" in files of format 1, which did not record it.

    >>> certificate = Certificate(
    ...     event=dpa.GaussianDpEvent(1.0),
    ...     neighboring_relation=NeighboringRelation.ADD_OR_REMOVE_ONE,
    ...     points=((1e-5, 4.377, 4.378),),
    ...     method="by hand",
    ... )
    >>> Certificate.from_json(certificate.to_json()) == certificate
    True
    """

    event: dpa.DpEvent
    neighboring_relation: NeighboringRelation
    points: tuple[tuple[float, float, float], ...]
    method: str
    assumptions: tuple[str, ...] = ()
    versions: tuple[tuple[str, str], ...] = field(default_factory=_versions)
    unit: str = "record"
    engine: str = ""
    tolerance: float | None = None
    date: str = field(default_factory=_today)

    def __post_init__(self) -> None:
        validate.instance("event", self.event, dpa.DpEvent)
        validate.relation("neighboring_relation", self.neighboring_relation)
        points = validate.sequence("points", self.points, _point, least=1)
        object.__setattr__(self, "points", points)
        validate.text("method", self.method)
        assumptions = validate.sequence("assumptions", self.assumptions, validate.text)
        object.__setattr__(self, "assumptions", assumptions)
        versions = validate.sequence("versions", self.versions, _names)
        object.__setattr__(self, "versions", versions)
        validate.one_of("unit", self.unit, UNITS)
        validate.text("engine", self.engine)
        if self.tolerance is not None:
            validate.open_unit("tolerance", self.tolerance)
        _date("date", self.date)

    @property
    def sampling(self) -> tuple[str, ...]:
        """What it assumes of how records get into batches, in words."""
        return sampling_in_words(self.event)

    def bounds(self, delta: float) -> Bounds:
        """The interval recorded for `delta`; a `ValueError` if there is none."""
        wanted = validate.real("delta", delta)
        for recorded, lower, upper in self.points:
            if recorded == wanted:
                return Bounds(lower, upper)
        recorded_deltas = [point[0] for point in self.points]
        raise validate.refusal("delta", f"one of those recorded, {recorded_deltas}", delta)

    def to_json(self) -> str:
        """JSON text with a checksum; infinite bounds are "inf", since JSON has no infinity.

        `certificate.schema.json`, beside this module, describes it.
        """
        document = {
            "format": _FORMAT,
            "version": _VERSION,
            "event": codec.encode_event(self.event),
            "neighboring_relation": self.neighboring_relation.name,
            "unit": self.unit,
            "points": [[codec.encode_real(value) for value in point] for point in self.points],
            "method": self.method,
            "engine": self.engine,
            "tolerance": self.tolerance,
            "sampling": list(self.sampling),
            "noise_multiplier": NOISE_IN_WORDS,
            "assumptions": list(self.assumptions),
            "versions": dict(self.versions),
            "date": self.date,
        }
        return json.dumps(seals.sealed(document), allow_nan=False, indent=2)

    @classmethod
    def from_json(cls, text: str) -> "Certificate":
        """Reads what `to_json` wrote, now or in format 1; refuses anything else.

        Raises:
          ValueError: It is no certificate, or its checksum is another content's: it was damaged or
            altered. A checksum is no signature: whoever means to deceive can make a new one.
        """
        document = codec.expect(dict, "document", codec.read_json(text))
        first = document.get("version") == 1 and type(document["version"]) is int
        if not first:
            wanted = (_FORMAT, _VERSION)
            found = (document.get("format"), document.get("version"))
            if found != wanted or type(found[1]) is not int:
                got = validate.shown(found)
                raise ValueError(
                    f"`format`, `version` must be {wanted} or {(_FORMAT, 1)}, got {got}."
                )
            document = seals.unsealed(json.dumps(document), "`certificate`")
            document["version"] = 1
        body = codec.check_format(_FORMAT, document)
        codec.expect_keys("certificate", body, _FIRST_FIELDS if first else _FIELDS)
        points = [
            codec.expect(list, "points", p) for p in codec.expect(list, "points", body["points"])
        ]
        versions = codec.expect(dict, "versions", body["versions"])
        more: dict[str, Any] = {"date": ""}
        if not first:
            for name in ("unit", "engine", "date", "noise_multiplier"):
                more[name] = codec.expect(str, name, body[name])
            del more["noise_multiplier"]
            if body["tolerance"] is not None:
                more["tolerance"] = validate.real("tolerance", body["tolerance"])
        certificate = cls(
            event=codec.decode_event(body["event"]),
            neighboring_relation=codec.decode_relation(body["neighboring_relation"]),
            points=tuple(
                tuple(codec.decode_real("points", value) for value in point)  # type: ignore[misc]
                for point in points
            ),
            method=codec.expect(str, "method", body["method"]),
            assumptions=tuple(codec.expect(list, "assumptions", body["assumptions"])),
            versions=tuple(versions.items()),
            **more,
        )
        if not first:
            validate.sequence("sampling", body["sampling"], validate.text, least=1)
        return certificate
