"""A statement of cost that can be stored, sent and read again."""

import math
from dataclasses import dataclass, field

import dp_accounting as dpa
from dp_accounting import NeighboringRelation

from accountants import codec, validate, versions
from accountants.bounds import Bounds

_FORMAT = "dp-assay/certificate"


def _versions() -> tuple[tuple[str, str], ...]:
    return tuple(versions.installed().items())


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
        validate.relation("neighboring_relation", self.neighboring_relation)
        if not self.points:
            raise ValueError("`points` must hold at least one (delta, lower, upper), got none.")
        for delta, lower, upper in self.points:
            validate.open_unit("delta", delta)
            if math.isnan(lower) or math.isnan(upper) or not 0.0 <= lower <= upper:
                raise ValueError(
                    f"`points` must have 0 <= lower <= upper, got ({lower!r}, {upper!r})."
                )

    def bounds(self, delta: float) -> Bounds:
        """The interval recorded for `delta`; a `KeyError` if there is none."""
        for recorded, lower, upper in self.points:
            if recorded == delta:
                return Bounds(lower, upper)
        recorded_deltas = [point[0] for point in self.points]
        raise KeyError(f"no bounds recorded for delta={delta!r}; there are {recorded_deltas}")

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
        codec.expect_keys(
            "certificate",
            body,
            {
                "event",
                "neighboring_relation",
                "points",
                "method",
                "assumptions",
                "versions",
            },
        )
        points = codec.expect(list, "points", body["points"])
        for point in points:
            if not isinstance(point, list) or len(point) != 3:
                raise ValueError(f"`points` must hold [delta, lower, upper], got {point!r}.")
        assumptions = codec.expect(list, "assumptions", body["assumptions"])
        versions = codec.expect(dict, "versions", body["versions"])
        return cls(
            event=codec.decode_event(body["event"]),
            neighboring_relation=codec.decode_relation(body["neighboring_relation"]),
            points=tuple(
                (
                    codec.decode_real("delta", d),
                    codec.decode_real("lower", lo),
                    codec.decode_real("upper", up),
                )
                for d, lo, up in points
            ),
            method=codec.expect(str, "method", body["method"]),
            assumptions=tuple(codec.expect(str, "assumptions", text) for text in assumptions),
            versions=tuple(
                (name, codec.expect(str, name, value)) for name, value in versions.items()
            ),
        )
