"""The claim of Gaussian differential privacy."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from dp_accounting import NeighboringRelation

from accountants import codec, gaussian, validate
from audits.claims.base import Claim


@dataclass(frozen=True)
class GaussianClaim(Claim):
    """μ-Gaussian differential privacy: no easier to tell apart than N(0, 1) and N(μ, 1).

    Attributes:
      mu: μ ≥ 0.

    >>> GaussianClaim(1.0).delta_upper(1.0) < 0.12694
    True
    """

    form: ClassVar[str] = "mu"

    mu: float

    def __post_init__(self) -> None:
        super().__post_init__()
        validate.non_negative("mu", self.mu)

    def delta_upper(self, epsilon: float) -> float:
        """The exact curve's δ(ε), rounded upwards."""
        epsilon = validate.non_negative("epsilon", epsilon)
        return gaussian.delta_bounds(self.mu, epsilon).upper if self.mu > 0.0 else 0.0

    def epsilon_upper(self, delta: float) -> float:
        """The exact curve's ε(δ), rounded upwards."""
        delta = validate.open_unit("delta", delta)
        return gaussian.epsilon_bounds(self.mu, delta).upper if self.mu > 0.0 else 0.0

    def describe(self) -> str:
        """The claim in a few words."""
        return f"{self.mu:g}-Gaussian differential privacy"

    def _body(self) -> dict[str, Any]:
        return {"mu": self.mu}

    @classmethod
    def _read(cls, body: dict[str, Any], relation: NeighboringRelation) -> Self:
        codec.expect_keys("claim", body, {"mu"})
        return cls(codec.decode_real("mu", body["mu"]), relation=relation)
