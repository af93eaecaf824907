"""The claim of a privacy profile, given as a function or as points along it."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from dp_accounting import NeighboringRelation

from accountants import codec, validate
from audits.claims.base import Claim


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


@dataclass(frozen=True)
class ProfileClaim(Claim):
    """A privacy profile, taken at its word.

    Attributes:
      profile: ε ≥ 0 ↦ δ(ε), the larger of both directions.
    """

    form: ClassVar[str] = "profile"

    profile: Callable[[float], float]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not callable(self.profile):
            raise TypeError(f"`profile` must be a function of ε, got {self.profile!r}.")

    def delta_upper(self, epsilon: float) -> float:
        """The profile's δ(ε), at most 1."""
        value = float(self.profile(validate.non_negative("epsilon", epsilon)))
        if not value >= 0.0:
            raise ValueError(f"`profile` must be non-negative, got {value!r} at ε={epsilon!r}.")
        return min(1.0, value)

    def describe(self) -> str:
        """The claim in a few words."""
        return "the privacy profile given"

    def _body(self) -> dict[str, Any]:
        lines = self.region()
        points = zip(lines.epsilons.tolist(), lines.deltas.tolist(), strict=True)
        return {"profile": [list(point) for point in points]}

    @classmethod
    def _read(cls, body: dict[str, Any], relation: NeighboringRelation) -> Self:
        codec.expect_keys("claim", body, {"profile"})
        points = codec.expect(list, "profile", body["profile"])
        table = tuple(
            (validate.non_negative("epsilon", e), validate.closed_unit("delta", d))
            for e, d in points
        )
        return cls(TabulatedProfile(table), relation=relation)
