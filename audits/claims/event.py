"""The claim that something is released at the cost of a given event."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import dp_accounting as dpa
from dp_accounting import NeighboringRelation

from accountants import FourierAccountant, RenyiAccountant, codec, validate
from accountants.base import IntervalAccountant
from audits.claims import region as regions
from audits.claims.base import Claim
from audits.claims.region import Region
from audits.wording import event_words


@dataclass(frozen=True)
class EventClaim(Claim):
    """The privacy curve of an event: what the mechanism is said to release.

    The Fourier accountant's upper bounds are the curve, or the Rényi accountant's where it has
    none. An event that neither knows is refused at once, not in the middle of an audit.

    Attributes:
      event: What is said to be released, as a `DpEvent`.

    >>> claim = EventClaim(dpa.GaussianDpEvent(1.0))
    >>> round(claim.epsilon_upper(1e-5), 4)
    4.3772
    """

    form: ClassVar[str] = "event"

    event: dpa.DpEvent

    def __post_init__(self) -> None:
        super().__post_init__()
        validate.instance("event", self.event, dpa.DpEvent)
        _ = self.accountant

    @cached_property
    def accountant(self) -> IntervalAccountant:
        """The accountant that the curve comes from, with the event composed; not to be changed."""
        fourier = FourierAccountant(self.relation)
        chosen: IntervalAccountant = (
            fourier if fourier.supports(self.event) else RenyiAccountant(self.relation)
        )
        return chosen.compose(self.event)

    def delta_upper(self, epsilon: float) -> float:
        """The accountant's upper bound of δ(ε)."""
        return self.accountant.get_delta_bounds(epsilon).upper

    def epsilon_upper(self, delta: float) -> float:
        """The accountant's upper bound of ε(δ)."""
        return self.accountant.get_epsilon_bounds(delta).upper

    def _region(self) -> Region:
        bounds = self.accountant.get_epsilon_bounds(regions.DEEPEST_DELTA)
        # An interval wide open says little about where the curve ends: look for it instead.
        largest = bounds.upper if bounds.upper < 2.0 * bounds.lower else None
        return regions.from_profile(self.delta_upper, largest)

    def describe(self) -> str:
        """The event in a few words, with the relation."""
        return f"the privacy curve of {event_words(self.event)} under {self.relation.name}"

    def _body(self) -> dict[str, Any]:
        return {"event": codec.encode_event(self.event)}

    @classmethod
    def _read(cls, body: dict[str, Any], relation: NeighboringRelation) -> Self:
        codec.expect_keys("claim", body, {"event"})
        return cls(codec.decode_event(body["event"]), relation=relation)
