"""The claim of a privacy profile, given as a function or as points along it."""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from dp_accounting import NeighboringRelation

from accountants import codec, validate
from audits.claims.base import Claim


def _point(name: str, value: Any) -> tuple[float, float]:
    entries: tuple[Any, ...] = validate.sequence(name, value)
    if len(entries) != 2:
        raise validate.refusal(name, "pairs (epsilon, delta)", value)
    return validate.non_negative(name, entries[0]), validate.closed_unit(name, entries[1])


@dataclass(frozen=True, slots=True)
class TabulatedProfile:
    """A profile given by points (ε, δ): between them the chord in e^ε, an upper bound by convexity.

    Beyond the last point δ stays as it was there, before the first one it is 1.
    """

    points: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        points = validate.sequence("points", self.points, _point, least=1)
        if any(right[0] <= left[0] for left, right in itertools.pairwise(points)):
            raise ValueError("`points` must be in order of ε, each once, got others.")
        object.__setattr__(self, "points", points)

    def __call__(self, epsilon: float) -> float:
        """δ(ε), an upper bound if the points are."""
        epsilon = validate.non_negative("epsilon", epsilon)
        for (left, above), (right, below) in zip(self.points, self.points[1:], strict=False):
            if left <= epsilon <= right:
                # (e^(ε−l) − 1)/(e^(r−l) − 1), by e^(−(r−l)) of each so that nothing overflows.
                share = math.exp(epsilon - right) * math.expm1(left - epsilon)
                share /= math.expm1(left - right)
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
        validate.function("profile", self.profile)

    def delta_upper(self, epsilon: float) -> float:
        """The profile's δ(ε), at most 1."""
        value = self.profile(validate.non_negative("epsilon", epsilon))
        return min(1.0, validate.non_negative("profile", value))

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
        return cls(TabulatedProfile(tuple(points)), relation=relation)
