"""The claim of a single (ε, δ), or of pure ε."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from dp_accounting import NeighboringRelation

from accountants import codec, validate
from audits.claims import region as regions
from audits.claims.base import Claim
from audits.claims.region import Region


@dataclass(frozen=True)
class PointClaim(Claim):
    """(ε, δ)-differential privacy; pure ε if δ is left at 0.

    Attributes:
      epsilon: ε ≥ 0.
      delta: δ in [0, 1).

    >>> PointClaim(1.0).describe()
    'pure ε = 1 differential privacy'
    """

    form: ClassVar[str] = "epsilon"

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        validate.non_negative("epsilon", self.epsilon)
        if not 0.0 <= validate.real("delta", self.delta) < 1.0:
            raise ValueError(f"`delta` must be in [0, 1), got {self.delta!r}.")

    @property
    def is_point(self) -> bool:
        """Whether δ is positive; pure ε limits every outcome, not only rare ones."""
        return self.delta > 0.0

    def delta_upper(self, epsilon: float) -> float:
        """The claimed δ from the claimed ε on; below it, what the corner of the region allows."""
        if validate.non_negative("epsilon", epsilon) >= self.epsilon:
            return self.delta
        # The corner of the (ε, δ) region: both error rates equal (1−δ)/(1+e^ε).
        share = math.exp(epsilon - self.epsilon) * (1.0 + math.exp(-epsilon))
        share /= 1.0 + math.exp(-self.epsilon)
        return 1.0 - (1.0 - self.delta) * share * (1.0 - 1e-15)

    def epsilon_upper(self, delta: float) -> float:
        """The claimed ε from the claimed δ on, infinite below it."""
        return self.epsilon if validate.closed_unit("delta", delta) >= self.delta else math.inf

    def _region(self) -> Region:
        return regions.from_point(self.epsilon, self.delta)

    def describe(self) -> str:
        """The claim in a few words."""
        if self.delta == 0.0:
            return f"pure ε = {self.epsilon:g} differential privacy"
        return f"(ε = {self.epsilon:g}, δ = {self.delta:g}) differential privacy"

    def _body(self) -> dict[str, Any]:
        return {"epsilon": self.epsilon, "delta": self.delta}

    @classmethod
    def _read(cls, body: dict[str, Any], relation: NeighboringRelation) -> Self:
        codec.expect_keys("claim", {"delta": 0.0, **body}, {"epsilon", "delta"})
        numbers = {name: codec.decode_real(name, value) for name, value in body.items()}
        return cls(**numbers, relation=relation)
