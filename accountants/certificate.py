"""A statement of cost that can be stored, sent and read again."""

import math
from dataclasses import dataclass, field
from typing import Any

import dp_accounting as dpa
from dp_accounting import NeighboringRelation

from accountants import codec, validate, versions
from accountants.bounds import Bounds

_FORMAT = "dp-assay/certificate"
_FIELDS = {"event", "neighboring_relation", "points", "method", "assumptions", "versions"}


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
      assumptions: What it rests on, in words.
      versions: The packages that computed it.

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

    def bounds(self, delta: float) -> Bounds:
        """The interval recorded for `delta`; a `ValueError` if there is none."""
        wanted = validate.real("delta", delta)
        for recorded, lower, upper in self.points:
            if recorded == wanted:
                return Bounds(lower, upper)
        recorded_deltas = [point[0] for point in self.points]
        raise validate.refusal("delta", f"one of those recorded, {recorded_deltas}", delta)

    def to_json(self) -> str:
        """JSON text; infinite bounds are the string "inf", since JSON has no infinity."""
        return codec.dump_document(
            _FORMAT,
            {
                "event": codec.encode_event(self.event),
                "neighboring_relation": self.neighboring_relation.name,
                "points": [[codec.encode_real(value) for value in point] for point in self.points],
                "method": self.method,
                "assumptions": list(self.assumptions),
                "versions": dict(self.versions),
            },
        )

    @classmethod
    def from_json(cls, text: str) -> "Certificate":
        """Reads what `to_json` wrote; refuses anything else with a `ValueError`."""
        body = codec.load_document(_FORMAT, text)
        codec.expect_keys("certificate", body, _FIELDS)
        points = [
            codec.expect(list, "points", p) for p in codec.expect(list, "points", body["points"])
        ]
        versions = codec.expect(dict, "versions", body["versions"])
        return cls(
            event=codec.decode_event(body["event"]),
            neighboring_relation=codec.decode_relation(body["neighboring_relation"]),
            points=tuple(
                tuple(codec.decode_real("points", value) for value in point)  # type: ignore[misc]
                for point in points
            ),
            method=codec.expect(str, "method", body["method"]),
            assumptions=tuple(codec.expect(list, "assumptions", body["assumptions"])),
            versions=tuple(versions.items()),
        )
