"""The claim of zero-concentrated differential privacy."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from dp_accounting import NeighboringRelation

from accountants import codec, validate
from accountants.renyi import log_delta_from_divergence
from audits.claims.base import Claim

_ORDERS = 1.0 + np.geomspace(1e-2, 1e4, 240)


@dataclass(frozen=True)
class ZeroConcentratedClaim(Claim):
    """ρ-zero-concentrated differential privacy: the Rényi divergence of order α is at most ρα.

    Attributes:
      rho: ρ ≥ 0.
    """

    form: ClassVar[str] = "rho"

    rho: float

    def __post_init__(self) -> None:
        super().__post_init__()
        validate.non_negative("rho", self.rho)

    def delta_upper(self, epsilon: float) -> float:
        """δ(ε) by the best of many orders, each an upper bound, and by the total variation."""
        epsilon = validate.non_negative("epsilon", epsilon)
        if self.rho == 0.0:
            return 0.0
        best = min(
            log_delta_from_divergence(float(order), self.rho * float(order), epsilon)
            for order in _ORDERS
        )
        # Total variation: √(1 − e^{−KL}) with KL ≤ ρ (Bretagnolle & Huber 1979).
        total_variation = math.sqrt(-math.expm1(-self.rho)) + 1e-12
        return min(1.0, math.exp(min(0.0, best)) * (1 + 1e-12), total_variation)

    def describe(self) -> str:
        """The claim in a few words."""
        return f"{self.rho:g}-zero-concentrated differential privacy"

    def _body(self) -> dict[str, Any]:
        return {"rho": self.rho}

    @classmethod
    def _read(cls, body: dict[str, Any], relation: NeighboringRelation) -> Self:
        codec.expect_keys("claim", body, {"rho"})
        return cls(codec.decode_real("rho", body["rho"]), relation=relation)
