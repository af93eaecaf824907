"""What is asserted about a mechanism, in any of the forms that people assert it."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import dp_accounting as dpa
import numpy as np
from dp_accounting import NeighboringRelation

from accountants import FourierAccountant, RenyiAccountant, codec, gaussian, validate
from accountants.base import IntervalAccountant
from accountants.renyi import log_delta_from_divergence
from audits.testing import region as curves
from audits.testing.region import Region
from audits.wording import event_words

_FORMAT = "dp-assay/claim"
_ORDERS = 1.0 + np.geomspace(1e-2, 1e4, 240)


@dataclass(frozen=True, slots=True)
class TabulatedProfile:
    """A profile given by points (ε, δ): between them the chord in e^ε, an upper bound by convexity.

    Beyond the last point δ stays as it was there, before the first one it is 1.
    """

    points: tuple[tuple[float, float], ...]

    def __call__(self, epsilon: float) -> float:
        """δ(ε), an upper bound if the points are."""
        for (left, above), (right, below) in zip(self.points, self.points[1:], strict=False):
            if left <= epsilon <= right:
                share = math.expm1(epsilon - left) / math.expm1(right - left)
                return above + share * (below - above)
        return self.points[-1][1] if epsilon > self.points[-1][0] else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A privacy claim; give exactly one of `event`, `profile`, `mu`, `rho`, `epsilon`.

    An event, a profile or μ is a whole curve of (ε, δ), and a false one is refuted with few draws.
    A single (ε, δ) is a weak claim: it allows so much that a test needs many draws to contradict
    it.

    Attributes:
      event: What is said to be released, as a `DpEvent`.
      relation: Which data sets are neighbours; needed with `event`, informative otherwise.
      profile: ε ≥ 0 ↦ δ(ε), the larger of both directions.
      mu: μ of Gaussian differential privacy.
      rho: ρ of zero-concentrated differential privacy.
      epsilon: ε, with `delta`; pure differential privacy if δ is left at 0.
      delta: δ of the single point.

    >>> Claim(epsilon=1.0).describe()
    'pure ε = 1 differential privacy'
    >>> Claim(mu=1.0).delta_upper(1.0) < 0.12694
    True
    """

    event: dpa.DpEvent | None = None
    relation: NeighboringRelation = NeighboringRelation.ADD_OR_REMOVE_ONE
    profile: Callable[[float], float] | None = None
    mu: float | None = None
    rho: float | None = None
    epsilon: float | None = None
    delta: float = 0.0
    _memo: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        given = [
            name
            for name in ("event", "profile", "mu", "rho", "epsilon")
            if getattr(self, name) is not None
        ]
        if len(given) != 1:
            raise ValueError(
                "`claim` must state exactly one of event, profile, mu, rho, epsilon, "
                f"got {', '.join(given) or 'none'}."
            )
        validate.relation("relation", self.relation)
        if self.event is not None and not isinstance(self.event, dpa.DpEvent):
            raise TypeError(f"`event` must be a DpEvent, got {self.event!r}.")
        if self.profile is not None and not callable(self.profile):
            raise TypeError(f"`profile` must be a function of ε, got {self.profile!r}.")
        if self.mu is not None:
            validate.non_negative("mu", self.mu)
        if self.rho is not None:
            validate.non_negative("rho", self.rho)
        if self.epsilon is not None:
            validate.non_negative("epsilon", self.epsilon)
        if not 0.0 <= validate.real("delta", self.delta) < 1.0:
            raise ValueError(f"`delta` must be in [0, 1), got {self.delta!r}.")
        if self.delta and self.epsilon is None:
            raise ValueError("`delta` must be left at 0 unless `epsilon` is given.")
        if self.event is not None:
            self._accountant()  # refuses an unsupported event now, not in the middle of an audit

    @property
    def is_point(self) -> bool:
        """Whether only a single (ε, δ) is claimed, which is hard to refute."""
        return self.epsilon is not None and self.delta > 0.0

    def delta_upper(self, epsilon: float) -> float:
        """The δ that the claim allows at ε ≥ 0; rounded upwards, so a true claim stays true."""
        epsilon = validate.non_negative("epsilon", epsilon)
        if self.event is not None:
            return self._accountant().get_delta_bounds(epsilon).upper
        if self.mu is not None:
            return gaussian.delta_bounds(self.mu, epsilon).upper if self.mu > 0.0 else 0.0
        if self.rho is not None:
            return _zero_concentrated_delta(self.rho, epsilon)
        if self.profile is not None:
            value = float(self.profile(epsilon))
            if not value >= 0.0:
                raise ValueError(f"`profile` must be non-negative, got {value!r} at ε={epsilon!r}.")
            return min(1.0, value)
        assert self.epsilon is not None
        if epsilon >= self.epsilon:
            return self.delta
        # The corner of the (ε, δ) region: both error rates equal (1−δ)/(1+e^ε).
        share = (1.0 + math.exp(epsilon)) / (1.0 + math.exp(min(self.epsilon, 700.0)))
        return 1.0 - (1.0 - self.delta) * share * (1.0 - 1e-15)

    def curve(self) -> Region:
        """The claimed region as supporting lines; computed once."""
        if "curve" not in self._memo:
            self._memo["curve"] = self._curve()
        found: Region = self._memo["curve"]
        return found

    def _curve(self) -> Region:
        if self.epsilon is not None:
            return curves.from_point(self.epsilon, self.delta)
        largest = None
        if self.event is not None:
            bounds = self._accountant().get_epsilon_bounds(curves.DEEPEST_DELTA)
            # An interval wide open says little about where the curve ends: look for it instead.
            largest = bounds.upper if bounds.upper < 2.0 * bounds.lower else None
        return curves.from_profile(self.delta_upper, largest)

    def _accountant(self) -> IntervalAccountant:
        if "accountant" not in self._memo:
            assert self.event is not None
            fourier = FourierAccountant(self.relation)
            chosen: IntervalAccountant = (
                fourier if fourier.supports(self.event) else RenyiAccountant(self.relation)
            )
            self._memo["accountant"] = chosen.compose(self.event)
        accountant: IntervalAccountant = self._memo["accountant"]
        return accountant

    def describe(self) -> str:
        """The claim in a few words."""
        if self.event is not None:
            return f"the privacy curve of {event_words(self.event)} under {self.relation.name}"
        if self.profile is not None:
            return "the privacy profile given"
        if self.mu is not None:
            return f"{self.mu:g}-Gaussian differential privacy"
        if self.rho is not None:
            return f"{self.rho:g}-zero-concentrated differential privacy"
        if self.delta == 0.0:
            return f"pure ε = {self.epsilon:g} differential privacy"
        return f"(ε = {self.epsilon:g}, δ = {self.delta:g}) differential privacy"

    def to_json(self) -> str:
        """JSON text. A `profile` is stored as points along it and comes back as their chords."""
        body: dict[str, Any] = {"relation": self.relation.name}
        if self.event is not None:
            body["event"] = codec.encode_event(self.event)
        elif self.profile is not None:
            curve = self.curve()
            points = zip(curve.epsilons.tolist(), curve.deltas.tolist(), strict=True)
            body["profile"] = [list(point) for point in points]
        elif self.mu is not None:
            body["mu"] = self.mu
        elif self.rho is not None:
            body["rho"] = self.rho
        else:
            body["epsilon"], body["delta"] = self.epsilon, self.delta
        return codec.dump_document(_FORMAT, body)

    @classmethod
    def from_json(cls, text: str) -> "Claim":
        """Reads what `to_json` wrote; refuses anything else with a `ValueError`."""
        body = codec.load_document(_FORMAT, text)
        unknown = set(body) - {"relation", "event", "profile", "mu", "rho", "epsilon", "delta"}
        if unknown or "relation" not in body:
            raise ValueError(
                f"`claim` must have a relation and no other fields, got {sorted(body)}."
            )
        keywords: dict[str, Any] = {"relation": codec.decode_relation(body.pop("relation"))}
        if "event" in body:
            keywords["event"] = codec.decode_event(body.pop("event"))
        if "profile" in body:
            points = codec.expect(list, "profile", body.pop("profile"))
            keywords["profile"] = TabulatedProfile(
                tuple(
                    (validate.non_negative("epsilon", e), validate.closed_unit("delta", d))
                    for e, d in points
                )
            )
        for name, value in body.items():
            keywords[name] = codec.decode_real(name, value)
        return cls(**keywords)


def _zero_concentrated_delta(rho: float, epsilon: float) -> float:
    """δ of ρ-zCDP by the best of many orders; every order is an upper bound."""
    if rho == 0.0:
        return 0.0
    best = min(
        log_delta_from_divergence(float(order), rho * float(order), epsilon) for order in _ORDERS
    )
    # Total variation: √(1 − e^{−KL}) with KL ≤ ρ (Bretagnolle & Huber 1979).
    return min(1.0, math.exp(min(0.0, best)) * (1 + 1e-12), math.sqrt(-math.expm1(-rho)) + 1e-12)
