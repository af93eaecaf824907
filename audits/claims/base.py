"""What every claim can say of itself, whatever its form."""

import abc
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self, overload

from dp_accounting import NeighboringRelation

from accountants import Certificate, codec, validate
from audits.claims import region as regions
from audits.claims.region import Region

if TYPE_CHECKING:
    from audits.claims.event import EventClaim

_FORMAT = "dp-assay/claim"
_LARGEST_EPSILON = 700.0
_BISECTION = 1e-6


@dataclass(frozen=True)
class Claim(abc.ABC):
    """A privacy claim: a curve of (ε, δ) for both directions of every pair of neighbours.

    Its forms are the subclasses, `EventClaim`, `ProfileClaim`, `GaussianClaim`,
    `ZeroConcentratedClaim` and `PointClaim`. Whatever a form leaves open is read in the claim's
    favour, so that a true claim is never contradicted by rounding.

    Attributes:
      relation: Which data sets are neighbours.
    """

    form: ClassVar[str]
    """The JSON field by which a stored claim says which form it has."""
    _forms: ClassVar[dict[str, "type[Claim]"]] = {}

    relation: NeighboringRelation = field(
        default=NeighboringRelation.ADD_OR_REMOVE_ONE, kw_only=True
    )

    def __init_subclass__(cls) -> None:
        Claim._forms[cls.form] = cls

    def __post_init__(self) -> None:
        validate.relation("relation", self.relation)

    @overload
    @staticmethod
    def of(stated: Certificate) -> "EventClaim": ...

    @overload
    @staticmethod
    def of(stated: "Claim") -> "Claim": ...

    @staticmethod
    def of(stated: "Certificate | Claim") -> "Claim":
        """The claim that a certificate makes: its event under its relation. A claim is itself.

        >>> import dp_accounting as dpa
        >>> from accountants import FourierAccountant
        >>> certificate = FourierAccountant().compose(dpa.GaussianDpEvent(1.0)).certify([1e-5])
        >>> Claim.of(certificate).describe()
        'the privacy curve of Gaussian σ = 1 under ADD_OR_REMOVE_ONE'
        """
        from audits.claims.event import EventClaim

        match stated:
            case Claim():
                return stated
            case Certificate():
                return EventClaim(stated.event, relation=stated.neighboring_relation)
        got = validate.shown(stated)
        raise TypeError(f"`stated` must be a Claim or a Certificate, got {got}.")

    @property
    def is_point(self) -> bool:
        """Whether only a single (ε, δ) is claimed, which is hard to refute."""
        return False

    @abc.abstractmethod
    def delta_upper(self, epsilon: float) -> float:
        """The δ that the claim allows at ε ≥ 0; rounded upwards, so a true claim stays true."""

    def epsilon_upper(self, delta: float) -> float:
        """The ε that the claim allows at δ in (0, 1), rounded upwards; infinite if it is above 700.

        By bisection of `delta_upper`, whose upper end is kept: about 1e-6 relative too large.
        """
        delta = validate.open_unit("delta", delta)
        low, high = 0.0, 1.0
        while self.delta_upper(high) > delta:
            low, high = high, 2.0 * high
            if high > _LARGEST_EPSILON:
                return float("inf")
        while high - low > _BISECTION * high:
            middle = 0.5 * (low + high)
            low, high = (low, middle) if self.delta_upper(middle) <= delta else (middle, high)
        return high

    def region(self) -> Region:
        """The claimed region of error rates as supporting lines; computed once."""
        return self._lines

    @cached_property
    def _lines(self) -> Region:
        return self._region()

    def _region(self) -> Region:
        return regions.from_profile(self.delta_upper)

    @abc.abstractmethod
    def describe(self) -> str:
        """The claim in a few words."""

    @abc.abstractmethod
    def _body(self) -> dict[str, Any]:
        """The fields beside the relation, JSON-ready; one of them is named `form`."""

    @classmethod
    @abc.abstractmethod
    def _read(cls, body: dict[str, Any], relation: NeighboringRelation) -> Self:
        """The claim with the fields that `_body` wrote."""

    def to_json(self) -> str:
        """JSON text. A profile is stored as points along it and comes back as their chords."""
        return codec.dump_document(_FORMAT, {"relation": self.relation.name, **self._body()})

    @staticmethod
    def from_json(text: str) -> "Claim":
        """Reads what `to_json` wrote, in any form; refuses anything else with a `ValueError`."""
        body = codec.load_document(_FORMAT, text)
        given = [form for form in Claim._forms if form in body]
        if len(given) != 1 or "relation" not in body:
            raise ValueError(
                f"`claim` must state a relation and exactly one of {', '.join(Claim._forms)}, "
                f"got {validate.shown(', '.join(body))}."
            )
        relation = codec.decode_relation(body.pop("relation"))
        return Claim._forms[given[0]]._read(body, relation)
